import { randomOf } from "../test/indicators/market.js";

/** A piece of work to be timed. */
export interface Work {
  /** How many calls one `run` is. */
  calls: number;
  run(): void;
  /**
   * A short stretch of the same. What is compiled in the midst of a long loop, as `run` is, turns out fast or slow by
   * chance, and stays so; what is called often is compiled from its beginning.
   */
  warmUp(): void;
}

/** What came out: the middle half of the rounds lies from `low` to `high`. */
export interface Spread {
  median: number;
  low: number;
  high: number;
}

/** Long enough for the clock, short enough for both sides of a ratio to meet the same weather. */
const SAMPLE_MS = 3;
const WARM_UP_MS = 100;

/**
 * Times all of the works by turns, and gives the nanoseconds a call of each, round by round. Every round has an order
 * of its own, and no work pays for what the one before it has left behind.
 *
 * It is the processor's time that counts: what else the machine does at the time takes none of it.
 */
export function timeByTurns(works: readonly Work[], rounds: number): number[][] {
  const random = randomOf(1);
  const repeats = works.map(warmedUp);
  const times = works.map((): number[] => []);
  for (let round = 0; round < rounds; round += 1) {
    const order = works.map((_, at) => ({ at, key: random() })).sort((a, b) => a.key - b.key);
    for (const { at } of order) {
      globalThis.gc?.({ type: "minor", execution: "sync" });
      times[at]!.push(nanosecondsPerCall(works[at]!, repeats[at]!));
    }
  }
  return times;
}

/** Runs it until it is compiled, and says how many runs make a sample. */
function warmedUp(work: Work): number {
  const begin = performance.now();
  while (performance.now() - begin < WARM_UP_MS) work.warmUp();
  const once = nanosecondsPerCall(work, 20) * work.calls;
  return Math.max(1, Math.ceil((SAMPLE_MS * 1e6) / once));
}

function nanosecondsPerCall(work: Work, repeats: number): number {
  const begin = process.cpuUsage();
  for (let count = 0; count < repeats; count += 1) work.run();
  const { user, system } = process.cpuUsage(begin);
  return ((user + system) * 1e3) / (repeats * work.calls);
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

export function geometricMean(numbers: readonly number[]): number {
  return Math.exp(numbers.reduce((sum, each) => sum + Math.log(each), 0) / numbers.length);
}
