import { checkHistory } from "../../../candles/history.js";
import { checkWatch, WATCH_NAMES, type WatchOptions } from "../../../candles/options.js";
import { show } from "../../../contract/input.js";
import { type Series, TIMEFRAMES } from "../../../contract/model.js";
import { checkNames, SERIES_NAMES, SNIPER_NAMES } from "../../../contract/names.js";
import { InvalidInputError } from "../../../errors.js";
import { checkSniperWatch, type SniperWatch } from "../../../snipers/watch.js";
import { servedTimeframe } from "../../../timeframe.js";
import { intervalsBack } from "../reach.js";
import { Refusal } from "./answers.js";
import type { CheckedGateway, Wanted } from "./options.js";

/** The longest address of a request, and the longest value in it, in characters. */
const LONGEST_URL = 2_000;
const LONGEST_VALUE = 200;

const PATHS = ["candles", "history", "snipers", "status"] as const;
type Path = (typeof PATHS)[number];

/** What may be asked of each path. */
const NAMES: Readonly<Record<Path, readonly string[]>> = {
  candles: [...SERIES_NAMES, ...WATCH_NAMES, "since.candles"],
  history: [...SERIES_NAMES, "from", "to", "count", "weekStart"],
  snipers: [...SNIPER_NAMES, "every", "whenMissing"],
  status: [],
};
const NUMBERS = ["since.candles", "every", "settle", "revisionWindow", "count", "blocksAfterCreation"];
const INSTANTS = ["since", "from", "to"];
const STANDARD_EVERY = 60_000;
const SLOWEST_EVERY = 86_400_000;

/** Throws a `Refusal` for a longer address, which nothing else looks at. */
export function checkLength(url: string): void {
  if (url.length <= LONGEST_URL) return;
  throw new Refusal(400, "The address is too long", `at most ${LONGEST_URL} characters`);
}

/** Which of the paths an address names. Throws a `Refusal` for any other. */
export function pathOf({ pathname }: URL, basePath: string | undefined): Path {
  const at = basePath === undefined ? pathname.lastIndexOf("/") : basePath.length;
  const isBelow = basePath === undefined || pathname.startsWith(`${basePath}/`);
  const path = PATHS.find((one) => isBelow && pathname.slice(at + 1) === one);
  if (path !== undefined) return path;
  throw new Refusal(404, "There is nothing at this address", PATHS.map((one) => `/${one}`).join(", "));
}

/**
 * What a request asks for. `now`: the service's. `start`: where the viewer's candles began, if it comes back. Throws an
 * `InvalidInputError` that says what is allowed.
 */
export function readWanted(
  path: Path,
  query: URLSearchParams,
  limits: WantedLimits,
  now: number,
  start?: number,
): Wanted {
  const values = valuesOf(query);
  checkNames(values, NAMES[path]);
  switch (path) {
    case "candles": {
      const { "since.candles": candles, ...rest } = values;
      if (candles !== undefined && rest.since !== undefined) {
        const problem = "is given together with since.candles";
        throw new InvalidInputError("since", "either since or since.candles", problem);
      }
      const options = (candles === undefined ? rest : { ...rest, since: { candles } }) as unknown;
      return { type: "candles", options: boundedWatch(options as Series & WatchOptions, limits, now, start) };
    }
    case "snipers": {
      return { type: "snipers", options: boundedSnipers(values as unknown as SniperWatch, limits) };
    }
    case "history": {
      const options = values as unknown as Extract<Wanted, { type: "history" }>["options"];
      const { series, range, count, rules } = checkHistory(options, now);
      checkIsServed(series);
      const hasStart = Number.isFinite(range.from);
      if (!hasStart && options.count === undefined)
        return { type: "history", options: { ...options, count: Math.min(count, limits.maxCandles) } };
      const length = hasStart
        ? rules.intervals.count(range.from, Math.max(range.from, Math.min(range.to, now)))
        : 0;
      checkCandles(hasStart ? "from" : "count", hasStart ? length : count, limits);
      return { type: "history", options };
    }
    default:
      return { type: "status" };
  }
}

type WantedLimits = Pick<CheckedGateway, "maxCandles" | "minEvery" | "fixed">;

/*
 * Viewers choose what they see. What else the key of a poll holds the gateway has chosen, and of paces it has few: a series
 * costs about the same, whatever its viewers ask for.
 */

