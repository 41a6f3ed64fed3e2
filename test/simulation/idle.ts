import { setFlagsFromString } from "node:v8";
import {
  type CandleEvent,
  createClient,
  type FetchLike,
  type SniperEvent,
  VirtualClock,
  watchCandles,
  watchFeedStatus,
  watchSnipers,
} from "../../src/index.js";
import { answerOf } from "./exchanges.js";
import { KEY } from "./interference.js";

const START = Date.UTC(2024, 0, 1);
const PAIR = "idlePair";

/** A pair that has not been traded for long, and a service that says so again and again. */
export function idleWorld({ every, timeframe = "1min" }: { every: number; timeframe?: "1min" | "1s" }) {
  const clock = new VirtualClock(START + 30_000);
  let requests = 0;
  const page = JSON.stringify({
    cursor: null,
    page: 1,
    pairAddress: PAIR,
    tokenAddress: "token",
    timeframe,
    currency: "usd",
    result: [],
  });
  const report = JSON.stringify({
    blockNumber: 1,
    blockTimestamp: new Date(START - 9e8).toISOString(),
    transactionHash: "hash",
    result: [],
  });
  const fetch: FetchLike = async (url) => {
    requests += 1;
    const date = new Date(clock.now()).toUTCString();
    return answerOf(200, url.includes("/ohlcv") ? page : report, { date });
  };
  const client = createClient({
    baseUrl: "http://localhost",
    apiKey: KEY,
    scheduler: clock,
    fetch,
    warn: false,
  });
  const events: (CandleEvent | SniperEvent)[] = [];
  const states: string[] = [];
  const options = { network: "mainnet", pairAddress: PAIR, timeframe, currency: "usd", every } as const;
  const stays = [
    watchCandles(client, options).subscribe((event) => events.push(event)),
    watchSnipers(client, { pairAddress: PAIR, every }).subscribe((event) => events.push(event)),
    watchFeedStatus(client, options).subscribe(({ state }) => {
      if (states.at(-1) !== state) states.push(state);
    }),
  ];
  const leave = () => {
    for (const stay of stays) stay.unsubscribe();
  };
  return { clock, events, states, requests: () => requests, leave };
}

const POLLS = 1_000_000;
const SAMPLES = 10;

/** A million polls of it, ten samples of the heap after collection: it must not grow. */
export async function proveFlat(): Promise<void> {
  const collect = (globalThis as { gc?: () => void }).gc;
  if (collect === undefined) throw new Error("run it with --expose-gc");
  // Optimised code lies on the heap, too, and more of it is made for half a million polls.
  setFlagsFromString("--no-opt");
  const world = idleWorld({ every: 1_000 });
  const samples: number[] = [];
  // What is made once is made in the first polls.
  await world.clock.advanceBy(3_600_000);
  for (let sample = 0; sample < SAMPLES; sample += 1) {
    const wanted = world.requests() + POLLS / SAMPLES;
    while (world.requests() < wanted) await world.clock.advanceBy(600_000);
    collect();
    collect();
    samples.push(process.memoryUsage().heapUsed);
    console.error(`${world.requests()} polls, heap ${(samples.at(-1)! / 1_024).toFixed(0)} kB`);
  }
  const mean = samples.reduce((sum, one) => sum + one, 0) / SAMPLES;
  const middle = (SAMPLES - 1) / 2;
  const slope =
    samples.reduce((sum, one, at) => sum + (at - middle) * (one - mean), 0) /
    samples.reduce((sum, _, at) => sum + (at - middle) ** 2, 0);
  const growth = slope * SAMPLES;
  console.log(
    `${world.requests()} polls, ${world.events.length} events, heap ${(mean / 1_024).toFixed(0)} kB, growth over all ${(growth / 1_024).toFixed(1)} kB`,
  );
  world.leave();
  // A byte for every fifty polls would be a leak; what a heap breathes is less.
  if (world.events.length > 0 || growth > POLLS / 50 || world.clock.pending > 0) process.exitCode = 1;
}
