import type { Series, SniperWatch, Timeframe, WatchOptions, WeekStart } from "../../src/index.js";
import { Draw } from "./draw.js";
import { drawFarRanges } from "./far-ranges.js";
import { drawBadRows, drawCuts, drawFaults, type Fault } from "./faults.js";
import { serviceClockOf } from "./service-time.js";
import { drawStoreFaults } from "./store-faults.js";
import { drawWorld, type WorldPlan } from "./world-plan.js";

const HOUR = 3_600_000;

/** When somebody subscribes and leaves, in ms after the start of the run. */
interface Stay {
  readonly from: number;
  readonly until: number;
}

/** One poll key: no two feeds of a run share a series, so that every request tells whose it is. */
export interface FeedPlan extends Stay {
  readonly series: Series<Timeframe>;
  readonly every: number | "close";
  readonly settle: number;
  readonly revisionWindow: number;
  readonly weekStart: WeekStart;
  /** ms between two polls, in the healthy run of things. */
  readonly period: number;
}

export type WatcherPlan = Stay &
  (
    | {
        readonly kind: "candles" | "status";
        readonly feed: FeedPlan;
        readonly options: Series<Timeframe> & WatchOptions;
      }
    | { readonly kind: "snipers" | "sniper-status"; readonly options: SniperWatch }
    | {
        readonly kind: "fetch";
        readonly options: Series<Timeframe> & {
          from: number;
          to?: number;
          fillGaps?: boolean;
          weekStart?: WeekStart;
        };
      }
    | {
        readonly kind: "page" | "pages";
        readonly options: Series<Timeframe> & { fromDate: number; toDate: number };
      }
    | { readonly kind: "report"; readonly options: { pairAddress: string } }
  );

/** All that happens in a run; the same plan gives the same run. */
export interface Plan {
  readonly seed: number;
  readonly hours: number;
  /** ms. */
  readonly length: number;
  /** From here on nothing goes wrong any more, ms after the start. */
  readonly healthyFrom: number;
  readonly world: WorldPlan;
  /** How long the service keeps an idle connection, ms; for ever where it is absent. */
  readonly keepAlive: number | undefined;
  /** Whether what is final is kept, beyond the life of a client. */
  readonly hasStore: boolean;
  readonly feeds: readonly FeedPlan[];
  readonly watchers: readonly WatcherPlan[];
  readonly faults: readonly Fault[];
}

const LENGTH: Record<Timeframe, number> = {
  "1s": 1_000,
  "10s": 10_000,
  "30s": 30_000,
  "1min": 60_000,
  "5min": 300_000,
  "10min": 600_000,
  "30min": 1_800_000,
  "1h": HOUR,
  "4h": 4 * HOUR,
  "12h": 12 * HOUR,
  "1d": 24 * HOUR,
  "1w": 168 * HOUR,
  "1M": 730 * HOUR,
};

const TIMEFRAMES = {
  "1s": 1,
  "10s": 2,
  "30s": 2,
  "1min": 6,
  "5min": 4,
  "10min": 1.5,
  "30min": 1,
  "1h": 1,
  "4h": 0.5,
  "12h": 0.4,
  "1d": 0.4,
  "1w": 0.4,
  "1M": 0.4,
} as const;

