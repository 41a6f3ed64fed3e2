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
interface KnownFault {
  /** What is wrong. */
  readonly name: string;
  /** Why. */
  readonly reason: string;
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
const KNOWN_FAULTS: readonly KnownFault[] = [
  {
    name: "copies of one answer count as several",
    reason: "answers are told apart by when they were asked for, and not by when the service made them",
    sees: "a candle, a wallet or a row goes by one answer that a cache has given again, or by two of the same moment",
    breaks: [
      { promise: 17, monitor: "store" },
      { promise: 7, monitor: "deletion" },
      { promise: 7, monitor: "snipers" },
      { promise: 8, monitor: "errors" },
    ],
    seeds: { "0.4": [19, 151, 172, 174, 207, 214, 269, 323, 376, 381, 404, 411, 435, 459, 546] },
  },
  {
    name: "an absence at the newest end is taken for a fork",
    reason:
      "a second answer that lacks the newest candles removes them, although a replica may lag, or a machine be behind",
    sees: "candles are told as removed, and told again",
    breaks: [{ promise: 7, monitor: "deletion" }],
    seeds: { "0.4": [1, 23, 62, 186, 404, 427, 449, 457, 459, 574] },
  },
  {
    name: "a first slice that is cut is believed",
    reason: "a silence at the beginning of a history counts after one answer",
    sees: "a history or a fetch lacks its oldest candles, and completes",
    breaks: [
      { promise: 5, monitor: "convergence" },
      { promise: 5, monitor: "fetches" },
    ],
    seeds: { "0.4": [38, 194, 195, 203, 319, 388, 447, 552, 597] },
  },
  {
    name: "an answer to another question is believed",
    reason:
      "a cache that ignores parts of the query answers with another range, and what that lacks counts as silent",
    sees: "candles are missing, and said to be covered",
    breaks: [
      { promise: 17, monitor: "store" },
      { promise: 5, monitor: "convergence" },
      { promise: 6, monitor: "statuses" },
      { promise: 7, monitor: "deletion" },
    ],
    seeds: { "0.4": [175, 187, 267, 278, 348, 438, 493, 587] },
  },
  {
    name: "an old answer that hides its age is taken for a clock that has jumped",
    reason: "its old Date is believed, and copies of it agree with each other",
    sees: "candles close at the wrong time, are told as late, or the feed is polled beside its slots",
    breaks: [
      { promise: 11, monitor: "jumps" },
      { promise: 11, monitor: "slots" },
      { promise: 16, monitor: "lateness" },
      { promise: 17, monitor: "store" },
      { promise: 5, monitor: "convergence" },
      { promise: 5, monitor: "lives" },
      { promise: 6, monitor: "convergence" },
      { promise: 6, monitor: "statuses" },
      { promise: 7, monitor: "deletion" },
      { promise: 9, monitor: "economy" },
      { promise: 9, monitor: "slots" },
    ],
    seeds: { "0.4": [44, 69, 82, 153, 198, 223, 287, 314, 379, 432, 454, 565, 572, 594] },
  },
  {
    name: "a clock that drifts is not checked for minutes",
    reason: "the bounds that were learned are kept without a way to let go of them",
    sees: "candles close some ms before their end, and are covered before they have settled",
    breaks: [
      { promise: 1, monitor: "lives" },
      { promise: 4, monitor: "lives" },
      { promise: 6, monitor: "lives" },
      { promise: 6, monitor: "statuses" },
    ],
    seeds: { "0.4": [185, 462, 553] },
  },
  {
    name: "a silence keeps what has closed from becoming final",
    reason: "after an empty answer nothing becomes final before the next candle",
    sees: "who waits for finals waits until somebody trades again",
    breaks: [{ promise: 12, monitor: "convergence" }],
    seeds: { "0.4": [55, 297, 410, 548] },
  },
  {
    name: "a history takes more than a minute",
    reason: "ranges far apart are read as one, and behind a cache each slice is waited for",
    sees: "no candle comes for more than a minute after somebody has subscribed",
    breaks: [{ promise: 6, monitor: "convergence" }],
    seeds: { "0.4": [197, 299] },
  },
  {
    name: "a read is stretched, or begun again",
    reason:
      "a read begins at the newest candle that is known, however far that is, and slices are read twice",
    sees: "a history costs more requests than its pages",
    breaks: [{ promise: 9, monitor: "economy" }],
    seeds: { "0.4": [116, 227, 308, 329, 354, 433, 456, 459, 474, 590] },
  },
  {
    name: "a poll asks again and again",
    reason: "a pair that shows no candle is searched at each turn, and a copy is asked for again",
    sees: "a watch costs up to twice its slots",
    breaks: [
      { promise: 9, monitor: "economy" },
      { promise: 9, monitor: "slots" },
    ],
    seeds: { "0.4": [16, 24, 281, 364, 377, 421, 435, 527, 532] },
  },
  {
    name: "machines whose clocks differ, and a clock that was set",
    reason: "not traced yet",
    sees: "a candle closes too early or is removed, or the feed is stalled for seconds",
    breaks: [
      { promise: 17, monitor: "store" },
      { promise: 4, monitor: "lives" },
      { promise: 6, monitor: "statuses" },
      { promise: 7, monitor: "deletion" },
    ],
    seeds: { "0.4": [364, 519, 558, 589] },
  },
];

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
