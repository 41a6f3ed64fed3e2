import type { Intervals } from "../calendar.js";
import type { Span } from "../coverage.js";
import type { Exchange } from "../exchanges.js";
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
  /** Asks that have shown nothing new while nothing was shown, and where no report told the creation. */
  #silent = 0;
  #untold = 0;
  #silentUntil = Number.NEGATIVE_INFINITY;

  constructor(log: RunLog, shown: Shown) {
    this.#log = log;
    this.#shown = shown;
  }

  /** Takes in an answer, before its rows count as shown. */
  note({ exchange, rows }: Read): void {
    const showsNew = [...rows.keys()].some((timestamp) => !this.#shown.has(timestamp));
    if (showsNew && !isProbe(exchange)) return;
    if (!isTold(this.#log, exchange)) this.#untold += 1;
    else if (this.#shown.size === 0) {
      this.#silent += 1;
      this.#silentUntil = exchange.answeredAt!;
    }
  }

  /** How many asks it may take in a range, and for somebody who watches from `since` on. */
  most(intervals: Intervals, { from, to }: Span, since: number): number {
    const minutes = Math.max(0, this.#silentUntil - since) / SILENT.first;
    const silent = SILENT.asks * (1 + Math.floor(Math.log2(1 + minutes)));
    const untold = UNTOLD.halving * Math.log2(2 + intervals.count(from, to)) + UNTOLD.confirmed;
    return Math.min(this.#silent, silent) + Math.min(this.#untold, Math.ceil(untold));
  }
}

/** Whether a report has told by then where the series begins; an empty answer may be followed by one that does. */
function isTold({ plan: { world }, told }: RunLog, { answeredAt, sent }: Exchange): boolean {
  if (world.network !== "mainnet" || answeredAt! <= world.createdAt + 1_000) return false;
  const reports = told.filter(({ url }) => url.includes("/snipers"));
  const next = reports.find((report) => report.sent > sent);
  return !reports.some((report) => (report.sent <= sent || report === next) && !report.told!.isGood);
}
