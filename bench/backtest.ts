import { createRequire } from "node:module";
import { type Candle, ema, replayCandles, rsi, type Series, withIndicators } from "pairstream";
import {
  type BacktestResult,
  type BrokerOptions,
  backtest as run,
  type Strategy,
  type StrategyAccount,
  sweep,
} from "pairstream/backtest";
import { EMPTY, ignoreElements } from "rxjs";
import { marketOf } from "../test/indicators/random-candles.js";
import bracketed, { type Parameters, STOP, TARGET } from "./backtest/strategy.js";
import type { Bench, GoalResult, MeasureOptions, Report } from "./bench.js";
import { row, spread } from "./indicators/figures.js";
import { circumstances, inWords } from "./machine.js";
import { installedPeer } from "./peers.js";
import { elapsedTime, keepingResults, processorTime, ratioOf, type Spread, spreadOf } from "./rounds.js";
import { aboutRounds, inUnitsOf, ratioGoal, sideBySide, type Timed, tableOf } from "./side-by-side.js";

const YEAR = 365 * 24 * 60;
const SERIES: Series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" };
const PARAMETERS: Parameters = { average: 20, strength: 14, level: 80 };
const BROKER: BrokerOptions = { fees: { maker: 0.0005, taker: 0.0005 } };
const MOST_STRATEGIES = 2;
const STRETCH = 4_096;

/** What its rules look at is copied for each candle, so that a year of them takes minutes. */
const PEER = "grademark";
const PEER_VERSION = "0.3.0";

const SWEPT_CANDLES = 10_000;
const SWEPT = 200;
const SWEEP_ROUNDS = 5;

/** For a strategy that looks at none. */
const NO_ACCOUNT: StrategyAccount = { position: () => undefined, fills: EMPTY };

/** A year of minutes through a strategy and a broker, beside the strategy alone; and a sweep. */
export const backtest: Bench = { check, measure };

async function check(): Promise<readonly string[]> {
  const result = await trade(candlesOf(STRETCH));
  const orders: object[] = [];
  bracketed(PARAMETERS)(replayCandles(candlesOf(STRETCH), SERIES), NO_ACCOUNT).subscribe((order) =>
    orders.push(order),
  );
  const [own, other] = [result.orders.map(({ order }) => order), orders].map((each) => JSON.stringify(each));
  if (own !== other) throw new Error("ours: the orders are not those of the strategy alone");
  if (result.trades.length === 0) throw new Error("ours: nothing is traded");
  return [];
}

async function measure({ rounds, command }: MeasureOptions): Promise<Report> {
  const [stretch, year] = [candlesOf(STRETCH), candlesOf(YEAR)];
  const result = await trade(year);
  const peer = loadedPeer();
  const contestants = [
    { name: "pairstream", isFloor: false, run: (candles: readonly Candle[]) => trade(candles) },
    { name: "the strategy, on the replay alone", isFloor: true, run: orderAlone },
    { name: "the replay with EMA and RSI alone", isFloor: true, run: replayAlone },
    { name: "the same backtest, all of its orders left out", isFloor: true, run: tradeNothing },
  ];
  const timed = await sideBySide(
    [
      ...contestants.map(({ name, isFloor, run: work }) => ({
        name,
        isFloor,
        work: { calls: YEAR, run: () => work(year), warmUp: () => work(stretch) },
      })),
      ...(peer === undefined
        ? []
        : [
            {
              name: `${PEER}, ${STRETCH.toLocaleString("en-US")} candles`,
              work: { calls: STRETCH, run: () => peer(stretch), warmUp: () => peer(stretch.slice(0, 256)) },
            },
          ]),
    ],
    rounds,
  );
  const swept = await timeSweeps(Math.min(rounds, SWEEP_ROUNDS));
  const about = circumstances(["rxjs"], command);
  about.versions.push(`${PEER} ${peer === undefined ? "could not be installed" : PEER_VERSION}`);
  return {
    goals: goalsOf(timed),
    markdown: `${pageOf(timed, rounds, result, swept)}\n\n${inWords(about)}`,
    results: { ...about, rounds, candles: YEAR, unit: "ns a candle", timed, swept },
  };
}

function goalsOf([, alone]: readonly Timed[]): GoalResult[] {
  return [
    ratioGoal(
      "a backtest of a year of minutes, with stops",
      alone!.ratio,
      { most: MOST_STRATEGIES },
      "the same strategy on the replay, without a broker",
    ),
  ];
}

/** Seconds. */
interface Swept {
  readonly one: Spread;
  readonly two: Spread;
  /** How many times as fast two are. */
  readonly gain: Spread;
  /** What one takes of the processors. */
  readonly work: Spread;
}

async function timeSweeps(rounds: number): Promise<Swept> {
  const seconds: [number[], number[]] = [[], []];
  const worked: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    for (const workers of round % 2 === 0 ? [1, 2] : [2, 1]) {
      const [begin, workBegin] = [elapsedTime(), processorTime()];
      await sweep<Parameters>({
        feeds: [{ series: SERIES, candles: candlesOf(SWEPT_CANDLES) }],
        strategy: new URL("./backtest/strategy.ts", import.meta.url),
        parameters: { average: [10, 20, 30, 40], strength: [7, 10, 14, 21, 28], level: levels() },
        workers,
        broker: BROKER,
      });
      // The first round reads the files.
      if (round === 0) continue;
      seconds[workers - 1]!.push((elapsedTime() - begin) / 1e9);
      if (workers === 1) worked.push((processorTime() - workBegin) / 1e9);
    }
  }
  const [one, two] = seconds;
  return { one: spreadOf(one), two: spreadOf(two), gain: ratioOf(one, two), work: spreadOf(worked) };
}

