import type { Draw } from "./draw.js";
import type { FeedPlan, WatcherPlan } from "./plan.js";
import { serviceClockOf } from "./service-time.js";
import type { WorldPlan } from "./world-plan.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LENGTH = { "1min": MINUTE, "5min": 5 * MINUTE, "1h": HOUR } as const;
/** How long ago somebody may look. */
const BACK = [7 * DAY, 30 * DAY, 365 * DAY];
/** So many swaps there are between the two ranges, about. */
const SWAPS_BETWEEN = 6_000;

/** One client that reads ranges which lie far apart, and then watches the same series. */
export interface FarRanges {
  readonly feed: FeedPlan;
  readonly watchers: readonly WatcherPlan[];
  /** When the pair was traded more, so that there is much to read between the ranges, by the service's clock. */
  readonly busy: NonNullable<WorldPlan["busy"]>;
}

/** Nothing where the pair is young, or its swaps are not those of a tape, or others watch the series. */
export function drawFarRanges(
  draw: Draw,
  { world, length, feeds }: { world: WorldPlan; length: number; feeds: readonly FeedPlan[] },
): FarRanges | undefined {
  if (draw.chance(0.7) || world.market !== "tape") return undefined;
  const now = serviceClockOf(world).at(world.start);
  const back = BACK.filter((ms) => now - ms - DAY > world.createdAt);
  if (back.length === 0) return undefined;
  const timeframe = draw.weighed({ "1min": 4, "5min": 2, "1h": 1 });
  const interval = LENGTH[timeframe];
  const series = {
    network: world.network,
    pairAddress: world.pairs[0]!,
    timeframe,
    currency: draw.pick(["usd", "native"] as const),
  };
  const isTaken = feeds.some(
    ({ series: { pairAddress, timeframe: other, currency } }) =>
      pairAddress === series.pairAddress && other === timeframe && currency === series.currency,
  );
  if (isTaken) return undefined;

  const far = draw.pick(back);
  const range = Math.max(HOUR, interval * draw.whole(20, 60));
  const older = now - far;
  const newer = now - Math.round(draw.between(far / 60, far / 2));
  const first = draw.chance(0.8) ? [older, newer] : [newer, older];
  const begins = Math.round(draw.between(0, length / 4));
  const pause = draw.whole(2_000, 30_000);
  const { weekStart } = world;
  const reads = first.map(
    (from, at): WatcherPlan => ({
      kind: "fetch",
      options: { ...series, weekStart, from, to: from + range },
      from: begins + at * pause,
      until: length,
    }),
  );
  const joins = begins + 2 * pause + draw.whole(0, 60_000);
  const poll = { every: "close", settle: 1_000, revisionWindow: 2, weekStart } as const;
  const feed: FeedPlan = { series, ...poll, period: interval, from: joins, until: length };
  const options = { ...series, ...poll, since: { candles: draw.scaled(1, 300) } };
  const stay = { feed, options, from: joins, until: length };
  return {
    feed,
    watchers: [...reads, { kind: "candles", ...stay }, { kind: "status", ...stay }],
    busy: { from: older, until: newer + range, every: Math.max(MINUTE, (newer - older) / SWAPS_BETWEEN) },
  };
}
