import type { Series } from "../contract/model.js";
import type { Funds } from "./fill-price.js";
import {
  type Bar,
  isInTime,
  mayTurn,
  type Outcome,
  pathsOf,
  restThrough,
  takesPart,
  walkPath,
} from "./inside-bar.js";
import type { OpenOrder } from "./open-order.js";
import { type CancelOrder, flawOfOrder, isReducing, type Order, pairKeyOf, seriesKeyOf } from "./order.js";
import {
  type Cancellation,
  type RejectionReason,
  type Report,
  reportBorrow,
  reportCancellation,
  reportFill,
  reportRejection,
} from "./report.js";
import type { BrokerRules } from "./rules.js";

/** A year of 365 days, in ms: on chain, markets never close. */
const YEAR = 365 * 86_400_000;

/** The tokens of a pair that an account holds or owes. */
export interface Position {
  /** The series of the pair that had the first candle. */
  readonly series: Series;
  /** How many tokens are held; below 0 if they are owed. */
  readonly quantity: number;
  /** The last close, in the currency of the prices. */
  readonly price: number;
  /** When that candle ended, ms since the epoch. */
  readonly at: number;
}

/** The same while it changes. */
interface Holding {
  readonly pair: string;
  readonly series: Series;
  quantity: number;
  /** The open of the last candle. */
  open: number;
  price: number;
  at: number;
}

interface SeriesNames {
  readonly pair: string;
  readonly series: string;
}

const NOTHING: readonly Report[] = Object.freeze([]);

/**
 * Keeps an account and its orders. It knows no clock: all that it does follows from orders and closed candles, in the
 * order in which they are given.
 */
export class Broker {
  readonly #rules: BrokerRules;
  readonly #holdings = new Map<string, Holding>();
  readonly #all: Holding[] = [];
  readonly #series = new Map<string, Series>();
  /** Of series that orders have named, and that cannot change. */
  readonly #names = new WeakMap<Series, SeriesNames>();
  /** The series of the last candle. */
  #last: { readonly key: string; readonly holding: Holding } | undefined;
  #orders: OpenOrder[] = [];
  // A field that begins as a number is altered in place.
  #cash = 0;
  #equity = 0;
  #borrowed = 0;
  #count = 0;
  #isRuined = false;

  constructor(rules: BrokerRules, series: Iterable<Series> = []) {
    this.#rules = rules;
    this.#cash = rules.cash;
    this.#equity = rules.cash;
    for (const each of series) this.#series.set(seriesKeyOf(each), each);
  }

  get cash(): number {
    return this.#cash;
  }

  /** What has been paid for tokens that were owed. */
  get borrowed(): number {
    return this.#borrowed;
  }

  /** What the account is worth at the last closes. */
  get equity(): number {
    return this.#equity;
  }

