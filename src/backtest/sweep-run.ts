import { Subject, throwError } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import type { Series, WeekStart } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";
import { checkBeginnings } from "../replay/no-lookahead.js";
import { BarReader } from "./bar-reader.js";
import { Ledger } from "./ledger.js";
import type { CancelOrder, Order } from "./order.js";
import type { RejectionReason } from "./report.js";
import type { BrokerRules } from "./rules.js";
import type { Statistics } from "./statistics.js";
import { ordersOf, type Strategy, type StrategyAccount } from "./strategy.js";

/** A range of time. */
export interface TimeRange {
  /** The start, ms since the epoch, inclusive. */
  readonly from: number;
  /** The end, ms since the epoch, exclusive. */
  readonly to: number;
}

/** What all strategies of a sweep run on. */
export interface SweepMarket {
  readonly events: readonly CandleEvent[];
  readonly series: readonly Series[];
  readonly rules: BrokerRules;
  readonly weekStart: WeekStart;
}

/** A strategy runs once for the accounts of all ranges, so there is none to look at. */
const noAccount = () =>
  new InvalidInputError(
    "strategy",
    "in a sweep, one that decides by events alone: it runs once for the accounts of several ranges",
    "looks at its account",
  );
const NO_ACCOUNT: StrategyAccount = {
  position() {
    throw noAccount();
  },
  fills: /* @__PURE__ */ throwError(noAccount),
};

/** Up to which order a strategy is looked through for look-ahead, and on how many beginnings of what comes before. */
const CHECKED_ORDERS = 20;
const PREFIXES = 4;

/** What became of a strategy in each range, with an account of its own. */
export interface RangesOutcome {
  readonly statistics: readonly Statistics[];
  readonly orders: number;
  readonly rejections: Readonly<Partial<Record<RejectionReason, number>>>;
}

/**
 * Runs a strategy once over all events, and trades its orders in the account of every range: it has seen what was
 * before, and has nothing of it but the money that it starts with.
 */
export function runRanges(
  { events, series, rules, weekStart }: SweepMarket,
  strategy: Strategy,
  ranges: readonly TimeRange[],
): RangesOutcome {
  const bars = new BarReader(rules.within, weekStart, ranges[0]!.from);
  const ledgers = ranges.map(({ from }) => new Ledger(rules, series, from));
  const source = new Subject<CandleEvent>();
  let [given, orders, checked] = [0, 0, 0];
  let failure: { readonly error: unknown } | undefined;
  const throwFailure = () => {
    if (failure !== undefined) throw failure.error;
  };
  const place = (order: Order | CancelOrder) => {
    orders += 1;
    if (orders <= CHECKED_ORDERS) checked = given + 1;
    const { now, isLate } = bars;
    ranges.forEach(({ from, to }, at) => {
      const ledger = ledgers[at]!;
      if (now >= from && now < to) ledger.tell(ledger.broker.place(order, now, isLate));
    });
  };
  const subscription = ordersOf(strategy, source.asObservable(), NO_ACCOUNT).subscribe({
    next: (order) => place(typeof order === "object" && order !== null ? Object.freeze({ ...order }) : order),
    error: (error) => {
      failure ??= { error };
    },
  });
  throwFailure();
  for (const event of events) {
    const bar = bars.read(event);
    if (bar !== undefined) {
      for (let at = 0; at < ranges.length; at += 1) {
        const { from, to } = ranges[at]!;
        if (bar.start >= from && bar.end <= to) ledgers[at]!.close(bar, bars.fills);
      }
    }
    given += 1;
    source.next(event);
    throwFailure();
  }
  source.complete();
  subscription.unsubscribe();
  throwFailure();
  const isAll = orders <= CHECKED_ORDERS;
  checkBeginnings(
    (given) => strategy(given, NO_ACCOUNT),
    isAll ? events : events.slice(0, checked),
    PREFIXES,
  );
  const rejections: Partial<Record<RejectionReason, number>> = {};
  for (const report of ledgers.flatMap(({ reports }) => reports)) {
    if (report.type !== "rejection") continue;
    const { reason } = report.rejection;
    rejections[reason] = (rejections[reason] ?? 0) + 1;
  }
  const statistics = ledgers.map((ledger) => ledger.end({}).statistics);
  return { statistics, orders, rejections: Object.freeze(rejections) };
}

/** What became of money that bought with the first candle of each range, and held. */
export function holdRanges(
  { events, series, rules, weekStart }: SweepMarket,
  ranges: readonly TimeRange[],
): readonly Statistics[] {
  const bars = new BarReader(rules.within, weekStart, ranges[0]!.from);
  const ledgers = ranges.map(({ from }) => new Ledger({ ...rules, latency: 0 }, series, from));
  for (const ledger of ledgers) ledger.hold(series);
  for (const event of events) {
    const bar = bars.read(event);
    if (bar === undefined) continue;
    ranges.forEach(({ from, to }, at) => {
      if (bar.start >= from && bar.end <= to) ledgers[at]!.close(bar, bars.fills);
    });
  }
  return ledgers.map((ledger) => ledger.end({}).statistics);
}
