import { asyncScheduler } from "rxjs";
import type { DateLike } from "../contract/model.js";
import { checkNames } from "../contract/names.js";
import { createPairService, type PairService, readClock } from "./service.js";
import { simulatedMarket } from "./simulated/market.js";

/** What a demo shows; all of it may be left out. */
export interface DemoOptions {
  /** A whole number; another seed is another market. Default 69, whose pairs are busy. */
  seed?: number;
  /** The addresses of its pairs, or how many to make up (1 to 100,000); default 3. */
  pairs?: number | readonly string[];
  /** When all its pairs are created; default: two hours before the running hour began. */
  createdAt?: DateLike;
  /** The service's clock in ms since the epoch, such as that of a `VirtualClock`; default: the system's. */
  clock?: () => number;
}

/** A market to show things with, and the way to it. */
export interface DemoService {
  /** The addresses of its pairs, on mainnet. */
  readonly pairs: readonly [string, ...string[]];
  /** What `createClient` takes to get there. With other options: `{ ...clientOptions, scheduler: clock }`. */
  readonly clientOptions: {
    /** An address that is never called. */
    readonly baseUrl: string;
    /** A key that opens it, and nothing else. */
    readonly apiKey: string;
    /** The service's own; nothing leaves the process. */
    readonly fetch: PairService["fetch"];
  };
}

const HOUR = 3_600_000;
/** Of the first hundred and fifty, the one whose first three pairs are busiest in their third and fourth hour. */
const BUSY_SEED = 69;

/**
 * A market that is made up, and the service that serves it, in one line: for examples, documents and first steps.
 *
 * Its time is the present. Two to three hours lie behind it, so that a history has candles, and the market is young
 * enough to be busy. Two demos of one seed agree where they are made in the same hour; with `createdAt` they always do.
 * Throws an `InvalidInputError` for options that it cannot take.
 *
 * @example
 * ```ts
 * import { createClient, watchCandles } from "pairstream";
 * import { demoService } from "pairstream/service";
 *
 * const demo = demoService();
 * const client = createClient(demo.clientOptions);
 * const [pairAddress] = demo.pairs;
 * watchCandles(client, { network: "mainnet", pairAddress, timeframe: "1s", currency: "usd" }).subscribe(
 *   ({ candle }) => console.log(candle.close),
 * );
 * ```
 */
export function demoService(options: DemoOptions = {}): DemoService {
  checkNames(options, ["seed", "pairs", "createdAt", "clock"]);
  const { seed = BUSY_SEED, pairs = 3, clock = () => asyncScheduler.now() } = options;
  const createdAt = options.createdAt ?? Math.max(0, Math.floor(readClock(clock) / HOUR - 2) * HOUR);
  const source = simulatedMarket({ seed, pairs, createdAt });
  const { fetch } = createPairService({ source, clock });
  return Object.freeze({
    pairs: source.pairs as DemoService["pairs"],
    clientOptions: Object.freeze({ baseUrl: "http://localhost", apiKey: "demo", fetch }),
  });
}
