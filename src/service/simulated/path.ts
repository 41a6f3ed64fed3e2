import { mix, randomAt } from "../random.js";
import { noise } from "./noise.js";

/**
 * The length of a chunk, ms: 25 blocks of 400 ms. The market is computed by chunks; log prices are linear between their
 * ends.
 */
export const CHUNK = 10_000;
export const BLOCK = 400;

/**
 * The price swing of each period: size (as a natural logarithm) and length (in chunks), from two weeks down to forty
 * seconds.
 */
const SWINGS = [
  { period: 120_960, reach: 0.9 },
  { period: 25_920, reach: 0.6 },
  { period: 5_760, reach: 0.45 },
  { period: 1_080, reach: 0.22 },
  { period: 240, reach: 0.12 },
  { period: 60, reach: 0.06 },
  { period: 15, reach: 0.025 },
  { period: 4, reach: 0.01 },
];
/** The distance of two possible shocks, in chunks: ten minutes. */
const SHOCK_SPACING = 60;

/** 1 at the creation, 1/2 after six hours. */
const youthAt = (time: number) => 1 / (1 + time / 2_160);

/** Price and activity of one pair as functions of the time since its creation, in chunks. */
export interface Path {
  /** The price at the creation, in US dollars. */
  readonly startPrice: number;
  /** The natural logarithm of the price in US dollars. The time may be a fraction. */
  logPrice(time: number): number;
  /** Swaps per second during a chunk. */
  rate(chunk: number): number;
}

export function pairPath(key: number): Path {
  const startPrice = 10 ** (-6.9 + 9.8 * randomAt(key, 1));
  const swings = SWINGS.map((swing, at) => {
    const swingKey = mix(key + 100 + at);
    return { ...swing, key: swingKey, start: noise(swingKey, 0) };
  });
  const shockKey = mix(key + 200);
  const activityKeys = [0, 1, 2].map((at) => mix(key + 300 + at));
  const pump = 0.2 + 1.6 * randomAt(key, 2);
  const pumpFade = 90 + 450 * randomAt(key, 3);
  const baseRate = 0.5 + 0.5 * randomAt(key, 4);

  /** The state of a shock: its weight, 1 at its start, and its effect on the log price. */
  function shock(time: number): { weight: number; move: number } {
    let weight = 0;
    let move = 0;
    const latest = Math.floor(time / SHOCK_SPACING);
    for (let at = Math.max(0, latest - 1); at <= latest; at += 1) {
      if (randomAt(shockKey, 4 * at) > 0.08 + 0.27 * youthAt(at * SHOCK_SPACING)) continue;
      const since = time - (at + randomAt(shockKey, 4 * at + 1)) * SHOCK_SPACING;
      if (since < 0) continue;
      const size = randomAt(shockKey, 4 * at + 2) - 0.5;
      const left = Math.exp(-since / (2 + 10 * randomAt(shockKey, 4 * at + 3)));
      weight = Math.max(weight, left);
      move += (size + 0.06 * Math.sign(size)) * 0.4 * left;
    }
    return { weight, move };
  }

  function atKnot(time: number): number {
    let log = Math.log(startPrice) + pump * (1 - Math.exp(-time / 9)) * Math.exp(-time / pumpFade);
    for (const swing of swings) log += swing.reach * (noise(swing.key, time / swing.period) - swing.start);
    return log + shock(time).move;
  }

  return {
    startPrice,
    logPrice: (time) => {
      const knot = Math.floor(time);
      const left = atKnot(knot);
      return time === knot ? left : left + (atKnot(knot + 1) - left) * (time - knot);
    },
    rate: (chunk) => {
      const mood =
        0.5 * noise(activityKeys[0]!, chunk / 150) +
        0.35 * noise(activityKeys[1]!, chunk / 24) +
        0.15 * noise(activityKeys[2]!, chunk / 4);
      // Young pairs are busy most of the time; old pairs wake up now and then.
      const above = mood - (0.45 - 0.65 * youthAt(chunk));
      const launch = 5 * Math.exp(-chunk / 8);
      const { weight } = shock(chunk);
      const rate = above > 0 ? baseRate * Math.exp(2 * above) : above > -0.15 ? 0.03 : 0;
      const stirred = weight > 0.3 ? Math.max(rate, baseRate) * (1 + 3 * weight) : rate;
      return Math.max(stirred, launch > 0.05 ? launch : 0);
    },
  };
}

/** The price of the native coin in US dollars, the same for all pairs of a market. */
export function nativeUsd(key: number, time: number): number {
  const log =
    0.25 * noise(key, time / 259_200) +
    0.04 * noise(key + 1, time / 8_640) +
    0.008 * noise(key + 2, time / 360);
  return 150 * Math.exp(log);
}
