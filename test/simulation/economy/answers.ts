import type { ContractError } from "../../../src/index.js";
import type { Intervals } from "../calendar.js";
import { type Exchange, hasFalseDate } from "../exchanges.js";
import { APART } from "../monitors/evidence.js";
import { askedBy, isProbe, type Read, readBody } from "../reads.js";
import type { RunLog } from "../run-log.js";

/** What one slot, or one read, may ask for again because of a doubt. */
export const MOST_AGAIN = 2;
/** Beyond what an answer's `Date` and its way here can hide, ms. */
const FAR = 2_000;

/** An answer that the client took, and what it asked for; `undefined` for all others. */
export function readOf(exchange: Exchange): Read | undefined {
  return exchange.told?.isGood === true ? readBody(exchange, askedBy(exchange.url)) : undefined;
}

/** Whether an answer is not whole, hides its age, or lies about the time. */
export function isDoubtful({ exchange, broken, hasUnidentifiedRow }: Read): boolean {
  return hasFalseDate(exchange) || exchange.hidesAge || broken.size > 0 || hasUnidentifiedRow;
}

/** Whether an answer has rows, and none of them can be read. */
export function holdsOnlyBroken(exchange: Exchange): boolean {
  const { rows, broken, hasUnidentifiedRow } = readOf(exchange) ?? {};
  return rows?.size === 0 && (broken!.size > 0 || hasUnidentifiedRow!);
}

/** Whether an interval has ended and settled since a cache's copy was made. */
export function isOutdated({ exchange }: Read, { start }: Intervals, settle: number): boolean {
  const madeAt = exchange.answeredAt!;
  return start(madeAt - settle) !== start(madeAt + exchange.old - settle);
}

/** Whether an answer was given up as its cursor led nowhere: those before it count, and the poll asks again for the rest. */
export function isCutShort({ told }: Exchange): boolean {
  return (told?.error as Partial<ContractError> | undefined)?.path?.[0] === "cursor";
}

/** What is asked again without waiting for the next slot comes after so long, ms. */
const AT_ONCE = 2_000;
/** Answers that lack a candle may seem to be of one second, if they are made so soon after the first of them, ms. */
const SAME = 2 * APART;

/** Whether one request followed the answer to another one at once. */
export function followsAtOnce(next: Exchange | undefined, { received }: Exchange): boolean {
  return next !== undefined && next.sent <= received! + AT_ONCE;
}

/** The candles that answers have shown, until two lack them. */
export class Shown {
  /** With when the first answer was made that lacks them. */
  readonly #known = new Map<number, number>();
  /** What a poll has shown: an answer of a history is held to the newest of that which lies in its range. */
  readonly #polled = new Set<number>();
  #walk = new Set<number>();
  #hasAny = false;

  /** Whether any answer has shown a candle. */
  get hasAny(): boolean {
    return this.#hasAny;
  }

  has(timestamp: number): boolean {
    return this.#known.has(timestamp);
  }

  /** Takes in what a poll has shown. */
  notePolled({ rows }: Read): void {
    for (const timestamp of rows.keys()) this.#polled.add(timestamp);
  }

  /**
   * Takes in a page; gives whether the range that ends with it lacks a candle that was shown before. That takes one request more,
   * and others if they follow at once. `until`: the end of what is wanted of it; what lies between that and the end that is asked
   * for is its margin.
   */
  lacks(read: Read, next: Exchange | undefined, until = read.asked.to): boolean {
    const { asked, exchange, rows, broken, hasUnidentifiedRow, cursor: more } = read;
    const { from, to, cursor } = asked;
    const madeAt = exchange.answeredAt!;
    if (cursor === undefined) this.#walk = new Set();
    for (const timestamp of [...rows.keys(), ...broken]) this.#walk.add(timestamp);
    let isLacking = false;
    if (more === undefined && !hasUnidentifiedRow && !isProbe(exchange)) {
      for (const [timestamp, before] of this.#known) {
        if (timestamp <= from || timestamp >= to || this.#walk.has(timestamp)) continue;
        this.#known.set(timestamp, Math.min(before, madeAt));
        if (madeAt >= before + SAME) this.#known.delete(timestamp);
        else isLacking ||= before === Number.POSITIVE_INFINITY || followsAtOnce(next, exchange);
      }
      const polled = Math.max(...[...this.#polled].filter((timestamp) => timestamp < until));
      if (polled > from && !this.#walk.has(polled)) {
        isLacking = true;
        // An answer that shows nothing at all does not tell that it is gone.
        if (this.#walk.size > 0) this.#polled.delete(polled);
      }
    }
    for (const timestamp of rows.keys()) this.#known.set(timestamp, Number.POSITIVE_INFINITY);
    this.#hasAny ||= rows.size > 0;
    return isLacking;
  }
}

/**
 * Whether nobody can tell from an answer's `Date`, in whole seconds, if an interval has ended and settled: that may have
 * happened within its second, or with the next. `ahead`: how far another machine's clock may be.
 */
export function leavesClosingOpen(
  { headers: { date } }: Exchange,
  { start }: Intervals,
  settle: number,
  ahead: number,
): boolean {
  return date !== undefined && start(date + 1_000 - settle) + settle > date - ahead;
}

/** Whether a range that was asked for had ended before the interval in which it was answered. */
export function missesPresent({ asked, exchange }: Read, { start, shift }: Intervals): boolean {
  return shift(start(asked.to), -1) <= start(exchange.answeredAt! + exchange.ahead);
}

/** How often a question has to be asked again that went out before the time was known: by answers that agree on it. */
export function timesUnknown({ told }: RunLog, exchange: Exchange): number {
  const { sent, headers } = exchange;
  // The machine's own clock is one of two that agree.
  const isFar = headers.date !== undefined && Math.abs(headers.date - sent) > FAR;
  let missing = isFar ? 2 : 1;
  for (const other of told) {
    if (missing === 0) break;
    if (other !== exchange && other.received !== undefined && other.received <= sent) missing -= 1;
  }
  return missing;
}

/** Whether a page ends with a cursor that a fault has made up, or leaves where it should not. */
export function leadsNowhere({ exchange, cursor }: Read): boolean {
  return cursor !== undefined && (exchange.faults.length > 0 || cursor.startsWith("withFaults."));
}
