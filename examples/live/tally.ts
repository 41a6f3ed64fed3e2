import type { CandleEvent, Client } from "pairstream";
import type { LiveEvent } from "./printer.js";
import { amount } from "./text.js";

/** Counts what a pair has brought while it was followed, and what that took; for the last line. */
export class Tally {
  readonly #startedAt: number;
  readonly #closed = new Set<number>();
  #candles = 0;
  #closes = 0;
  #corrections = 0;
  #removals = 0;
  #snipers = 0;
  #fills = 0;
  #requests = 0;
  #units = 0;
  readonly #dropped = { poll: 0, history: 0 };

  constructor(client: Pick<Client, "activity">, now = Date.now()) {
    this.#startedAt = now;
    client.activity.subscribe((activity) => {
      if (activity.type === "request") this.#requests += 1;
      if (activity.type === "response") this.#units += activity.weight ?? 0;
      if (activity.type === "dropped") this.#dropped[activity.reading] += 1;
    });
  }

  count(event: LiveEvent): void {
    if (event.stream === "candle") this.#countCandle(event);
    else if (event.stream === "paper") this.#fills += event.type === "fill" ? 1 : 0;
    else if (event.stream === "sniper") {
      this.#snipers += event.type === "wallet-added" ? 1 : event.type === "wallet-removed" ? -1 : 0;
    }
  }

  #countCandle(event: CandleEvent): void {
    const { timestamp } = event.candle;
    if (event.type === "removed") {
      this.#removals += 1;
      this.#closed.delete(timestamp);
      return;
    }
    if (event.type === "new") this.#candles += 1;
    if (event.status === "open") return;
    if (!this.#closed.has(timestamp)) this.#closes += event.live ? 1 : 0;
    else if (event.type === "updated" && hasOtherValues(event)) this.#corrections += 1;
    this.#closed.add(timestamp);
  }

  /** `Followed for 31 s: 34 candles, 3 closed live, 1 corrected, 0 removed; 17 snipers; 40 requests, 5,000 units`. */
  line(now = Date.now()): string {
    const seconds = Math.round((now - this.#startedAt) / 1_000);
    const candles = `${this.#candles} candles, ${this.#closes} closed live, ${this.#corrections} corrected, ${this.#removals} removed`;
    const parts = [candles];
    if (this.#snipers > 0) parts.push(`${this.#snipers} snipers`);
    if (this.#fills > 0) parts.push(`${this.#fills} fills on paper`);
    const { poll, history } = this.#dropped;
    const lost = poll + history;
    if (lost > 0) parts.push(`${lost} rows could not be read (${history} of the history)`);
    parts.push(`${this.#requests} requests, ${amount(this.#units).replace(".00", "")} units`);
    return `Followed for ${seconds} s: ${parts.join("; ")}`;
  }
}

function hasOtherValues({ candle, previous }: Extract<CandleEvent, { type: "updated" }>): boolean {
  const names = ["open", "high", "low", "close", "volume", "swaps"] as const;
  return names.some((name) => candle[name] !== previous[name]);
}
