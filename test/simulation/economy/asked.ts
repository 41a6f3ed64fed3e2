import { CLOSED } from "../connections.js";
import type { Exchange } from "../exchanges.js";
import { askedBy } from "../reads.js";
import type { RunLog } from "../run-log.js";

/** By what they ask for. What was lost with its connection the service has not seen, and it is sent again. */
export function requestsOf({ exchanges }: RunLog): Map<string, readonly Exchange[]> {
  const seen = exchanges.filter(({ faults }) => !faults.includes(CLOSED));
  return grouped(seen, ({ url, priority }) => {
    const { kind, series } = askedBy(url);
    return `${kind} ${series}${priority === "history" && kind === "ohlcv" ? " history" : ""}`;
  });
}

export function grouped<T>(
  list: readonly T[],
  keyOf: (one: T) => string | undefined,
): Map<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const one of list) {
    const key = keyOf(one);
    if (key === undefined) continue;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  return groups;
}
