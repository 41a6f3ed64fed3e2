import { InvalidInputError } from "../errors.js";
import type { Series, SniperQuery } from "./model.js";

/** Names of options, each of a kind; the type refuses a list in which one is missing. */
export type Names<T extends object> = { readonly [name in keyof T & string]-?: true };

/** The names of a list, for `checkNames`. */
export function namesOf<T extends object>(names: Names<T>): readonly (keyof T & string)[] {
  return Object.keys(names) as (keyof T & string)[];
}

const SERIES = { network: true, pairAddress: true, timeframe: true, currency: true } as const;
/** What names a series, and beside it nothing. */
export const SERIES_NAMES = namesOf<Series>(SERIES);
/** What names a pair's snipers; of their network there is but one, which may be named. */
export const SNIPER_NAMES = [
  "network",
  ...namesOf<SniperQuery>({ pairAddress: true, blocksAfterCreation: true }),
];

/**
 * Refuses names that no option has: one that is misspelt would do nothing. `prefix`: of options within an option. A name
 * that does not look like one is not shown, as it may be anything, even a key.
 */
export function checkNames(options: object, names: readonly string[], prefix = ""): void {
  const allowed = () => names.map((each) => prefix + each).join(", ");
  const whole = prefix.slice(0, -1) || "options";
  if (typeof options !== "object" || options === null) {
    const problem = options === null ? "is null" : `is of type ${typeof options}`;
    throw new InvalidInputError(whole, `an object with any of ${allowed()}`, problem);
  }
  for (const name of Object.keys(options)) {
    if (names.includes(name)) continue;
    if (!/^[A-Za-z]{1,30}$/.test(name)) {
      throw new InvalidInputError(whole, allowed(), "has a name that is no option");
    }
    const near = nearest(name, names);
    const hint = near === undefined ? "" : `, the nearest is ${prefix}${near}`;
    throw new InvalidInputError(prefix + name, allowed(), `is no option${hint}`);
  }
}

/** The name that was meant, where one can be: half of its letters are the same. */
function nearest(name: string, names: readonly string[]): string | undefined {
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const one of names) {
    const distance = distanceBetween(name.toLowerCase(), one.toLowerCase());
    const isNear = distance <= Math.max(name.length, one.length) / 2;
    if (isNear && distance < (best?.distance ?? Infinity)) best = { name: one, distance };
  }
  return best?.name;
}

/** How many letters have to be put in, left out or changed, to make one word of another. */
function distanceBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let at = 0; at < a.length; at += 1) {
    const next = [at + 1];
    for (let index = 0; index < b.length; index += 1) {
      const changed = row[index]! + (a[at] === b[index] ? 0 : 1);
      next.push(Math.min(changed, row[index + 1]! + 1, next[index]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
