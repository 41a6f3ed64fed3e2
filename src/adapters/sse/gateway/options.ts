import type { SchedulerLike } from "rxjs";
import type { HistoryQuery } from "../../../candles/history.js";
import { checkWatch, type WatchOptions } from "../../../candles/options.js";
import { checkNumber, checkSeries, LONGEST_DELAY, show } from "../../../contract/input.js";
import type { Series } from "../../../contract/model.js";
import { checkNames, checkScheduler, namesOf } from "../../../contract/names.js";
import { InvalidInputError } from "../../../errors.js";
import { checkSniperWatch, type SniperWatch } from "../../../snipers/watch.js";
import { servedTimeframe } from "../../../timeframe.js";
import { seriesKeyOf } from "../wire.js";
import { checkOrigins, type OriginRule } from "./origins.js";

/** What a request to a gateway wants, checked. The `options` are those of the same method of `PairSource`. */
export type Wanted =
  | {
      readonly type: "candles";
      /** The options of `watchCandles`. */
      readonly options: Series & WatchOptions;
    }
  | {
      readonly type: "snipers";
      /** The options of `watchSnipers`. */
      readonly options: SniperWatch;
    }
  | {
      readonly type: "history";
      /** Which closed candles to read. */
      readonly options: Series & HistoryQuery;
    }
  | {
      /** The kind of answer: the state of the gateway. */
      readonly type: "status";
    };

/** What a gateway serves, to whom, and its limits. */
export interface GatewayOptions {
  /**
   * The series that the gateway serves, with the snipers of their pairs and with all timeframes that are made of them;
   * or a rule that is called for every valid request. If the rule throws, rejects, or takes more than 10 s, the request
   * is refused. `/status`, which lists what all viewers watch, is for those whom a rule lets in: with a list it is for
   * nobody.
   */
  allow: Iterable<Series> | ((request: Request, wanted: Wanted) => boolean | Promise<boolean>);
  /** How many requests may be open at once, 1 to 1,000,000; default 1,000. Further requests get 503. */
  maxViewers?: number;
  /** How many channels may be open at once, 1 to 100,000; default 100. Each series or pair with other options is a channel. */
  maxChannels?: number;
  /** How long a channel stays open after its last viewer, in ms, for pages that are reloaded; 0 to 2^31 − 1, default 30,000. */
  linger?: number;
  /** The most candles of one history, by `/history` or by `since`; 1 to 50,000, default 5,000. */
  maxCandles?: number;
  /**
   * The shortest `every` that is allowed, in ms, at least 250; default: the default `every` of the stream, which is always
   * allowed. A longer one is served by a poll of 1, 2, 4, … times these, so that a series has few polls.
   */
  minEvery?: number;
  /**
   * The `settle` of all candles, in ms, as in `WatchOptions`; default 1,000. A viewer may not choose another one: it would
   * need a poll of its own.
   */
  settle?: number;
  /** How many intervals are read again for all candles, as in `WatchOptions` and in the same way; default 2. */
  revisionWindow?: number;
  /** How many blocks of all snipers are asked for, as in `SniperWatch` and in the same way; default: the service decides. */
  blocksAfterCreation?: number;
  /** How many requests a minute all of `/history` may send to the service, 1 to 100,000; default 60. */
  historyRequests?: number;
  /** Other sites whose pages may read from the gateway: origins such as `"https://chart.example"`, or a rule; default none. */
  origins?: Iterable<string> | ((origin: string) => boolean);
  /** The path of the gateway, such as `"/api"`; default: any path, because only its last part counts. */
  basePath?: string;
  /** Where the time of a gateway before another source comes from; default: the system's. One before a client has the client's. */
  scheduler?: SchedulerLike;
  /** Time between two heartbeats of every stream, in ms, 100 to 600,000; default 15,000. */
  heartbeat?: number;
}

/** The same, checked and complete. */
export interface CheckedGateway
  extends Required<
    Omit<GatewayOptions, "allow" | "origins" | "basePath" | "minEvery" | "scheduler" | keyof FixedOptions>
  > {
  readonly allow: (request: Request, wanted: Wanted) => boolean | Promise<boolean>;
  readonly origins: OriginRule;
  readonly basePath: string | undefined;
  readonly minEvery: number | undefined;
  readonly scheduler: SchedulerLike | undefined;
  readonly fixed: Fixed;
}

