import { concatMap, defer, finalize, from, type Observable } from "rxjs";
import { type Client, type ClientCore, coreOf, serviceNow } from "../client/core.js";
import { checkFlag, checkRange, checkSeries, checkWeekStart, toInstant } from "../contract/input.js";
import type { Candle, DateLike, Series, WeekStart } from "../contract/model.js";
import { namesOf, SERIES_NAMES } from "../contract/names.js";
import type { Span } from "../spans.js";
import { intervalsOf, startFrom } from "../timeframe.js";
import { type Making, makingOf } from "./making.js";
import type { FinalPart } from "./read/forward.js";
import { FULL_PAGE } from "./read/pages.js";
import { openStored, pastOf, type StoredSeries } from "./read/past.js";
import { windowStart } from "./rules.js";
import { type FillStep, finalStep, GapFiller } from "./view/gap-filler.js";

/** How far an answer may lie behind what seems to be the service's now, in ms, and be one of now. */
const CLOCK_SLACK = 2_000;

/** Which candles to fetch. */
export interface FetchCandlesOptions {
  /** Start of the range, inclusive, on the candles' timestamps. */
  from: DateLike;
  /** End of the range, exclusive; default: the service's now. */
  to?: DateLike;
  /** Whether to add flat candles (volume 0, swaps 0) for intervals without swaps, from the first known candle on; default false. */
  fillGaps?: boolean;
  /** Where `1w` begins; default `"monday"`. */
  weekStart?: WeekStart;
}

const FETCH_NAMES = /* @__PURE__ */ namesOf<FetchCandlesOptions>({
  from: true,
  to: true,
  fillGaps: true,
  weekStart: true,
});

/**
 * The closed candles of `[from, to)`, ascending, each once; then it completes. Memory is bounded for any range.
 *
 * ```marbles
 * requests                 r-------
 * fetchCandles(client, …)  --(pqs|)
 *
 * -: 20 ms           r: a request       p: 12:00 = 5       q: 12:01 = 7       s: 12:03 = 8
 * ```
 *
 * A candle is closed one second after the end of its interval, by the service's clock. Each subscription reads the range
 * again. It errors with a `PairstreamError` when the client's `retry` is exhausted, and with a `ContractError` when three
 * answers, asked for a second apart, are not whole or hold a broken row. Throws an `InvalidInputError` at the call.
 *
 * ```ts
 * import { createClient, fetchCandles } from "pairstream";
 *
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * fetchCandles(client, {
 *   network: "mainnet",
 *   pairAddress: "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d",
 *   timeframe: "1h",
 *   currency: "usd",
 *   from: "2024-01-01",
 *   to: "2024-02-01",
 * }).subscribe((candle) => console.log(new Date(candle.timestamp), candle.close));
 * ```
 */
export function fetchCandles(client: Client, query: Series & FetchCandlesOptions): Observable<Candle> {
  const core = coreOf(client);
  const asked = checkCandleRange(query, FETCH_NAMES, makingOf);
  const { intervals } = asked.rules;
  const isFilled = checkFlag("fillGaps", query.fillGaps);

  return defer(() => {
    const abort = new AbortController();
    const stored = openStored(core, asked);
    const filler = isFilled ? new GapFiller(intervals) : undefined;
    return from(readPast(core, asked, { stored }, abort.signal)).pipe(
      concatMap((part) =>
        filler === undefined ? part.candles : filledCandles(filler, finalStep(intervals, part)),
      ),
      finalize(() => {
        abort.abort();
        stored?.close();
      }),
    );
  });
}

/** The candles of a series in a range, checked. */
export interface CandleRange extends Making {
  /** From the start of an interval to that of another, or without an end. */
  readonly range: Span;
}

/**
 * Checks a range that a user asks for; `names`: of the options that there are besides those of the series; `make`: how its candles
 * are made. `earliest`: where one without `from` begins, if it may have none.
 */
export function checkCandleRange(
  query: Series & Partial<Pick<FetchCandlesOptions, "from" | "to" | "weekStart">>,
  names: readonly string[],
  make: (series: Series, weekStart: WeekStart) => Making,
  earliest?: number,
): CandleRange {
  const series = checkSeries(query, [...SERIES_NAMES, ...names]);
  const weekStart = checkWeekStart(query.weekStart);
  const intervals = intervalsOf(series.timeframe, weekStart);
  const bound = (name: "from" | "to", standard: number | undefined) =>
    query[name] === undefined && standard !== undefined ? standard : toInstant(name, query[name]!);
  const [start, end] = [bound("from", earliest), bound("to", Infinity)];
  checkRange(start, end, { from: "from", to: "to" });
  const startOf = (instant: number) => (Number.isFinite(instant) ? startFrom(intervals, instant) : instant);
  return { ...make(series, weekStart), range: { from: startOf(start), to: startOf(end) } };
}

interface PastOptions {
  /** Absent: all comes from the service. */
  readonly stored?: StoredSeries | undefined;
  readonly skipsRows?: boolean | undefined;
}

/** The closed candles of a range, part by part. */
export async function* readPast(
  core: ClientCore,
  asked: CandleRange,
  { stored, skipsRows }: PastOptions,
  signal: AbortSignal,
): AsyncGenerator<FinalPart> {
  const { rules, served, range } = asked;
  const { intervals } = served.rules;
  const past = pastOf(core, asked, stored);
  let known: number | undefined;
  let reached = range.from;
  // Until the first answer the service's clock may not be known: one page is asked for whatever the time.
  const unknown = () => Math.max(intervals.end(serviceNow(core)), intervals.shift(reached, FULL_PAGE));
  const until = () => Math.min(range.to, known ?? unknown());
  const onAnswer = (at: number) => {
    // An answer out of a cache is of a time before.
    known ??= windowStart(rules, Math.max(at, serviceNow(core) - CLOCK_SLACK));
  };
  const query = { from: range.from, until, onAnswer, skipsRows };
  for await (const part of past.parts(query, { priority: "history", signal })) {
    reached = part.to;
    yield part;
  }
}

function* filledCandles(filler: GapFiller, step: FillStep): Iterable<Candle> {
  for (const { candle } of filler.fill(step)) yield candle;
}
