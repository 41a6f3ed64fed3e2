import {
  adx,
  atr,
  bollinger,
  type Candle,
  type CandleEvent,
  ema,
  macd,
  rsi,
  type Series,
  sma,
  stochastic,
  withIndicators,
} from "pairstream";
import { defer, from, map, type OperatorFunction } from "rxjs";
import * as signals from "trading-signals";
import { marketOf, randomOf } from "../test/indicators/random-candles.js";
import type { Bench, GoalResult, MeasureOptions, Report } from "./bench.js";
import { circumstances, inWords } from "./machine.js";
import { compareMerged, measureMerged } from "./pipe/merged.js";
import { keepingResults } from "./rounds.js";
import { aboutRounds, inUnitsOf, ratioGoal, sideBySide, tableOf } from "./side-by-side.js";

const MINUTE = 60_000;
const CANDLES = 2_048;
const STRETCH = 128;
/** How often a running candle changes. */
const UPDATES = 3;
/** How many intervals before the running one may change, as a watch has it. */
const WINDOW = 2;
const LEAST = 5;
const PEER = "trading-signals";
const SERIES: Series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" };

/** What begins otherwise has faded by this candle. */
const SETTLED = 1_000;
/** How far two values may lie apart, of their size. */
const TOLERANCE = 1e-6;

type Values = Readonly<Record<string, unknown>>;
type ValuedEvent = CandleEvent & { readonly values: Values };
type Pipe = OperatorFunction<CandleEvent, ValuedEvent>;

const INDICATORS = {
  sma: sma(20),
  ema: ema(20),
  rsi: rsi(14),
  macd: macd(12, 26, 9),
  bollinger: bollinger(20, 2),
  atr: atr(14),
  stochastic: stochastic(14, 3, 3),
  adx: adx(14),
};

/** Ours: what a user writes. */
const ours: Pipe = withIndicators(INDICATORS);

/** The other: what a user writes who wants the same events, for sequences without corrections or removals. */
const peers: Pipe = (source) =>
  defer(() => {
    const indicators = new SignalSet();
    return source.pipe(
      map((event): ValuedEvent => Object.freeze({ ...event, values: indicators.take(event) })),
    );
  });

/** What both have to make for every event at least: it, its values, and their objects, all of them frozen. */
const made: Pipe = map((event): ValuedEvent => {
  const { candle, status, revision, live, lateBy, observedAt, series } = event;
  const values = valuesOf(candle);
  return Object.freeze(
    event.type === "updated"
      ? {
          type: event.type,
          candle,
          previous: event.previous,
          status,
          revision,
          live,
          lateBy,
          observedAt,
          series,
          values,
        }
      : { type: event.type, candle, status, revision, live, lateBy, observedAt, series, values },
  );
});

/** As many numbers in as many objects as ours has, each the result of a single step. */
function valuesOf({ open, high, low, close }: Candle): Values {
  return Object.freeze({
    sma: open + high,
    ema: open + low,
    rsi: open + close,
    macd: Object.freeze({ macd: open - high, signal: open - low, histogram: open - close }),
    bollinger: Object.freeze({
      upper: high + low,
      middle: high + close,
      lower: low + close,
      percentB: high - low,
      width: high - close,
    }),
    atr: low - close,
    stochastic: Object.freeze({ k: low - open, d: close - open }),
    adx: Object.freeze({ adx: high - open, plusDi: low - high, minusDi: close - high }),
  });
}

class SignalSet {
  private readonly sma = new signals.SMA(20);
  private readonly ema = new signals.EMA(20);
  private readonly rsi = new signals.RSI(14);
  private readonly macd = new signals.MACD(new signals.EMA(12), new signals.EMA(26), new signals.EMA(9));
  private readonly bollinger = new signals.BollingerBands(20, 2);
  private readonly atr = new signals.ATR(14);
  private readonly stochastic = new signals.StochasticOscillator({
    kPeriod: 14,
    kSlowingPeriod: 3,
    dPeriod: 3,
  });
  private readonly adx = new signals.ADX(14);
  /** Of the candles that can still become final, by timestamp. */
  private readonly known = new Map<number, Values>();
  private newest = Number.NEGATIVE_INFINITY;

