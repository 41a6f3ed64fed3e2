import type { CandleEvent } from "../candles/event.js";
import type { Series, WeekStart } from "../contract/model.js";
import { BarReader } from "./bar-reader.js";
import { Broker } from "./broker.js";
import type { CancelOrder, Order } from "./order.js";
import type { Report } from "./report.js";
import type { BrokerRules } from "./rules.js";

/** An account that trades on paper, on the events of any number of series, over the past as live. */
export class PaperAccount {
  readonly broker: Broker;
  readonly #bars: BarReader;

  /** `now`: what orders before the first event are decided on. */
  constructor(rules: BrokerRules, series: Iterable<Series>, weekStart: WeekStart, now: number) {
    this.broker = new Broker(rules, series);
    this.#bars = new BarReader(rules.within, weekStart, now);
  }

  /** The newest instant that any event has told of, ms since the epoch. */
  get now(): number {
    return this.#bars.now;
  }

  /** Hears of an event; what strategies decide until the next one is decided on it. */
  hear(event: CandleEvent): readonly Report[] {
    const bar = this.#bars.read(event);
    return bar === undefined ? [] : this.broker.close(bar, this.#bars.fills);
  }

  /** Takes an order that a strategy has decided on. */
  order(order: Order | CancelOrder): readonly Report[] {
    return this.broker.place(order, this.#bars.now, this.#bars.isLate);
  }
}
