import type { ClientCore } from "../client/core.js";
import type { RefusedRow } from "../contract/refused-row.js";
import type { Tell } from "./teller.js";

/** A row that breaks the contract this often is skipped. */
const READS_BEFORE_SKIPPING = 3;

/** How many reads in a row have refused a row, by its key; `undefined` is the key of rows without one. */
export type RefusalCounts<Key> = Map<Key | undefined, number>;

/** Counts one read: the rows that it refused, and those that it accepted. */
export function countRefusals<Row, Key>(
  counts: RefusalCounts<Key>,
  refused: readonly RefusedRow<Key>[],
  wellRead: readonly Row[],
  keyOf: (row: Row) => Key,
): void {
  // Several rows with the same key, or without one, count as one read.
  const keys = new Set(refused.map(({ key }) => key));
  if (counts.size > 0) {
    for (const key of [...wellRead.map(keyOf), undefined]) if (!keys.has(key)) counts.delete(key);
  }
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
}

/**
 * Throws for a broken row until it has been read often enough to be skipped, and reports it once when it is. `readsOf`: how
 * often a row has been read, this time included.
 */
export function skipRows<Key extends number | string>(
  core: ClientCore,
  { pairAddress, url }: { readonly pairAddress: string; readonly url: string },
  refused: readonly RefusedRow<Key>[],
  readsOf: (key: Key | undefined) => number,
  tell?: Tell,
): void {
  const told = new Set<Key | undefined>();
  for (const row of refused) {
    const reads = readsOf(row.key);
    if (reads < READS_BEFORE_SKIPPING) throw row.error;
    if (reads > READS_BEFORE_SKIPPING || told.has(row.key)) continue;
    told.add(row.key);
    const { key = null, error } = row;
    const at = core.scheduler.now();
    core.report({ type: "dropped", at, what: "row", reading: "poll", pairAddress, url, key, error });
  }
  if (told.size > 0) tell?.({ type: "dropped", rows: told.size, error: refused[0]!.error });
}
