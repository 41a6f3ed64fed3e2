import type { Breach } from "./run-log.js";
import type { Outcome } from "./run-seed.js";

/** Short runs show all of it. */
const HOURS = 0.4;

/** Something that the library does wrong, as runs show it. */
interface KnownFault {
  /** What is wrong. */
  readonly name: string;
  /** Why. */
  readonly reason: string;
  /** What a user sees of it. */
  readonly sees: string;
  /** The seeds that show it, by the promise that is broken and the monitor that tells. */
  readonly shows: Readonly<Record<`${number} ${string}`, readonly number[]>>;
}

/** What is wrong now, and is to be mended in the library. What a seed is listed for it has to break, and nothing else. */
const KNOWN_FAULTS: readonly KnownFault[] = [
  {
    name: "copies of one answer count as several",
    reason: "answers are told apart by when they were asked for, and not by when the service made them",
    sees: "a candle, a wallet or a row goes by one answer that a cache has given again, or by two of the same moment",
    shows: {
      "7 deletion": [19, 174, 269, 404, 435, 459],
      "7 snipers": [214, 381, 546],
      "8 errors": [151, 172, 207, 323, 376, 411],
      "17 store": [435],
    },
  },
  {
    name: "an absence at the newest end is taken for a fork",
    reason:
      "a second answer that lacks the newest candles removes them, although a replica may lag, or a machine be behind",
    sees: "candles are told as removed, and told again",
    shows: {
      "7 deletion": [1, 23, 62, 186, 404, 427, 449, 457, 459, 574],
    },
  },
  {
    name: "a first slice that is cut is believed",
    reason: "a silence at the beginning of a history counts after one answer",
    sees: "a history or a fetch lacks its oldest candles, and completes",
    shows: {
      "5 convergence": [38, 194, 195, 319, 388, 447],
      "5 fetches": [203, 552, 597],
    },
  },
  {
    name: "an answer to another question is believed",
    reason:
      "a cache that ignores parts of the query answers with another range, and what that lacks counts as silent",
    sees: "candles are missing, and said to be covered",
    shows: {
      "5 convergence": [175, 187, 267, 278, 348, 438, 493, 587],
      "6 statuses": [187, 587],
      "7 deletion": [587],
      "17 store": [587],
    },
  },
  {
    name: "an old answer that hides its age is taken for a clock that has jumped",
    reason: "its old Date is believed, and copies of it agree with each other",
    sees: "candles close at the wrong time, are told as late, or the feed is polled beside its slots",
    shows: {
      "5 convergence": [44, 565, 572],
      "5 lives": [594],
      "6 convergence": [314],
      "6 statuses": [69, 82, 198, 314, 379],
      "7 deletion": [314, 565],
      "9 economy": [69, 287, 572],
      "9 slots": [314, 379, 454],
      "11 jumps": [82, 153, 198, 223, 287, 314, 379, 454, 572, 594],
      "11 slots": [44, 82, 153, 314, 379, 454, 572, 594],
      "16 lateness": [44, 69, 82, 153, 198, 314, 379, 432, 454, 565, 572, 594],
      "17 store": [565],
    },
  },
  {
    name: "a clock that drifts is not checked for minutes",
    reason: "the bounds that were learned are kept without a way to let go of them",
    sees: "candles close some ms before their end, and are covered before they have settled",
    shows: {
      "1 lives": [185],
      "4 lives": [185, 462, 553],
      "6 lives": [185, 462, 553],
      "6 statuses": [185, 462, 553],
    },
  },
  {
    name: "a silence keeps what has closed from becoming final",
    reason: "after an empty answer nothing becomes final before the next candle",
    sees: "who waits for finals waits until somebody trades again",
    shows: {
      "12 convergence": [55, 297, 410, 548],
    },
  },
  {
    name: "a history takes more than a minute",
    reason: "ranges far apart are read as one, and behind a cache each slice is waited for",
    sees: "no candle comes for more than a minute after somebody has subscribed",
    shows: {
      "6 convergence": [197, 299],
    },
  },
  {
    name: "a read is stretched, or begun again",
    reason:
      "a read begins at the newest candle that is known, however far that is, and slices are read twice",
    sees: "a history costs more requests than its pages",
    shows: {
      "9 economy": [116, 227, 308, 329, 354, 433, 456, 459, 474, 590],
    },
  },
  {
    name: "a poll asks again and again",
    reason: "a pair that shows no candle is searched at each turn, and a copy is asked for again",
    sees: "a watch costs up to twice its slots",
    shows: {
      "9 economy": [16, 24, 281, 364, 377, 421, 435, 527, 532],
      "9 slots": [435],
    },
  },
  {
    name: "machines whose clocks differ, and a clock that was set",
    reason: "not traced yet",
    sees: "a candle closes too early or is removed, or the feed is stalled for seconds",
    shows: {
      "4 lives": [589],
      "6 statuses": [364, 519],
      "7 deletion": [558],
      "17 store": [364],
    },
  },
];

type Judged = Pick<Outcome, "seed" | "breaches"> & { readonly hours: number };

/** What a run is listed for: the promise and the monitor, with the name of the fault. */
function listedFor({ seed, hours }: Omit<Judged, "breaches">): ReadonlyMap<string, string> {
  if (hours !== HOURS) return new Map();
  return new Map(
    KNOWN_FAULTS.flatMap(({ name, shows }) =>
      Object.entries(shows).flatMap(([broken, seeds]) =>
        seeds.includes(seed) ? [[broken, name] as const] : [],
      ),
    ),
  );
}

/** The breaches of a run that it is not listed for. */
export function unknownOf({ breaches, ...run }: Judged): readonly Breach[] {
  const listed = listedFor(run);
  return breaches.filter(({ promise, monitor }) => !listed.has(`${promise} ${monitor}`));
}

/** What a run is listed for and does not break. */
export function mendedOf({ breaches, ...run }: Judged): readonly string[] {
  const broken = new Set(breaches.map(({ promise, monitor }) => `${promise} ${monitor}`));
  const mended = [...listedFor(run)].filter(([listed]) => !broken.has(listed));
  return mended.map(([listed, name]) => `${listed}: ${name}`);
}

/** All runs that are listed. */
export function knownRuns(): readonly { readonly seed: number; readonly hours: number }[] {
  const seeds = new Set(KNOWN_FAULTS.flatMap(({ shows }) => Object.values(shows).flat()));
  return [...seeds].sort((a, b) => a - b).map((seed) => ({ seed, hours: HOURS }));
}
