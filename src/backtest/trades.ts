import type { Series } from "../contract/model.js";
import { pairKeyOf } from "./order.js";
import type { Fill, Report } from "./report.js";

/** A position, from its first fill until it is closed. Money is in the currency of the account. */
export interface Trade {
  /** The series whose candle opened it. */
  readonly series: Series;
  /** `"long"` if tokens were held, `"short"` if they were owed. */
  readonly side: "long" | "short";
  /** The timestamp of the candle that opened it, ms since the epoch. */
  readonly from: number;
  /** The timestamp of the candle that closed it, ms since the epoch; absent while it is open. */
  readonly to?: number;
  /** How many tokens it bought (`long`) or sold (`short`) in total. */
  readonly quantity: number;
  /** The mean price of the fills that opened or enlarged it, weighted by tokens. */
  readonly entry: number;
  /** The mean price of the fills that reduced or closed it, weighted by tokens; absent if there are none. */
  readonly exit?: number;
  /** The fees of its fills, in the currency of the account. */
  readonly fees: number;
  /** The cost of borrowing the tokens of a short, in the currency of the account. */
  readonly borrowed: number;
  /** The profit after fees and borrowing, below 0 for a loss, in the currency of the account; absent while it is open. */
  readonly profit?: number;
  /** The profit as a share of `entry × quantity`; absent while it is open. */
  readonly gain?: number;
}

/** A trade while it is put together. */
interface Growing {
  readonly series: Series;
  readonly sign: 1 | -1;
  readonly from: number;
  to: number | undefined;
  held: number;
  came: { quantity: number; value: number };
  went: { quantity: number; value: number };
  fees: number;
  borrowed: number;
}

/** The trades that a broker's reports come to: closed ones in the order of their end, then those still open. */
export function tradesOf(reports: Iterable<Report>): readonly Trade[] {
  const open = new Map<string, Growing>();
  // What it cost to owe is told after the fills of a candle, and so maybe after the end of the trade.
  const lastShorts = new Map<string, Growing>();
  const closed: Growing[] = [];
  for (const report of reports) {
    if (report.type === "borrow") {
      const trade = lastShorts.get(pairKeyOf(report.borrow.series));
      if (trade !== undefined) trade.borrowed += report.borrow.amount;
    }
    if (report.type !== "fill") continue;
    const { fill } = report;
    const pair = pairKeyOf(fill.series);
    const sign = fill.side === "buy" ? 1 : -1;
    const trade = open.get(pair);
    let fresh = fill.quantity;
    if (trade !== undefined && trade.sign !== sign) {
      const going = Math.min(fill.quantity, Math.abs(trade.held));
      take(trade, trade.went, fill, going);
      trade.held += sign * going;
      fresh -= going;
      if (trade.held === 0) {
        trade.to = fill.candle;
        closed.push(trade);
        open.delete(pair);
      }
    }
    if (fresh <= 0) continue;
    const growing = open.get(pair) ?? begin(fill, sign);
    take(growing, growing.came, fill, fresh);
    growing.held += sign * fresh;
    open.set(pair, growing);
    if (sign < 0) lastShorts.set(pair, growing);
  }
  return Object.freeze([...closed, ...open.values()].map(tradeOf));
}

function begin({ series, candle }: Fill, sign: 1 | -1): Growing {
  const none = () => ({ quantity: 0, value: 0 });
  return {
    series,
    sign,
    from: candle,
    to: undefined,
    held: 0,
    came: none(),
    went: none(),
    fees: 0,
    borrowed: 0,
  };
}

function take(trade: Growing, into: Growing["came"], { price, quantity, fee }: Fill, part: number): void {
  into.quantity += part;
  into.value += part * price;
  trade.fees += fee * (part / quantity);
}

function tradeOf({ series, sign, from, to, came, went, fees, borrowed }: Growing): Trade {
  const profit = sign * (went.value - came.value) - fees - borrowed;
  return Object.freeze({
    series,
    side: sign > 0 ? "long" : "short",
    from,
    ...(to !== undefined && { to }),
    quantity: came.quantity,
    entry: came.value / came.quantity,
    ...(went.quantity > 0 && { exit: went.value / went.quantity }),
    fees,
    borrowed,
    ...(to !== undefined && { profit, gain: profit / came.value }),
  });
}
