import type { Intervals } from "../calendar.js";
import type { Span } from "../coverage.js";
import { isProbe, type Read } from "../reads.js";
import type { RunLog } from "../run-log.js";
import type { Shown } from "./answers.js";

/** A beginning that no report tells is found by so many asks a halving of the range, and confirmed by so many. */
const UNTOLD = { halving: 2, confirmed: 12 };
/** What does not show is looked for by so many asks. */
const ASKS = 4;
/** It is looked for again after so long, ms, and each time after twice as long as before: a pair that has shown no candle, or one that has. */
const PAUSE = { silent: [60_000, 3_600_000], lost: [1_000, 300_000] } as const;

/** The search for candles where an answer shows none: it may come too early for the pair's creation. */
export class Search {
  readonly #log: RunLog;
  readonly #shown: Shown;
  /** Asks that have shown nothing new where no report has told the creation: before anything was shown, and after that. */
  #silent = 0;
  #untold = 0;
  #silentUntil = Number.NEGATIVE_INFINITY;
  /** When those were answered that a report had told the creation before. */
  readonly #told: number[] = [];
  /** Whether the last answer to anything else has shown nothing. */
  #isEmpty = false;

  constructor(log: RunLog, shown: Shown) {
    this.#log = log;
    this.#shown = shown;
  }

  /** Takes in an answer, before its rows count as shown; `isPaid`: whether something else than a search is asked for by it. */
  note(read: Read, isPaid = false): void {
    const { exchange, rows } = read;
    if (!isProbe(exchange)) {
      this.#isEmpty = rows.size === 0;
      if (isPaid) return;
    }
    const showsNew = [...rows.keys()].some((timestamp) => !this.#shown.has(timestamp));
    if (showsNew && !isProbe(exchange)) return;
    if (isTold(this.#log, read)) {
      if (isProbe(exchange) && this.#isEmpty) this.#told.push(exchange.answeredAt!);
    } else if (this.#shown.hasAny) this.#untold += 1;
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
    const silent = Math.min(this.#silent, ASKS * searchesIn(this.#silentUntil - from, PAUSE.silent));
    return (
      silent +
      this.#mostTold(1) +
      Math.min(this.#untold, mostUntold(intervals, { from: earliest, to: until }))
    );
  }

  /** How many asks it may take so many readers to read a range. */
  within(intervals: Intervals, range: Span, readers: number): number {
    return this.#mostTold(readers) + Math.min(this.#silent + this.#untold, mostUntold(intervals, range));
  }

  #mostTold(readers: number): number {
    const [first = 0] = this.#told;
    const pause = PAUSE[this.#shown.hasAny ? "lost" : "silent"];
    const searches = searchesIn((this.#told.at(-1) ?? 0) - first, pause);
    return Math.min(this.#told.length, readers * ASKS * searches);
  }
}

/** How many searches a time may take. */
function searchesIn(time: number, [first, longest]: readonly [number, number]): number {
  let searches = 1;
  for (let [pause, at] = [first, first] as [number, number]; at <= time; at += pause) {
    searches += 1;
    pause = Math.min(2 * pause, longest);
  }
  return searches;
}

function mostUntold(intervals: Intervals, { from, to }: Span): number {
  return Math.ceil(UNTOLD.halving * Math.log2(2 + intervals.count(from, to))) + UNTOLD.confirmed;
}

/** Whether a report has told by then where the series begins; an empty answer may be followed by one that does. */
function isTold({ plan: { world }, told }: RunLog, { exchange: { answeredAt, sent } }: Read): boolean {
  if (world.network !== "mainnet" || answeredAt! <= world.createdAt + 1_000) return false;
  const reports = told.filter(({ url }) => url.includes("/snipers"));
  const next = reports.find((report) => report.sent > sent);
  return !reports.some((report) => (report.sent <= sent || report === next) && !report.told!.isGood);
}
