import { expect } from "vitest";
import {
  applyCandleEvent,
  type CandleEvent,
  type CandleStatus,
  isSame,
  laterOf,
} from "../../../src/candles/event.js";
import type { Candle, SniperReport } from "../../../src/contract/model.js";
import type { FeedStatus } from "../../../src/feed-status.js";
import { applySniperEvent, emptyReport, type SniperEvent } from "../../../src/snipers/event.js";
import { walletAddressOf } from "../../snipers/wallets.js";

/** What a subscriber makes of its events, each of which must follow on those before it. */
export class CheckedFold {
  readonly candles = new Map<number, Candle>();
  readonly statuses = new Map<number, CandleStatus>();
  report: SniperReport = emptyReport;
  status: FeedStatus | undefined;
  readonly #revisions = new Map<number, number>();
  readonly #patience: number;

  /** `patience`: how late a live event may be, in ms; of a minute half an interval. */
  constructor(patience = 30_000) {
    this.#patience = patience;
  }

  take(event: CandleEvent | FeedStatus | SniperEvent): void {
    expect(Object.isFrozen(event)).toBe(true);
    if ("series" in event) this.#takeCandle(event);
    else if ("state" in event) this.#takeStatus(event);
    else this.#takeSniper(event);
  }

  #takeCandle(event: CandleEvent): void {
    const { type, candle, status, revision, live, lateBy } = event;
    const { timestamp } = candle;
    const known = this.candles.get(timestamp);
    expect(Object.isFrozen(candle)).toBe(true);
    expect({ type, isKnown: known !== undefined }).toEqual({ type, isKnown: type !== "new" });
    if (event.type === "updated") expect(event.previous).toEqual(known);
    else expect(event).not.toHaveProperty("previous");
    if (live) expect(lateBy).toBeLessThanOrEqual(this.#patience);
    expect(lateBy).toBeGreaterThanOrEqual(0);
    const before = this.statuses.get(timestamp);
    if (type !== "new") {
      expect(revision).toBeGreaterThan(this.#revisions.get(timestamp)!);
      expect(laterOf(before, status)).toBe(status);
    }
    if (type === "updated") expect(status !== before || !isSame(candle, known!)).toBe(true);
    if (type === "removed") expect({ candle, status }).toEqual({ candle: known, status: before });
    applyCandleEvent(this.candles, event);
    this.#revisions.set(timestamp, revision);
    this.statuses.set(timestamp, status);
    if (type === "removed") this.statuses.delete(timestamp);
  }

  #takeStatus(status: FeedStatus): void {
    expect(status).not.toEqual(this.status);
    this.status = status;
  }

  #takeSniper(event: SniperEvent): void {
    const before = this.report;
    const address = walletAddressOf(event);
    const wallet = before.result.find(({ walletAddress }) => walletAddress === address);
    expect({ type: event.type, isKnown: wallet !== undefined }).toEqual({
      type: event.type,
      isKnown: event.type !== "wallet-added",
    });
    this.report = applySniperEvent(before, event);
    expect(this.report).not.toEqual(before);
  }

  /** The candles, ascending, each with its status. */
  standing(from = Number.NEGATIVE_INFINITY) {
    return [...this.candles.values()]
      .filter(({ timestamp }) => timestamp >= from)
      .sort((a, b) => a.timestamp - b.timestamp)
      .map((candle) => ({ candle, status: this.statuses.get(candle.timestamp) }));
  }
}
