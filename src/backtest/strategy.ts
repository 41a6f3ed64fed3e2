import { isObservable, type Observable } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { checkSeries } from "../contract/input.js";
import type { Series } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";
import type { Broker, Position } from "./broker.js";
import { type CancelOrder, type Order, seriesKeyOf } from "./order.js";
import type { Fill } from "./report.js";

/**
 * A function from events to orders. The same function runs over the past, on a tape, and live.
 *
 * It gets the events of all feeds, merged. An order counts as decided on the newest event at the time when the order comes,
 * so decide in step with the events. An order that is decided on an event that is not `live` is refused.
 */
export type Strategy = (
  events: Observable<CandleEvent>,
  account: StrategyAccount,
) => Observable<Order | CancelOrder>;

/**
 * What a strategy sees of its own account. It is as of the newest event: the fills of a candle are told, and the position is that
 * after them, before the strategy gets the event with which the candle closes.
 *
 * ```ts
 * import { closes } from "pairstream";
 * import type { Order, Strategy } from "pairstream/backtest";
 * import { filter, map } from "rxjs";
 *
 * const strategy: Strategy = (events, { position }) =>
 *   events.pipe(
 *     closes(),
 *     filter(({ series }) => position(series) === undefined),
 *     map(({ series }): Order => ({ type: "market", side: "buy", series, size: { equity: 0.5 } })),
 *   );
 * ```
 */
export interface StrategyAccount {
  /**
   * The position in the pair of a series; `undefined` while nothing is held or owed. Throws an `InvalidInputError` for what is no
   * series.
   */
  position(series: Series): Position | undefined;
  /** The fills of its orders, each as it is told. It has no replay, and completes with the events. */
  readonly fills: Observable<Fill>;
}

/** The account of a strategy; `broker`: `undefined` while it has none. */
export function accountOf(broker: () => Broker | undefined, fills: Observable<Fill>): StrategyAccount {
  let checked: Series | undefined;
  const position = (series: Series) => {
    if (series !== checked) {
      checkSeries(series);
      // What can be changed is checked each time.
      checked = Object.isFrozen(series) ? series : undefined;
    }
    return broker()?.positionIn(series);
  };
  return Object.freeze({ position, fills });
}

/** Throws an `InvalidInputError` for what is no function. */
export function checkStrategy(strategy: Strategy): Strategy {
  if (typeof strategy === "function") return strategy;
  throw new InvalidInputError(
    "strategy",
    "a function from events to orders",
    `is of type ${typeof strategy}`,
  );
}

/** The orders of a strategy; throws an `InvalidInputError` where it gives anything else. */
export function ordersOf(
  strategy: Strategy,
  events: Observable<CandleEvent>,
  account: StrategyAccount,
): Observable<Order | CancelOrder> {
  const orders = strategy(events, account);
  if (isObservable(orders)) return orders;
  throw new InvalidInputError(
    "strategy",
    "a function that returns an Observable of orders",
    "does not return an Observable",
  );
}

/** Throws an `InvalidInputError` for what is no list, and for an empty one; `of`: what it has to hold. */
export function checkList(parameter: string, list: readonly unknown[], of: string): void {
  if (Array.isArray(list) && list.length > 0) return;
  const problem = Array.isArray(list) ? "is empty" : "is not a list";
  throw new InvalidInputError(parameter, `a list of at least one ${of}`, problem);
}

/** Checks the series of one account: each once, all in one currency. `nameOf`: the parameter that holds one of them. */
export function checkTraded(series: readonly Series[], nameOf: (at: number) => string): readonly Series[] {
  const checked = series.map((one) => checkSeries(one));
  const keys = checked.map(seriesKeyOf);
  checked.forEach(({ currency }, at) => {
    const first = checked[0]!.currency;
    if (keys.indexOf(keys[at]!) < at) {
      throw new InvalidInputError(nameOf(at), "each series once", `is ${keys[at]}, as an earlier one`);
    }
    if (currency !== first) {
      throw new InvalidInputError(
        `${nameOf(at)}.currency`,
        `${first}, as of the first series`,
        `is ${currency}`,
      );
    }
  });
  return checked;
}
