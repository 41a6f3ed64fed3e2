import {
  type Candle,
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

  /** The body of an answer, in the form in which it is served; throws a `Refusal` where there is none. */
  answer({ network, pairAddress }: Route, parameters: URLSearchParams, now: number): object {
    const { findPair, weekStart, quirks } = this.#means;
    const { timeframe, currency, fromDate, toDate, limit, cursor } = readParameters(parameters);
    const isAscending = quirks.order === "oldest-first";
    const from = quirks.inclusive === "neither" ? fromDate + 1 : fromDate;
    const to = quirks.inclusive === "both" ? toDate + 1 : toDate;
    const first = { asOf: now, edge: isAscending ? from : to, page: 1, limit: quirks.pageSize ?? limit };
    const query = [network, pairAddress, timeframe, currency, fromDate, toDate, weekStart].join(" ");
    const state = cursor ? readCursor(cursor, query) : first;
    if (state === undefined) throw new Refusal(400, ["cursor is not known for this query"]);

    const pair = findPair(network, pairAddress);
    const intervals = intervalsOf(timeframe, weekStart);
    const { asOf, edge, page } = state;
    const series = { pair, pairKey: `${network} ${pairAddress}`, intervals, currency, asOf };
    // One more than is served tells whether there is a next page.
    const most = state.limit + 1;
    let found: Candle[];
    if (quirks.emptyBeforeCreation && fromDate < firstStart(pair, intervals, currency, asOf)) found = [];
    else if (isAscending) found = this.#candles.oldest({ ...series, from: edge, to }, most);
    else found = this.#candles.newest({ ...series, from, to: edge }, most);
    const isLast = found.length < most;
    if (!isLast) found.pop();
    const reached = found.at(-1)?.timestamp ?? edge;
    const next = { ...state, edge: isAscending ? reached + 1 : reached, page: page + 1 };
    const rows = found.map((candle) => rowOf(candle, quirks.trades));
    return {
      cursor: isLast ? lastCursor(quirks, state, query) : writeCursor(next, query),
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
}

function readParameters(parameters: URLSearchParams): Asked {
  const reader = new ParameterReader(parameters);
  const asked = {
    timeframe: reader.choice<Timeframe>("timeframe", TIMEFRAMES),
    currency: reader.choice<Currency>("currency", ["usd", "native"]),
    fromDate: reader.date("fromDate"),
    toDate: reader.date("toDate"),
    limit: reader.integer("limit", { min: 1, max: 1_000, absent: 100 }),
    cursor: reader.optional("cursor"),
  };
  if (asked.fromDate > asked.toDate) reader.problems.push("fromDate must not be after toDate");
  // Nothing of a bad query is worth a look at its cursor, which belongs to a good one.
  reader.refuseProblems();
  return asked;
}

/** The start of a pair's first candle; `Infinity` where it has none. Sought in stretches that double. */
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

function lastCursor(quirks: CheckedQuirks, state: CursorState, query: string): string | null | undefined {
  switch (quirks.cursor) {
    case "null":
      return null;
    case "absent":
      return undefined;
    case "empty":
      return "";
    case "repeats":
      return writeCursor(state, query);
  }
}

/** Written out, as objects that are spread take three times as long to make and to serve. */
function rowOf({ timestamp, open, high, low, close, volume, swaps }: Candle, asTrades: boolean): object {
  const start = new Date(timestamp).toISOString();
  return asTrades
    ? { timestamp: start, open, high, low, close, volume, trades: swaps }
    : { timestamp: start, open, high, low, close, volume, swaps };
}
