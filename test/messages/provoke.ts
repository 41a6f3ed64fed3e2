import { isObservable } from "rxjs";
import {
  type Client,
  type ClientOptions,
  createClient,
  type FetchLike,
  VirtualClock,
} from "../../src/index.js";

/** A message that a user can meet. */
export interface Cause {
  /** What the user, or the service, has done. */
  readonly cause: string;
  /** What the message has to show of it; a reason where it shows nothing on purpose. */
  readonly shows: string | { readonly nothing: string };
  /** Does it. What it throws, or rejects or errors with, is the message. */
  readonly provoke: () => unknown;
}

/** A value of a type that the compiler would refuse. */
export const wrong = (value: unknown) => value as never;

export const KEY = "a-key-of-nobody";
export const START = Date.UTC(2024, 0, 5, 12, 0, 10);
export const PAIR = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
export const SERIES = { network: "mainnet", pairAddress: PAIR, timeframe: "1min", currency: "usd" } as const;

export interface Reply {
  readonly status?: number;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  readonly failure?: unknown;
  /** Whether no answer comes. */
  readonly hangs?: boolean;
}

/** What a call gives to a user of a service that answers like that, after ten minutes at most. */
export async function answeredWith(
  reply: Reply | ((url: string, call: number) => Reply),
  use: (client: Client) => unknown,
  options: Partial<ClientOptions> = {},
): Promise<unknown> {
  const clock = new VirtualClock(START);
  let calls = 0;
  const fetch: FetchLike = async (url) => {
    calls += 1;
    const {
      status = 200,
      body = "",
      headers = {},
      failure,
      hangs,
    } = typeof reply === "function" ? reply(url, calls) : reply;
    if (hangs) await new Promise(() => {});
    if (failure !== undefined) throw failure;
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return { status, headers: { get: (name) => headers[name] ?? null }, text: async () => text };
  };
  const client = createClient({
    baseUrl: "https://service.test/v2",
    apiKey: KEY,
    fetch,
    scheduler: clock,
    ...options,
  });
  const outcome = messageOf(() => use(client));
  let isOver = false;
  outcome.finally(() => {
    isOver = true;
  });
  for (let minute = 0; minute < 10 && !isOver; minute += 1) await clock.advanceBy(60_000);
  const error = isOver ? await outcome : undefined;
  throw error;
}

/** The error that something throws, rejects or errors with; `undefined` if there is none. */
export async function messageOf(provoke: () => unknown): Promise<Error | undefined> {
  try {
    const made = await provoke();
    if (!isObservable(made)) return undefined;
    return await new Promise((resolve) => {
      made.subscribe({ error: (error) => resolve(error as Error), complete: () => resolve(undefined) });
    });
  } catch (error) {
    return error as Error;
  }
}

/** A candle as a user has it, and as the service writes it. */
export const candleAt = (timestamp: number) => ({
  timestamp,
  open: 1,
  high: 2,
  low: 1,
  close: 2,
  volume: 3,
  swaps: 4,
});
export const rowAt = (timestamp: number) => ({
  ...candleAt(timestamp),
  timestamp: new Date(timestamp).toISOString(),
});
export const pageOf = (rows: readonly unknown[], more: object = {}) => ({
  cursor: null,
  page: 1,
  tokenAddress: null,
  ...SERIES,
  result: rows,
  ...more,
});
