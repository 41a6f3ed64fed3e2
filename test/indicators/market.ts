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
