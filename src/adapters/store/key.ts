import { show } from "../../contract/input.js";
import type { Series, Timeframe, WeekStart } from "../../contract/model.js";
import type { StoreKey } from "../../contract/store.js";
import { InvalidInputError } from "../../errors.js";

/** What makes a key, in the order in which they are written. */
const KEY_FIELDS = ["service", "network", "pairAddress", "timeframe", "currency", "weekStart"] as const;

/** The key of a series at a service. Where weeks begin means nothing to other timeframes. */
export function storeKeyOf(
  service: string,
  { network, pairAddress, timeframe, currency }: Series<Timeframe>,
  weekStart: WeekStart,
): StoreKey {
  const week = timeframe === "1w" ? weekStart : "monday";
  return Object.freeze({ service, network, pairAddress, timeframe, currency, weekStart: week });
}

/** The values of a key, in the order of `KEY_FIELDS`; throws an `InvalidInputError` for what is none. */
export function valuesOf(key: StoreKey): string[] {
  return KEY_FIELDS.map((field) => {
    const value: unknown = key?.[field];
    if (typeof value === "string") return value;
    throw new InvalidInputError(`key.${field}`, "a string", `is ${show(value)}`);
  });
}
