import type { CandleEvent, CandleStatus } from "../candles/event.js";
import type { Candle } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";
import type { Indicator, Kernel } from "../indicators/kernel.js";
import type { IndicatorEvent } from "./indicator-event.js";
import { type Recursion, ReplayedChain } from "./replayed-chain.js";

/** By name; `undefined` while an indicator warms up. */
type Values = Readonly<Record<string, unknown>>;

/**
 * Several kernels side by side.
 *
 * The first eight have a line of code each: an engine remembers by its place in the code what is called and stored
 * there, and a loop over all of them takes a quarter longer.
 */
export class KernelSet implements Recursion<Values> {
  private readonly size: number;

  private constructor(
    private readonly names: readonly string[],
    private readonly kernels: readonly Kernel<unknown>[],
  ) {
    this.size = names.length;
  }

  static of(indicators: ReadonlyMap<string, Indicator<unknown>>): KernelSet {
    const kernels = [...indicators].map(([name, indicator]) => freshKernel(name, indicator));
    return new KernelSet([...indicators.keys()], kernels);
  }

  push(candle: Candle): Values {
    const { names, kernels, size } = this;
    const values: Record<string, unknown> = {};
    if (size > 0) values[names[0]!] = frozen(kernels[0]!.push(candle));
    if (size > 1) values[names[1]!] = frozen(kernels[1]!.push(candle));
    if (size > 2) values[names[2]!] = frozen(kernels[2]!.push(candle));
    if (size > 3) values[names[3]!] = frozen(kernels[3]!.push(candle));
    if (size > 4) values[names[4]!] = frozen(kernels[4]!.push(candle));
    if (size > 5) values[names[5]!] = frozen(kernels[5]!.push(candle));
    if (size > 6) values[names[6]!] = frozen(kernels[6]!.push(candle));
    if (size > 7) values[names[7]!] = frozen(kernels[7]!.push(candle));
    for (let at = 8; at < size; at += 1) values[names[at]!] = frozen(kernels[at]!.push(candle));
    return Object.freeze(values);
  }

  peek(candle: Candle): Values {
    const { names, kernels, size } = this;
    const values: Record<string, unknown> = {};
    if (size > 0) values[names[0]!] = frozen(kernels[0]!.peek(candle));
    if (size > 1) values[names[1]!] = frozen(kernels[1]!.peek(candle));
    if (size > 2) values[names[2]!] = frozen(kernels[2]!.peek(candle));
    if (size > 3) values[names[3]!] = frozen(kernels[3]!.peek(candle));
    if (size > 4) values[names[4]!] = frozen(kernels[4]!.peek(candle));
    if (size > 5) values[names[5]!] = frozen(kernels[5]!.peek(candle));
    if (size > 6) values[names[6]!] = frozen(kernels[6]!.peek(candle));
    if (size > 7) values[names[7]!] = frozen(kernels[7]!.peek(candle));
    for (let at = 8; at < size; at += 1) values[names[at]!] = frozen(kernels[at]!.peek(candle));
    return Object.freeze(values);
  }

  fork(): KernelSet {
    return new KernelSet(
      this.names,
      this.kernels.map((kernel) => kernel.fork()),
    );
  }
}

/** Tells every candle together with the values of indicators after it. */
export class IndicatorChain extends ReplayedChain<Values, IndicatorEvent> {
  protected override shown(candle: Candle): Candle {
    return candle;
  }

  protected override isSameValue(a: Values, b: Values): boolean {
    return a === b || Object.keys(a).every((name) => isSameResult(a[name], b[name]));
  }

  protected override eventOf(
    change: "new" | "removed" | Candle,
    candle: Candle,
    values: Values,
    status: CandleStatus,
    revision: number,
    { live, lateBy, observedAt, series }: CandleEvent,
  ): IndicatorEvent {
    return Object.freeze(
      typeof change === "string"
        ? { type: change, candle, status, revision, live, lateBy, observedAt, series, values }
        : {
            type: "updated",
            candle,
            previous: change,
            status,
            revision,
            live,
            lateBy,
            observedAt,
            series,
            values,
          },
    );
  }
}

function freshKernel(name: string, indicator: Indicator<unknown>): Kernel<unknown> {
  const kernel: Partial<Kernel<unknown>> | undefined = indicator();
  const methods = [kernel?.push, kernel?.peek, kernel?.fork];
  if (methods.every((method) => typeof method === "function")) return kernel as Kernel<unknown>;
  throw new InvalidInputError(
    `indicators.${name}`,
    "an indicator whose kernels have push, peek and fork",
    "makes something else",
  );
}

/** Freezes what an indicator gives, where it is an object that can be. */
function frozen(result: unknown): unknown {
  if (typeof result !== "object" || result === null || ArrayBuffer.isView(result)) return result;
  return Object.freeze(result);
}

/**
 * Whether two results of one indicator say the same; objects are compared by what they hold, one level deep.
 */
function isSameResult(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) return false;
  const keys = Object.keys(a);
  if (keys.length === 0 || keys.length !== Object.keys(b).length) return false;
  const [one, other] = [a as Values, b as Values];
  return keys.every((key) => Object.hasOwn(other, key) && Object.is(one[key], other[key]));
}
