import { createRequire } from "node:module";
import {
  type Candle,
  type CandleEvent,
  ema,
  type IndicatorEvent,
  replayCandles,
  rsi,
  type Series,
  withIndicators,
} from "pairstream";
import { frozenEvent } from "../src/candles/event.js";
import { flawOf } from "../src/replay/candle-flaw.js";
import { intervalsOf } from "../src/timeframe.js";
import { marketOf } from "../test/indicators/random-candles.js";
import type { Bench, GoalResult, MeasureOptions, Report } from "./bench.js";
import { spread } from "./indicators/figures.js";
import { circumstances, inWords } from "./machine.js";
import { installedPeer } from "./peers.js";
import { keepingResults, type Spread } from "./rounds.js";
import { aboutRounds, ratioGoal, sideBySide, type Timed, tableOf } from "./side-by-side.js";

const MINUTE = 60_000;
const YEAR = 365 * 24 * 60;
const AVERAGE = 20;
const STRENGTH = 14;
const SERIES: Series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" };

const LOOP = "loop";
const BOTH = "loop that checks, and makes both events";
const PEER = "tardis-dev";
const PEER_VERSION = "13.35.3";

const LEAST_PER_SECOND = 2.5e6;
const MOST_LOOPS = 2.2;
const LEAST_PEERS = 4;

/** A short stretch, on which everything is compiled before it is timed. */
const STRETCH = 4_096;
/** How far two values may lie apart, of their size. */
const TOLERANCE = 1e-9;

interface Values {
  readonly average: number | undefined;
  readonly strength: number | undefined;
}
type Event = IndicatorEvent<Values>;

/** A candle as the peer takes one. */
interface Message {
  readonly type: "trade_bar";
  readonly exchange: string;
  readonly symbol: string;
  readonly name: string;
  readonly close: number;
  readonly timestamp: Date;
  readonly localTimestamp: Date;
}
interface Computable {
  readonly sourceDataTypes: readonly string[];
  compute(message: Message): Iterator<Partial<Values> & { readonly type: string }>;
}
type Compute = (
  messages: AsyncGenerator<Message>,
  ...computables: (() => Computable)[]
) => AsyncIterable<Partial<Values> & { readonly type: string }>;

/** The same candles in the forms that the contestants take. */
interface Market {
  readonly candles: readonly Candle[];
  readonly messages: readonly Message[];
}

/** One way to add values to candles, of which it gives one result each. */
interface Contestant {
  readonly name: string;
  run(market: Market, take: (values: Values) => void): void | Promise<void>;
}

/** A year of minutes through events, an EMA and an RSI: ours, a loop that builds the same events, and a peer. */
export const replay: Bench = {
  check,
  measure,
  prepared: () => {
    const { candles } = marketOfLength(STRETCH);
    return () => keepingResults((take) => pipeEvents(candles, ({ values }) => take(values)));
  },
};

function check(): readonly string[] {
  const { candles } = marketOfLength(STRETCH);
  const made: Event[] = [];
  const right: Event[] = [];
  pipeEvents(candles, (event) => made.push(event));
  buildEvents(candles, (event) => right.push(event));
  if (made.length !== right.length) throw new Error(`ours: ${made.length} events of ${right.length} candles`);
  made.forEach((event, at) => {
    const [own, other] = [event, right[at]!].map((each) => JSON.stringify({ ...each, values: undefined }));
    if (own !== other) throw new Error(`ours: event ${at} is ${own}, not ${other}`);
    if (!isSame(event.values, right[at]!.values))
      throw new Error(`ours: the values of event ${at} are wrong`);
  });
  return [];
}

