import { randomOf } from "../test/indicators/random-candles.js";

/** A piece of work to be timed; where it gives a promise, its end is that promise's. */
export interface Work {
  /** How many calls one `run` is. */
  calls: number;
  run(): unknown;
  /**
   * A short stretch of the same. What is compiled in the midst of a long loop, as `run` is, turns out fast or slow by
   * chance, and stays so; what is called often is compiled from its beginning.
   */
  warmUp(): unknown;
}

/** What came out: the middle half of the rounds lies from `low` to `high`. */
export interface Spread {
  median: number;
  low: number;
  high: number;
}

/** Nanoseconds, from any beginning. */
export type Stopwatch = () => number;

/** Takes no part of what else the machine does at the time. */
export const processorTime: Stopwatch = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1e3;
};
/** For work that waits for other processes. */
export const elapsedTime: Stopwatch = () => performance.now() * 1e6;

/** Long enough for the clock, short enough for both sides of a ratio to meet the same weather. */
const SAMPLE_MS = 3;
const WARM_UP_MS = 100;

/**
 * Times all of the works by turns, and gives the nanoseconds a call of each, round by round. Every round has an order
 * of its own, and no work pays for what the one before it has left behind.
 *
 * The samples are taken here and not by mitata's `measure`. Given this clock and this collection it gives the same
 * medians (kernels against a loop: 3.48 and 3.54, here 3.46 and 3.57) from rounds that lie no closer together, in twice
 * the time: before each sample it runs the work once for nothing and makes a list of 8 MB. With a collection of its
 * own, of the whole heap, the engine forgets what it has learned, and the same ratio comes out at 20. Nothing can be
 * optimised away: every work keeps its results where others could read them.
 */
export async function timeByTurns(
  works: readonly Work[],
  rounds: number,
  stopwatch: Stopwatch = processorTime,
): Promise<number[][]> {
  const random = randomOf(1);
  const repeats: number[] = [];
  for (const work of works) repeats.push(await warmedUp(work));
  const times = works.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1) {
    const order = works.map((_, at) => ({ at, key: random() })).sort((a, b) => a.key - b.key);
    for (const { at } of order) {
      globalThis.gc?.({ type: "minor", execution: "sync" });
      times[at]!.push(await nanosecondsPerCall(works[at]!, repeats[at]!, stopwatch));
    }
  }
  return times;
}

/** Runs it until it is compiled, and says how many runs make a sample. */
async function warmedUp(work: Work): Promise<number> {
  const begin = performance.now();
  while (performance.now() - begin < WARM_UP_MS) await work.warmUp();
  for (let repeats = 1; ; repeats *= 2) {
    const took = (await nanosecondsPerCall(work, repeats, elapsedTime)) * repeats * work.calls;
    if (took >= SAMPLE_MS * 1e6) return repeats;
  }
}

async function nanosecondsPerCall(work: Work, repeats: number, stopwatch: Stopwatch): Promise<number> {
  const begin = stopwatch();
  for (let count = 0; count < repeats; count += 1) {
    const end = work.run();
    // Most works give none, and waiting takes time too.
    if (end instanceof Promise) await end;
  }
  return (stopwatch() - begin) / (repeats * work.calls);
}

/** Keeps what a work gives, as a user would, at places as young as that is: to make the old point to the young is dear. */
export function keepingResults<End>(run: (take: (result: unknown) => void) => End): End {
  const kept = new Array<unknown>(8).fill(undefined);
  let at = 0;
  return run((result) => {
    kept[at++ & 7] = result;
  });
}

export function spreadOf(numbers: readonly number[]): Spread {
  const sorted = [...numbers].sort((a, b) => a - b);
  const quantile = (share: number) => sorted[Math.round(share * (sorted.length - 1))]!;
  return { median: quantile(0.5), low: quantile(0.25), high: quantile(0.75) };
}

/** How many times as long as the others, round by round. */
export function ratioOf(times: readonly number[], others: readonly number[]): Spread {
  return spreadOf(times.map((time, round) => time / others[round]!));
}

/** The geometric mean of spreads, part by part. */
export function meanSpread(spreads: readonly Spread[]): Spread {
  const mean = (part: keyof Spread) => geometricMean(spreads.map((each) => each[part]));
  return { median: mean("median"), low: mean("low"), high: mean("high") };
}

export function geometricMean(numbers: readonly number[]): number {
  return Math.exp(numbers.reduce((sum, each) => sum + Math.log(each), 0) / numbers.length);
}
