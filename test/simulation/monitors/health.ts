import { intervalsOf } from "../calendar.js";
import type { Plan } from "../plan.js";
import type { RunLog } from "../run-log.js";
import { UNITS } from "./spendings.js";

/** After the attempts of a poll the next one comes within so long, ms, whatever the schedule. */
const LONGEST_WAIT = 60_000;
/** The longest delay between two attempts, and the longest hint of a service in trouble, ms. */
const LONGEST_DELAY = 8_000;
/** What an answer shows is confirmed, and its closing proven, within so long, ms. */
const CONFIRMED_WITHIN = 5_000;
/** In good health an answer takes so long at most, one way, ms. */
const LONGEST_WAY = 150;
/** What polls may take of a quota, so that none of them is stretched. */
const SHARE = 0.5;

/**
 * How long after all trouble a feed is well again at the latest, ms: a request in flight runs into its timeout, its next
 * attempt into nothing; if there is none, the next poll comes after a minute, or with the schedule.
 */
export function recoveryOf({ plan }: RunLog, period: number): number {
  const { timeout = 10_000 } = plan.world.client;
  return timeout + LONGEST_DELAY + Math.min(period, LONGEST_WAIT) + CONFIRMED_WITHIN;
}

/** The longest round trip in good health, ms. */
export function roundTrip({ plan }: RunLog): number {
  const { base, spread } = plan.world.latency;
  return 2 * Math.min(LONGEST_WAY, Math.round(base + spread));
}

/** Whether the client's quota, and what histories leave of it, let its polls alone: what it stretches is not due. */
export function affordsPolls({ plan, exchanges }: RunLog): boolean {
  const { quota } = plan.world.client;
  if (quota === undefined) return true;
  const candles = sumOf(plan.feeds, ({ period }) => (quota.per / period + 1) * UNITS.ohlcv);
  const histories = new Map<number, number>();
  for (const { sent, priority } of exchanges) {
    const period = Math.floor(sent / quota.per);
    if (priority === "history") histories.set(period, (histories.get(period) ?? 0) + UNITS.ohlcv);
  }
  const polls = candles + sniperUnits(plan, quota.per);
  return polls <= SHARE * quota.units && polls + Math.max(0, ...histories.values()) <= quota.units;
}

/** How many times longer than asked for a quota makes sniper polls wait: they give way no sooner than closings do. */
export function sniperStretch({ plan }: RunLog): number {
  const { quota } = plan.world.client;
  if (quota === undefined) return 1;
  const closings = sumOf(
    plan.feeds,
    ({ series }) => intervalsOf(series.timeframe).count(0, quota.per) * UNITS.ohlcv,
  );
  return Math.max(1, (closings + sniperUnits(plan, quota.per)) / quota.units);
}

/** What the sniper polls of a run cost in a period of its quota, at most. */
function sniperUnits({ watchers }: Plan, per: number): number {
  return sumOf(watchers, ({ kind, options }) =>
    kind === "snipers" || kind === "sniper-status"
      ? (per / (options.every ?? LONGEST_WAIT) + 1) * UNITS.snipers
      : 0,
  );
}

function sumOf<Item>(items: readonly Item[], unitsOf: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + unitsOf(item), 0);
}
