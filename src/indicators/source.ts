import { show } from "../contract/input.js";
import type { Candle } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";
import { LARGEST } from "./finite.js";
import { type Indicator, isIndicator, type Kernel, OwnKernel } from "./kernel.js";

const PRICES = ["close", "open", "high", "low", "hl2", "hlc3", "ohlc4"] as const;

/** What else of a candle is a number. */
const AMOUNTS = ["volume", "swaps"] as const;

/** A price of a candle: a field, or a mean of fields, such as `hl2`, `(high + low) / 2`. */
export type Price = (typeof PRICES)[number];

/** What a reader takes out of a candle. */
type Field = Price | (typeof AMOUNTS)[number];

/**
 * The numbers that an indicator is made over: a price, the volume, the count of swaps, what a function makes of a candle,
 * or another indicator's values (while that one warms up, the outer one is not fed).
 *
 * ```ts
 * import { ema, type Source, sma } from "pairstream";
 *
 * const sources: Source[] = ["hlc3", "volume", (candle) => Math.log(candle.close), ema(9)];
 * const smoothed = sources.map((source) => sma(5, { source }));
 * ```
 *
 * The function has to be pure: it is called as often as a candle is tried. A number that is not finite, or beyond 1e110
 * either way, is refused where the candle is pushed or tried, with an `InvalidInputError`.
 */
export type Source = Price | "volume" | "swaps" | ((candle: Candle) => number) | Indicator<number>;

/** The options of an indicator over one series of numbers. */
export interface SourceOptions {
  /** What it is made over; the default is `"close"`, where the indicator does not say otherwise. */
  readonly source?: Source;
}

/** What a source gives, candle by candle; NaN while it warms up, and otherwise finite. */
export interface Reader {
  push(candle: Candle): number;
  peek(candle: Candle): number;
  fork(): Reader;
}

/** Checks the source at once, and gives a maker of readers of it. */
export function readerOf(options: SourceOptions | undefined, byDefault: Price): () => Reader {
  if (options !== undefined && (typeof options !== "object" || options === null)) {
    throw new InvalidInputError("options", "an object that may have a source", `is ${show(options)}`);
  }
  // Not `checkNames`, which would be half of what an indicator weighs in a download.
  for (const name in options) {
    if (name !== "source") throw new InvalidInputError(name, "source", "is no option");
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

/** One class with a switch: a class or a function for each field would make the one call of all kernels slow. */
class FieldReader implements Reader {
  constructor(private readonly field: Field) {}

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

class IndicatorReader implements Reader {
  private readonly isOwn: boolean;
  private readonly largest: number;

  constructor(private readonly kernel: Kernel<unknown>) {
    this.isOwn = kernel instanceof OwnKernel;
    // What sums up many volumes may be beyond any of them.
    this.largest = this.isOwn ? Number.MAX_VALUE : LARGEST;
  }

  peek(candle: Candle): number {
    return checkedOrWarming(this.kernel.peek(candle), this.largest);
  }

  push(candle: Candle): number {
    // A kernel of the user's is tried first, so that it does not take in what is refused here.
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

function checked(value: unknown, largest: number): number {
  if (typeof value === "number" && Math.abs(value) <= largest) return value;
  throw new InvalidInputError("source", `a source of numbers up to ${largest}`, `gave ${show(value)}`);
}
