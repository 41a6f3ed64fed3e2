import type { Series, WeekStart } from "../../../src/index.js";
import { intervalsOf } from "../calendar.js";
import { type Exchange, FOREIGN } from "../exchanges.js";
import { type Asked, askedBy, type Read, readBody } from "../reads.js";
import type { RunLog } from "../run-log.js";
import { candlesAt } from "../truth.js";

/** Those that leave a cursor which leads nowhere, or an answer that may hold one. */
const CURSOR_FAULTS: readonly string[] = [
  "emptyPage",
  "loopingCursor",
  "dripping",
  "longCursor",
  "cached",
  FOREIGN,
];
/** So many answers that lack a candle, one after the other, leave no doubt that it is gone. */
const ABSENCES = 3;

/** Whether a request asks only whether there is anything in its range. */
export function isProbe({ url }: Exchange): boolean {
  return /[?&]limit=1(&|$)/.test(url);
}

/** An answer that the client took, and what it asked for; `undefined` for all others. */
export function readOf(exchange: Exchange): Read | undefined {
  return exchange.told?.isGood === true ? readBody(exchange, askedBy(exchange.url)) : undefined;
}

/** The pages that may follow an answer: as many as its range fills, or one more along a cursor that leads nowhere. */
export async function pagesAfter(
  log: RunLog,
  series: Series,
  { exchange, asked, served, cursor }: Read,
): Promise<number> {
  if (cursor === undefined) return 0;
  const leadsNowhere =
    cursor.startsWith("withFaults.") || exchange.faults.some((kind) => CURSOR_FAULTS.includes(kind));
  if (leadsNowhere) return 1;
  if (asked.cursor !== undefined) return 0;
  const { size } = candlesAt(log, series, { ...asked, at: exchange.answeredAt! - exchange.lag });
  return Math.ceil(size / Math.max(1, served));
}

/** The candles that answers have shown, and how often they have been absent since. */
export class Shown {
  readonly #series: Series;
  readonly #weekStart: WeekStart | undefined;
  /** Whether the candle that starts with a range is in it. */
  readonly #isInclusive: boolean;
  readonly #absences = new Map<number, number>();
  /** What the pages of the present walk have shown. */
  #walk: { asked: Asked; rows: Set<number>; isUnsure: boolean } | undefined;

  constructor({ plan }: RunLog, series: Series, weekStart: WeekStart | undefined) {
    this.#series = series;
    this.#weekStart = weekStart;
    this.#isInclusive = plan.world.quirks.inclusive !== "neither";
  }

  /** Whether any answer has shown a candle. */
  get hasAny(): boolean {
    return this.#absences.size > 0;
  }

  /** Takes in a page; gives whether the walk that ends with it lacks a candle that was shown before. */
  lacks({ asked, rows, broken, hasUnidentifiedRow, cursor }: Read): boolean {
    if (asked.cursor === undefined || this.#walk?.asked.from !== asked.from)
      this.#walk = { asked, rows: new Set(), isUnsure: false };
    const walk = this.#walk;
    for (const timestamp of [...rows.keys(), ...broken]) walk.rows.add(timestamp);
    walk.isUnsure ||= hasUnidentifiedRow;
    const isLacking = cursor === undefined && !walk.isUnsure && this.#missIn(walk.asked, walk.rows);
    for (const timestamp of rows.keys()) this.#absences.set(timestamp, 0);
    return isLacking;
  }

  #missIn({ from, to }: Asked, rows: ReadonlySet<number>): boolean {
    const intervals = intervalsOf(this.#series.timeframe, this.#weekStart);
    const starts =
      intervals.count(from, to) < this.#absences.size
        ? function* () {
            for (let start = intervals.start(from); start < to; start = intervals.end(start)) yield start;
          }
        : () => this.#absences.keys();
    let isLacking = false;
    for (const start of starts()) {
      const absences = this.#absences.get(start);
      const isAsked = start < to && (start > from || (start === from && this.#isInclusive));
      if (absences === undefined || !isAsked || rows.has(start)) continue;
      isLacking = true;
      if (absences + 1 < ABSENCES) this.#absences.set(start, absences + 1);
      else this.#absences.delete(start);
    }
    return isLacking;
  }
}