  /** Whether tokens are held or owed. */
  get isExposed(): boolean {
    for (let at = 0; at < this.#all.length; at += 1) if (this.#all[at]!.quantity !== 0) return true;
    return false;
  }

  get positions(): readonly Position[] {
    return Object.freeze(this.#all.filter(({ quantity }) => quantity !== 0).map(positionOf));
  }

  /** The position in the pair of a series, if tokens of it are held or owed. */
  positionIn(series: Series): Position | undefined {
    const known = this.#names.get(series) ?? this.#namesOf(series);
    const holding = this.#holdings.get(known.pair);
    return holding === undefined || holding.quantity === 0 ? undefined : positionOf(holding);
  }

  get orders(): readonly OpenOrder[] {
    return this.#orders;
  }

  /** Takes an order that was decided on what was known at `placedAt`. `isLate`: on an event that is not live. */
  place(order: Order | CancelOrder, placedAt: number, isLate = false): readonly Report[] {
    const refuse = (reason: RejectionReason, message: string) => [
      reportRejection({ order, reason, message, at: placedAt }),
    ];
    const known = isCancel(order) ? undefined : this.#names.get(order?.series);
    const flaw = isCancel(order) ? undefined : flawOfOrder(order, known !== undefined);
    if (flaw !== undefined) return refuse("invalid", flaw);
    if (isLate) return refuse("late", "it was decided on an event that is not live");
    const from = placedAt + this.#rules.latency;
    if (isCancel(order)) {
      const { id } = order;
      if (!this.#orders.some((open) => open.id === id))
        return refuse("unknown-order", `no order ${id} is open`);
      this.#orders = this.#orders.map((open) =>
        open.id === id ? { ...open, cancelFrom: Math.min(open.cancelFrom, from) } : open,
      );
      return NOTHING;
    }
    if (this.#isRuined) return refuse("ruined", "the account is worth nothing");
    const { pair, series } = known ?? this.#namesOf(order.series);
    if (!this.#series.has(series)) return refuse("unknown-series", `no candles of ${series}`);
    const { id = `#${this.#count + 1}`, after } = order;
    if (this.#orders.some((open) => open.id === id)) return refuse("duplicate-id", `an order ${id} is open`);
    if (after !== undefined && !this.#orders.some((open) => open.id === after)) {
      return refuse("unknown-order", `no order ${after} is open`);
    }
    this.#count += 1;
    this.#orders.push({
      id,
      order: Object.isFrozen(order) ? order : Object.freeze({ ...order }),
      pair,
      series,
      from,
      cancelFrom: Infinity,
      isWaiting: after !== undefined,
      isTriggered: false,
      hasRested: false,
      best: undefined,
      remaining: undefined,
    });
    return NOTHING;
  }

  /** A candle has closed: fills orders of its own series, of all series of its `pair`, or `none`. */
  close(bar: Bar, fills: "own" | "pair" | "none" = "own"): readonly Report[] {
    const holding = this.#holdingOf(bar);
    const isCalm = this.#isCalm(bar, fills);
    if (!isCalm || holding.quantity < 0) return this.#work(bar, fills, holding, isCalm);
    this.#price(bar, holding);
    return this.#equity > 0 ? NOTHING : this.#ruin(bar, []);
  }

  /**
   * What a candle changes in orders and debts. Its functions remember the candle, for which the engine makes room whenever
   * it begins: in `close` that would be with every candle.
   */
  #work(bar: Bar, fills: "own" | "pair" | "none", holding: Holding, isCalm: boolean): readonly Report[] {
    const reports: Report[] = [];
    let { quantity } = holding;
    let owed = Math.max(0, -quantity);
    if (!isCalm) {
      this.#end(bar, reports);
      const orders = this.#orders.filter((open) => takesPart(open, bar, fills));
      if (orders.some((open) => mayTurn(open, bar))) {
        const outcome = this.#outcomeOf(bar, orders, holding);
        const rest = new Map(outcome.orders.map((open) => [open.id, open]));
        this.#orders = this.#orders.flatMap((open) =>
          orders.includes(open) ? (rest.get(open.id) ?? []) : open,
        );
        for (const report of outcome.reports) reports.push(report);
        for (const report of outcome.reports) this.#tellOthers(report, bar, reports);
        this.#cash = outcome.cash;
        ({ quantity, owed } = outcome);
      } else if (orders.length > 0) {
        this.#orders = this.#orders.map((open) => (orders.includes(open) ? restThrough(open, bar) : open));
      }
    }
    const borrow = owed > 0 ? this.#borrowOf(bar, holding, owed) : 0;
    if (borrow > 0) {
      reports.push(reportBorrow({ series: bar.series, amount: borrow }));
      this.#borrowed += borrow;
      this.#cash -= borrow;
    }
    holding.quantity = quantity;
    this.#price(bar, holding);
    return this.#equity > 0 ? reports : this.#ruin(bar, reports);
  }

  /** Whether a candle leaves all orders as they are, as most do. */
  #isCalm(bar: Bar, fills: "own" | "pair" | "none"): boolean {
    const orders = this.#orders;
    for (let at = 0; at < orders.length; at += 1) {
      const open = orders[at]!;
      if (open.pair !== bar.pair) continue;
      if (!isInTime(open, bar)) return false;
      if (open.isWaiting || !takesPart(open, bar, fills)) continue;
      if (!open.hasRested || open.order.type === "trailing-stop" || mayTurn(open, bar)) return false;
    }
    return true;
  }

  #price({ end, open, close }: Bar, holding: Holding): void {
    // What lags behind another series of its pair knows no newer price.
    if (end >= holding.at) {
      holding.open = open;
      holding.price = close;
      holding.at = end;
    }
    let equity = this.#cash;
    for (let at = 0; at < this.#all.length; at += 1) equity += this.#all[at]!.quantity * this.#all[at]!.price;
    this.#equity = equity;
  }

  #holdingOf({ pair, key, series, start, open }: Bar): Holding {
    const last = this.#last;
    if (last?.key === key) return last.holding;
    if (!this.#series.has(key)) this.#series.set(key, series);
    let holding = this.#holdings.get(pair);
    if (holding === undefined) {
      holding = { pair, series, quantity: 0, open, price: open, at: start };
      this.#holdings.set(pair, holding);
      this.#all.push(holding);
    }
    this.#last = { key, holding };
    return holding;
  }

