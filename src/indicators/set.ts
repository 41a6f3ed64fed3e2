import { InvalidInputError } from "../errors.js";
import { type Indicator, isIndicator } from "./kernel.js";

/** Checks a set of indicators, and copies it as it is now. */
export function checkSet(
  indicators: Readonly<Record<string, Indicator<unknown>>>,
): ReadonlyMap<string, Indicator<unknown>> {
  if (typeof indicators !== "object" || indicators === null || Array.isArray(indicators)) {
    throw new InvalidInputError(
      "indicators",
      "an object of indicators by name, such as { fast: ema(9) }",
      `is ${indicators === null ? "null" : Array.isArray(indicators) ? "an array" : typeof indicators}`,
    );
  }
  const checked = new Map(Object.entries(indicators));
  for (const [name, indicator] of checked) {
    if (name === "__proto__") {
      throw new InvalidInputError("indicators", "any other name", "has the name __proto__");
    }
    if (isIndicator(indicator)) continue;
    const problem =
      typeof indicator === "function" ? "is a function, but not an indicator" : `is ${typeof indicator}`;
    throw new InvalidInputError(`indicators.${name}`, "an indicator, such as ema(9)", problem);
  }
  return checked;
}
