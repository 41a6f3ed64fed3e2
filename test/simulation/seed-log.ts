import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Outcome } from "./run-seed.js";

/** Of a seed that breaks promises over and over, so many are kept. */
const MOST_BREACHES = 5;

/** How long seeds are usually played: most for a quarter of a day, some for half of one, a few for all of it. */
export function usualHours(seed: number): number {
  if (seed % 40 === 0) return 24;
  return seed % 10 === 0 ? 12 : 6;
}

/** What many seeds have come to, over as many calls as it takes. */
export interface SeedLog {
  /** Of all seeds so far, in the order in which they were played. */
  readonly outcomes: readonly Outcome[];
  has(seed: number): boolean;
  /** Keeps what a seed has come to, at once. */
  add(outcome: Outcome): void;
}

/**
 * Opens the log in a file, which need not be there yet; without a file, one that is forgotten. `hoursOf`: how long a
 * seed is played now. Throws where one of the file was played for longer or shorter.
 */
export function openSeedLog(file: string | undefined, hoursOf: (seed: number) => number): SeedLog {
  const outcomes = new Map<number, Outcome>();
  if (file !== undefined && existsSync(file)) {
    for (const outcome of linesOf(file).map((line, at) => parse(line, `line ${at + 1} of ${file}`))) {
      const { seed, counts } = outcome;
      const hours = hoursOf(seed);
      if (counts.hours !== hours) {
        throw new Error(
          `${file} has seed ${seed} of ${counts.hours} hours, and with these options it is played for ${hours}: take another file, or the hours of this one`,
        );
      }
      outcomes.set(seed, outcome);
    }
  }
  return {
    get outcomes() {
      return [...outcomes.values()];
    },
    has: (seed) => outcomes.has(seed),
    add: (outcome) => {
      const kept = { ...outcome, breaches: outcome.breaches.slice(0, MOST_BREACHES) };
      outcomes.set(outcome.seed, kept);
      if (file !== undefined) appendFileSync(file, `${JSON.stringify(kept)}\n`);
    },
  };
}

/** The whole lines of a file; one that was cut, when a call was stopped, is taken off it. */
function linesOf(file: string): string[] {
  const text = readFileSync(file, "utf8");
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  if (whole !== text) writeFileSync(file, whole);
  return whole.split("\n").slice(0, -1);
}

function parse(line: string, where: string): Outcome {
  let outcome: Partial<Outcome> | null = null;
  try {
    outcome = JSON.parse(line);
  } catch {
    // Told below.
  }
  const { seed, breaches, counts } = outcome ?? {};
  if (typeof seed !== "number" || !Array.isArray(breaches) || typeof counts?.hours !== "number") {
    throw new Error(`${where} is no seed's`);
  }
  return { seed, breaches, counts };
}
