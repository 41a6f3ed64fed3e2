import type { Candle } from "../../../src/index.js";
import { type Intervals, intervalsOf } from "../calendar.js";
import { type Span, spansWithin, withoutSpan, withSpan } from "../coverage.js";
import type { Held, StoreCall } from "../disk.js";
import {
  asksFor,
  covers,
  isSaidAbsent,
  isSameCandle,
  isUnreadable,
  type Look,
  seriesNameOf,
} from "../reads.js";
import type { RunLog } from "../run-log.js";
import { candlesAt, isTrue } from "../truth.js";
import { APART, asksInstead } from "./evidence.js";
import type { Context } from "./monitor.js";

/** Says whether an interval was final when a look was answered. */
type IsFinal = (look: Look, timestamp: number) => boolean;

interface Covered extends Pick<StoreCall, "key" | "from" | "to" | "candles"> {
  /** What the client had been told by then counts. */
  readonly order: number;
}

/**
 * Why a span is not as the service had it once all of it was final; `undefined` where it is. Each interval has the candle
 * that such an answer has shown, and none where one has shown that there is none.
 */
export function flawOf(
  log: RunLog,
  { key, from, to, candles, order }: Covered,
  isFinal: IsFinal,
  context: Context,
): string | undefined {
  const intervals = intervalsOf(key.timeframe, key.weekStart);
  const looks = context.answersOf(key).filter((look) => look.order <= order);
  const last = looks.findLast(({ asked }) => asked.from < to && asked.to > from);
  const asOf = last?.asOf ?? Number.POSITIVE_INFINITY;
  const truth = candlesAt(log, key, { from, to, at: asOf });
  const own = new Map<number, Candle>();
  for (const candle of candles) {
    if (candle.timestamp >= from && candle.timestamp < to) own.set(candle.timestamp, candle);
  }
  // What was known before the span is part of the truth about it.
  let known: ReadonlyMap<number, Candle> | undefined;
  for (const timestamp of new Set([...truth.keys(), ...own.keys()])) {
    const has = own.get(timestamp);
    const wanted = truth.get(timestamp);
    if (has !== undefined && wanted !== undefined && isTrue(has, wanted)) continue;
    const about = looks.filter((look) => isFinal(look, timestamp) && covers(look, timestamp));
    if (has !== undefined) {
      if (about.some(({ rows }) => rows.get(timestamp)?.some((row) => isSameCandle(row, has)))) continue;
      return `${new Date(timestamp).toISOString()} is covered, and has a candle that nobody has told of`;
    }
    const earliest = looks.reduce((least, { asked }) => Math.min(least, asked.from), from);
    known ??= candlesAt(log, key, { from: earliest, to, at: asOf });
    const truly = known;
    const calls = log.store?.calls.filter(({ series }) => series === seriesNameOf(key)) ?? [];
    // What a client was shown has to be absent twice before that counts.
    const maySay = (look: Look) =>
      isFinal(look, timestamp) &&
      !isDoubtful(looks.slice(0, looks.indexOf(look) + 1), timestamp, intervals, calls);
    const isSaid = (memory: readonly Look[]) => {
      const told = memory.filter((look) => look.order <= order && !isUnreadable(look, timestamp));
      return isSaidAbsent(told, timestamp, truly, intervals, maySay);
    };
    if (!context.memoriesOf(key).some(isSaid))
      return `${new Date(timestamp).toISOString()} is covered, and lacks its candle`;
  }
  return undefined;
}

/**
 * Whether a client was shown a candle that it had asked for, and has not been told twice since that it is gone, the last time by
 * the last look. What a poll was shown is not known to a history, nor the other way round.
 */
function isDoubtful(
  looks: readonly Look[],
  timestamp: number,
  intervals: Intervals,
  calls: readonly StoreCall[],
): boolean {
  const { isHistory } = looks.at(-1)!;
  if (asksInstead(looks.at(-1)!, calls)) return false;
  // What another client was shown in an earlier life is not known to this one.
  const own = looks.filter(
    (look) => look.order > 0 && look.isHistory === isHistory && covers(look, timestamp),
  );
  const shown = own.findLastIndex((look) => look.rows.has(timestamp) && asksFor(look, timestamp, intervals));
  if (shown < 0) return false;
  const instants = own
    .slice(shown + 1)
    .filter((look) => !isUnreadable(look, timestamp))
    .map(({ answeredAt }) => answeredAt);
  return Math.max(...instants) - Math.min(...instants) < APART || instants.length === 0;
}

/** What a store has of a series, by what was written. */
export class Shelf {
  #candles: ReadonlyMap<number, Candle>;
  #covered: readonly Span[];

  constructor({ candles, covered }: Pick<Held, "candles" | "covered">) {
    this.#candles = new Map(candles.map((candle) => [candle.timestamp, candle]));
    this.#covered = covered;
  }

  take({ operation, from, to, candles }: StoreCall): void {
    const kept = [...this.#candles].filter(([timestamp]) => timestamp < from || timestamp >= to);
    const added = operation === "write" ? candles : [];
    this.#candles = new Map([...kept, ...added.map((candle) => [candle.timestamp, candle] as const)]);
    this.#covered =
      operation === "write"
        ? withSpan(this.#covered, { from, to })
        : withoutSpan(this.#covered, { from, to });
  }

  /** Where what is held of a range is something else; `undefined` where it is that. `last`: so many candles alone. */
  differs(held: Pick<Held, "candles" | "covered">, range: Span, last?: number): string | undefined {
    const all = [...this.#candles.values()]
      .filter(({ timestamp }) => timestamp >= range.from && timestamp < range.to)
      .sort((a, b) => a.timestamp - b.timestamp);
    const wanted = last === undefined ? all : all.slice(Math.max(0, all.length - last));
    const covered = spansWithin(this.#covered, range);
    const at = wanted.findIndex((candle, index) => {
      const has = held.candles[index];
      return has === undefined || !isSameCandle(has, candle);
    });
    if (at >= 0) return `does not give the candle of ${new Date(wanted[at]!.timestamp).toISOString()}`;
    if (held.candles.length > wanted.length) return "gives a candle that nobody has written";
    return JSON.stringify(held.covered) === JSON.stringify(covered) ? undefined : "covers other spans";
  }
}
