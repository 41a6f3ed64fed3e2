import {
  type Candle,
  CURRENCIES,
  type Currency,
  type Network,
  TIMEFRAMES,
  type Timeframe,
  type WeekStart,
} from "../contract/model.js";
import { type Intervals, intervalsOf } from "../timeframe.js";
import { CandleReader, priceOf } from "./candles.js";
import { type CursorState, readCursor, writeCursor } from "./cursor.js";
import type { CheckedQuirks } from "./quirks.js";
import { hashText, randomNumbers, shuffle } from "./random.js";
import { ParameterReader, Refusal, type Route } from "./request.js";
import type { SwapPair } from "./swaps.js";

interface OhlcvMeans {
  readonly findPair: (network: Network, pairAddress: string) => SwapPair;
  readonly weekStart: WeekStart;
  readonly quirks: CheckedQuirks;
}

/** The parameters of an OHLCV request. */
interface Asked {
  readonly timeframe: Timeframe;
  readonly currency: Currency;
  readonly fromDate: number;
  readonly toDate: number;
  readonly limit: number;
  readonly cursor: string | undefined;
}

/** Answers the OHLCV requests of one service. */
export class OhlcvPages {
  readonly #means: OhlcvMeans;
  readonly #candles = new CandleReader();

  constructor(means: OhlcvMeans) {
    this.#means = means;
  }

  /** The body of an answer, as it is served. Throws a `Refusal` if the request has no answer. */
  answer({ network, pairAddress }: Route, parameters: URLSearchParams, now: number): object {
    const { findPair, weekStart, quirks } = this.#means;
    const asked = readParameters(parameters);
    const { timeframe, currency, fromDate, toDate } = asked;
    const bounds = boundsOf(asked, quirks);
    const query = [network, pairAddress, timeframe, currency, fromDate, toDate, weekStart].join(" ");
    const state = stateOf(asked, bounds, quirks, query, now);
    const pair = findPair(network, pairAddress);
    const { candles, next } = this.#pageOf(pair, `${network} ${pairAddress}`, asked, bounds, state);
    const rows = candles.map((candle) => rowOf(candle, quirks.trades));
    const { asOf, page } = state;
    return {
      cursor: next === undefined ? LAST_CURSORS[quirks.cursor] : writeCursor(next, query),
      page: quirks.pageAsText ? String(page) : page,
      pairAddress,
      tokenAddress: pair.tokenAddress,
      timeframe,
      currency,
      result:
        quirks.order === "shuffled"
          ? shuffle(rows, randomNumbers(hashText(`${asOf} ${page} ${query}`, 5)))
          : rows,
    };
  }

  /** The candles of a page, in the order of the walk, and the start of the next page if there is one. */
  #pageOf(
    pair: SwapPair,
    pairKey: string,
    { timeframe, currency, fromDate }: Asked,
    { from, to }: StartBounds,
    state: CursorState,
  ): { candles: Candle[]; next: CursorState | undefined } {
    const { weekStart, quirks } = this.#means;
    const { asOf, edge, page, limit } = state;
    const intervals = intervalsOf(timeframe, weekStart);
    if (quirks.emptyBeforeCreation && fromDate < firstStart(pair, intervals, currency, asOf)) {
      return { candles: [], next: undefined };
    }
    const isAscending = quirks.order === "oldest-first";
    const series = { pair, pairKey, intervals, currency, asOf };
    // Reads one candle more than it serves: that one shows whether there is a next page.
    const candles = isAscending
      ? this.#candles.oldest({ ...series, from: edge, to }, limit + 1)
      : this.#candles.newest({ ...series, from, to: edge }, limit + 1);
    if (candles.length <= limit) return { candles, next: undefined };
    candles.pop();
    const reached = candles.at(-1)!.timestamp;
    return { candles, next: { ...state, edge: isAscending ? reached + 1 : reached, page: page + 1 } };
  }
}

/** The candles of a request start from one instant on and before the other, ms. */
interface StartBounds {
  readonly from: number;
  readonly to: number;
}

function boundsOf({ fromDate, toDate }: Asked, { inclusive }: CheckedQuirks): StartBounds {
  return {
    from: inclusive === "neither" ? fromDate + 1 : fromDate,
    to: inclusive === "both" ? toDate + 1 : toDate,
  };
}

/** The position of the request's walk. Throws a `Refusal` for a cursor of another walk. */
function stateOf(
  { cursor, limit }: Asked,
  { from, to }: StartBounds,
  { order, pageSize }: CheckedQuirks,
  query: string,
  now: number,
): CursorState {
  if (!cursor) {
    const edge = order === "oldest-first" ? from : to;
    return { asOf: now, edge, page: 1, limit: pageSize ?? limit };
  }
  const state = readCursor(cursor, query);
  if (state === undefined)
    throw new Refusal(400, ["cursor must be that of an earlier page of the same query"]);
  return state;
}

function readParameters(parameters: URLSearchParams): Asked {
  const reader = new ParameterReader(parameters);
  const asked = {
    timeframe: reader.choice<Timeframe>("timeframe", TIMEFRAMES),
    currency: reader.choice<Currency>("currency", CURRENCIES),
    fromDate: reader.date("fromDate"),
    toDate: reader.date("toDate"),
    limit: reader.integer("limit", { min: 1, max: 1_000, absent: 100 }),
    cursor: reader.optional("cursor"),
  };
  if (asked.fromDate > asked.toDate) reader.problems.push("fromDate must not be after toDate");
  // A bad query is refused before its cursor is read: only a good query has a cursor.
  reader.refuseProblems();
  return asked;
}

/** The start of a pair's first candle; `Infinity` if it has none. The search goes in slices of doubling length. */
function firstStart(pair: SwapPair, intervals: Intervals, currency: Currency, asOf: number): number {
  let from = pair.createdAt;
  for (let width = 60_000; from <= asOf; width *= 2) {
    const to = Math.min(from + width, asOf + 1);
    for (const swap of pair.swaps({ from, to, asOf })) {
      if (priceOf(swap, currency) !== undefined) return intervals.start(swap.timestamp);
    }
    from = to;
  }
  return Infinity;
}

const LAST_CURSORS = { null: null, absent: undefined, empty: "" };

/** Written out: an object made by spreading takes three times as long to make and to serialize. */
function rowOf({ timestamp, open, high, low, close, volume, swaps }: Candle, asTrades: boolean): object {
  const start = new Date(timestamp).toISOString();
  return asTrades
    ? { timestamp: start, open, high, low, close, volume, trades: swaps }
    : { timestamp: start, open, high, low, close, volume, swaps };
}
