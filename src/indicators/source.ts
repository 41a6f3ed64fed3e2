import { show } from "../contract/input.js";
import type { Candle } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";
import { LARGEST } from "./finite.js";
import { type Indicator, isIndicator, type Kernel, OwnKernel } from "./kernel.js";

const PRICES = ["close", "open", "high", "low", "hl2", "hlc3", "ohlc4"] as const;

/** What else of a candle is a number. */
const AMOUNTS = ["volume", "swaps"] as const;

/** A price of a candle: a field, or a mean of fields such as `hl2`, `(high + low) / 2`. */
export type Price = (typeof PRICES)[number];

/** What a reader takes out of a candle. */
type Field = Price | (typeof AMOUNTS)[number];

/**
 * The input of an indicator: a price, the volume, the count of swaps, a function of the candle, or another indicator.
 * During the warm-up of that indicator the outer one gets no input.
 *
 * ```ts
 * import { ema, type Source, sma } from "pairstream";
 *
 * const sources: Source[] = ["hlc3", "volume", (candle) => Math.log(candle.close), ema(9)];
 * const smoothed = sources.map((source) => sma(5, { source }));
 * ```
 *
 * The function has to be pure: it runs again each time a candle is tried. Its numbers have to be from -1e110 to 1e110;
 * `push` and `peek` throw an `InvalidInputError` for any other.
 */
export type Source = Price | "volume" | "swaps" | ((candle: Candle) => number) | Indicator<number>;

/** The options of an indicator over one series of numbers. */
export interface SourceOptions {
  /** The input; the default is `"close"`, unless the indicator says otherwise. */
  readonly source?: Source;
}

/** Reads the input of an indicator, candle by candle: NaN during the warm-up, and finite numbers after it. */
export interface Reader {
  push(candle: Candle): number;
  peek(candle: Candle): number;
  fork(): Reader;
}

/** Checks the source now and returns a function that makes readers of it. */
export function readerOf(options: SourceOptions | undefined, byDefault: Price): () => Reader {
  if (options !== undefined && (typeof options !== "object" || options === null)) {
    throw new InvalidInputError("options", 'an object such as { source: "hl2" }', `is ${show(options)}`);
  }
  // `checkNames` would double the bundle size of an indicator.
  for (const name in options) {
    if (name !== "source") throw new InvalidInputError(name, "source", "is not an option");
  }
  const source: unknown = options?.source ?? byDefault;
  if (isIndicator(source)) return () => new IndicatorReader(source());
  if (typeof source === "function") {
    const reader = new FunctionReader(source as (candle: Candle) => unknown);
    return () => reader;
  }
  const fields: readonly Field[] = [...PRICES, ...AMOUNTS];
  const field = fields.find((name) => name === source);
  if (field === undefined) {
    const allowed = `${fields.join(", ")}, a function of a candle, or an indicator`;
    throw new InvalidInputError("source", allowed, `is ${show(source)}`);
  }
  const reader = new FieldReader(field);
  return () => reader;
}

/** One class with a switch. With a class or function per field, the call that all kernels share would become slow. */
export class FieldReader implements Reader {
  constructor(readonly field: Field) {}

  peek(candle: Candle): number {
    return this.field === "close" ? candle.close : this.other(candle);
  }

  push(candle: Candle): number {
    return this.field === "close" ? candle.close : this.other(candle);
  }

  fork(): Reader {
    return this;
  }

  private other(candle: Candle): number {
    switch (this.field) {
      case "open":
        return candle.open;
      case "high":
        return candle.high;
      case "low":
        return candle.low;
      case "volume":
        return candle.volume;
      case "swaps":
        return candle.swaps;
      case "hl2":
        return (candle.high + candle.low) / 2;
      case "hlc3":
        return (candle.high + candle.low + candle.close) / 3;
      default:
        return (candle.open + candle.high + candle.low + candle.close) / 4;
    }
  }
}

class FunctionReader implements Reader {
  constructor(private readonly read: (candle: Candle) => unknown) {}

  peek(candle: Candle): number {
    return checked(this.read(candle), LARGEST);
  }

  push(candle: Candle): number {
    return checked(this.read(candle), LARGEST);
  }

  fork(): Reader {
    return this;
  }
}

export class IndicatorReader implements Reader {
  private readonly isOwn: boolean;
  private readonly largest: number;

  constructor(readonly kernel: Kernel<unknown>) {
    this.isOwn = kernel instanceof OwnKernel;
    // A sum of many volumes may be larger than any of them.
    this.largest = this.isOwn ? Number.MAX_VALUE : LARGEST;
  }

  peek(candle: Candle): number {
    return checkedOrWarming(this.kernel.peek(candle), this.largest);
  }

  push(candle: Candle): number {
    // A custom kernel is tried first, so it never takes in a candle that is then refused.
    if (!this.isOwn) checkedOrWarming(this.kernel.peek(candle), this.largest);
    return checkedOrWarming(this.kernel.push(candle), this.largest);
  }

  fork(): Reader {
    return new IndicatorReader(this.kernel.fork());
  }
}

function checkedOrWarming(value: unknown, largest: number): number {
  return value === undefined ? Number.NaN : checked(value, largest);
}

/** Throws an `InvalidInputError` unless it is a number of at most this size. */
export function checked(value: unknown, largest: number): number {
  if (typeof value === "number" && Math.abs(value) <= largest) return value;
  throw new InvalidInputError("source", `a source whose numbers go up to ${largest}`, `gave ${show(value)}`);
}
