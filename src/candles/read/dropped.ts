import type { DroppedActivity } from "../../client/activity.js";
import type { ClientCore } from "../../client/core.js";
import type { Series } from "../../contract/model.js";
import { ohlcvRoute } from "../../contract/routes.js";
import type { Tell } from "../../poll/teller.js";
import type { Page } from "./page.js";

/** Says which rows of an answer are left out for good, as they cannot be read; `undefined`: one without an interval. */
export function reportDropped(
  core: ClientCore,
  series: Series,
  { from, to, refusal }: Page,
  rows: readonly (number | undefined)[],
  reading: DroppedActivity["reading"],
  tell?: Tell,
): void {
  if (refusal === undefined || rows.length === 0) return;
  tell?.({ type: "dropped", rows: rows.length, error: refusal });
  const url = ohlcvRoute({ ...series, from, to });
  for (const key of rows) {
    core.report({
      type: "dropped",
      at: core.scheduler.now(),
      what: "row",
      reading,
      pairAddress: series.pairAddress,
      series,
      url,
      key: key ?? null,
      error: refusal,
    });
  }
}