/** What a run of so many hours is made of, by its seed. */
export function drawPlan(seed: number, hours: number): Plan {
  const draw = new Draw(`run ${seed}`);
  const length = hours * HOUR;
  const healthyFrom = Math.round(length * 0.6);
  const drawn = drawWorld(draw.fork("world"), length);
  const usual = drawFeeds(draw.fork("feeds"), { world: drawn, length, healthyFrom });
  const far = drawFarRanges(draw.fork("far ranges"), { world: drawn, length, feeds: usual });
  const world = far === undefined ? drawn : { ...drawn, busy: far.busy };
  const feeds = far === undefined ? usual : [...usual, far.feed];
  const watchers = [
    ...usual.flatMap((feed, at) => drawStays(draw.fork(`watchers ${at}`), feed, world)),
    ...drawSnipers(draw.fork("snipers"), { world, length, healthyFrom }),
    ...drawCalls(draw.fork("calls"), { world, length, healthyFrom }),
    ...(far?.watchers ?? []),
  ];
  const store = draw.fork("store");
  const hasStore = store.chance(0.25);
  const faults = [
    ...drawFaults(draw.fork("faults"), { world, length, healthyFrom }),
    ...drawBadRows(draw.fork("bad rows"), healthyFrom),
    ...drawCuts(draw.fork("cuts"), healthyFrom),
    ...drawLateIndexing(draw.fork("indexed"), watchers, healthyFrom),
    ...(hasStore ? drawStoreFaults(store, { feeds: usual, healthyFrom }) : []),
  ].sort((a, b) => a.from - b.from);
  const keepAlive = drawKeepAlive(draw.fork("connections"), usual, world);
  return { seed, hours, length, healthyFrom, world, keepAlive, hasStore, feeds, watchers, faults };
}

/** One client of a run, from its beginning to its end, in ms after the start of the run. */
export interface Life extends Stay {
  readonly watchers: readonly WatcherPlan[];
  /** How its process ends, where another one follows. */
  readonly restart: Extract<Fault, { kind: "restart" }> | undefined;
}

/** The clients of a run, one after another: whoever watches when a process ends does so again with the next one. */
export function livesOf({ length, watchers, faults }: Plan): Life[] {
  const restarts = faults.filter((fault) => fault.kind === "restart");
  return [...restarts, undefined].map((restart, at) => {
    const from = restarts[at - 1]?.until ?? 0;
    const until = restart?.from ?? length;
    const own = watchers
      .filter((watcher) => watcher.from < until && watcher.until > from)
      .map((watcher) => ({
        ...watcher,
        from: Math.max(watcher.from, from),
        until: Math.min(watcher.until, until),
      }));
    return { from, until, watchers: restart === undefined && at === 0 ? watchers : own, restart };
  });
}

/** Often just so long that the next poll meets the instant at which its connection is closed. */
function drawKeepAlive(draw: Draw, feeds: readonly FeedPlan[], { latency }: WorldPlan): number | undefined {
  if (draw.chance(0.6)) return undefined;
  const longest = draw.scaled(1_000, 75_000);
  if (draw.chance(0.3)) return longest;
  const roundTrip = 2 * latency.base + latency.spread;
  return Math.max(1, Math.round(draw.pick(feeds).period - draw.between(0, roundTrip)));
}

interface Frame {
  readonly world: WorldPlan;
  readonly length: number;
  readonly healthyFrom: number;
}

/** Fast polls last shorter, for a run is to cost about the same whatever is drawn; trouble and health both see them. */
function drawSpan(period: number, { length, healthyFrom, world }: Frame): Stay {
  const polls = 110 + (length / HOUR) * 30;
  const span = period * polls;
  // A quota makes polls as rare as slow ones.
  if (span >= length || world.client.quota !== undefined) return { from: 0, until: length };
  return {
    from: Math.max(0, Math.round(healthyFrom - Math.max(60_000, span * 0.4))),
    until: Math.min(length, Math.round(healthyFrom + Math.max(150_000, span * 0.6))),
  };
}

function drawFeeds(draw: Draw, frame: Frame): FeedPlan[] {
  const { world } = frame;
  const feeds = new Map<string, FeedPlan>();
  for (let left = draw.whole(1, 4); left > 0; left -= 1) {
    const timeframe = draw.weighed(TIMEFRAMES);
    const pairAddress = draw.pick(world.pairs);
    const currency = draw.pick(["usd", "native"] as const);
    const network = world.network;
    const every = draw.weighed({ standard: 4, close: 3, free: 3 });
    const interval = LENGTH[timeframe];
    const free = draw.scaled(Math.max(250, Math.min(interval / 40, 60_000)), Math.min(interval, 300_000));
    const chosen = every === "standard" ? Math.min(interval, 60_000) : every === "close" ? "close" : free;
    const period = chosen === "close" ? interval : Math.min(interval, chosen);
    const name = `${pairAddress} ${timeframe} ${currency}`;
    if (feeds.has(name)) continue;
    feeds.set(name, {
      series: { network, pairAddress, timeframe, currency },
      every: chosen,
      settle: draw.chance(0.6) ? 1_000 : draw.pick([0, 250, 3_000, 20_000]),
      revisionWindow: draw.chance(0.5) ? 2 : draw.whole(0, 5),
      weekStart: world.weekStart,
      period,
      ...drawSpan(period, frame),
    });
  }
  return [...feeds.values()];
}

