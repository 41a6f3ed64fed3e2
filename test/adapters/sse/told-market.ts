import {
  type CandleEvent,
  type CandleEventBase,
  type CandleStatus,
  isSame,
  laterOf,
} from "../../../src/candles/event.js";
import type { Candle } from "../../../src/contract/model.js";
import { minuteCandle, SERIES } from "../../candles/minute-candles.js";

const STATUSES: readonly CandleStatus[] = ["open", "closed", "final"];

/** An event about the candle of a minute, which was the same before it is `updated`. */
export function eventOf(
  type: CandleEvent["type"],
  minute: number,
  more: Partial<Omit<CandleEventBase, "candle">> & { price?: number; previous?: Candle } = {},
): CandleEvent {
  const { price, previous, ...rest } = more;
  const candle = minuteCandle(minute, price);
  const common = { revision: 0, live: true, lateBy: 0, observedAt: minute, series: SERIES };
  const base = { candle, status: "open", ...common, ...rest } as const;
  return type === "updated" ? { type, previous: previous ?? candle, ...base } : { type, ...base };
}

interface Known {
  readonly candle: Candle;
  readonly status: CandleStatus;
  readonly revision: number;
}

/** What happens to a market; numbers choose among what there is. */
export type MarketStep =
  | { readonly type: "next"; readonly gap: number; readonly price: number }
  | { readonly type: "late"; readonly back: number; readonly price: number }
  | { readonly type: "trade"; readonly back: number; readonly price: number }
  | { readonly type: "advance"; readonly back: number }
  | { readonly type: "remove"; readonly back: number };

/** Candles as they stand: finals first, as `watchCandles` has it. */
export class Market {
  readonly candles = new Map<number, { candle: Candle; status: CandleStatus }>();

  step(step: MarketStep): void {
    const sorted = [...this.candles.keys()].sort((a, b) => a - b);
    const newest = sorted.at(-1) ?? 0;
    const finals = sorted.filter((minute) => this.candles.get(minute)!.status === "final");
    const lastFinal = finals.at(-1) ?? -1;
    if (step.type === "next") {
      this.#set(newest + step.gap, step.price, "open");
      return;
    }
    const minute = step.type === "late" ? newest - step.back : sorted.at(-1 - step.back);
    if (minute === undefined || minute <= lastFinal) return;
    const known = this.candles.get(minute);
    switch (step.type) {
      case "late":
        if (known === undefined) this.#set(minute, step.price, "closed");
        break;
      case "trade":
        this.#set(minute, step.price, known!.status);
        break;
      case "remove":
        this.candles.delete(minute);
        break;
      case "advance":
        // What is older comes first.
        for (const older of sorted.filter((one) => one <= minute && one > lastFinal)) {
          const { candle, status } = this.candles.get(older)!;
          const at = STATUSES.indexOf(status) + 1;
          this.candles.set(older, { candle, status: STATUSES[Math.min(2, at)]! });
        }
        break;
    }
  }

  #set(minute: number, price: number, status: CandleStatus): void {
    this.candles.set(minute, { candle: minuteCandle(minute, price), status });
  }
}

/** One subscription to a market: history first, a few candles at a time, then what changes. */
export class MarketWatch {
  readonly #market: Market;
  readonly #told = new Map<number, Known>();
  /** Nothing older is told. */
  readonly #start: number;
  #history: number[];
  #isLive = false;
  #now = 0;

  /** `last`: how many candles of the history are told, at least one; `first`: none that is older than this minute. */
  constructor(market: Market, last: number, first = Number.NEGATIVE_INFINITY) {
    this.#market = market;
    const minutes = [...market.candles.keys()].sort((a, b) => a - b).filter((minute) => minute >= first);
    this.#start = Math.max(minutes.at(-Math.max(1, last)) ?? minutes[0] ?? 0, first);
    this.#history = minutes.filter((minute) => minute >= this.#start);
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  /** The next `count` candles of the history or, after that, all that has changed. */
  take(count: number): CandleEvent[] {
    this.#now += 1;
    if (this.#history.length > 0) {
      const next = new Set(this.#history.splice(0, count));
      return this.#changes((minute) => next.has(minute));
    }
    const events = this.#changes(() => true);
    this.#isLive = true;
    return events;
  }

  #changes(isTold: (minute: number) => boolean): CandleEvent[] {
    const minutes = new Set([...this.#told.keys(), ...this.#market.candles.keys()]);
    const events: CandleEvent[] = [];
    for (const minute of [...minutes].sort((a, b) => a - b)) {
      if (!isTold(minute) || minute < this.#start) continue;
      const known = this.#told.get(minute);
      const now = this.#market.candles.get(minute);
      const common = { live: this.#isLive, lateBy: 0, observedAt: this.#now, series: SERIES };
      if (now === undefined) {
        if (known === undefined) continue;
        this.#told.delete(minute);
        events.push({ ...known, type: "removed", revision: known.revision + 1, ...common });
        continue;
      }
      if (known === undefined) {
        this.#told.set(minute, { ...now, revision: 0 });
        events.push({ type: "new", ...now, revision: 0, ...common });
        continue;
      }
      // A candle that came and went between two polls is not known to have gone.
      const status = laterOf(known.status, now.status);
      if (status === known.status && isSame(known.candle, now.candle)) continue;
      const { candle } = now;
      const revision = known.revision + 1;
      this.#told.set(minute, { candle, status, revision });
      events.push({ type: "updated", candle, previous: known.candle, status, revision, ...common });
    }
    return events;
  }
}
