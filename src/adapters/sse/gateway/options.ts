import type { HistoryQuery } from "../../../candles/history.js";
import type { WatchOptions } from "../../../candles/options.js";
import { checkNumber, checkSeries, LONGEST_DELAY, show } from "../../../contract/input.js";
import type { Series } from "../../../contract/model.js";
import { checkNames, namesOf } from "../../../contract/names.js";
import { InvalidInputError } from "../../../errors.js";
import type { SniperWatch } from "../../../snipers/watch.js";
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
   * The series that the gateway serves, with the snipers of their pairs, and the status; or a rule that is called for every
   * valid request. If the rule throws, rejects, or takes more than 10 s, the request is refused.
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
   * allowed.
   */
  minEvery?: number;
  /** How many requests a minute all of `/history` may send to the service, 1 to 100,000; default 60. */
  historyRequests?: number;
  /** Other sites whose pages may read from the gateway: origins such as `"https://chart.example"`, or a rule; default none. */
  origins?: Iterable<string> | ((origin: string) => boolean);
  /** The path of the gateway, such as `"/api"`; default: any path, because only its last part counts. */
  basePath?: string;
  /** Time between two heartbeats of every stream, in ms, 100 to 600,000; default 15,000. */
  heartbeat?: number;
}

/** The same, checked and complete. */
export interface CheckedGateway
  extends Required<Omit<GatewayOptions, "allow" | "origins" | "basePath" | "minEvery">> {
  readonly allow: (request: Request, wanted: Wanted) => boolean | Promise<boolean>;
  readonly origins: OriginRule;
  readonly basePath: string | undefined;
  readonly minEvery: number | undefined;
}

const NAMES = namesOf<GatewayOptions>({
  allow: true,
  maxViewers: true,
  maxChannels: true,
  linger: true,
  maxCandles: true,
  minEvery: true,
  historyRequests: true,
  origins: true,
  basePath: true,
  heartbeat: true,
});

/** Throws an `InvalidInputError`. */
export function checkGateway(options: GatewayOptions): CheckedGateway {
  checkNames(options, NAMES);
  const { maxViewers = 1_000, maxChannels = 100, linger = 30_000, maxCandles = 5_000 } = options;
  const { minEvery, historyRequests = 60, heartbeat = 15_000 } = options;
  const whole = (name: string, value: number, max: number) =>
    checkNumber(name, value, { min: 1, max, integer: true });
  return {
    allow: checkAllow(options.allow),
    maxViewers: whole("maxViewers", maxViewers, 1_000_000),
    maxChannels: whole("maxChannels", maxChannels, 100_000),
    linger: checkNumber("linger", linger, { min: 0, max: LONGEST_DELAY, unit: "ms" }),
    maxCandles: whole("maxCandles", maxCandles, 50_000),
    minEvery:
      minEvery === undefined ? undefined : checkNumber("minEvery", minEvery, { min: 250, unit: "ms" }),
    historyRequests: whole("historyRequests", historyRequests, 100_000),
    origins: checkOrigins(options.origins),
    basePath: checkBasePath(options.basePath),
    heartbeat: checkNumber("heartbeat", heartbeat, { min: 100, max: 600_000, unit: "ms" }),
  };
}

function checkAllow(allow: GatewayOptions["allow"]): CheckedGateway["allow"] {
  if (typeof allow === "function") return allow;
  if (typeof allow !== "object" || allow === null || !(Symbol.iterator in allow)) {
    throw new InvalidInputError(
      "allow",
      "a list of series, or a function",
      `is of type ${allow === null ? "null" : typeof allow}`,
    );
  }
  const series = Array.from(allow, (one) => checkSeries(one));
  const keys = new Set(series.map(seriesKeyOf));
  const pairs = new Set(series.filter(({ network }) => network === "mainnet").map((one) => one.pairAddress));
  return (_request, wanted) => {
    if (wanted.type === "status") return true;
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
