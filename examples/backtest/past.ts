import { basename, extname } from "node:path";
import {
  type AnyTimeframe,
  type Candle,
  type Cost,
  createClient,
  fetchCandles,
  finals,
  intervalOf,
  replayCandles,
  resample,
  TIMEFRAMES as SERVED,
  type Series,
} from "pairstream";
import type { BacktestFeed } from "pairstream/backtest";
import { createPairService } from "pairstream/service";
import { auditCost, type CandleStore } from "pairstream/store";
import { lastValueFrom, map, type Observable, toArray } from "rxjs";
import { readDatabase, seriesOfDatabase } from "../history/database.js";
import { listOf, openCandleFile } from "../history/read-file.js";
import { UsageError } from "../terminal/command-line.js";
import { costText, Spending, sumOf } from "../terminal/cost.js";
import { rangeOf } from "../terminal/past.js";
import { storeTrouble, withStore } from "../terminal/store-file.js";
import { readTape } from "../terminal/tape.js";
import * as market from "./market.js";
import type { PastOptions, Place } from "./options.js";
import { lengthOf, TIMEFRAMES } from "./timeframes.js";

/** A pair, and its candles. */
interface TradedPair {
  /** What the strategy trades. */
  readonly series: Series;
  /** Ascending, one an interval: where nobody traded, a flat one. */
  readonly candles: readonly Candle[];
  /** What a backtest takes: the same, after the shorter ones that it is made of. */
  readonly feeds: readonly BacktestFeed[];
}

/** A past to trade. */
export interface Past {
  readonly pairs: readonly TradedPair[];
  /** The timeframe that fills orders; absent: what is traded does. */
  readonly within: AnyTimeframe | undefined;
  /** Where it is from, in words. */
  readonly title: string;
  /** What is to be known of it; absent: nothing. */
  readonly explanation: string | undefined;
}

/** Candles as they were found. */
interface Found {
  readonly series: Series;
  readonly candles: Candle[];
}

/** Reads the candles that are asked for; `tell` is told what that costs, before and after. */
export async function openPast(options: PastOptions, tell: (line: string) => void): Promise<Past> {
  const { place, timeframe } = options;
  const { found, title, explanation } = await find(options, place, tell);
  const pairs: TradedPair[] = [];
  let within: AnyTimeframe | undefined;
  for (const { series: base, candles: all } of found) {
    const candles = all.filter(({ timestamp }) => isWithin(timestamp, options));
    if (candles.length === 0)
      throw new UsageError(`${title} holds no candles of ${base.pairAddress} to trade`);
    const whole = await lastValueFrom(gapless(candles, base));
    const series = { ...base, timeframe: timeframe ?? (place.kind === "market" ? "1h" : base.timeframe) };
    if (lengthOf(series.timeframe) < lengthOf(base.timeframe)) {
      throw new UsageError(
        `--timeframe ${series.timeframe} is shorter than the candles of ${title}; allowed: ${base.timeframe} or longer`,
      );
    }
    if (series.timeframe === base.timeframe) {
      pairs.push({ series, candles: whole, feeds: [{ series, candles: whole }] });
      continue;
    }
    if (within === undefined || lengthOf(base.timeframe) < lengthOf(within)) within = base.timeframe;
    const longer = await lastValueFrom(longerOnes(whole, base, series.timeframe));
    if (longer.length === 0) {
      throw new UsageError(
        `the ${base.timeframe} candles of ${title} do not fill one whole candle of ${series.timeframe}`,
      );
    }
    // The two begin together: what is before the first longer candle is nothing that could be traded.
    const shorter = whole.filter(({ timestamp }) => timestamp >= longer[0]!.timestamp);
    pairs.push({
      series,
      candles: longer,
      feeds: [
        { series: base, candles: shorter },
        { series, candles: longer },
      ],
    });
  }
  return { pairs, within, title, explanation };
}

