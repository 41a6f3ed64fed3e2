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
const KNOWN_FAULTS: readonly KnownFault[] = [];

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
