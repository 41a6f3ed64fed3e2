import type { Candle, Series, Timeframe } from "pairstream";

const MINUTE = 60_000;
const DAY = 86_400_000;
const MINUTES_IN_DAY = 1_440;

/** Where the simulated market begins and ends, where nothing else is asked for. */
const FROM = Date.UTC(2025, 0, 1);
const TO = Date.UTC(2025, 6, 1);

/** A tide lasts so many days. */
const TIDE = { shortest: 5, longest: 12 };
/** The mean slope of a tide, and the noise on top of it, as logarithms of the price a day. */
const SLOPE = 0.016;
const NOISE = 0.02;
/** What is traded in a minute, at most, in US dollars. */
const MOST_TRADED = 20_000;

export const SERIES: Series<Timeframe> = {
  network: "mainnet",
  pairAddress: "made-up",
  timeframe: "1min",
  currency: "usd",
};

/** Why a strategy fares as it does there. */
export const EXPLANATION =
  `This market is simulated: it rises or falls for ${TIDE.shortest} to ${TIDE.longest} days at a time, with noise on top. ` +
  "So a strategy that follows trends gains here before costs, even if buy and hold does not. A real pair need not have trends.";

/** Minutes of a market of tides, from a seed; the same ones whatever part of them is asked for. */
export function makeCandles({ seed, from, to }: { seed: number; from: number; to: number }): Candle[] {
  const random = randomFrom(seed);
  const candles: Candle[] = [];
  let close = 1;
  let isRising = random() < 0.5;
  let [slope, left] = [0, 0];
  for (let timestamp = FROM; timestamp < to; timestamp += MINUTE) {
    if (left === 0) {
      isRising = !isRising;
      slope = (isRising ? SLOPE : -SLOPE) * (0.5 + random());
      left = Math.round((TIDE.shortest + (TIDE.longest - TIDE.shortest) * random()) * MINUTES_IN_DAY);
    }
    left -= 1;
    const open = close;
    const step = NOISE / Math.sqrt(MINUTES_IN_DAY);
    close = open * Math.exp(slope / MINUTES_IN_DAY + step * normal(random));
    const high = Math.max(open, close) * (1 + (step / 2) * random());
    const low = Math.min(open, close) * (1 - (step / 2) * random());
    const volume = MOST_TRADED * random();
    const swaps = 1 + Math.floor(volume / 1_000);
    if (timestamp >= from) candles.push({ timestamp, open, high, low, close, volume, swaps });
  }
  return candles;
}

/** Whole days, so that all candles but weeks and months are whole. */
export function rangeOf(from: number | undefined, to: number | undefined): { from: number; to: number } {
  return { from: Math.max(FROM, from ?? FROM), to: to ?? Math.max(TO, (from ?? 0) + 30 * DAY) };
}

/** Numbers from 0 to below 1: a counter, and a hash of it (splitmix32). */
function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
}

/** Box and Muller. */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
