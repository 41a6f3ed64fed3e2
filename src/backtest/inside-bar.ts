import type { Series } from "../contract/model.js";
import { dealOf, type Funds } from "./fill-price.js";
import { follow, isDue, isTriggeredBy, type OpenOrder, turnOf } from "./open-order.js";
import { isReducing } from "./order.js";
import { type Cancellation, type Report, reportCancellation, reportFill, reportRejection } from "./report.js";
import type { BrokerRules, InsideBar } from "./rules.js";

/** A candle that has closed, as a broker sees it. */
export interface Bar {
  readonly series: Series;
  /** The names of its pair and of its series. */
  readonly pair: string;
  readonly key: string;
  /** Its interval, and when it was known to have closed, ms since the epoch. */
  readonly start: number;
  readonly end: number;
  readonly observedAt: number;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  /** The value traded in it, in the currency of the prices. */
  readonly volume: number;
}

/** What an account and its open orders have become. */
export interface Outcome {
  readonly cash: number;
  readonly quantity: number;
  /** The most tokens that were owed at one time. */
  readonly owed: number;
  readonly orders: readonly OpenOrder[];
  readonly reports: readonly Report[];
}

/** Whether a candle belongs to the time in which an order stands. */
export function isInTime({ cancelFrom, order: { timeInForce } }: OpenOrder, bar: Bar): boolean {
  if (cancelFrom <= bar.start) return false;
  return typeof timeInForce !== "object" || bar.end <= timeInForce.until;
}

/** Whether an order stands in a candle, and is filled by it. */
export function takesPart(open: OpenOrder, bar: Bar, fills: "own" | "pair" | "none"): boolean {
  const isMeant = fills === "pair" ? open.pair === bar.pair : fills === "own" && open.series === bar.key;
  return isMeant && open.from <= bar.start && isInTime(open, bar);
}

/** Whether an order may have something to do at some price of a candle, whichever way the prices went. */
export function mayTurn(open: OpenOrder, { low, high }: Bar): boolean {
  if (open.isWaiting) return false;
  const { type } = open.order;
  if (type === "market" || open.order.timeInForce === "ioc" || open.order.timeInForce === "fok") return true;
  // A new trailing stop begins inside the candle.
  if (type === "trailing-stop" && open.best === undefined) return true;
  const furthest = follow(open, open.order.side === "buy" ? low : high);
  const turn = turnOf(furthest);
  if (turn === undefined || (turn >= low && turn <= high)) return true;
  return (
    isDue(furthest, low) ||
    isDue(furthest, high) ||
    isTriggeredBy(furthest, low) ||
    isTriggeredBy(furthest, high)
  );
}

/** An order after a candle that gave it nothing to do. */
export function restThrough(open: OpenOrder, { low, high }: Bar): OpenOrder {
  if (open.isWaiting) return open;
  const next = follow(open, open.order.side === "buy" ? low : high);
  return next.hasRested ? next : { ...next, hasRested: true };
}

/** How many prices of open orders are tried as turning points of a candle. */
const MOST_TURNS = 16;

/** The ways that the prices of a candle may have gone. Any rule tries the same ones, and chooses among them. */
export function pathsOf(bar: Bar, rule: InsideBar, orders: readonly OpenOrder[]): number[][] {
  const { open, high, low, close } = bar;
  const highFirst = [open, high, low, close];
  const lowFirst = [open, low, high, close];
  if (rule === "high-first") return [highFirst];
  if (rule === "low-first") return [lowFirst];
  const turns = new Set<number>();
  for (const order of orders) {
    const turn = turnOf(order);
    if (turn !== undefined && turn < high && turn > low && turns.size < MOST_TURNS) turns.add(turn);
  }
  const more = [...turns].flatMap((turn) => [
    [open, turn, low, high, close],
    [open, turn, high, low, close],
  ]);
  return [lowFirst, highFirst, ...more];
}

/** Walks the prices of a candle one way, and fills what they reach. `orders`: those that take part, in the order placed. */
export function walkPath(
  path: readonly number[],
  bar: Bar,
  orders: readonly OpenOrder[],
  funds: Funds,
  rules: BrokerRules,
): Outcome {
  const walk = new Walk(bar, orders, funds, rules);
  let price = path[0]!;
  walk.visit(price, true);
  for (const end of path.slice(1)) {
    while (price !== end) {
      price = walk.nextTurn(price, end);
      walk.visit(price, false);
    }
  }
  return walk.outcome();
}

class Walk {
  readonly #bar: Bar;
  readonly #rules: BrokerRules;
  readonly #others: Funds["others"];
  readonly #reports: Report[] = [];
  #orders: OpenOrder[];
  #cash: number;
  #quantity: number;
  #owed: number;
  /** The value that the candle has left for fills. */
  #left: number;

  constructor(bar: Bar, orders: readonly OpenOrder[], funds: Funds, rules: BrokerRules) {
    this.#bar = bar;
    this.#rules = rules;
    this.#others = funds.others;
    this.#orders = [...orders];
    this.#cash = funds.cash;
    this.#quantity = funds.quantity;
    this.#owed = Math.max(0, -funds.quantity);
    const { maxVolumeShare } = rules;
    this.#left = maxVolumeShare === undefined ? Infinity : bar.volume * maxVolumeShare;
  }