/** What a subscriber does while its pair is not known. */
function drawMissing(draw: Draw): Pick<WatchOptions, "whenMissing"> {
  const whenMissing = draw.pick([undefined, "fail", "wait", "wait"] as const);
  return whenMissing === undefined ? {} : { whenMissing };
}

/** At times a pair is not known yet when somebody begins to watch it. */
function drawLateIndexing(draw: Draw, watchers: readonly WatcherPlan[], healthyFrom: number): Fault[] {
  if (draw.chance(0.8)) return [];
  const { from } = draw.pick(watchers);
  const until = Math.min(healthyFrom, from + draw.scaled(3_000, 1_200_000));
  return until > from ? [{ kind: "404", from, until, rate: draw.chance(0.7) ? 1 : 0.7 }] : [];
}

/** Options that come to the poll of a feed, said in one of several ways. */
function drawPoll(draw: Draw, { series, every, settle, revisionWindow, weekStart }: FeedPlan) {
  const { timeframe } = series;
  const longest = timeframe === "1M" ? 31 * 24 * HOUR : LENGTH[timeframe];
  const isClosing = every === "close" || every >= longest;
  return {
    ...series,
    every: isClosing ? draw.pick(["close", longest, 3 * longest] as const) : every,
    settle,
    revisionWindow,
    ...drawMissing(draw),
    weekStart: timeframe === "1w" ? weekStart : draw.pick(["monday", "thursday"] as const),
  };
}

/** Of so many intervals a history is filled, from 1970 on or back by a number of candles. */
const MOST_FILLED = 20_000;

/** Nobody who is shown candles leaves sooner, so that what they are shown can be told from the truth, ms. */
const LEAST_STAY = 30_000;
/** The same where what a history asks for again comes from a cache. */
const LEAST_STAY_BEHIND_CACHE = 100_000;

function drawStays(draw: Draw, feed: FeedPlan, world: WorldPlan): WatcherPlan[] {
  const { series, from, until } = feed;
  const least = world.cache === undefined ? LEAST_STAY : LEAST_STAY_BEHIND_CACHE;
  const polls = draw.fork("polls");
  const interval = LENGTH[series.timeframe];
  // Some say 1970 for everything; what else is drawn does not change by it.
  const mayBeAll = (since: number) => draw.fork(`all ${since}`).chance(0.06);
  const drawView = (): WatchOptions => {
    const back = draw.weighed({ none: 4, instant: 4, candles: 2 });
    const fillGaps = draw.chance(0.4) ? { fillGaps: true } : {};
    if (back === "none") return fillGaps;
    if (back === "candles") {
      const candles = draw.scaled(1, 1_500);
      const isBearable = candles * world.swapEvery < MOST_FILLED * interval;
      return { since: { candles }, ...(isBearable && fillGaps) };
    }
    const begins = serviceClockOf(world).at(world.start + from);
    const since = begins - interval * draw.scaled(1, Math.max(2, Math.min(3_000, begins / interval / 2)));
    // Years of seconds without a swap would be filled, too.
    const isFew = !("fillGaps" in fillGaps) || begins - world.createdAt < MOST_FILLED * interval;
    return { since: isFew && mayBeAll(since) ? 0 : Math.max(0, since), ...fillGaps };
  };
  const stays: WatcherPlan[] = [];
  const main = drawView();
  stays.push({ kind: "candles", feed, options: { ...drawPoll(polls, feed), ...main }, from, until });
  if (draw.chance(0.75)) {
    const isFirst = draw.chance(0.3);
    const view = draw.chance(0.8) ? main : drawView();
    const status = { kind: "status", feed, options: { ...drawPoll(polls, feed), ...view }, until } as const;
    if (isFirst) stays.unshift({ ...status, from });
    else stays.push({ ...status, from: draw.chance(0.7) ? from : Math.round(draw.between(from, until)) });
  }
  for (let more = draw.whole(0, 2); more > 0; more -= 1) {
    const joins = Math.min(Math.round(draw.between(from, until)), Math.max(from, until - least));
    const leaves = draw.chance(0.5) ? until : Math.round(draw.between(joins, until));
    const options = { ...drawPoll(polls, feed), ...drawView() };
    const lastsUntil = Math.min(until, Math.max(leaves, joins + least));
    stays.push({ kind: "candles", feed, options, from: joins, until: lastsUntil });
  }
  // At times everybody leaves in between, and the poll begins anew.
  if (draw.chance(0.15)) {
    const gap = Math.round(draw.between(from, until));
    return stays.flatMap((stay): WatcherPlan[] => {
      if (stay.from > gap || stay.until < gap) return [stay];
      const after = { ...stay, from: Math.min(stay.until, gap + 5_000) };
      return [{ ...stay, until: gap }, after];
    });
  }
  return stays;
}

