// What a watched series keeps on the heap between two polls, without a connection; its time is virtual.
import { createClient, VirtualClock } from "pairstream";
import { createPairService } from "pairstream/service";
import { watchCrowd } from "./crowd.js";
import { steadyMarket } from "./market.js";
import { givenOptions, tell } from "./processes.js";

/** ms; long enough for the book to be full. */
const SETTLED = 60_000;
/** Watched and left before anything is counted, as much is made once. */
const FIRST = 200;

const { count } = givenOptions<{ count: number }>();
const clock = new VirtualClock(Date.UTC(2026, 0, 1));
const { fetch } = createPairService({ source: steadyMarket, clock: () => clock.now() });
const client = createClient({
  baseUrl: "https://service.test",
  apiKey: "key",
  rateLimit: false,
  scheduler: clock,
  fetch,
});

async function heapWhile(crowd: number): Promise<number> {
  const leave = watchCrowd(client, { count: crowd, timeframe: "10s" }, () => {});
  await clock.advanceBy(SETTLED);
  globalThis.gc?.();
  const { heapUsed } = process.memoryUsage();
  leave();
  await clock.advanceBy(SETTLED);
  return heapUsed;
}

await heapWhile(FIRST);
const without = await heapWhile(0);
const withAll = await heapWhile(count);
tell({ bytes: (withAll - without) / count });
