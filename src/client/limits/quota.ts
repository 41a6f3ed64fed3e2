/** Calls of one kind cost the same. */
export type CallKind = "ohlcv" | "snipers";

/** At most `units` in each period of `per` ms; periods begin at multiples of `per` since the epoch. */
export interface Quota {
  readonly units: number;
  readonly per: number;
}

/** What is spent in the running period. The service's clock is not known exactly, so `spentAhead` may count for the next. */
export interface Ledger {
  /** The number of the running period since the epoch. */
  readonly period: number;
  readonly spent: number;
  readonly spentAhead: number;
}

/** What a stream will ask for: one poll at each end of an interval, and one every so often in between. */
export interface Demand {
  /** ms between closing polls; `Infinity` for none. */
  readonly closeEvery: number;
  /** ms between the other polls; `Infinity` for none. */
  readonly refreshEvery: number;
  readonly kind: CallKind;
}

/** How many times longer than asked for polls of each kind wait; `Infinity`: there are none until the next period. */
export interface PollThrottle {
  readonly refresh: number;
  readonly close: number;
}

export const UNTHROTTLED: PollThrottle = { refresh: 1, close: 1 };

/** What a throttle makes of a stream's polls: where there are no intervals that close, every poll counts as a closing. */
export function throttleFor(
  { closeEvery }: Pick<Demand, "closeEvery">,
  throttle: PollThrottle,
): PollThrottle {
  return closeEvery === Infinity ? { refresh: throttle.close, close: throttle.close } : throttle;
}

/**
 * The ledger at an instant that the service's clock has certainly reached. `underWay`: the cost of requests without an
 * answer that are not counted ahead; the service may count them for a period that begins meanwhile.
 */
export function ledgerAt(
  ledger: Ledger | undefined,
  { per }: Quota,
  reached: number,
  underWay: number,
): Ledger {
  const period = Math.floor(reached / per);
  if (ledger === undefined || period > ledger.period + 1) return { period, spent: underWay, spentAhead: 0 };
  if (period > ledger.period) return { period, spent: ledger.spentAhead + underWay, spentAhead: 0 };
  return ledger;
}

/** The ledger after a request; with `isAhead` it may count for the next period, too. A negative cost gives back. */
export function charged(ledger: Ledger, cost: number, isAhead: boolean): Ledger {
  return {
    ...ledger,
    spent: Math.max(0, ledger.spent + cost),
    spentAhead: Math.max(0, ledger.spentAhead + (isAhead ? cost : 0)),
  };
}

/** How many polls of a stream are still due in a period: within intervals, and at their ends. The last interval ends with the period. */
function pollsWithin({ closeEvery, refreshEvery }: Demand, time: number): readonly [number, number] {
  const length = Math.min(closeEvery, time);
  // What is due as the period ends is asked for in the next one.
  const ends = Math.ceil(time / length) - 1;
  const inEach = Math.max(1, Math.ceil(length / refreshEvery)) - 1;
  const begun = length * (ends + 1) - time;
  return [inEach * (ends + 1) - Math.floor(begun / refreshEvery), ends];
}

/** Spreads what is left over the rest of the period: polls within intervals give way first, all others last. */
export function pollThrottle(
  ledger: Ledger,
  { units, per }: Quota,
  demands: Iterable<Demand>,
  costs: Readonly<Record<CallKind, number>>,
  now: number,
): PollThrottle {
  const timeLeft = (ledger.period + 1) * per - now;
  const left = units - ledger.spent;
  if (left <= 0) return { refresh: Infinity, close: Infinity };
  let [closing, refreshing, spare] = [0, 0, 0];
  for (const demand of demands) {
    const cost = costs[demand.kind];
    const [within, ends] = pollsWithin(demand, timeLeft);
    const isSteady = demand.closeEvery === Infinity;
    closing += cost * (isSteady ? within : ends);
    refreshing += isSteady ? 0 : cost * within;
    spare += cost;
  }
  if (closing + refreshing <= left) return UNTHROTTLED;
  // A slot is promised before it is paid for: by then a poll of each stream may be missing.
  closing += spare;
  if (closing < left) return { refresh: refreshing / (left - closing), close: 1 };
  return { refresh: Infinity, close: closing / left };
}
