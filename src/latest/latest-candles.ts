import type { CandleEvent } from "../candles/event.js";
import type { CandleState } from "../candles/live/poll-candles.js";
import { longerCandles } from "../candles/longer-candle.js";
import { DEFAULT_SETTLE, type Making, mostIn } from "../candles/making.js";
import { checkWatch, pollPrefixOf, type WatchOptions } from "../candles/options.js";
import { EARLIEST } from "../candles/read/beginning.js";
import { openStored } from "../candles/read/past.js";
import { settledUntil } from "../candles/rules.js";
import { type Client, type ClientCore, coreOf, serviceNow } from "../client/core.js";
import { checkNumber } from "../contract/input.js";
import type { Candle, Series, WeekStart } from "../contract/model.js";
import { checkNames, namesOf, SERIES_NAMES } from "../contract/names.js";
import { runningStates } from "../poll/shared-poll.js";
import { clientSource, type PairSource } from "../source.js";
import type { Intervals } from "../timeframe.js";
import type { Answer } from "./answers.js";
import { sinceAsked, untilLive } from "./from-source.js";
import { askNewest } from "./newest.js";
import { checkAsked, checkLatestOptions, type LatestOptions } from "./options.js";

/** How many candles to ask for. */
export interface LatestCandlesQuery {
  /** The number of candles, the running one included: a whole number from 1 to 1,000. */
  count: number;
  /** Where `1w` begins; default `"monday"`. */
  weekStart?: WeekStart;
}

/** The newest candles of a series at an instant; frozen. */
export interface LatestCandles {
  /** The candles, ascending; fewer than asked for only where the series has no more. */
  readonly candles: readonly Candle[];
  /** How many of them, the oldest first, have closed; the rest may still change. */
  readonly closed: number;
  /** When this was true by the service's clock, ms since the epoch. */
  readonly observedAt: number;
  /** How long ago that was when the call was answered, in ms; at least 0. */
  readonly age: number;
}

type CandlesAnswer = Answer & Omit<LatestCandles, "age">;

const QUERY_NAMES = [
  ...SERIES_NAMES,
  ...namesOf<LatestCandlesQuery>({ count: true, weekStart: true }),
] as const;
/** No page holds more. */
const MOST_CANDLES = 1_000;

/**
 * The newest candles of a series, the running one included: for a route, a command or a job, where nothing runs between two
 * questions. A bot and a chart want `watchCandles`.
 *
 * It gives what is known where that is no older than `maxAge`: an answer that was kept, or the candles of a stream that
 * runs on this client, together with those of its store, if they reach back far enough. Else it asks: one request, or a
 * few where they fill more than a page, or the service does not tell of the newest candles first, shows nothing at all,
 * or its clock is not known yet. Who asks the same meanwhile shares that. A failure is told for a second to whoever
 * asks the same. At most 1,000 answers are kept a client. A candle counts as closed a second after its end. One answer
 * is believed as it is: a stream asks twice before it takes a candle for gone.
 *
 * Of a gateway it takes the state of its stream. `age` counts from the question there, and `observedAt` may be that of
 * the last change.
 *
 * Rejects with an `InvalidInputError` before any request, with another `PairstreamError` when the client's `retry` is exhausted, also
 * for a row that breaks the contract, and with the signal's reason when the signal aborts.
 *
 * ```ts
 * import { createClient, latestCandles } from "pairstream";
 *
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * const series = { network: "mainnet", pairAddress, timeframe: "5min", currency: "usd" } as const;
 * const { candles, closed, age } = await latestCandles(client, { ...series, count: 100 }, { maxAge: 15_000 });
 * console.log(candles.at(-1)?.close, `${closed} of ${candles.length} have closed`, `${age} ms ago`);
 * ```
 */
export async function latestCandles(
  source: Client | PairSource,
  query: Series & LatestCandlesQuery,
  options: LatestOptions = {},
): Promise<LatestCandles> {
  const { client, source: other, scheduler, answers } = checkAsked(source, "candles");
  const wanted = checkQuery(query);
  const { maxAge, signal } = checkLatestOptions(options);
  signal?.throwIfAborted();
  const core = client && coreOf(client);
  const fresh = maxAge > 0 ? (answers.get(wanted.key, maxAge) as CandlesAnswer | undefined) : undefined;
  const running =
    fresh === undefined && maxAge > 0 && core !== undefined && (await runningAnswer(core, wanted, maxAge));
  const { age, ...answer } =
    fresh ||
    running ||
    ((await answers.ask(wanted.key, signal, async (abort): Promise<CandlesAnswer> => {
      const asked = core && (await newestAnswer(core, wanted, abort));
      if (asked !== undefined) return asked;
      // A poll of its own: one that runs may be older than it should be.
      const own = client && { source: clientSource(client), revisionWindow: 0 };
      return streamedAnswer({ ...(own ?? { source: other! }), wanted, age: sinceAsked(scheduler) }, abort);
    })) as CandlesAnswer);
  return Object.freeze({ ...answer, age: Math.max(0, age()) });
}

/** What is asked for, checked. */
interface Wanted extends Making {
  readonly count: number;
  /** Questions with the same key have the same answer. */
  readonly key: string;
}

function checkQuery(query: Series & LatestCandlesQuery): Wanted {
  checkNames(query, QUERY_NAMES);
  const { count: asked, ...options } = query;
  const { series, weekStart, rules, served } = checkWatch(options);
  const count = checkNumber("count", asked, { min: 1, max: MOST_CANDLES, integer: true });
  const key = `${pollPrefixOf(series)}${weekStart} ${count}`;
  return { series, weekStart, rules, served, count, key };
}

