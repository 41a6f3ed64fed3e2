import {
  type Case,
  copiesOfOneAnswer,
  cutHistory,
  laggingReplica,
  readsFarApart,
  watchFarFromARead,
} from "./known-cases.js";
import type { Breach } from "./run-log.js";
import type { Outcome } from "./run-seed.js";

/** Something that the library does wrong, as runs show it. */
export interface KnownFault {
  /** What is wrong. */
  readonly name: string;
  /** What a user sees of it. */
  readonly sees: string;
  /** What of its runs is broken by it: promises, each with the monitor that tells. */
  readonly breaks: readonly { readonly promise: number; readonly monitor: string }[];
  /** The seeds that show it, by the hours for which they are played. */
  readonly seeds: Readonly<Record<string, readonly number[]>>;
}

/**
 * What is wrong now, and is to be mended in the library. Each seed has to break each promise that is listed for it: one that does
 * not any more is taken off the list.
 */
export const KNOWN_FAULTS: readonly KnownFault[] = [];

/** A small program that shows what is wrong, too. */
export interface KnownCase {
  readonly name: string;
  /** Why. */
  readonly reason: string;
  readonly sees: RegExp;
  readonly play: Case;
}

export const KNOWN_CASES: readonly KnownCase[] = [
  {
    name: "one client reads an hour, then another one thirty days later",
    reason: "each read is stretched back to the newest candle that is known, however far that is",
    sees: /^44 requests for 60 candles$/,
    play: readsFarApart,
  },
  {
    name: "and then watches with the last five candles",
    reason: "the same",
    sees: /^31 requests for the last five candles$/,
    play: watchFarFromARead,
  },
  {
    name: "a cache gives one answer for 20 s, which lacks two candles",
    reason: "answers are told apart by when they were asked for, and not by when the service made them",
    sees: /^2 candles are told as removed/,
    play: copiesOfOneAnswer,
  },
  {
    name: "one of two replicas is four seconds behind",
    reason: "an absence at the newest end is taken for a fork after a second",
    sees: /^22 candles are told as removed/,
    play: laggingReplica,
  },
  {
    name: "the first answer of a history lacks its older rows, and has no cursor",
    reason: "a silence at the beginning of a history counts after one answer",
    sees: /^a history completes with 198 of 480 candles$/,
    play: cutHistory,
  },
];

type Judged = Pick<Outcome, "seed" | "breaches"> & { readonly hours: number };

function knownOf({ seed, hours }: Omit<Judged, "breaches">): readonly KnownFault[] {
  return KNOWN_FAULTS.filter(({ seeds }) => seeds[hours]?.includes(seed));
}

/** The breaches of a run that no known fault explains. */
export function unknownOf({ breaches, ...run }: Judged): readonly Breach[] {
  const known = knownOf(run).flatMap(({ breaks }) => breaks);
  return breaches.filter(
    ({ promise, monitor }) => !known.some((one) => one.promise === promise && one.monitor === monitor),
  );
}

/** The known faults of a run that it does not show. */
export function mendedOf({ breaches, ...run }: Judged): readonly string[] {
  const isShown = ({ breaks }: KnownFault) =>
    breaks.some(({ promise, monitor }) =>
      breaches.some((breach) => breach.promise === promise && breach.monitor === monitor),
    );
  return knownOf(run).flatMap((fault) => (isShown(fault) ? [] : fault.name));
}

/** All runs that known faults list. */
export function knownRuns(): readonly { readonly seed: number; readonly hours: number }[] {
  const runs = new Map<string, { seed: number; hours: number }>();
  for (const { seeds } of KNOWN_FAULTS)
    for (const [hours, list] of Object.entries(seeds))
      for (const seed of list) runs.set(`${seed} ${hours}`, { seed, hours: Number(hours) });
  return [...runs.values()].sort((a, b) => a.hours - b.hours || a.seed - b.seed);
}