function boundedWatch(
  { settle, revisionWindow, ...asked }: Series & WatchOptions,
  limits: WantedLimits,
  now: number,
  start: number | undefined,
): Series & WatchOptions {
  const own = { ...asked, ...limits.fixed.candles };
  const watch = checkWatch(own);
  checkIsServed(watch.series);
  const { rules } = watch;
  const { intervals } = rules;
  checkFixed("settle", settle, rules.settle);
  checkFixed("revisionWindow", revisionWindow, rules.revisionWindow);
  if (!start) checkCandles("since", intervalsBack(watch.since, now, rules), limits);
  // One who comes back goes on where it was, as far as a history may reach: it may have been here for long.
  const earliest = intervals.shift(intervals.start(now), 1 - limits.maxCandles);
  const options = start ? { ...own, since: Math.max(intervals.start(start), earliest) } : own;
  if (options.every === undefined || options.every === "close") return options;
  const every = paceOf(options.every, Math.min(intervals.shortest, STANDARD_EVERY), limits);
  return watch.every === "close" ? options : { ...options, every };
}

/** One channel is enough for all that is made of a series: whoever watches that makes it. */
function checkIsServed({ timeframe }: Series): void {
  const served = servedTimeframe(timeframe);
  if (timeframe === served) return;
  const problem = `is "${timeframe}", which gatewaySource makes of ${served}`;
  throw new InvalidInputError("timeframe", TIMEFRAMES.join(", "), problem);
}

function boundedSnipers({ blocksAfterCreation, ...asked }: SniperWatch, limits: WantedLimits): SniperWatch {
  const options = { ...asked, ...limits.fixed.snipers };
  const { query, every } = checkSniperWatch(options);
  checkFixed("blocksAfterCreation", blocksAfterCreation, query.blocksAfterCreation);
  if (options.every === undefined) return options;
  return { ...options, every: paceOf(every, STANDARD_EVERY, limits) };
}

function checkFixed(parameter: string, asked: unknown, own: number | undefined): void {
  if (asked === undefined || asked === own) return;
  const allowed = own === undefined ? "left out at this gateway" : `${own} at this gateway, or left out`;
  throw new InvalidInputError(parameter, allowed, `is ${show(asked)}`);
}

function checkCandles(parameter: string, length: number, { maxCandles }: WantedLimits): void {
  if (length <= maxCandles) return;
  const most = maxCandles.toLocaleString("en");
  const problem = `asks for ${length.toLocaleString("en")} intervals at once`;
  throw new InvalidInputError(parameter, `at most ${most} intervals`, problem);
}

/**
 * The slowest pace of the gateway that is no slower than `every`, in ms: the fastest, the standard one, and what comes by
 * doubling them. Throws an `InvalidInputError` for a faster one.
 */
function paceOf(every: number, standard: number, { minEvery = standard }: WantedLimits): number {
  const least = Math.min(standard, minEvery);
  if (every < least) {
    const allowed = `a number of ms of at least ${least} at this gateway`;
    throw new InvalidInputError("every", allowed, `is ${every}`);
  }
  const first = every < standard ? least : standard;
  return first * 2 ** Math.floor(Math.log2(Math.min(every, SLOWEST_EVERY) / first));
}

/** The values of a query, each name once, as the checks of options take them; what they would refuse is left as it is. */
function valuesOf(query: URLSearchParams): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  const allowed = `each name once, and values of at most ${LONGEST_VALUE} characters`;
  const refused = (problem: string) => new InvalidInputError("query", allowed, problem);
  for (const [name, text] of query) {
    if (Object.hasOwn(values, name)) throw refused("has a name twice");
    if (text.length > LONGEST_VALUE) throw refused("has a value that is too long");
    // Not by assignment: a name may be `__proto__`.
    Object.defineProperty(values, name, { value: parsed(name, text), enumerable: true });
  }
  return values;
}

function parsed(name: string, text: string): unknown {
  if (NUMBERS.includes(name)) return /^\d{1,15}(\.\d{1,9})?$/.test(text) ? Number(text) : text;
  if (INSTANTS.includes(name)) return /^\d{1,15}$/.test(text) ? Number(text) : text;
  if (name === "fillGaps" && (text === "true" || text === "false")) return text === "true";
  return text;
}

/** The same for all requests that one channel can serve. */
export function channelKeyOf(wanted: Extract<Wanted, { type: "candles" | "snipers" }>): string {
  if (wanted.type === "snipers") {
    const { pollKey, whenMissing } = checkSniperWatch(wanted.options);
    return JSON.stringify([pollKey, whenMissing]);
  }
  const { pollKey, fillGaps, weekStart, whenMissing } = checkWatch(wanted.options);
  return JSON.stringify([pollKey, fillGaps, weekStart, whenMissing]);
}