type FixedOptions = Pick<GatewayOptions, "settle" | "revisionWindow" | "blocksAfterCreation">;

/**
 * What the gateway has chosen for all its viewers; what its owner has not named is absent. Each value is a poll of its own,
 * so whoever could choose could open hundreds of one series.
 */
export interface Fixed {
  readonly candles: Pick<WatchOptions, "settle" | "revisionWindow">;
  readonly snipers: Pick<SniperWatch, "blocksAfterCreation">;
}

const NAMES = namesOf<GatewayOptions>({
  allow: true,
  maxViewers: true,
  maxChannels: true,
  linger: true,
  maxCandles: true,
  minEvery: true,
  settle: true,
  revisionWindow: true,
  blocksAfterCreation: true,
  historyRequests: true,
  origins: true,
  basePath: true,
  scheduler: true,
  heartbeat: true,
});

/** Throws an `InvalidInputError`. */
export function checkGateway(options: GatewayOptions): CheckedGateway {
  checkNames(options, NAMES);
  const { maxViewers = 1_000, maxChannels = 100, linger = 30_000, maxCandles = 5_000 } = options;
  const { minEvery, historyRequests = 60, heartbeat = 15_000, scheduler } = options;
  checkScheduler(scheduler);
  const fixed = fixedOf(options);
  const whole = (name: string, value: number, max: number) =>
    checkNumber(name, value, { min: 1, max, integer: true });
  return {
    allow: checkAllow(options.allow, fixed),
    fixed,
    maxViewers: whole("maxViewers", maxViewers, 1_000_000),
    maxChannels: whole("maxChannels", maxChannels, 100_000),
    linger: checkNumber("linger", linger, { min: 0, max: LONGEST_DELAY, unit: "ms" }),
    maxCandles: whole("maxCandles", maxCandles, 50_000),
    minEvery:
      minEvery === undefined ? undefined : checkNumber("minEvery", minEvery, { min: 250, unit: "ms" }),
    scheduler,
    historyRequests: whole("historyRequests", historyRequests, 100_000),
    origins: checkOrigins(options.origins),
    basePath: checkBasePath(options.basePath),
    heartbeat: checkNumber("heartbeat", heartbeat, { min: 100, max: 600_000, unit: "ms" }),
  };
}

/** What no series and no pair could be watched with is refused. */
function fixedOf({ settle, revisionWindow, blocksAfterCreation }: FixedOptions): Fixed {
  const candles = {
    ...(settle === undefined ? {} : { settle }),
    ...(revisionWindow === undefined ? {} : { revisionWindow }),
  };
  const snipers = blocksAfterCreation === undefined ? {} : { blocksAfterCreation };
  const pairAddress = "any";
  checkWatch({ network: "mainnet", pairAddress, timeframe: "1M", currency: "usd", ...candles });
  checkSniperWatch({ pairAddress, ...snipers });
  return { candles, snipers };
}

function checkAllow(allow: GatewayOptions["allow"], fixed: Fixed): CheckedGateway["allow"] {
  if (typeof allow === "function") return allow;
  if (typeof allow !== "object" || allow === null || !(Symbol.iterator in allow)) {
    const problem = `is of type ${allow === null ? "null" : typeof allow}`;
    throw new InvalidInputError("allow", "a list of series, or a function", problem);
  }
  const series = Array.from(allow, (one) => checkSeries(one));
  for (const one of series) checkWatch({ ...one, ...fixed.candles });
  // Who may have a series may have what is made of it, and the other way about.
  const keys = new Set(
    series.map((one) => seriesKeyOf({ ...one, timeframe: servedTimeframe(one.timeframe) })),
  );
  const pairs = new Set(series.filter(({ network }) => network === "mainnet").map((one) => one.pairAddress));
  return (_request, wanted) => {
    if (wanted.type === "status") return false;
    if (wanted.type === "snipers") return pairs.has(wanted.options.pairAddress);
    return keys.has(seriesKeyOf(wanted.options));
  };
}

function checkBasePath(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  const isPath = typeof path === "string" && /^(\/[\w.~-]+)*\/?$/.test(path);
  if (isPath) return path.replace(/\/$/, "");
  throw new InvalidInputError("basePath", 'a path such as "/api"', `is ${show(path)}`);
}
