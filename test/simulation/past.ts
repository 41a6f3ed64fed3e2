import type { CandleEvent } from "../../src/index.js";
import type { RunLog, Seen, StayLog } from "./run-log.js";

const known = new WeakMap<RunLog, ReadonlySet<string>>();

/** When the store has given something, by series. */
function givenBy(log: RunLog): ReadonlySet<string> {
  let given = known.get(log);
  if (given === undefined) {
    const reads = (log.store?.calls ?? []).filter(({ operation }) => operation === "read");
    given = new Set(
      reads.flatMap(({ series, ended }) => (ended === undefined ? [] : `${series} ${ended.at}`)),
    );
    known.set(log, given);
  }
  return given;
}

/** Whether an event belongs to what its subscriber has asked for of the past, or is handed over after that. */
export function isOfPast(
  log: RunLog,
  { events, plan }: StayLog,
  { order, at, value }: Seen<CandleEvent>,
): boolean {
  if ((plan.options as { since?: unknown }).since === undefined) return false;
  const first = events[0]!;
  if (first.order === order && first.at === at) return true;
  const { pairAddress, timeframe, currency } = value.series;
  const isStored = givenBy(log).has(`${pairAddress} ${timeframe} ${currency} ${at}`);
  const answer = log.told[order - 1];
  // A walk has kept the end of a range. What polls tell comes with an answer, or once a store has taken that.
  const isKept = log.store === undefined && answer?.received !== at;
  return isStored || isKept || answer?.priority === "history";
}
