// Reads one body of the bench `hostile`, in a process of its own: through a client, or with nothing but `JSON.parse`.
import { monitorEventLoopDelay } from "node:perf_hooks";
import crossFetch from "cross-fetch";
import { createClient } from "pairstream";
import { givenOptions, tell } from "../scale/processes.js";
import { type Body, QUERY } from "./bodies.js";

export interface ReaderOptions {
  readonly url: string;
  readonly kind: Body["kind"];
  readonly isBare: boolean;
}

/** What reading it has cost. */
export interface Cost {
  /** The longest time for which the event loop stood still, in ms. */
  readonly stillness: number;
  /** What `JSON.parse` took of it, in ms; only where the reader is bare. */
  readonly parsing: number;
  /** Bytes of memory beyond those before, at their peak. */
  readonly memory: number;
  /** The message of the error that came out; empty where there was none. */
  readonly refusal: string;
}

/** Longer than any body takes. */
const PATIENCE = 120_000;

const { url, kind, isBare } = givenOptions<ReaderOptions>();
const client = createClient({ baseUrl: url, apiKey: "the-key", retry: false, timeout: PATIENCE });

async function viaClient(): Promise<void> {
  if (kind === "ohlcv") await client.ohlcvPage(QUERY);
  else await client.sniperReport({ pairAddress: QUERY.pairAddress });
}

let parsing = 0;
async function bare(): Promise<void> {
  const text = await (await crossFetch(url)).text();
  const begin = performance.now();
  try {
    JSON.parse(text);
  } finally {
    parsing = performance.now() - begin;
  }
}

globalThis.gc?.();
const before = process.memoryUsage.rss();
const delays = monitorEventLoopDelay({ resolution: 1 });
delays.enable();
const refusal = await (isBare ? bare() : viaClient()).then(
  () => "",
  (error: Error) => error.message,
);
// The delay is known once the timer has had its turn.
await new Promise((resolve) => setTimeout(resolve, 50));
delays.disable();
const memory = Math.max(0, process.resourceUsage().maxRSS * 1_024 - before);
tell({ stillness: delays.max / 1e6, parsing, memory, refusal } satisfies Cost);
