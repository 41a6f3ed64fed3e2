import type { ClientActivity } from "../../src/client/activity.js";
import { createClient } from "../../src/client/client.js";
import type { Client } from "../../src/client/core.js";
import type { ClientOptions } from "../../src/client/options.js";
import type { FetchLike } from "../../src/client/send/transport.js";
import { VirtualClock } from "../../src/replay/virtual-clock.js";

/** A request as a fake service saw it. */
export interface Call {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly redirect: string | undefined;
  readonly signal: AbortSignal;
  readonly at: number;
}

/** What a fake service does with a request; `after` and `bodyAfter` in ms, `Infinity`: never. */
export interface Reply {
  status?: number;
  body?: string;
  headers?: Record<string, string>;
  after?: number;
  bodyAfter?: number;
  /** Rejects with this instead of an answer. */
  failure?: unknown;
  /** Goes on when the signal aborts, as some fetches do. */
  isDeaf?: boolean;
}

/** A fetch in virtual time, and the calls that it got. */
function fakeFetch(clock: VirtualClock, reply: (call: Call, index: number) => Reply) {
  const calls: Call[] = [];
  const fetch: FetchLike = async (url, init) => {
    const signal = init?.signal ?? new AbortController().signal;
    const call = { url, headers: init?.headers ?? {}, redirect: init?.redirect, signal, at: clock.now() };
    calls.push(call);
    const {
      status = 200,
      body = PAGE,
      headers = {},
      after = 0,
      bodyAfter = 0,
      ...rest
    } = reply(call, calls.length - 1);
    await pass(clock, after, rest.isDeaf ? undefined : signal);
    if ("failure" in rest) throw rest.failure;
    return {
      status,
      headers: new Headers(headers),
      text: async () => {
        await pass(clock, bodyAfter, rest.isDeaf ? undefined : signal);
        return body;
      },
    };
  };
  return { fetch, calls };
}

/** A client on a virtual clock, in front of a fake service, and all that it reports. */
export function fakeClient(
  reply: (call: Call, index: number) => Reply = () => ({}),
  options: Partial<ClientOptions> = {},
) {
  const clock = new VirtualClock(START);
  const { fetch, calls } = fakeFetch(clock, reply);
  const warnings: string[] = [];
  const client: Client = createClient({
    baseUrl: "https://service.test",
    apiKey: "the-secret-key",
    fetch,
    scheduler: clock,
    warn: (message) => warnings.push(message),
    ...options,
  });
  const activity: ClientActivity[] = [];
  client.activity.subscribe((entry) => activity.push(entry));
  return { clock, fetch, calls, client, activity, warnings };
}

/** Lets virtual time pass until a promise has settled; fails if no timer is left that could settle it. */
export async function settled<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  let isSettled = false;
  const done = () => {
    isSettled = true;
  };
  promise.then(done, done);
  await clock.advanceBy(0);
  for (let step = 0; !isSettled; step += 1) {
    if (step > 100_000 || clock.pending === 0) throw new Error("nothing is left that could settle it");
    await clock.advanceBy(50);
  }
  return promise;
}

/** What a promise rejects with. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error("it did not fail");
}

function pass(clock: VirtualClock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = ms > 0 && ms < Number.POSITIVE_INFINITY ? clock.schedule(() => resolve(), ms) : undefined;
    if (ms <= 0) resolve();
    signal?.addEventListener("abort", () => {
      timer?.unsubscribe();
      // As node-fetch has it: the reason is lost.
      reject(Object.assign(new Error("The user aborted a request."), { name: "AbortError" }));
    });
  });
}

export const START = Date.UTC(2024, 0, 1, 12);
export const PAIR = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
export const QUERY = {
  network: "mainnet",
  pairAddress: PAIR,
  timeframe: "1min",
  currency: "usd",
  fromDate: START - 600_000,
  toDate: START,
} as const;

/** A row of a page as the service writes it. */
export function row(timestamp: number, fields: Record<string, unknown> = {}) {
  const iso = new Date(timestamp).toISOString();
  return { timestamp: iso, open: 1, high: 2, low: 0.5, close: 1.5, volume: 10, swaps: 3, ...fields };
}

/** The body of a page as the service writes it. */
export function pageBody(rows: unknown[], fields: Record<string, unknown> = {}): string {
  const head = {
    cursor: null,
    page: 1,
    pairAddress: PAIR,
    tokenAddress: null,
    timeframe: "1min",
    currency: "usd",
  };
  return JSON.stringify({ ...head, ...fields, result: rows });
}

export const PAGE = pageBody([row(START - 60_000)]);
export const REPORT = JSON.stringify({
  blockNumber: 7,
  blockTimestamp: "2024-01-01T00:00:00.000Z",
  transactionHash: "h",
  result: [{ walletAddress: "w" }],
});
