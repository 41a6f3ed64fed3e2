import type { CandleEvent, CandleStatus } from "../candles/event.js";
import type { Candle } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";
import type { Indicator, Kernel } from "../indicators/kernel.js";
import type { IndicatorEvent } from "./indicator-event.js";
import type { Coming } from "./lateness.js";
import { type Recursion, ReplayedChain } from "./replayed-chain.js";

/** Values by name; `undefined` while an indicator warms up. */
export type Values = Readonly<Record<string, unknown>>;

/** An event that may have values already. */
type ValuedEvent = CandleEvent & { readonly values?: Values };

/** How many fields every candle event has, not counting `previous`. */
const FIELDS = 8;

/**
 * Several kernels side by side.
 *
 * The first eight have a line of code each, because an engine optimizes each call site on its own. A loop over all of
 * them takes a quarter longer.
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
    if (size > 0) values[names[0]!] = frozenValue(kernels[0]!.push(candle));
    if (size > 1) values[names[1]!] = frozenValue(kernels[1]!.push(candle));
    if (size > 2) values[names[2]!] = frozenValue(kernels[2]!.push(candle));
    if (size > 3) values[names[3]!] = frozenValue(kernels[3]!.push(candle));
    if (size > 4) values[names[4]!] = frozenValue(kernels[4]!.push(candle));
    if (size > 5) values[names[5]!] = frozenValue(kernels[5]!.push(candle));
    if (size > 6) values[names[6]!] = frozenValue(kernels[6]!.push(candle));
    if (size > 7) values[names[7]!] = frozenValue(kernels[7]!.push(candle));
    for (let at = 8; at < size; at += 1) values[names[at]!] = frozenValue(kernels[at]!.push(candle));
    return Object.freeze(values);
  }

  peek(candle: Candle): Values {
    const { names, kernels, size } = this;
    const values: Record<string, unknown> = {};
    if (size > 0) values[names[0]!] = frozenValue(kernels[0]!.peek(candle));
    if (size > 1) values[names[1]!] = frozenValue(kernels[1]!.peek(candle));
    if (size > 2) values[names[2]!] = frozenValue(kernels[2]!.peek(candle));
    if (size > 3) values[names[3]!] = frozenValue(kernels[3]!.peek(candle));
    if (size > 4) values[names[4]!] = frozenValue(kernels[4]!.peek(candle));
    if (size > 5) values[names[5]!] = frozenValue(kernels[5]!.peek(candle));
    if (size > 6) values[names[6]!] = frozenValue(kernels[6]!.peek(candle));
    if (size > 7) values[names[7]!] = frozenValue(kernels[7]!.peek(candle));
    for (let at = 8; at < size; at += 1) values[names[at]!] = frozenValue(kernels[at]!.peek(candle));
    return Object.freeze(values);
  }

  fork(): KernelSet {
    return new KernelSet(
      this.names,
      this.kernels.map((kernel) => kernel.fork()),
    );
  }
}

/** Emits every candle together with the values of the indicators after it, and with all other fields of its event. */
export class IndicatorChain extends ReplayedChain<Values, IndicatorEvent> {
  private hasCheckedNames = false;

  /** `names`: the names of the values that the recursion gives. */
  constructor(
    recursion: Recursion<Values>,
    private readonly names: readonly string[],
  ) {
    super(recursion);
  }

  protected override shown(candle: Candle): Candle {
    return candle;
  }

  protected override isSameValue(a: Values, b: Values): boolean {
    return a === b || Object.keys(a).every((name) => isSameResult(a[name], b[name]));
  }

  protected override isSameRest(a: CandleEvent, b: CandleEvent): boolean {
    if (isBare(a) && isBare(b)) return true;
    const [one, other] = [restOf(a), restOf(b)];
    const names = Object.keys(one);
    return names.length === Object.keys(other).length && names.every((name) => isSameRest(one, other, name));
  }

  protected override eventOf(
    change: "new" | "removed" | Candle,
    candle: Candle,
    values: Values,
    status: CandleStatus,
    revision: number,
    event: ValuedEvent,
    { live, lateBy, observedAt }: Coming,
  ): IndicatorEvent {
    if (isBare(event)) {
      const { series } = event;
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
    const { previous: _, ...rest } = event as ValuedEvent & { previous?: Candle };
    const more = { candle, status, revision, live, lateBy, observedAt, values: this.joined(event, values) };
    return Object.freeze(
      typeof change === "string"
        ? { ...rest, type: change, ...more }
        : { ...rest, type: "updated", previous: change, ...more },
    );
  }

  /** The values that the event has already, together with those of this chain. */
  private joined({ values: before }: ValuedEvent, values: Values): Values {
    if (before === undefined) return values;
    if (!this.hasCheckedNames) {
      for (const name of this.names) {
        if (!Object.hasOwn(before, name)) continue;
        throw new InvalidInputError(
          `indicators.${name}`,
          "each name once in a chain of operators",
          "is used already",
        );
      }
      this.hasCheckedNames = true;
    }
    return Object.freeze({ ...before, ...values });
  }
}

/** Whether an event has the fields of every candle event and no others. */
function isBare(event: CandleEvent): boolean {
  let count = 0;
  for (const _ in event) count += 1;
  return count === (event.type === "updated" ? FIELDS + 1 : FIELDS);
}

/** The fields of an event that not every candle event has. */
function restOf(event: CandleEvent): Values {
  const { type, candle, status, revision, live, lateBy, observedAt, series, ...rest } = event;
  if ("previous" in rest) delete (rest as { previous?: Candle }).previous;
  return rest as Values;
}

function isSameRest(a: Values, b: Values, name: string): boolean {
  if (name !== "values") return Object.is(a[name], b[name]);
  const [one, other] = [a.values, b.values] as [Values, Values | undefined];
  return other !== undefined && Object.keys(one).every((each) => isSameResult(one[each], other[each]));
}

function freshKernel(name: string, indicator: Indicator<unknown>): Kernel<unknown> {
  const kernel: Partial<Kernel<unknown>> | undefined = indicator();
  const methods = [kernel?.push, kernel?.peek, kernel?.fork];
  if (methods.every((method) => typeof method === "function")) return kernel as Kernel<unknown>;
  throw new InvalidInputError(
    `indicators.${name}`,
    "an indicator whose kernels have push, peek and fork",
    "does not make such kernels",
  );
}

/** Freezes the value of an indicator if it is an object that can be frozen. */
function frozenValue(result: unknown): unknown {
  if (typeof result !== "object" || result === null || ArrayBuffer.isView(result)) return result;
  return Object.freeze(result);
}

/** Whether two results of one indicator are equal. Objects are compared by their fields, one level deep. */
function isSameResult(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || a === null || typeof b !== "object" || b === null) return false;
  const keys = Object.keys(a);
  if (keys.length === 0 || keys.length !== Object.keys(b).length) return false;
  const [one, other] = [a as Values, b as Values];
  return keys.every((key) => Object.hasOwn(other, key) && Object.is(one[key], other[key]));
}