const levels = () => Array.from({ length: SWEPT / 20 }, (_, at) => 60 + 3 * at);

function pageOf(
  timed: readonly Timed[],
  rounds: number,
  { orders, fills, statistics, trades }: BacktestResult,
  { one, two, gain, work }: Swept,
): string {
  const sweeps = [
    row(["a sweep of", "processor time, s", "one worker, s", "two workers, s", "times as fast"]),
    "|---|---:|---:|---:|---:|",
    row([
      `${SWEPT} sets of parameters over ${SWEPT_CANDLES.toLocaleString("en-US")} candles`,
      ...[work, one, two, gain].map((each) => spread(each)),
    ]),
  ].join("\n");
  return `## Backtest

${YEAR.toLocaleString("en-US")} candles, a year of minutes, through EMA(${PARAMETERS.average}) and RSI(${PARAMETERS.strength}), and a broker: it buys as the RSI crosses ${PARAMETERS.level}, with
a stop and a target that cancel each other. ${orders.length.toLocaleString("en-US")} orders, ${fills.length.toLocaleString("en-US")} fills, ${trades.length.toLocaleString("en-US")} trades; tokens are held in
${Math.round(100 * statistics.exposure)} % of the time. Buy and hold beside it, the curve and the statistics are part of it.

${tableOf(timed, "ns a candle", inUnitsOf(1, 0))}

${aboutRounds(rounds)} It is processor time. \`${PEER}\` gets the finished values of both indicators; it knows a stop and
a target, and neither fees of a fill nor an account. \`backtest-kit\` 19.5.0 cannot be installed, as a package that it
needs is not in the registry. \`@backtest/framework\` 1.1.18 takes candles and strategies from SQLite alone, through a
Prisma client that is not in its package: \`prisma generate\` makes it, and \`prisma db push\` makes the tables. Neither is
measured.

${sweeps}

Each round is a whole sweep, from starting the workers until they have ended, with the search for look-ahead;
${SWEEP_ROUNDS} rounds at most. But for the first column it is elapsed time, in which all shows that the machine does besides.`;
}

function candlesOf(length: number): readonly Candle[] {
  return marketOf(8, length).map(({ timestamp, open, high, low, close, volume, swaps }) =>
    Object.freeze({ timestamp, open, high, low, close, volume, swaps }),
  );
}

function trade(candles: readonly Candle[]): Promise<BacktestResult> {
  return run({ feeds: [{ series: SERIES, candles }], strategy: bracketed(PARAMETERS), broker: BROKER });
}

/** What a backtest takes where it fills nothing but the order that buys and holds. */
function tradeNothing(candles: readonly Candle[]): Promise<BacktestResult> {
  const strategy: Strategy = (events, account) =>
    bracketed(PARAMETERS)(events, account).pipe(ignoreElements());
  return run({ feeds: [{ series: SERIES, candles }], strategy, broker: BROKER });
}

function orderAlone(candles: readonly Candle[]): void {
  keepingResults((take) => bracketed(PARAMETERS)(replayCandles(candles, SERIES), NO_ACCOUNT).subscribe(take));
}

function replayAlone(candles: readonly Candle[]): void {
  const { average, strength } = PARAMETERS;
  keepingResults((take) => {
    const values = withIndicators({ average: ema(average), strength: rsi(strength) });
    return replayCandles(candles, SERIES).pipe(values).subscribe(take);
  });
}

/** A candle as the peer takes one. */
type Row = Candle & { readonly time: Date; readonly values: { readonly strength: number | undefined } };
interface Rule {
  readonly bar: Row;
  readonly lookback: { first(): Row };
  readonly entryPrice: number;
}
interface Peer {
  backtest(strategy: object, rows: object): unknown[];
}

/** `undefined` where it cannot be installed. */
function loadedPeer(): ((candles: readonly Candle[]) => unknown[]) | undefined {
  const folder = installedPeer(PEER, PEER_VERSION);
  if (folder === undefined) return undefined;
  const load = createRequire(`${folder}package.json`);
  const { backtest: trades } = load("./build/index.js") as Peer;
  const { DataFrame } = load("data-forge") as { DataFrame: new (rows: object) => object };
  const strategy = {
    lookbackPeriod: 2,
    entryRule(enter: () => void, { bar, lookback }: Rule) {
      const before = lookback.first().values.strength;
      const { strength } = bar.values;
      const isCrossing = (before ?? 100) < PARAMETERS.level && (strength ?? 0) > PARAMETERS.level;
      if (isCrossing) enter();
    },
    stopLoss: ({ entryPrice }: Rule) => entryPrice * STOP,
    profitTarget: ({ entryPrice }: Rule) => entryPrice * TARGET,
  };
  return (candles) => {
    const rows: object[] = [];
    replayCandles(candles, SERIES)
      .pipe(withIndicators({ strength: rsi(PARAMETERS.strength) }))
      .subscribe(({ candle, values }) => rows.push({ ...candle, time: new Date(candle.timestamp), values }));
    return trades(strategy, new DataFrame(rows));
  };
}