async function measure({ rounds, command }: MeasureOptions): Promise<Report> {
  const compute = loadedPeer();
  const contestants: Contestant[] = [
    { name: "pairstream", run: ({ candles }, take) => pipeEvents(candles, ({ values }) => take(values)) },
    { name: LOOP, run: ({ candles }, take) => buildEvents(candles, ({ values }) => take(values)) },
    { name: BOTH, run: ({ candles }, take) => buildBoth(candles, ({ values }) => take(values)) },
  ];
  if (compute !== undefined) {
    contestants.push({ name: PEER, run: ({ messages }, take) => computeAll(compute, messages, take) });
  }
  const [stretch, year] = [marketOfLength(STRETCH), marketOfLength(YEAR)];
  const timed = await sideBySide(
    contestants.map(({ name, run }) => ({
      name,
      isFloor: name === LOOP || name === BOTH,
      work: {
        calls: YEAR,
        run: () => keepingResults((take) => run(year, take)),
        warmUp: () => keepingResults((take) => run(stretch, take)),
      },
    })),
    rounds,
  );
  const results = await Promise.all(contestants.map((each) => resultsOf(each, stretch)));
  results.forEach((values, at) => {
    const isRight = values.length === STRETCH && values.every((each, row) => isSame(each, results[1]![row]!));
    if (!isRight) throw new Error(`${contestants[at]!.name} gives other values than the loop`);
  });

  const about = circumstances(["rxjs"], command);
  about.versions.push(`${PEER} ${compute === undefined ? "could not be installed" : PEER_VERSION}`);
  return {
    goals: goalsOf(timed),
    markdown: `${pageOf(timed, rounds)}\n\n${inWords(about)}`,
    results: { ...about, rounds, candles: YEAR, unit: "ns a candle", timed },
  };
}

function goalsOf([own, plain, , peer]: readonly Timed[]): GoalResult[] {
  const name = "replay of a year of minutes through events, EMA, RSI";
  const perSecond = 1e9 / own!.time.median;
  return [
    {
      row: name,
      goal: `at least ${LEAST_PER_SECOND / 1e6} million candles a second`,
      figure: `${millionsPerSecond(own!.time)} million`,
      met: perSecond >= LEAST_PER_SECOND,
    },
    ratioGoal(
      name,
      plain!.ratio,
      { most: MOST_LOOPS },
      "the time of a loop that builds the same frozen events",
    ),
    peer === undefined
      ? {
          row: name,
          goal: `at least ${LEAST_PEERS} times as fast as ${PEER}`,
          figure: `${PEER} could not be installed`,
          met: false,
        }
      : ratioGoal(name, peer.ratio, { least: LEAST_PEERS }, `as fast as ${PEER}`),
  ];
}

function pageOf(timed: readonly Timed[], rounds: number): string {
  return `## Replay

${YEAR.toLocaleString("en-US")} candles, a year of minutes, become frozen events with the values of an EMA(${AVERAGE}) and an
RSI(${STRENGTH}): \`replayCandles(…).pipe(withIndicators({ average: ema(${AVERAGE}), strength: rsi(${STRENGTH}) }))\`.

${tableOf(timed, "million candles a second", millionsPerSecond)}

${aboutRounds(rounds)} It is processor time. The loop builds the same frozen events and values, with the arithmetic written out, and checks
nothing. The second one also makes the event without values that \`replayCandles\` has emitted before, and checks each candle
as that does. ${PEER}'s \`compute\` is handed finished messages and a computable with the loop's arithmetic; it gives each
message and a result, neither of them frozen.`;
}

async function resultsOf({ run }: Contestant, market: Market): Promise<Values[]> {
  const results: Values[] = [];
  await run(market, (values) => results.push(values));
  return results;
}

function marketOfLength(length: number): Market {
  const candles = marketOf(8, length).map(({ timestamp, open, high, low, close, volume, swaps }) =>
    Object.freeze({ timestamp, open, high, low, close, volume, swaps }),
  );
  const messages = candles.map(
    ({ timestamp, close }): Message => ({
      type: "trade_bar",
      exchange: "exchange",
      symbol: "pair",
      name: "trade_bar_1m",
      close,
      timestamp: new Date(timestamp),
      localTimestamp: new Date(timestamp + MINUTE),
    }),
  );
  return { candles, messages };
}

function pipeEvents(candles: readonly Candle[], take: (event: Event) => void): void {
  replayCandles(candles, SERIES)
    .pipe(withIndicators({ average: ema(AVERAGE), strength: rsi(STRENGTH) }))
    .subscribe(take);
}

/** The same events with everything written out. */
function buildEvents(candles: readonly Candle[], take: (event: Event) => void): void {
  const indicators = new PlainIndicators();
  for (const candle of candles) {
    indicators.push(candle.close);
    const values = Object.freeze({ average: indicators.average, strength: indicators.strength });
    take(
      Object.freeze({
        type: "new",
        candle,
        status: "final",
        revision: 0,
        live: true,
        lateBy: 0,
        observedAt: candle.timestamp + MINUTE,
        series: SERIES,
        values,
      }),
    );
  }
}

