import { BehaviorSubject } from "rxjs";
import type { ClientCore } from "../client/core.js";
import type { CandleWatch } from "./options.js";

/** A history that has been delivered. */
export interface DeliveredHistory {
  /** Every interval from here until `until` is known. */
  readonly from: number;
  /** Where the book took over. */
  readonly until: number;
}

/** Tells when a subscriber's history has been delivered; `undefined` until then. */
export type HistoryProgress = BehaviorSubject<DeliveredHistory | undefined>;

/** The histories that are being read, or have been, for watches of this poll and this `since`. */
export function historiesOf(core: ClientCore, watch: CandleWatch): ReadonlySet<HistoryProgress> {
  return (core.shared.get(keyOf(watch)) as Set<HistoryProgress> | undefined) ?? new Set();
}

/** Adds a history for as long as its subscriber stays; the second value takes it out again. */
export function enterHistory(core: ClientCore, watch: CandleWatch): [HistoryProgress, () => void] {
  const progress: HistoryProgress = new BehaviorSubject<DeliveredHistory | undefined>(undefined);
  const histories = new Set(historiesOf(core, watch)).add(progress);
  core.shared.set(keyOf(watch), histories);
  const leave = () => {
    const others = new Set(historiesOf(core, watch));
    others.delete(progress);
    if (others.size > 0) core.shared.set(keyOf(watch), others);
    else core.shared.delete(keyOf(watch));
    progress.complete();
  };
  return [progress, leave];
}

function keyOf({ pollKey, since }: CandleWatch): string {
  return `histories ${pollKey} ${JSON.stringify(since)}`;
}
