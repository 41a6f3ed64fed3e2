import type { DroppedActivity } from "../client/activity.js";
import type { ClientCore } from "../client/core.js";
import type { AnyPairstreamError } from "../errors.js";
import type { Tell } from "./teller.js";

/** A row that cannot be read; the key is absent if it has none. */
interface BrokenRow {
  readonly key: number | string | undefined;
  readonly error: AnyPairstreamError;
}

/** Says which rows of an answer are left out for good, as they cannot be read; `place`: where they are from. */
export function reportDropped(
  core: ClientCore,
  place: Pick<DroppedActivity, "reading" | "pairAddress" | "series" | "url">,
  rows: readonly BrokenRow[],
  tell: Tell | undefined,
): void {
  if (rows[0] === undefined) return;
  tell?.({ type: "dropped", rows: rows.length, error: rows[0].error });
  for (const { key = null, error } of rows)
    core.report({ type: "dropped", at: core.scheduler.now(), what: "row", ...place, key, error });
}