  take({ candle, status }: CandleEvent): Values {
    const { timestamp } = candle;
    const values =
      timestamp < this.newest ? this.known.get(timestamp)! : this.update(candle, timestamp === this.newest);
    this.newest = Math.max(this.newest, timestamp);
    if (status === "final") this.known.delete(timestamp);
    else this.known.set(timestamp, values);
    return values;
  }

  private update(candle: Candle, replace: boolean): Values {
    const { close } = candle;
    return Object.freeze({
      sma: this.sma.update(close, replace),
      ema: this.ema.update(close, replace),
      rsi: this.rsi.update(close, replace),
      macd: frozen(this.macd.update(close, replace)),
      bollinger: frozen(this.bollinger.update(close, replace)),
      atr: this.atr.update(candle, replace),
      stochastic: frozen(this.stochastic.update(candle, replace)),
      adx: this.adx.update(candle, replace),
    });
  }
}

const SEQUENCES = {
  finals: { about: "one event a candle, final", make: finalEvents },
  live: {
    about: `each candle new, changed ${UPDATES} times, closed, and final when it has left the window of ${WINDOW}`,
    make: liveEvents,
  },
};

/** Eight indicators behind one pipe, all that it gives frozen: ours, and the peer's behind the same. */
export const pipe: Bench = {
  check: () => {
    for (const [name, { make }] of Object.entries(SEQUENCES)) compare(name, make(CANDLES));
    compareMerged(INDICATORS, finalEvents);
    return [];
  },
  measure,
  prepared: () => {
    const events = liveEvents(CANDLES);
    return () => keepEvents(events, ours);
  },
};

/** Throws where ours gives other events, or values, than the peer. */
function compare(name: string, events: readonly CandleEvent[]): void {
  const [own, other] = [ours, peers].map((through) => {
    const results: ValuedEvent[] = [];
    from(events)
      .pipe(through)
      .subscribe((event) => results.push(event));
    return results;
  });
  if (own!.length !== other!.length)
    throw new Error(`ours, ${name}: ${own!.length} events, not ${other!.length}`);
  own!.forEach((event, at) => {
    const isFrozen = [event, event.values, ...Object.values(event.values)].every(Object.isFrozen);
    if (!isFrozen) throw new Error(`ours, ${name}: event ${at} is not frozen`);
    const [one, two] = [event, other![at]!].map((each) =>
      JSON.stringify({ ...each, values: undefined, revision: 0 }),
    );
    if (one !== two) throw new Error(`ours, ${name}: event ${at} is ${one}, not ${two}`);
    if (event.candle.timestamp < SETTLED * MINUTE) return;
    const expected = numbersOf(other![at]!.values);
    const isRight = numbersOf(event.values).every(
      (value, place) =>
        Math.abs(value - expected[place]!) <= TOLERANCE * Math.max(1, Math.abs(expected[place]!)),
    );
    if (!isRight) throw new Error(`ours, ${name}: the values of event ${at} are not the peer's`);
  });
}

/** The numbers that both have, in one order. */
function numbersOf(values: Values): number[] {
  const { sma, ema, rsi, macd, bollinger, atr, stochastic, adx } = values as Record<string, unknown>;
  const { signal, histogram } = macd as Record<string, number>;
  const { upper, middle, lower } = bollinger as Record<string, number>;
  const { k, d, stochK, stochD } = stochastic as Record<string, number>;
  const strength = typeof adx === "number" ? adx : (adx as { adx: number }).adx;
  const plain = [sma, ema, rsi, atr] as number[];
  return [...plain, signal!, histogram!, upper!, middle!, lower!, (k ?? stochK)!, (d ?? stochD)!, strength];
}