/** The age of what was true at an instant of the service's clock. */
export function sinceObserved(core: ClientCore, observedAt: number, epoch: number): () => number {
  return () => (core.serviceClock().epoch === epoch ? Math.max(0, serviceNow(core) - observedAt) : Infinity);
}

/** What one request brings, or a few where it takes more than a page; `undefined` where the service does not tell it so. */
async function newestAnswer(
  core: ClientCore,
  { rules, served, count }: Wanted,
  signal: AbortSignal,
): Promise<CandlesAnswer | undefined> {
  const { series, rules: parts } = served;
  // Of longer candles one more is begun, as the oldest may not be whole.
  const most = parts.frames === undefined ? count : count * mostIn(parts.frames, parts.intervals) + 1;
  const newest = await askNewest(core, series, parts.intervals, most, { priority: "refresh", signal });
  if (newest === undefined) return undefined;
  const { observedAt, epoch } = newest;
  const candles = Object.freeze(shownOf(parts.frames, newest.candles, most).slice(-count));
  const end = settledUntil({ ...rules, settle: DEFAULT_SETTLE }, observedAt);
  const closed = candles.filter(({ timestamp }) => timestamp < end).length;
  return { candles, closed, observedAt, age: sinceObserved(core, observedAt, epoch) };
}

/** The candles that are shown of so many at most: longer ones as a whole. */
function shownOf(frames: Intervals | undefined, found: readonly Candle[], most: number): readonly Candle[] {
  if (frames === undefined) return found;
  const longer = longerCandles(frames, found);
  return found.length < most ? longer : longer.slice(1);
}

/** What a poll that runs knows, with what is stored before that; `undefined` where it is too old, or too little. */
async function runningAnswer(
  core: ClientCore,
  wanted: Wanted,
  maxAge: number,
): Promise<CandlesAnswer | undefined> {
  const { series, rules, served, count } = wanted;
  const books = runningStates<CandleState>(core, pollPrefixOf(series)).flatMap(({ state, isLate }) => {
    const { book, endsEarly } = state!;
    // A poll of weeks that begin on another day has other candles.
    const isOther = rules.intervals.start(book.finalUntil) !== book.finalUntil;
    return isLate || endsEarly || isOther || book.epoch === undefined ? [] : [book];
  });
  const book = books.reduce<CandleState["book"] | undefined>(
    (newest, one) => (newest !== undefined && newest.observedAt >= one.observedAt ? newest : one),
    undefined,
  );
  if (book === undefined) return undefined;
  const { entries, finalUntil, observedAt } = book;
  const age = sinceObserved(core, observedAt, book.epoch!);
  if (age() > maxAge) return undefined;
  const missing = count - entries.length;
  // A store has what longer candles are made of.
  if (missing > 0 && series !== served.series) return undefined;
  const before = missing > 0 ? await storedBefore(core, wanted, finalUntil, missing) : [];
  if (before === undefined) return undefined;
  const shown = entries.slice(-count);
  const open = shown.findIndex(({ status }) => status === "open");
  const candles = Object.freeze([...before, ...shown.map(({ candle }) => candle)]);
  return { candles, closed: open < 0 ? candles.length : before.length + open, observedAt, age };
}

/** The last `count` candles before `end` in the client's store; `undefined` where it does not reach back so far. */
async function storedBefore(
  core: ClientCore,
  making: Making,
  end: number,
  count: number,
): Promise<readonly Candle[] | undefined> {
  const stored = openStored(core, making);
  try {
    const held = await stored?.read({ from: EARLIEST, to: end, last: count });
    const span = held?.covered.at(-1);
    if (span?.to !== end) return undefined;
    const candles = held!.candles.filter(({ timestamp }) => timestamp >= span.from);
    return candles.length < count ? undefined : candles;
  } finally {
    stored?.close();
  }
}

interface Streamed {
  readonly source: PairSource;
  readonly wanted: Wanted;
  readonly age: () => number;
  readonly revisionWindow?: number;
}

/** What a stream has shown once it is live. */
async function streamedAnswer(
  { source, wanted, age, ...options }: Streamed,
  signal: AbortSignal,
): Promise<CandlesAnswer> {
  const { series, weekStart, count } = wanted;
  const weeks = series.timeframe.endsWith("w") ? { weekStart } : {};
  const watch: Series & WatchOptions = { ...series, ...weeks, ...options, since: { candles: count } };
  const known = new Map<number, CandleEvent>();
  let observedAt = 0;
  const take = (event: CandleEvent) => {
    observedAt = Math.max(observedAt, event.observedAt);
    if (event.type === "removed") known.delete(event.candle.timestamp);
    else known.set(event.candle.timestamp, event);
  };
  const streamed = {
    events: source.candles(watch),
    status: source.status(watch),
    take,
    isEnough: () => true,
  };
  const { coveredUntil = 0 } = await untilLive(streamed, signal);
  const events = [...known.values()].sort((a, b) => a.candle.timestamp - b.candle.timestamp).slice(-count);
  const open = events.findIndex(({ status }) => status === "open");
  return {
    candles: Object.freeze(events.map(({ candle }) => candle)),
    closed: open < 0 ? events.length : open,
    observedAt: Math.max(observedAt, coveredUntil),
    age,
  };
}
