import type { Intervals } from "../calendar.js";
import type { Span } from "../coverage.js";
import type { Read } from "../reads.js";
import type { RunLog } from "../run-log.js";
import { isProbe, type Shown } from "./answers.js";

/** A beginning that no report tells is found by so many asks a halving of the range, and confirmed by so many. */
const UNTOLD = { halving: 2, confirmed: 12 };
/** While a pair shows no candle, it is looked for by so many asks, each time that its silence has doubled from a minute on. */
const SILENT = { asks: 4, first: 60_000 };

/** The search for candles where an answer shows none: it may come too early for the pair's creation. */
export class Search {
  readonly #log: RunLog;
  readonly #shown: Shown;
  /** Asks that have shown nothing new: before anything was shown, and after that, where no report told the creation. */
  #silent = 0;
  #untold = 0;
  #silentUntil = Number.NEGATIVE_INFINITY;

  constructor(log: RunLog, shown: Shown) {
    this.#log = log;
    this.#shown = shown;
  }

  /** Takes in an answer, before its rows count as shown. */
  note(read: Read): void {
    const { exchange, rows } = read;
    const showsNew = [...rows.keys()].some((timestamp) => !this.#shown.has(timestamp));
    if (showsNew && !isProbe(exchange)) return;
    if (this.#shown.hasAny) this.#untold += isTold(this.#log, read) ? 0 : 1;
    else {
      this.#silent += 1;
      this.#silentUntil = exchange.answeredAt!;
    }
  }

  /** How many asks it may take for somebody who has watched since an instant. */
  whileWatched(
    intervals: Intervals,
    { from, until }: { from: number; until: number },
    earliest: number,
  ): number {
    const minutes = Math.max(0, this.#silentUntil - from) / SILENT.first;
    const silent = Math.min(this.#silent, SILENT.asks * (1 + Math.floor(Math.log2(1 + minutes))));
    return silent + Math.min(this.#untold, mostUntold(intervals, { from: earliest, to: until }));
  }

  /** How many asks it may take to read a range. */
  within(intervals: Intervals, range: Span): number {
    return Math.min(this.#silent + this.#untold, mostUntold(intervals, range));
  }
}

function mostUntold(intervals: Intervals, { from, to }: Span): number {
  return Math.ceil(UNTOLD.halving * Math.log2(2 + intervals.count(from, to))) + UNTOLD.confirmed;
}

/** Whether a report has told by then where the series begins; an empty answer may be followed by one that does. */
export function isTold({ plan: { world }, told }: RunLog, { exchange: { answeredAt, sent } }: Read): boolean {
  if (world.network !== "mainnet" || answeredAt! <= world.createdAt + 1_000) return false;
  const reports = told.filter(({ url }) => url.includes("/snipers"));
  const next = reports.find((report) => report.sent > sent);
  return !reports.some((report) => (report.sent <= sent || report === next) && !report.told!.isGood);
}
