// Follows many series of minutes, by `watchCandles` or by bare calls, and tells what came of each minute.
import { Agent } from "node:http";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import crossFetch from "cross-fetch";
import { createClient, watchCandles } from "pairstream";
import { addresses } from "./market.js";
import { givenOptions, tell } from "./processes.js";

export interface FleetOptions {
  readonly url: string;
  readonly count: number;
  readonly minutes: number;
  readonly by: "watchCandles" | "bare calls";
}

/** What came of one minute. */
export interface Minute {
  readonly requests: number;
  readonly failures: number;
  /** How many closed candles came; of these, how many in time to act on them. */
  readonly closed: number;
  readonly live: number;
  /** When the last of them came, in ms after the minute's end. */
  readonly last: number;
  /** Of the process, in ms. */
  readonly cpu: number;
  /** The 99th percentile of the event loop's delay, in ms. */
  readonly delay: number;
  /** What is on the heap between two closings, in bytes. */
  readonly heap: number;
}

const MINUTE = 60_000;
const SETTLE = 1_000;
/** A candle that comes later than half its interval after it closed is not `live`; a bare call is held to the same. */
const IN_TIME = MINUTE / 2 + SETTLE;
const TIMEOUT = 10_000;
/** Minutes in which all begin, and the client learns the service's clock. */
const WARM_UP = 3;
/** When a minute is summed up, in ms after its beginning: all candles of the one before are there, or never come. */
const QUIET = 50_000;
const agent = new Agent({ keepAlive: true });

const { url, count, minutes, by } = givenOptions<FleetOptions>();
let [requests, failures, closed, live, last] = [0, 0, 0, 0, 0];
const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();

function take(timestamp: number, isLive: boolean): void {
  closed += 1;
  if (isLive) live += 1;
  last = Math.max(last, Date.now() - timestamp - MINUTE);
}

if (by === "watchCandles") watchAll();
else for (const pair of addresses(count)) poll(pair);
const found: Minute[] = [];
let cpu = process.cpuUsage();
for (let next = minuteOf(Date.now()) + MINUTE; found.length < WARM_UP + minutes; next += MINUTE) {
  await sleep(next + QUIET - Date.now());
  const { user, system } = process.cpuUsage(cpu);
  const p99 = delay.percentile(99) / 1e6;
  globalThis.gc?.();
  const heap = process.memoryUsage().heapUsed;
  found.push({ requests, failures, closed, live, last, cpu: (user + system) / 1_000, delay: p99, heap });
  [requests, failures, closed, live, last] = [0, 0, 0, 0, 0];
  cpu = process.cpuUsage();
  delay.reset();
}
tell({ minutes: found.slice(WARM_UP) });

function watchAll(): void {
  const client = createClient({ baseUrl: url, apiKey: "key", rateLimit: false });
  client.activity.subscribe((activity) => {
    if (activity.type === "request") requests += 1;
    else if (activity.type === "response" && activity.error !== undefined) failures += 1;
  });
  for (const pairAddress of addresses(count)) {
    const series = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;
    watchCandles(client, { ...series, settle: SETTLE, every: "close" }).subscribe((event) => {
      if (event.status === "closed") take(event.candle.timestamp, event.live);
    });
  }
}

/** Asks once a minute for the last three candles, and looks at nothing but whether the one that has closed is there. */
function poll(pair: string): void {
  const closing = minuteOf(Date.now()) + MINUTE;
  setTimeout(
    () => {
      ask(pair, closing).finally(() => poll(pair));
    },
    closing + SETTLE - Date.now(),
  );
}

async function ask(pair: string, closing: number): Promise<void> {
  requests += 1;
  const controller = new AbortController();
  const timeout = setTimeout(() => controller.abort(), TIMEOUT);
  try {
    const range = `fromDate=${(closing - 3 * MINUTE) / 1_000}&toDate=${(closing + MINUTE) / 1_000}&limit=8`;
    const route = `${url}/token/mainnet/pairs/${pair}/ohlcv?timeframe=1min&currency=usd&${range}`;
    const { signal } = controller;
    // The agent is node-fetch's option, unknown to the types, which are the browser's.
    const answer = await crossFetch(route, { headers: { "X-API-Key": "key" }, signal, agent } as RequestInit);
    const { result } = JSON.parse(await answer.text());
    const timestamp = closing - MINUTE;
    if (result.some((row: { timestamp: string }) => Date.parse(row.timestamp) === timestamp)) {
      take(timestamp, Date.now() - closing <= IN_TIME);
    }
  } catch {
    failures += 1;
  } finally {
    clearTimeout(timeout);
  }
}

function minuteOf(instant: number): number {
  return Math.floor(instant / MINUTE) * MINUTE;
}
