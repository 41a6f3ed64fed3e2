import { isObservable, type Observable } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { checkSeries } from "../contract/input.js";
import type { Series } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";
import { type CancelOrder, type Order, seriesKeyOf } from "./order.js";

/**
 * A function from events to orders. The same function runs over the past, on a tape, and live.
 *
 * It gets the events of all feeds, merged. An order counts as decided on the newest event at the time when the order comes,
 * so decide in step with the events. An order that is decided on an event that is not `live` is refused.
 */
export type Strategy = (events: Observable<CandleEvent>) => Observable<Order | CancelOrder>;

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
): Observable<Order | CancelOrder> {
  const orders = strategy(events);
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
