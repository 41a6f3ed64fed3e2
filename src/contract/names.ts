import { InvalidInputError } from "../errors.js";
import type { Series, SniperQuery } from "./model.js";

/** Names of all options of one type. The compiler refuses an object that leaves one out. */
export type Names<T extends object> = { readonly [name in keyof T & string]-?: true };

/** The names as a list, for `checkNames`. */
export function namesOf<T extends object>(names: Names<T>): readonly (keyof T & string)[] {
  return Object.keys(names) as (keyof T & string)[];
}

const SERIES = { network: true, pairAddress: true, timeframe: true, currency: true } as const;
/** The names of the fields of a series. */
export const SERIES_NAMES = /* @__PURE__ */ namesOf<Series>(SERIES);
/** The names of the fields of a sniper query. */
export const SNIPER_NAMES = /* @__PURE__ */ namesOf<SniperQuery>({
  pairAddress: true,
  blocksAfterCreation: true,
});

/**
 * Throws an `InvalidInputError` for an unknown option: a misspelt option would have no effect. `prefix` names the
 * option that holds these options, as in `retry.`. The error shows the unknown name only if it looks like one: it may
 * be anything, even a key.
 */
export function checkNames(options: object, names: readonly string[], prefix = ""): void {
  const allowed = () => names.map((each) => prefix + each).join(", ");
  const whole = prefix.slice(0, -1) || "options";
  if (typeof options !== "object" || options === null) {
    const problem = options === null ? "is null" : `is of type ${typeof options}`;
    throw new InvalidInputError(
      whole,
      `an object with ${names.length > 1 ? "any of " : ""}${allowed()}`,
      problem,
    );
  }
  for (const name of Object.keys(options)) {
    if (names.includes(name)) continue;
    if (!/^[A-Za-z]{1,30}$/.test(name)) {
      throw new InvalidInputError(whole, allowed(), "has an unknown option");
    }
    const near = nearest(name, names);
    const hint = near === undefined ? "" : ` (did you mean ${prefix}${near}?)`;
    throw new InvalidInputError(prefix + name, allowed(), `is not an option${hint}`);
  }
}

/** The most similar option name, if at least half of its letters match. */
function nearest(name: string, names: readonly string[]): string | undefined {
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const one of names) {
    const distance = distanceBetween(name.toLowerCase(), one.toLowerCase());
    const isNear = distance <= Math.max(name.length, one.length) / 2;
    if (isNear && distance < (best?.distance ?? Infinity)) best = { name: one, distance };
  }
  return best?.name;
}

/** The edit distance: how many letters to insert, delete or change to turn one word into the other. */
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

/** Throws an `InvalidInputError` for a source that lacks a method. */
export function checkSource(source: unknown, methods: readonly string[]): void {
  checkMethods("source", "a source, such as clientSource(client)", source, methods);
}

/** Throws an `InvalidInputError` for a scheduler that is none; `undefined` stands for the usual one. */
export function checkScheduler(scheduler: unknown): void {
  if (scheduler === undefined) return;
  checkMethods("scheduler", "an RxJS scheduler, with now and schedule", scheduler, ["now", "schedule"]);
}

/** Throws an `InvalidInputError` for what lacks a method. */
export function checkMethods(
  parameter: string,
  allowed: string,
  value: unknown,
  methods: readonly string[],
): void {
  const missing = methods.find(
    (name) => typeof (value as Record<string, unknown> | null)?.[name] !== "function",
  );
  if (missing !== undefined) throw new InvalidInputError(parameter, allowed, `has no method ${missing}`);
}
