import { Option } from "commander";
import type { SweepSplit } from "pairstream/backtest";
import { toNumber, UsageError } from "../../terminal/command-line.js";

/** The values that are tried, by the parameter's name. */
type SweptValues = Readonly<Record<string, readonly number[]>>;

/** Which parameters are tried, and how. */
export interface SweepAsked {
  readonly values: SweptValues;
  readonly split: SweepSplit;
  /** How many worker threads; absent: as many as there are cores. */
  readonly workers: number | undefined;
}

/** What the command line gives of it. */
export interface SweepGiven {
  sweep?: SweptValues;
  split?: number;
  walkForward?: number;
  workers?: number;
}

/** As many values of one parameter take hours. */
const MOST = 10_000;
const FORM = "a name, =, and values, such as fast=5..20, stop=0..0.1..0.02 or slow=21,34,55";

export function sweepOptions(): readonly Option[] {
  return [
    new Option(
      "--sweep <name=values...>",
      "try all combinations of these parameters: fast=5..20, stop=0..0.1..0.02 (with a step), slow=21,34,55",
    ).argParser(toSwept),
    new Option(
      "--split <share>",
      "with --sweep: the share of the time that is in-sample, before the cut (default: 0.7)",
    ).argParser(toNumber),
    new Option(
      "--walk-forward <windows>",
      "with --sweep: so many windows, each with its own cut (default: one cut)",
    ).argParser(toNumber),
    new Option("--workers <count>", "with --sweep: so many threads (default: as many as cores)").argParser(
      toNumber,
    ),
  ];
}

/** What is asked for; `undefined` where it is no sweep. */
export function sweepAsked({
  sweep: values,
  split = 0.7,
  walkForward,
  workers,
  ...rest
}: SweepGiven & { set?: Readonly<Record<string, number>> }): SweepAsked | undefined {
  if (values === undefined) return undefined;
  const both = Object.keys(rest.set ?? {}).find((name) => Object.hasOwn(values, name));
  if (both !== undefined) throw new UsageError(`--set and --sweep both name ${both}`);
  return {
    values,
    split: walkForward === undefined ? { inSample: split } : { inSample: split, walkForward },
    workers,
  };
}

/** Options that mean nothing without a sweep. */
export function refuseWithoutSweep({ sweep, split, walkForward, workers }: SweepGiven): void {
  if (sweep !== undefined) return;
  const given = { "--split": split, "--walk-forward": walkForward, "--workers": workers };
  const [name] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
  if (name !== undefined) throw new UsageError(`${name} needs --sweep`);
}

function toSwept(text: string, before: SweptValues = {}): SweptValues {
  const [name, list = "", ...rest] = text.split("=");
  if (!name || list === "" || rest.length > 0) throw new UsageError(`--sweep ${text} has to be ${FORM}`);
  if (Object.hasOwn(before, name)) throw new UsageError(`--sweep names ${name} twice`);
  return { ...before, [name]: valuesOf(list, text) };
}

/** `5..20`, `5..20..5` or `5,9,13`; each value once, in the order of the text. */
function valuesOf(list: string, text: string): readonly number[] {
  const parts = list.split("..");
  const numbers = (parts.length > 1 ? parts : list.split(",")).map(Number);
  const isNumbers = !list.split(/\.\.|,/).some((part) => part.trim() === "");
  if (!isNumbers || !numbers.every(Number.isFinite))
    throw new UsageError(`--sweep ${text} has to be ${FORM}`);
  if (parts.length === 1) return [...new Set(numbers)];
  const [from, to, step = 1] = numbers as [number, number, number?];
  if (parts.length > 3 || to < from || step <= 0) {
    throw new UsageError(
      `--sweep ${text} has to go up, from the least value to the greatest, by a step above 0`,
    );
  }
  // The greatest is one of them although steps are not exact.
  const count = Math.floor((to - from) / step + 1e-9) + 1;
  if (count > MOST) throw new UsageError(`--sweep ${text} has ${count} values; allowed: at most ${MOST}`);
  const places = Math.max(decimalsOf(from), decimalsOf(step));
  return Array.from({ length: count }, (_, at) => Number((from + at * step).toFixed(places)) + 0);
}

/** How many decimals a number needs, at most 12. */
function decimalsOf(value: number): number {
  let places = 0;
  while (places < 12 && Number(value.toFixed(places)) !== value) places += 1;
  return places;
}
