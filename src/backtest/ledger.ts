import type { Series } from "../contract/model.js";
import { Broker, type Position } from "./broker.js";
import { Curve, type EquityPoint } from "./curve.js";
import type { Bar } from "./inside-bar.js";
import { pairKeyOf } from "./order.js";
import type { Fill, Report } from "./report.js";
import type { BrokerRules } from "./rules.js";
import { type Statistics, statisticsOf } from "./statistics.js";
import { type Trade, tradesOf } from "./trades.js";

/** The results of an account. */
export interface Account {
  /** The statistics; each doc comment has the formula and its source. */
  readonly statistics: Statistics;
  /** The value of the account after each candle, ascending. It is computed when you read it for the first time. */
  readonly equity: readonly EquityPoint[];
  /** The trades: closed ones in the order of their end, then those that are still open. */
  readonly trades: readonly Trade[];
  /** The fills, in the order in which they were reported. */
  readonly fills: readonly Fill[];
  /** The positions that are held or owed at the end. */
  readonly positions: readonly Position[];
}

/** A broker, and what it has told. */
export class Ledger {
  readonly broker: Broker;
  readonly reports: Report[] = [];
  readonly #rules: BrokerRules;
  readonly #from: number;
  readonly #curve = new Curve();

  constructor(rules: BrokerRules, series: readonly Series[], from: number) {
    this.broker = new Broker(rules, series);
    this.#rules = rules;
    this.#from = from;
  }

  /** Puts equal parts of the money into each pair, with its first candle, as soon as an order can come. */
  hold(series: readonly Series[]): void {
    const pairs = new Map(series.map((each) => [pairKeyOf(each), each]).reverse() as [string, Series][]);
    const size = { amount: this.#rules.cash / pairs.size };
    for (const each of pairs.values()) {
      this.tell(this.broker.place({ type: "market", side: "buy", series: each, size }, this.#from));
    }
  }

  close(bar: Bar, fills: "own" | "pair" | "none"): readonly Report[] {
    const reports = this.broker.close(bar, fills);
    this.tell(reports);
    this.#curve.push(bar.observedAt, this.broker.equity, this.broker.isExposed);
    return reports;
  }

  tell(reports: readonly Report[]): void {
    if (reports.length > 0) this.reports.push(...reports);
  }

  /** The account, and what else is told of it. */
  end<More extends object>(more: More): Readonly<Account & More> {
    const { positions, borrowed } = this.broker;
    const fills = this.reports.flatMap((report) => (report.type === "fill" ? [report.fill] : []));
    const trades = tradesOf(this.reports);
    const [from, { cash }, curve] = [this.#from, this.#rules, this.#curve];
    const statistics = statisticsOf({ from, cash, curve, trades, fills, borrowed });
    return Object.freeze({
      statistics,
      get equity() {
        return curve.points();
      },
      trades,
      fills: Object.freeze(fills),
      positions,
      ...more,
    });
  }
}