/** The same, with the event that comes without values, and with the checks of each candle. */
function buildBoth(candles: readonly Candle[], take: (event: Event) => void): void {
  const indicators = new PlainIndicators();
  const { start } = intervalsOf(SERIES.timeframe);
  const events = new Array<CandleEvent | undefined>(8).fill(undefined);
  let newest = Number.NEGATIVE_INFINITY;
  let at = 0;
  for (const candle of candles) {
    const { timestamp } = candle;
    if (flawOf(candle, newest) !== undefined || start(timestamp) !== timestamp || !Object.isFrozen(candle)) {
      throw new Error(`the candle of ${timestamp} is wrong`);
    }
    newest = timestamp;
    const observedAt = timestamp + MINUTE;
    const event = frozenEvent("new", candle, "final", 0, true, 0, observedAt, SERIES);
    // What nobody could read the engine would not make.
    events[at++ & 7] = event;
    indicators.push(candle.close);
    const values = Object.freeze({ average: indicators.average, strength: indicators.strength });
    const { type, status, revision, live, lateBy, series } = event;
    take(
      Object.freeze({
        type,
        candle,
        status,
        revision,
        live,
        lateBy,
        observedAt,
        series,
        values,
      } as Event),
    );
  }
}

/** An EMA and an RSI, as a loop has them. */
class PlainIndicators {
  average: number | undefined;
  strength: number | undefined;
  private count = 0;
  private last = 0;
  private mean = 0;
  private gain = 0;
  private loss = 0;

  push(close: number): void {
    const gain = Math.max(0, close - this.last);
    const loss = Math.max(0, this.last - close);
    this.last = close;
    this.count += 1;
    const count = this.count;
    this.mean += count < AVERAGE ? close / AVERAGE : 0;
    if (count === AVERAGE) this.mean += close / AVERAGE;
    if (count > AVERAGE) this.mean += (2 / (AVERAGE + 1)) * (close - this.mean);
    if (count >= AVERAGE) this.average = this.mean;
    if (count === 1) return;
    if (count <= STRENGTH + 1) {
      this.gain += gain / STRENGTH;
      this.loss += loss / STRENGTH;
    } else {
      this.gain += (gain - this.gain) / STRENGTH;
      this.loss += (loss - this.loss) / STRENGTH;
    }
    const sum = this.gain + this.loss;
    if (count > STRENGTH) this.strength = sum === 0 ? 50 : (100 * this.gain) / sum;
  }
}

async function computeAll(
  compute: Compute,
  messages: readonly Message[],
  take: (values: Values) => void,
): Promise<void> {
  async function* source(): AsyncGenerator<Message> {
    for (const message of messages) yield message;
  }
  const computable = (): Computable => {
    const indicators = new PlainIndicators();
    return {
      sourceDataTypes: ["trade_bar"],
      *compute({ exchange, symbol, timestamp, localTimestamp, close }) {
        indicators.push(close);
        const { average, strength } = indicators;
        yield { type: "indicators", exchange, symbol, timestamp, localTimestamp, average, strength };
      },
    };
  };
  for await (const message of compute(source(), computable)) {
    if (message.type === "indicators") take(message as Values);
  }
}

function isSame(a: Values, b: Values): boolean {
  const isNear = (one: number | undefined, other: number | undefined) => {
    if (one === undefined || other === undefined) return one === other;
    return Math.abs(one - other) <= TOLERANCE * Math.max(Math.abs(one), Math.abs(other));
  };
  return isNear(a.average, b.average) && isNear(a.strength, b.strength);
}

/** `undefined` where it cannot be installed. */
function loadedPeer(): Compute | undefined {
  const folder = installedPeer(PEER, PEER_VERSION);
  if (folder === undefined) return undefined;
  return (createRequire(import.meta.url)(folder) as { compute: Compute }).compute;
}

function millionsPerSecond({ median, low, high }: Spread): string {
  const millions = (nanoseconds: number) => 1e3 / nanoseconds;
  return spread({ median: millions(median), low: millions(high), high: millions(low) });
}
