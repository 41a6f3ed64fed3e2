import { BehaviorSubject, noop } from "rxjs";
import type { ClientCore } from "../../client/core.js";
import type { AnyPairstreamError } from "../../errors.js";
import type { CandleWatch } from "../options.js";

/** How far a subscriber's history has come. */
export interface HistoryState {
  /** Absent until it has been delivered: every interval from `from` on is known, until where the book took over. */
  readonly delivered?: { readonly from: number; readonly until: number };
  /** Reads that failed in a row, the client's retries included, and the last error of them. */
  readonly failures: number;
  readonly lastError?: AnyPairstreamError;
}

export type HistoryProgress = BehaviorSubject<HistoryState>;

/** The histories that are being read, or have been, for watches of this poll and this `since`. */
export function historiesOf(core: ClientCore, watch: CandleWatch): Set<HistoryProgress> {
  return (core.shared.get(historyKeyOf(watch)) as Set<HistoryProgress> | undefined) ?? new Set();
}

/** Adds a history, where one is wanted, for as long as its subscriber stays; the second value takes it out again. */
export function enterHistory(
  core: ClientCore,
  watch: CandleWatch,
): [HistoryProgress | undefined, () => void] {
  if (watch.since === undefined) return [undefined, noop];
  const progress: HistoryProgress = new BehaviorSubject<HistoryState>({ failures: 0 });
  const histories = historiesOf(core, watch);
  core.shared.set(historyKeyOf(watch), histories.add(progress));
  const leave = () => {
    histories.delete(progress);
    if (histories.size === 0) core.shared.delete(historyKeyOf(watch));
    progress.complete();
  };
  return [progress, leave];
}

function historyKeyOf({ pollKey, since }: CandleWatch): string {
  return `histories ${pollKey} ${JSON.stringify(since)}`;
}
