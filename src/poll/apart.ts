/** Two answers count as two if the service made them so far apart, in ms: a cache repeats one answer. */
export const APART = 1_000;
/** As clocks drift, what is certain of the service's fades: answers may seem so much less apart than they are, in ms. */
const FADED = 0.5;

/** Whether an answer was made so long after another one that it is no copy of that. */
export function isApart(at: number, before: number, by = APART): boolean {
  return at >= before + by - FADED;
}

/** What is newest may be missing as a machine lags: it is gone after so long, in ms. */
export const LONGEST_LAG = 5_000;

/** Whether what answers have lacked since `missedAt` is asked for again soon: whatever takes longer waits for the regular answers. */
export function mayShowSoon(missedAt: number, at: number): boolean {
  return at < missedAt + 2 * APART;
}
