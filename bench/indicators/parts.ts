import type { Candle, Indicator } from "pairstream";
import type { Contestant } from "./contestants.js";

/*
 * Parts of what a call of ours does, so that it shows what the rest takes. Each has drivers of its own, as those of
 * contestants have.
 */

/** The class behind a kernel of ours: its arithmetic, without a check of the candle. */
interface Arithmetic<Input> {
  push(input: Input, candle: Candle): unknown;
  peek(input: Input, candle: Candle): unknown;
}

export function arithmetic(indicator: Indicator<unknown>): Contestant {
  const isOverCandles = !("source" in indicator());
  return {
    canReplace: true,
    numbersOf: () => [],
    run: ({ candles, step }, kept) => {
      const { inner } = indicator() as unknown as { inner: never };
      (isOverCandles ? overCandles : overPrices)(inner, candles, step, kept);
    },
  };
}

function overPrices(
  inner: Arithmetic<number>,
  candles: readonly Candle[],
  step: number,
  kept: unknown[],
): void {
  const mask = kept.length - 1;
  for (let start = 0; start < candles.length; start += step) {
    const last = start + step - 1;
    for (let at = start; at < last; at += 1) {
      const candle = candles[at]!;
      kept[at & mask] = inner.peek(candle.close, candle);
    }
    const candle = candles[last]!;
    kept[last & mask] = inner.push(candle.close, candle);
  }
}

function overCandles(
  inner: Arithmetic<Candle>,
  candles: readonly Candle[],
  step: number,
  kept: unknown[],
): void {
  const mask = kept.length - 1;
  for (let start = 0; start < candles.length; start += step) {
    const last = start + step - 1;
    for (let at = start; at < last; at += 1) kept[at & mask] = inner.peek(candles[at]!, candles[at]!);
    kept[last & mask] = inner.push(candles[last]!, candles[last]!);
  }
}

/** A call by candle that gives a new value of as many numbers, and computes next to nothing. */
export function call(width: 1 | 2 | 3 | 5): Contestant {
  const Give = GIVERS[width];
  return {
    canReplace: true,
    numbersOf: () => [],
    run: ({ candles }, kept) => {
      const giver = new Give();
      const mask = kept.length - 1;
      for (let at = 0; at < candles.length; at += 1) kept[at & mask] = giver.push(candles[at]!);
    },
  };
}

const GIVERS = {
  1: class {
    push({ close }: Candle): unknown {
      return close + 1;
    }
  },
  2: class {
    push({ close }: Candle): unknown {
      return { a: close + 1, b: close + 2 };
    }
  },
  3: class {
    push({ close }: Candle): unknown {
      return { a: close + 1, b: close + 2, c: close + 3 };
    }
  },
  5: class {
    push({ close }: Candle): unknown {
      return { a: close + 1, b: close + 2, c: close + 3, d: close + 4, e: close + 5 };
    }
  },
};
