import fc from "fast-check";

/** A part of what failed that still fails, and what it shows. */
export interface Smallest<Shown> {
  readonly faults: readonly number[];
  readonly watchers: readonly number[];
  /** Absent where not even all of it fails. */
  readonly shown?: Shown;
}

/**
 * The fewest faults and watchers, as indices, with which a run still fails.
 *
 * `run` gives what the failure shows, and `undefined` where it has gone. `leastWatchers`: fewer are not tried.
 */
export async function smallestOf<Shown>(
  counts: { readonly faults: number; readonly watchers: number; readonly leastWatchers: number },
  run: (faults: number[], watchers: number[]) => Promise<Shown | undefined>,
): Promise<Smallest<Shown>> {
  const upTo = (count: number) => Array.from({ length: count }, (_, at) => at);
  const all: [number[], number[]] = [upTo(counts.faults), upTo(counts.watchers)];
  const minLength = Math.min(counts.leastWatchers, counts.watchers);
  let smallest: Smallest<Shown> = { faults: all[0], watchers: all[1] };
  const property = fc.asyncProperty(
    fc.subarray(all[0]),
    fc.subarray(all[1], { minLength }),
    async (faults, watchers) => {
      const shown = await run(faults, watchers);
      if (shown === undefined) return true;
      smallest = { faults, watchers, shown };
      return false;
    },
  );
  await fc.check(property, { examples: [all], numRuns: 1, seed: 1 });
  return smallest;
}
