import type { CandleEvent } from "../../candles/event.js";
import { dueAt } from "../../candles/lateness.js";
import { byFrame, longerCandle, longerCandles } from "../../candles/longer-candle.js";
import { type CandleWatch, MOST_CANDLES } from "../../candles/options.js";
import { atOnce, ReaderFold, type Seen } from "../../candles/reader-fold.js";
import { type CandleRules, windowStart } from "../../candles/rules.js";
import type { FeedStatus } from "../../feed-status.js";
import { startFrom } from "../../timeframe.js";
import { makeStatus } from "../wire/status.js";
import { adopted, CandleMirror } from "./candle-mirror.js";
import type { Part } from "./mirror.js";
import { startOf } from "./reach.js";
import type { ChannelMessage } from "./wire.js";

/**
 * Candles that are made of those of a channel, across connections. Each is made of all that is known of its interval whenever
 * that changes, and what differs from what was told is told: so a final part may change, too.
 */
export class LongerMirror implements Part<CandleEvent> {
  readonly #watch: CandleWatch;
  readonly #parts: CandleMirror;
  readonly #told: ReaderFold;
  /** Whether this connection has told the whole state. */
  #isReady = false;
  /** Since when all parts are known. */
  #partsFrom = -Infinity;
  /** Nothing older is shown; unknown until the first state is whole. */
  #start: number | undefined;
  /** Since when longer candles may differ from what was told. */
  #changedFrom = Infinity;
  /** Every part before it is known; unknown until a status has told it. */
  #coveredUntil: number | undefined;
  /** The service's clock when the newest of what is known was true. */
  #observedAt = -Infinity;
  /** What was due until then is history. */
  #historyUntil = -Infinity;
  /** The rules of the channel. */
  #rules: CandleRules;

  constructor(watch: CandleWatch) {
    this.#watch = watch;
    const { intervals, settle, revisionWindow } = watch.served.rules;
    this.#rules = { intervals, settle, revisionWindow };
    this.#parts = new CandleMirror(watch.served.series);
    this.#told = new ReaderFold(watch.series, MOST_CANDLES, () => this.#parts.now);
  }

  connect(): void {
    this.#isReady = false;
    this.#parts.connect();
  }

  take(message: ChannelMessage, now: number, isEnd: boolean): readonly CandleEvent[] {
    for (const { candle, observedAt } of this.#parts.take(message, now, isEnd)) {
      this.#changedFrom = Math.min(this.#changedFrom, this.#watch.rules.intervals.start(candle.timestamp));
      this.#hear(observedAt);
    }
    if (message.name === "snapshot") {
      this.#isReady = false;
      const { settle = this.#rules.settle, revisionWindow = this.#rules.revisionWindow } = message.data;
      this.#rules = { ...this.#rules, settle, revisionWindow };
    }
    if (message.name === "ready") this.#isReady = true;
    if (message.name === "status" && message.data.coveredUntil !== undefined) {
      this.#coveredUntil = message.data.coveredUntil;
      this.#hear(this.#coveredUntil);
    }
    const isWhole = this.#isReady && (isEnd || message.name === "status");
    return isWhole && this.#coveredUntil !== undefined ? this.#tell(this.#coveredUntil) : [];
  }

  /** Covered are whole longer candles only, and none from before the first one. */
  shown(status: FeedStatus): FeedStatus {
    const { coveredFrom, coveredUntil } = status;
    if (coveredFrom === undefined || coveredUntil === undefined) return status;
    const { intervals } = this.#watch.rules;
    const until = intervals.start(coveredUntil);
    const from = Math.max(startFrom(intervals, coveredFrom), this.#start ?? 0);
    return makeStatus({ ...status, coveredFrom: Math.min(from, until), coveredUntil: until });
  }

  #hear(instant: number): void {
    this.#observedAt = Math.max(this.#observedAt, instant);
  }

  #tell(coveredUntil: number): readonly CandleEvent[] {
    const { since, fillGaps } = this.#watch;
    const { intervals } = this.#watch.rules;
    const rules = this.#rules;
    const { fold, from: partsFrom } = this.#parts;
    const told = this.#told;
    // The first one may not be whole.
    const whole = startFrom(intervals, Math.max(partsFrom, fold.after + 1));
    const isHistory = this.#start === undefined && since !== undefined;
    if (isHistory) this.#historyUntil = this.#parts.now;
    if (this.#start === undefined) {
      const candles = longerCandles(
        intervals,
        fold.rows(whole).map(({ candle }) => candle),
      );
      this.#start = startOf(since, candles, this.#observedAt, { intervals, fillGaps });
    }
    // What the channel does not meet is gone, also where its parts were forgotten.
    if (partsFrom !== this.#partsFrom) this.#changedFrom = -Infinity;
    this.#partsFrom = partsFrom;
    // Otherwise one stays as it is whose parts were forgotten.
    const from = fold.after < partsFrom ? this.#changedFrom : Math.max(this.#changedFrom, whole);
    const parts = fold.rows(Math.max(from, whole, this.#start));
    let closedUntil = coveredUntil;
    let finalUntil = -Infinity;
    const silentUntil = windowStart(rules, coveredUntil + rules.settle);
    for (const { candle, status } of parts) {
      if (status === "open") continue;
      const end = rules.intervals.end(candle.timestamp);
      closedUntil = Math.max(closedUntil, end);
      if (status === "final") finalUntil = end;
    }
    this.#changedFrom = Infinity;
    const observedAt = this.#observedAt;
    const candles = Array.from(byFrame(intervals, parts), ([start, inside]): Seen => {
      const end = intervals.end(start);
      const isOpen = end > closedUntil || inside.some((part) => part.status === "open");
      // Its last parts may hold no swap.
      const isSilent = end <= silentUntil && inside.every((part) => part.status === "final");
      const isFinal = end <= finalUntil || isSilent;
      const status = isFinal ? "final" : isOpen ? "open" : "closed";
      if (status !== "final") this.#changedFrom = Math.min(this.#changedFrom, start);
      // With the last of its parts.
      const due = dueAt(rules, rules.intervals.start(end - 1), status, false);
      const live = !isHistory && due > this.#historyUntil;
      const candle = longerCandle(start, undefined, inside);
      return { candle, status, revision: 0, due, live, observedAt, received: observedAt };
    });
    return adopted(told, from, atOnce(told, candles, rules.settle), observedAt);
  }
}
