// Watches series over real connections, and tells how late their polls were and what they cost.
import { setTimeout as sleep } from "node:timers/promises";
import { createClient } from "pairstream";
import { SETTLE, watchCrowd } from "./crowd.js";
import { givenOptions, tell } from "./processes.js";

/** In ms. */
const LENGTH = { "1s": 1_000, "10s": 10_000, "30s": 30_000 };

export interface WatcherOptions {
  readonly url: string;
  readonly count: number;
  readonly timeframe: keyof typeof LENGTH;
  /** Ends of intervals that pass before anything counts, and those that count. */
  readonly warmUp: number;
  readonly boundaries: number;
}

/** What happened after the end of one interval; instants in ms after the one at which its polls were due. */
export interface Boundary {
  /** Ascending, as is `closed`. */
  readonly sent: readonly number[];
  /** When each closed candle was with its subscriber. */
  readonly closed: readonly number[];
  /** Of the process, in ms. */
  readonly cpu: number;
  /** How many requests failed. */
  readonly failures: number;
}

export interface Watched {
  readonly boundaries: readonly Boundary[];
  /** Bytes a series, connections included. */
  readonly heap: number;
}

const { url, count, timeframe, warmUp, boundaries } = givenOptions<WatcherOptions>();
const INTERVAL = LENGTH[timeframe];
/** Polls that are sent too early by so much belong to the boundary that follows, in ms. */
const EARLIEST = Math.min(1_000, INTERVAL / 5);

const client = createClient({ baseUrl: url, apiKey: "key", rateLimit: false });
let sent: number[] = [];
let closed: number[] = [];
let failures = 0;
client.activity.subscribe((activity) => {
  if (activity.type === "request") sent.push(Date.now());
  else if (activity.type === "response" && activity.error !== undefined) failures += 1;
});

const without = heapUsed();
watchCrowd(client, { count, timeframe }, ({ status }) => {
  if (status === "closed") closed.push(Date.now());
});
const firstDue = Math.floor(Date.now() / INTERVAL) * INTERVAL + SETTLE;
const found: Boundary[] = [];
for (let due = firstDue; found.length < warmUp + boundaries; due += INTERVAL) found.push(await after(due));
tell({
  boundaries: found.slice(warmUp),
  heap: (heapUsed() - without) / count,
} satisfies Watched);

async function after(due: number): Promise<Boundary> {
  const before = process.cpuUsage();
  await sleep(due + INTERVAL - EARLIEST - Date.now());
  const { user, system } = process.cpuUsage(before);
  const boundary = {
    sent: sent.map((at) => at - due).sort((a, b) => a - b),
    closed: closed.map((at) => at - due).sort((a, b) => a - b),
    cpu: (user + system) / 1_000,
    failures,
  };
  [sent, closed, failures] = [[], [], 0];
  return boundary;
}

function heapUsed(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}
