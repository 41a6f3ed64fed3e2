import { asyncScheduler, type SchedulerLike } from "rxjs";
import { checkNumber } from "../contract/input.js";
import type { DateLike } from "../contract/model.js";
import { checkNames } from "../contract/names.js";
import type { ServiceQuirks } from "./quirks.js";
import { createPairService, type PairService, readClock } from "./service.js";
import { simulatedMarket } from "./simulated/market.js";
import { unsettled } from "./unsettled.js";

/** The options of a demo. */
export interface DemoOptions {
  /** A whole number. Another seed gives another market. Default 69, whose pairs are busy. */
  seed?: number;
  /** The addresses of its pairs, or how many to invent (1 to 100,000); default 3. */
  pairs?: number | readonly string[];
  /** The creation of all its pairs; default: two hours before the start of the running hour. */
  createdAt?: DateLike;
  /** The service's clock, ms since the epoch; default: that of `scheduler`. */
  clock?: () => number;
  /** Where all time comes from, such as a `VirtualClock`; `clientOptions` carry it to the client. Default: the system's. */
  scheduler?: SchedulerLike;
  /** The probability, 0 to 1, of a fork in each two minutes: swaps are taken back, half of them for good. Default 0. */
  forks?: number;
  /** Unusual behaviour where the contract leaves it open; default: none. */
  quirks?: ServiceQuirks;
}

/** A simulated market, and the options of a client for it. */
export interface DemoService {
  /** The addresses of its pairs, on mainnet. */
  readonly pairs: readonly [string, ...string[]];
  /** The options for `createClient`. To add options: `{ ...clientOptions, timeout: 5_000 }`. */
  readonly clientOptions: {
    /** An address; no request goes there. */
    readonly baseUrl: string;
    /** A key that only this service accepts. */
    readonly apiKey: string;
    /** The `fetch` of the service; no request leaves the process. */
    readonly fetch: PairService["fetch"];
    /** The `scheduler` of the demo; absent if it has none. */
    readonly scheduler?: SchedulerLike;
  };
}

const HOUR = 3_600_000;
/** Of the first hundred and fifty, the one whose first three pairs are busiest in their third and fourth hour. */
const BUSY_SEED = 69;

/**
 * Creates a simulated market and its service in one line, for examples, documents and first steps.
 *
 * The market runs in the present, and is two to three hours old: old enough for a history, and young enough to be busy.
 * Two demos with the same seed agree if they are created in the same hour, and with the same `createdAt` always. Throws
 * an `InvalidInputError` for invalid options.
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
  checkNames(options, ["seed", "pairs", "createdAt", "clock", "scheduler", "forks", "quirks"]);
  const { seed = BUSY_SEED, pairs = 3, scheduler, quirks } = options;
  const { clock = () => (scheduler ?? asyncScheduler).now() } = options;
  const forks = checkNumber("forks", options.forks ?? 0, { min: 0, max: 1 });
  const createdAt = options.createdAt ?? Math.max(0, Math.floor(readClock(clock) / HOUR - 2) * HOUR);
  const market = simulatedMarket({ seed, pairs, createdAt });
  const source = forks === 0 ? market : unsettled(market, { seed, forks, late: 0 });
  const { fetch } = createPairService({ source, clock, ...(quirks && { quirks }) });
  return Object.freeze({
    pairs: market.pairs as DemoService["pairs"],
    clientOptions: Object.freeze({
      baseUrl: "http://localhost",
      apiKey: "demo",
      fetch,
      ...(scheduler && { scheduler }),
    }),
  });
}
