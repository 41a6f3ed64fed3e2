import { concatMap, defer, finalize, from, type Observable } from "rxjs";
import { type Client, type ClientCore, coreOf, serviceNow } from "../client/core.js";
import { checkFlag, checkRange, checkSeries, checkWeekStart, toInstant } from "../contract/input.js";
import type { Candle, DateLike, Series, WeekStart } from "../contract/model.js";
import { namesOf, SERIES_NAMES } from "../contract/names.js";
import { intervalsOf } from "../timeframe.js";
import { DEFAULT_SETTLE } from "./options.js";
import type { CandleRead } from "./read/range-reader.js";
import { FULL_PAGE, SeriesReader } from "./read/range-reader.js";
import { readSlices } from "./read/slices.js";
import { type CandleRules, settledUntil } from "./rules.js";
import { finalStep, GapFiller } from "./view/gap-filler.js";

/** Which candles to fetch. */
export interface FetchCandlesOptions {
  /** Start of the range, inclusive, on the candles' timestamps. */
  from: DateLike;
  /** End of the range, exclusive; default: the service's now. */
  to?: DateLike;
  /** Flat candles (volume 0, swaps 0) for intervals without swaps, from the first known candle on; default false. */
  fillGaps?: boolean;
  /** Where `1w` begins; default `"monday"`. */
  weekStart?: WeekStart;
}

const FETCH_NAMES = namesOf<FetchCandlesOptions>({ from: true, to: true, fillGaps: true, weekStart: true });

/**
 * The closed candles of `[from, to)`, ascending, each once, in bounded memory whatever the range; then it completes.
 *
 * ```marbles
 * requests                 r-------
 * fetchCandles(client, …)  --(pqs|)
 *
 * -: 20 ms           r: a request       p: 12:00 = 5       q: 12:01 = 7       s: 12:03 = 8
 * ```
 *
 * A candle is closed once its interval has been over for a second by the service's clock. Each subscription reads
 * anew. It errors with a `PairstreamError` once the client's `retry` is exhausted, and throws an `InvalidInputError`
 * at the call.
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
  const series = checkSeries(query, [...SERIES_NAMES, ...FETCH_NAMES]);
  const intervals = intervalsOf(series.timeframe, checkWeekStart(query.weekStart));
  const ceiling = (instant: number) =>
    intervals.start(instant) === instant ? instant : intervals.end(instant);
  const start = toInstant("from", query.from);
  const end = query.to === undefined ? Number.POSITIVE_INFINITY : toInstant("to", query.to);
  checkRange(start, end, { from: "from", to: "to" });
  const isFilled = checkFlag("fillGaps", query.fillGaps);
  const rules: CandleRules = { intervals, settle: DEFAULT_SETTLE, revisionWindow: 0 };

  return defer(() => {
    const abort = new AbortController();
    const leave = core.pairs.hold(series);
    const filler = isFilled ? new GapFiller(intervals) : undefined;
    const range = { start: ceiling(start), end: Number.isFinite(end) ? ceiling(end) : end };
    return from(readClosed(core, series, rules, range, abort.signal)).pipe(
      concatMap((read) => (filler === undefined ? read.candles : filledCandles(filler, read))),
      finalize(() => {
        abort.abort();
        leave();
      }),
    );
  });
}

/** Slices cut to what is closed. */
async function* readClosed(
  core: ClientCore,
  series: Series,
  rules: CandleRules,
  { start, end }: { start: number; end: number },
  signal: AbortSignal,
): AsyncGenerator<CandleRead> {
  const { intervals } = rules;
  const reader = new SeriesReader(core, series, intervals, { skipsRows: false });
  let known: number | undefined;
  // Until the first answer the service's clock may not be known: one page is asked for whatever the time.
  const unknown = () => Math.max(intervals.end(serviceNow(core)), intervals.shift(start, FULL_PAGE));
  const until = () => Math.min(end, known ?? unknown());
  for await (const read of readSlices(reader, intervals, start, until, { priority: "history", signal })) {
    const settled = settledUntil(rules, read.observedAt);
    known ??= Math.max(settled, read.to);
    const to = Math.min(read.to, settled);
    yield { ...read, to, candles: read.candles.filter(({ timestamp }) => timestamp < to) };
  }
}

function* filledCandles(filler: GapFiller, read: CandleRead): Iterable<Candle> {
  for (const { candle } of filler.fill(finalStep(read))) yield candle;
}
