import fc from "fast-check";
import type { Candle } from "../../src/contract/model.js";

/** A source of numbers in [0, 1), the same for the same seed. */
export function randomOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Candles of a random walk: prices about `price`, volumes above 0; with steps that go nowhere, candles without a
 * body, repeated ones, and jumps.
 */
export function marketOf(seed: number, length: number, price = 100): Candle[] {
  const random = randomOf(seed);
  const candles: Candle[] = [];
  let last = price;
  for (let at = 0; at < length; at += 1) {
    const kind = random();
    const stride = kind < 0.1 ? 0 : kind < 0.15 ? 0.3 : 0.02;
    const open = kind > 0.9 ? last * (1 + 0.01 * (random() - 0.5)) : last;
    // Pulled back to the price it began at, or some walks would end far away.
    const close = open * (1 + stride * (random() - 0.5)) * (price / open) ** 0.02;
    const wick = kind < 0.2 ? 0 : 0.01;
    const high = Math.max(open, close) * (1 + wick * random());
    const low = Math.min(open, close) * (1 - wick * random());
    const volume = 1 + 999 * random();
    const previous = candles[at - 1];
    const candle = { timestamp: at * 60_000, open, high, low, close, volume, swaps: 1 };
    const isRepeat = previous !== undefined && kind > 0.97;
    candles.push(Object.freeze(isRepeat ? { ...previous, timestamp: candle.timestamp } : candle));
    last = candles[at]!.close;
  }
  return candles;
}

/**
 * Candles without sense, at the ends of what is allowed: prices of 0, below it, tiny, huge, and the same again; lows
 * above highs; no volume.
 */
export function extremesOf(seed: number, length: number): Candle[] {
  const random = randomOf(seed);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  const price = () => pick([0, -0, 1, 1, 7, -3, 1e-320, 1e-300, 1e-9, 1e15, 1e100, 1 + random(), random()]);
  const volume = () => pick([0, 0, -0, 5e-324, 1e-9, 1, 1e100, random()]);
  let last = 1;
  return Array.from({ length }, (_, at) => {
    // Still for a while, now and then: windows get to hold equal numbers.
    if (random() < 0.5) last = price();
    const still = random() < 0.3;
    const [open, high, low, close] = still ? [last, last, last, last] : [last, price(), price(), price()];
    return Object.freeze({ timestamp: at * 60_000, open, high, low, close, volume: volume(), swaps: at % 7 });
  });
}

/** Candles that all stand still at one price. */
export function flatMarket(length: number, price: number, volume = 5): Candle[] {
  return Array.from({ length }, (_, at) =>
    Object.freeze({
      timestamp: at * 60_000,
      open: price,
      high: price,
      low: price,
      close: price,
      volume,
      swaps: 1,
    }),
  );
}

/** The same candles with their prices, and their volumes, times a factor. */
export function scaled(candles: readonly Candle[], prices: number, volumes = 1): Candle[] {
  return candles.map((candle) => ({
    ...candle,
    open: candle.open * prices,
    high: candle.high * prices,
    low: candle.low * prices,
    close: candle.close * prices,
    volume: candle.volume * volumes,
  }));
}

/** Seeds of markets. */
export const someSeed = fc.integer();