  #namesOf(series: Series): SeriesNames {
    const names = { pair: pairKeyOf(series), series: seriesKeyOf(series) };
    // One that can change may have other names by the next order.
    if (Object.isFrozen(series)) this.#names.set(series, names);
    return names;
  }

  /** What there is as a candle begins: what closes with it in another pair is not known then. */
  #fundsOf({ pair, start }: Bar, held: number): Funds {
    let [value, gross] = [0, 0];
    for (const { pair: other, quantity, price, open, at } of this.#all) {
      if (other === pair) continue;
      const worth = quantity * (at > start ? open : price);
      value += worth;
      gross += Math.abs(worth);
    }
    return { cash: this.#cash, quantity: held, others: { value, gross } };
  }

  /** What a candle makes of the orders that take part in it, by the rule for its inside. */
  #outcomeOf(bar: Bar, orders: readonly OpenOrder[], holding: Holding): Outcome {
    const funds = this.#fundsOf(bar, holding.quantity);
    const { insideBar } = this.#rules;
    const sign = insideBar === "optimistic" ? -1 : 1;
    let chosen: Outcome | undefined;
    let least = Infinity;
    for (const path of pathsOf(bar, insideBar, orders)) {
      const outcome = walkPath(path, bar, orders, funds, this.#rules);
      const borrow = this.#borrowOf(bar, holding, outcome.owed);
      const worth = sign * (outcome.cash - borrow + outcome.quantity * bar.close);
      if (chosen === undefined || worth < least) [chosen, least] = [outcome, worth];
    }
    return chosen!;
  }

  /** What the tokens cost that are owed: those owed before it since then, those that came in it for all of it. */
  #borrowOf(bar: Bar, { quantity, at }: Holding, owed: number): number {
    const rate = this.#rules.short?.borrow ?? 0;
    if (rate === 0) return 0;
    const earlier = Math.max(0, -quantity);
    const since = Math.max(0, bar.end - at);
    return (rate / YEAR) * bar.close * (earlier * since + (owed - earlier) * (bar.end - bar.start));
  }

  /** Lets go of what was cancelled, and of what has expired. */
  #end(bar: Bar, reports: Report[]): void {
    if (this.#orders.every((open) => open.pair !== bar.pair || isInTime(open, bar))) return;
    for (const open of [...this.#orders]) {
      if (open.pair !== bar.pair || isInTime(open, bar)) continue;
      const reason = open.cancelFrom <= bar.start ? "asked" : "expired";
      this.#cancel((each) => each === open, reason, bar, reports);
    }
  }

  #cancel(
    isMeant: (open: OpenOrder) => boolean,
    reason: Cancellation["reason"],
    { observedAt }: Bar,
    reports: Report[],
  ): void {
    for (const open of this.#orders.filter(isMeant)) {
      if (!this.#orders.includes(open)) continue;
      this.#orders = this.#orders.filter((each) => each !== open);
      const { id, order } = open;
      reports.push(reportCancellation({ id, order, reason, at: observedAt }));
      const waits = (each: OpenOrder) => each.isWaiting && each.order.after === id;
      this.#cancel(waits, "after", { observedAt } as Bar, reports);
    }
  }

  /** Orders that took no part in the candle hear of what happened in it: those of other pairs and series. */
  #tellOthers(report: Report, bar: Bar, reports: Report[]): void {
    if (report.type !== "fill" && report.type !== "cancellation") return;
    const { id, order } = report.type === "fill" ? report.fill : report.cancellation;
    if (report.type === "cancellation") {
      this.#cancel((each) => each.isWaiting && each.order.after === id, "after", bar, reports);
      return;
    }
    this.#orders = this.#orders.map((each) =>
      each.isWaiting && each.order.after === id ? { ...each, isWaiting: false } : each,
    );
    if (order === undefined) return;
    const isWhole = !this.#orders.some((each) => each.id === id);
    if (order.group !== undefined && (isWhole || !isReducing(order))) {
      this.#cancel((each) => each.id !== id && each.order.group === order.group, "group", bar, reports);
    }
    if (isWhole && order.after !== undefined) {
      this.#cancel((each) => each.id === order.after, "after", bar, reports);
    }
  }

  /** Closes all positions at their last prices, as a taker, and ends trading. */
  #ruin(bar: Bar, reports: Report[]): readonly Report[] {
    if (this.#isRuined) return reports;
    this.#isRuined = true;
    this.#cancel(() => true, "ruined", bar, reports);
    for (const holding of this.#all) {
      const { quantity, price, series } = holding;
      if (quantity === 0) continue;
      const fee = Math.abs(quantity) * price * this.#rules.fees.taker + this.#rules.fees.fixed;
      this.#cash += quantity * price - fee;
      holding.quantity = 0;
      reports.push(
        reportFill({
          id: "liquidation",
          series,
          side: quantity > 0 ? "sell" : "buy",
          candle: bar.start,
          reportedAt: bar.observedAt,
          quote: price,
          price,
          quantity: Math.abs(quantity),
          fee,
          slippage: 0,
          liquidity: "taker",
        }),
      );
    }
    this.#equity = this.#cash;
    return reports;
  }
}

function positionOf({ series, quantity, price, at }: Holding): Position {
  return Object.freeze({ series, quantity, price, at });
}

function isCancel(order: Order | CancelOrder): order is CancelOrder {
  return typeof order === "object" && order !== null && order.type === "cancel";
}