async function measure({ rounds, command }: MeasureOptions): Promise<Report> {
  const goals: GoalResult[] = [];
  const sections: string[] = [];
  const figures: object[] = [];
  for (const [name, { about, make }] of Object.entries(SEQUENCES)) {
    const [events, stretch] = [make(CANDLES), make(STRETCH)];
    const work = (through: Pipe) => ({
      calls: events.length,
      run: () => keepEvents(events, through),
      warmUp: () => keepEvents(stretch, through),
    });
    const timed = await sideBySide(
      [
        { name: "pairstream", work: work(ours) },
        { name: PEER, work: work(peers) },
        { name: "`withIndicators({})`", work: work(withIndicators({}) as Pipe), isFloor: true },
        { name: "as many frozen objects, made in a `map`", work: work(made), isFloor: true },
      ],
      rounds,
    );
    // After the timing: the engine learns from results that are all kept to make them where the old ones live.
    compare(name, events);
    const { ratio } = timed[1]!;
    goals.push(
      ratioGoal(
        `eight indicators behind one RxJS pipe: ${name}`,
        ratio,
        { least: LEAST },
        `as fast as ${PEER}`,
      ),
    );
    sections.push(`### ${name}: ${about}\n\n${tableOf(timed, "ns an event", inUnitsOf(1, 0))}`);
    figures.push({ name, timed });
  }
  const merged = await measureMerged(INDICATORS, finalEvents, rounds);
  goals.push(...merged.goals);
  sections.push(...merged.sections);
  figures.push(...merged.figures);
  const about = circumstances(["rxjs", PEER], command);
  return {
    goals,
    markdown: `## Pipe

SMA(20), EMA(20), RSI(14), MACD(12, 26, 9), Bollinger(20, 2), ATR(14), stochastic(14, 3, 3) and ADX(14) behind one RxJS pipe; the events that come out are frozen, and so is all that is in them. Ours is \`withIndicators\`, which would take corrections and removals too; the other is a \`map\` that could not. Of the floors, one has no indicators, and the other makes the same objects out of sums of two prices. A thousand series are merged as a bot for many pairs has them.

${sections.join("\n\n")}

${aboutRounds(rounds)} It is processor time.

${inWords(about)}`,
    results: { ...about, candles: CANDLES, unit: "ns an event", figures },
  };
}

function keepEvents(events: readonly CandleEvent[], through: Pipe): void {
  keepingResults((take) => from(events).pipe(through).subscribe(take));
}

function finalEvents(length: number, series = SERIES): CandleEvent[] {
  return candlesOf(length).map((candle) =>
    eventOf(candle, { status: "final", observedAt: candle.timestamp + MINUTE, series }),
  );
}

/** As `watchCandles` gives them: the older candle's last state before the new candle. */
function liveEvents(length: number): CandleEvent[] {
  const random = randomOf(7);
  const candles = candlesOf(length);
  return candles.flatMap((candle, at) => {
    const { timestamp } = candle;
    const events: CandleEvent[] = [];
    const old = candles[at - WINDOW - 1];
    if (old !== undefined) {
      const revision = UPDATES + 2;
      events.push(eventOf(old, { status: "final", observedAt: timestamp + 1_000, revision, previous: old }));
    }
    let previous: Candle | undefined;
    for (let revision = 0; revision <= UPDATES + 1; revision += 1) {
      const isOver = revision > UPDATES;
      const version = isOver ? candle : running(candle, (revision + 1) / (UPDATES + 2), random());
      const observedAt = timestamp + (isOver ? MINUTE : 2_000 + revision * 10_000);
      events.push(eventOf(version, { status: isOver ? "closed" : "open", observedAt, revision, previous }));
      previous = version;
    }
    return events;
  });
}

function candlesOf(length: number): Candle[] {
  return marketOf(8, length).map(({ timestamp, open, high, low, close, volume, swaps }) =>
    Object.freeze({ timestamp, open, high, low, close, volume, swaps }),
  );
}

/** The candle after a share of its time, closing between its low and its high. */
function running(
  { timestamp, open, high, low, volume, swaps }: Candle,
  share: number,
  place: number,
): Candle {
  const [top, bottom] = [open + share * (high - open), open + share * (low - open)];
  const close = bottom + place * (top - bottom);
  return Object.freeze({ timestamp, open, high: top, low: bottom, close, volume: share * volume, swaps });
}

function eventOf(
  candle: Candle,
  {
    status,
    observedAt,
    revision = 0,
    previous,
    series = SERIES,
  }: {
    status: CandleEvent["status"];
    observedAt: number;
    revision?: number;
    previous?: Candle | undefined;
    series?: Series;
  },
): CandleEvent {
  const more = { status, revision, live: true, lateBy: 0, observedAt, series };
  return Object.freeze(
    previous === undefined
      ? { type: "new", candle, ...more }
      : { type: "updated", candle, previous, ...more },
  );
}

function frozen(result: unknown): unknown {
  return typeof result === "object" && result !== null ? Object.freeze(result) : result;
}