const isWithin = (timestamp: number, { from, to }: PastOptions) =>
  timestamp >= (from ?? 0) && timestamp < (to ?? Number.POSITIVE_INFINITY);

/** On chain the price stands still until somebody trades. */
function gapless(candles: readonly Candle[], series: Series): Observable<Candle[]> {
  return replayCandles(candles, { ...series, fillGaps: true }).pipe(
    map(({ candle }) => candle),
    toArray(),
  );
}

/** Whole ones alone. */
function longerOnes(
  candles: readonly Candle[],
  series: Series,
  timeframe: AnyTimeframe,
): Observable<Candle[]> {
  const first = candles[0]!.timestamp;
  return replayCandles(candles, series).pipe(
    resample(timeframe),
    finals(),
    map(({ candle }) => candle),
    toArray(),
    map((all) => (intervalOf(timeframe, first).start === first ? all : all.slice(1))),
  );
}

interface Finding extends Pick<Past, "title"> {
  readonly found: readonly Found[];
  readonly explanation?: string;
}

function find(options: PastOptions, place: Place, tell: (line: string) => void): Promise<Finding> {
  switch (place.kind) {
    case "market":
      return Promise.resolve(makeMarket(options, place));
    case "tape":
      return readSwaps(options, place);
    case "candles":
      return readFiles(options, place);
    case "store":
      return readStore(options, place);
    case "remote":
      return ask(options, place, tell);
  }
}

type Of<Kind extends Place["kind"]> = Extract<Place, { kind: Kind }>;

function makeMarket({ from, to, within }: PastOptions, { seed }: Of<"market">): Finding {
  if (within !== undefined && within !== market.SERIES.timeframe)
    throw new UsageError("--within has to be 1min in the simulated market");
  const candles = market.makeCandles({ seed, ...market.rangeOf(from, to) });
  const title = `a simulated market (seed ${seed})`;
  return { found: [{ series: market.SERIES, candles }], title, explanation: market.EXPLANATION };
}

const DAY = 86_400_000;

async function readSwaps(options: PastOptions, { file, minimumUsd }: Of<"tape">): Promise<Finding> {
  const { source, pair, count, first, last } = await readTape(file, { minimumUsd });
  // The service's clock stands where all that is asked for has been over for a day.
  const from = Math.max(0, Math.floor(first.timestamp / DAY) * DAY);
  const to = last.timestamp + 1;
  const { fetch } = createPairService({ source, clock: () => to + 40 * DAY });
  const client = createClient({ baseUrl: "http://localhost", apiKey: "local", fetch, rateLimit: false });
  const { network, currency } = options;
  const timeframe = options.within ?? options.timeframe ?? "1min";
  const series: Series = { network, currency, pairAddress: pair, timeframe };
  const candles = await lastValueFrom(fetchCandles(client, { ...series, from, to }).pipe(toArray()));
  return { found: [{ series, candles }], title: `a tape of ${count.toLocaleString("en-US")} swaps` };
}

async function readFiles(options: PastOptions, { files }: Of<"candles">): Promise<Finding> {
  const { pairs, network, currency, within } = options;
  if (pairs.length > 0 && pairs.length !== files.length) {
    throw new UsageError(
      `--pair names ${pairs.length} pairs for ${files.length} ${files.length === 1 ? "file" : "files"}; allowed: one pair for each file`,
    );
  }
  const found: Found[] = [];
  for (const [at, file] of files.entries()) {
    await reading(file, async () => {
      const { series: told, candles: read } = await openCandleFile(file, wanted(options, pairs[at]));
      const candles = await listOf(read);
      const timeframe = told.timeframe ?? within ?? timeframeOf(candles, file);
      const pairAddress = pairs[at] ?? told.pairAddress ?? basename(file, extname(file));
      found.push({ series: { network, currency, ...told, pairAddress, timeframe }, candles });
    });
  }
  return { found, title: files.map((file) => basename(file)).join(", ") };
}