  outcome(): Outcome {
    return {
      cash: this.#cash,
      quantity: this.#quantity,
      owed: this.#owed,
      orders: this.#orders,
      reports: this.#reports,
    };
  }

  /** The nearest price on the way at which an order has something to do; the end of the way if there is none. */
  nextTurn(price: number, end: number): number {
    let nearest = end;
    for (const open of this.#orders) {
      if (open.isWaiting) continue;
      const turn = turnOf(open);
      if (turn === undefined) continue;
      if (end > price ? turn > price && turn < nearest : turn < price && turn > nearest) nearest = turn;
    }
    return nearest;
  }

  /** The price is there: whatever it reaches is done, one order after the other, and what follows from that. */
  visit(price: number, isOpen: boolean): void {
    const done: string[] = [];
    for (;;) {
      const due = this.#dueAt(price, done);
      if (due === undefined) break;
      done.push(due.id);
      if (this.#left > 0) this.#fill(due, price);
    }
    for (let at = 0; at < this.#orders.length; at += 1) {
      const open = this.#orders[at]!;
      if (open.isWaiting) continue;
      const next = follow(open, price);
      this.#orders[at] = next.hasRested ? next : { ...next, hasRested: true };
    }
    if (isOpen) this.#endImmediate();
  }

  /** The first order that trades at a price, once the price has triggered all that it triggers. */
  #dueAt(price: number, done: readonly string[]): OpenOrder | undefined {
    let due: OpenOrder | undefined;
    for (let at = 0; at < this.#orders.length; at += 1) {
      let open = this.#orders[at]!;
      if (open.isWaiting) continue;
      if (isTriggeredBy(open, price)) {
        open = { ...open, isTriggered: true };
        this.#orders[at] = open;
      }
      if (due === undefined && isDue(open, price) && !done.includes(open.id)) due = open;
    }
    return due;
  }

  #fill(open: OpenOrder, quote: number): void {
    const { order, id } = open;
    const { series, start, observedAt, volume } = this.#bar;
    const isMaker = open.hasRested && (order.type === "limit" || order.type === "stop-limit");
    const funds = { cash: this.#cash, quantity: this.#quantity, others: this.#others };
    const deal = dealOf(open, quote, isMaker, funds, this.#rules, this.#left, volume);
    if ("reason" in deal) {
      this.#reports.push(reportRejection({ order, ...deal, at: observedAt }));
      this.#remove(open);
      this.#abandon(id);
      return;
    }
    const { quantity, price, fee, wanted } = deal;
    if (order.timeInForce === "fok" && quantity < wanted) return;
    const sign = order.side === "buy" ? 1 : -1;
    const held = this.#quantity;
    this.#cash -= sign * quantity * price + fee;
    this.#quantity += sign * quantity;
    this.#owed = Math.max(this.#owed, -this.#quantity);
    this.#left -= quantity * quote;
    this.#reports.push(
      reportFill({
        id,
        order,
        series,
        side: order.side,
        candle: start,
        reportedAt: observedAt,
        quote,
        price,
        quantity,
        fee,
        slippage: Math.abs(price - quote) * quantity,
        liquidity: isMaker ? "maker" : "taker",
      }),
    );
    const isWhole = quantity === wanted;
    if (isWhole) this.#remove(open);
    else this.#replace({ ...open, remaining: wanted - quantity });
    this.#follow(open, isWhole);
    // What was to reduce one position is not for the next one.
    if (held !== 0 && held * this.#quantity <= 0) {
      this.#cancel((each) => each.id !== id && each.hasRested && isReducing(each.order), "position");
    }
  }

  /** What the fill of an order means for others. */
  #follow({ id, order }: OpenOrder, isWhole: boolean): void {
    for (let at = 0; at < this.#orders.length; at += 1) {
      const each = this.#orders[at]!;
      if (each.isWaiting && each.order.after === id) this.#orders[at] = { ...each, isWaiting: false };
    }
    if (order.group !== undefined && (isWhole || !isReducing(order))) {
      this.#cancel((each) => each.id !== id && each.order.group === order.group, "group");
    }
    if (isWhole && order.after !== undefined) this.#cancel((each) => each.id === order.after, "after");
  }

  #endImmediate(): void {
    this.#cancel(({ order, isWaiting }) => {
      return !isWaiting && (order.timeInForce === "ioc" || order.timeInForce === "fok");
    }, "immediate");
  }

  #cancel(isMeant: (open: OpenOrder) => boolean, reason: Cancellation["reason"]): void {
    if (this.#orders.length === 0) return;
    for (const open of this.#orders.filter(isMeant)) {
      // It may have gone with one before it.
      if (!this.#orders.includes(open)) continue;
      this.#remove(open);
      const { id, order } = open;
      this.#reports.push(reportCancellation({ id, order, reason, at: this.#bar.observedAt }));
      this.#abandon(id);
    }
  }

  /** What waits for an order that has gone goes too. */
  #abandon(id: string): void {
    this.#cancel((each) => each.isWaiting && each.order.after === id, "after");
  }

  #remove(open: OpenOrder): void {
    this.#orders = this.#orders.filter((each) => each !== open);
  }

  #replace(open: OpenOrder): void {
    this.#orders = this.#orders.map((each) => (each.id === open.id ? open : each));
  }
}