function drawSnipers(draw: Draw, frame: Frame): WatcherPlan[] {
  if (frame.world.network !== "mainnet" || draw.chance(0.5)) return [];
  const every = draw.chance(0.5) ? 60_000 : draw.scaled(2_000, 300_000);
  const { from, until } = drawSpan(every, frame);
  const blocks = draw.chance(0.5) ? {} : { blocksAfterCreation: draw.whole(0, 1_000) };
  const options = { pairAddress: draw.pick(frame.world.pairs), every, ...blocks };
  const missing = draw.fork("missing");
  const own = () => ({ ...options, ...drawMissing(missing) });
  const stays: WatcherPlan[] = [{ kind: "snipers", options: own(), from, until }];
  if (draw.chance(0.7)) stays.push({ kind: "sniper-status", options: own(), from, until });
  if (draw.chance(0.5)) {
    stays.push({ kind: "snipers", options: own(), from: Math.round(draw.between(from, until)), until });
  }
  return stays;
}

/** Calls whose series no feed uses: another timeframe is drawn where there is a feed of that name. */
function drawCalls(draw: Draw, { world, length, healthyFrom }: Frame): WatcherPlan[] {
  const calls: WatcherPlan[] = [];
  for (let left = draw.whole(0, 3); left > 0; left -= 1) {
    const from = Math.round(draw.chance(0.5) ? draw.between(0, length) : draw.between(healthyFrom, length));
    const timeframe = draw.pick(["1min", "5min", "1h"] as const);
    // Nobody watches this pair.
    const series = {
      network: world.network,
      pairAddress: world.callPair,
      timeframe,
      currency: draw.pick(["usd", "native"] as const),
    };
    const now = serviceClockOf(world).at(world.start + from);
    const range = LENGTH[timeframe] * draw.scaled(1, 4_000);
    const stay = { from, until: length };
    const kind = draw.pick(["fetch", "fetch", "page", "pages", "report"] as const);
    const start = draw.fork(`all ${left}`).chance(0.06) ? 0 : Math.max(0, now - range);
    if (kind === "report") {
      if (world.network === "mainnet")
        calls.push({ kind, options: { pairAddress: world.callPair }, ...stay });
    } else if (kind === "fetch") {
      const to = draw.chance(0.5) ? {} : { to: now - Math.floor(range / 3) };
      const fillGaps = draw.chance(0.3) ? { fillGaps: true } : {};
      calls.push({ kind, options: { ...series, from: start, ...to, ...fillGaps }, ...stay });
    } else {
      calls.push({ kind, options: { ...series, fromDate: start, toDate: now }, ...stay });
    }
  }
  return calls;
}