/** What cannot be read is named. */
async function reading(file: string, read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(reason.includes(file) ? reason : `${file}: ${reason}`, { cause: error });
  }
}

/** Lines do not say how long a candle is; the shortest distance of two does. */
function timeframeOf(candles: readonly Candle[], file: string): AnyTimeframe {
  const shortest = candles.reduce((least, { timestamp }, at) => {
    const before = candles[at - 1];
    return before === undefined ? least : Math.min(least, timestamp - before.timestamp);
  }, Number.POSITIVE_INFINITY);
  const timeframe = TIMEFRAMES.findLast((each) => {
    return lengthOf(each) <= shortest && candles.every(({ timestamp }) => isStart(each, timestamp));
  });
  if (timeframe !== undefined && shortest < Number.POSITIVE_INFINITY) return timeframe;
  throw new UsageError(`${file} does not say how long its candles are: set --within`);
}

const isStart = (timeframe: AnyTimeframe, instant: number) =>
  intervalOf(timeframe, instant).start === instant;

/** What is asked for of files that hold several series. */
function wanted({ within, network, currency, timeframe }: PastOptions, pairAddress: string | undefined) {
  return {
    network,
    currency,
    ...(pairAddress !== undefined && { pairAddress }),
    ...(within !== undefined ? { timeframe: within } : timeframe !== undefined && { orTimeframe: timeframe }),
  };
}

async function readStore(options: PastOptions, { file }: Of<"store">): Promise<Finding> {
  const { pairs } = options;
  const found: Found[] = [];
  for (const pair of pairs.length === 0 ? [undefined] : pairs) {
    await reading(file, async () => {
      const { weekStart, ...series } = await seriesOfDatabase(file, wanted(options, pair));
      found.push({ series, candles: await listOf(readDatabase(file, { ...series, weekStart })) });
    });
  }
  return { found, title: basename(file) };
}

async function ask(
  options: PastOptions,
  { baseUrl, apiKey, store: file }: Of<"remote">,
  tell: (line: string) => void,
): Promise<Finding> {
  const { network, currency, within, timeframe = "1min", pairs } = options;
  const range = rangeOf(options, Date.now());
  const found: Found[] = [];
  await withStore(file, async (stored) => {
    const client = createClient({ baseUrl, apiKey, ...stored });
    storeTrouble(client).subscribe(({ error }) => tell(`the store: ${error.message}`));
    const series = pairs.map((pairAddress): Series => {
      return { network, currency, pairAddress, timeframe: within ?? timeframe };
    });
    const costs = await Promise.all(series.map((each) => costOf(each, range, baseUrl, stored.store)));
    tell(`at most ${costText(sumOf(costs))}`);
    const spending = new Spending(client);
    for (const each of series) {
      const candles = await lastValueFrom(fetchCandles(client, { ...each, ...range }).pipe(toArray()));
      found.push({ series: each, candles });
    }
    tell(`it took ${costText(spending)}`);
  });
  return { found, title: new URL(baseUrl).host };
}

/** What a range costs at most, less what a store has of it. */
async function costOf(
  given: Series,
  { from, to }: { from: number; to: number },
  baseUrl: string,
  store: CandleStore | undefined,
): Promise<Cost> {
  const { origin, pathname } = new URL(baseUrl);
  const timeframe = SERVED.find((one) => one === given.timeframe);
  // Of what is made of shorter candles it is not told.
  if (timeframe === undefined) return { requests: 0, units: 0 };
  const series = { ...given, timeframe };
  const key = { ...series, service: origin + pathname.replace(/\/+$/, ""), weekStart: "monday" } as const;
  const { covered = [] } = (await store?.read(key, { from, to, last: 0 })) ?? {};
  const costs: Cost[] = [];
  let reached = from;
  for (const span of [...covered, { from: to, to }]) {
    if (span.from > reached) costs.push(auditCost({ ...series, from: reached, to: span.from }));
    reached = Math.max(reached, span.to);
  }
  return sumOf(costs);
}
