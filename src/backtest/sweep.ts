import type { CandleEvent } from "../candles/event.js";
import { checkNumber, checkWeekStart } from "../contract/input.js";
import type { WeekStart } from "../contract/model.js";
import { checkNames, namesOf } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";
import { macrotask } from "../replay/event-loop.js";
import { type BacktestFeed, checkFeeds } from "./backtest.js";
import { MergedFeeds } from "./feeds.js";
import { packEvents } from "./packed-events.js";
import type { RejectionReason } from "./report.js";
import { type BrokerOptions, type BrokerRules, checkBroker } from "./rules.js";
import type { Statistics } from "./statistics.js";
import type { Strategy } from "./strategy.js";
import { STRATEGY_ALLOWED, sweepError } from "./sweep-error.js";
import { holdRanges, type RangesOutcome, runRanges, type SweepMarket, type TimeRange } from "./sweep-run.js";
import { sweepInWorkers, usualWorkers } from "./sweep-workers.js";

/** Where a history is cut into in-sample and out-of-sample: once, or in several windows. */
export type SweepSplit =
  | {
      /** The share of the time before the cut, above 0 and below 1. */
      inSample: number;
    }
  | {
      /**
       * How many windows; a whole number of at least 2. All are equally long. Their out-of-sample parts follow one another
       * without a gap, up to the end.
       */
      walkForward: number;
      /** The share of each window before its cut, above 0 and below 1. */
      inSample: number;
    };

/** The options of a sweep. */
export interface SweepOptions<P> {
  /** The candles to run on, as for `backtest`. Each feed is read once, to its end. */
  feeds: readonly BacktestFeed[];
  /**
   * A function from parameters to a strategy, which runs in this thread. On Node also the URL of a module whose default
   * export is such a function, for example `new URL("./strategy.js", import.meta.url)`; it runs in worker threads.
   */
  strategy: ((parameters: P) => Strategy) | URL;
  /**
   * The parameters to try, at least one set: a list of them, or a list of values for each name. Of such lists all
   * combinations are tried; the values of the last name change fastest.
   */
  parameters: readonly P[] | { readonly [Name in keyof P]: readonly P[Name][] };
  /** Where the history is cut; default `{ inSample: 0.7 }`. */
  split?: SweepSplit;
  /** How many worker threads, at least 1; only with a URL. Default: one for each core that the process may use. */
  workers?: number;
  /** Fees, slippage and other rules of the broker; defaults: see `BrokerOptions`. */
  broker?: BrokerOptions;
  /** The day on which `1w` begins; default `"monday"`. */
  weekStart?: WeekStart;
  /** The score by which the best parameters are chosen in-sample: the highest wins, `undefined` and NaN lose. Default: `totalReturn`. */
  score?: (statistics: Statistics) => number | undefined;
  /** Called with how many sets of parameters are done, and how many there are; default: no call. */
  onProgress?: (done: number, of: number) => void;
  /** Ends the sweep and its workers; the sweep rejects with the signal's reason. Default: it runs to its end. */
  signal?: AbortSignal;
}

/** The figures of one window. */
export interface SweepFigures {
  /** The figures before the cut: choose parameters by these. */
  readonly inSample: Statistics;
  /** The figures after the cut, of a separate account. */
  readonly outOfSample: Statistics;
}

/** The result of one set of parameters. */
export interface SweepRow<P> {
  /** The parameters, as given. */
  readonly parameters: P;
  /** The figures, in the order of the windows. */
  readonly windows: readonly SweepFigures[];
  /** How many orders the strategy gave, over the whole history. */
  readonly orders: number;
  /** How many of its orders were refused, by reason; `{}`: none. Where windows overlap, an order counts in each. */
  readonly rejections: Readonly<Partial<Record<RejectionReason, number>>>;
}

/** One window, and the result of buying and holding in it. */
export interface SweepWindow {
  /** The time before the cut. */
  readonly inSample: TimeRange;
  /** The time after the cut. */
  readonly outOfSample: TimeRange;
  /** The result of buying at the first candle of each part, and holding. */
  readonly buyAndHold: SweepFigures;
  /** The index of the row with the best score in-sample, from 0; the first of equal ones, also where all lose. */
  readonly best: number;
}

/** The results of all parameters, in-sample and out-of-sample. */
export interface SweepResult<P> {
  /** The results, in the order of the parameters. */
  readonly rows: readonly SweepRow<P>[];
  /** The windows, ascending. */
  readonly windows: readonly SweepWindow[];
  /** The rules of the broker, with the defaults filled in. */
  readonly broker: BrokerRules;
}

/**
 * Tries a strategy with many sets of parameters, and gives the result of each before a cut, by which you choose, and after
 * it. If the best sets before the cut are not good after it, they fit only that past.
 *
 * Each strategy runs once over all events, so that its indicators are warm at the cut; the account of each part begins
 * with money alone, and trades only what is decided and filled in its part. Candles that lie across a cut fill nothing.
 * With the same options it gives the same result, whatever the number of workers: nothing is left to chance.
 *
 * Rejects with a `SweepError`, which holds the parameters and the cause, in three cases: a strategy fails; it looks ahead
 * before its 20th order, as `assertNoLookahead` would find; or it does not complete when its events do. If several
 * strategies fail, the error is about the first of them in the list. Rejects with an `InvalidInputError` for bad options,
 * candles and modules, and with the reason of the `signal`. No worker is left running.
 *
 * ```ts
 * import { type Candle, crosses, ema, type Series, withIndicators } from "pairstream";
 * import { type Order, type Strategy, sweep } from "pairstream/backtest";
 * import { map } from "rxjs";
 *
 * const crossing = ({ fast, slow }: { fast: number; slow: number }): Strategy => {
 *   return (events) =>
 *     events.pipe(
 *       withIndicators({ fast: ema(fast), slow: ema(slow) }),
 *       crosses("fast", "slow"),
 *       map(({ direction, event: { series } }): Order => {
 *         return direction === "up"
 *           ? { type: "market", side: "buy", series, size: { equity: 0.5 } }
 *           : { type: "market", side: "sell", series, size: { position: 1 } };
 *       }),
 *     );
 * };
 *
 * declare const series: Series;
 * declare const candles: Candle[];
 * const { rows, windows } = await sweep({
 *   feeds: [{ series, candles }],
 *   strategy: crossing,
 *   parameters: { fast: [5, 9, 13], slow: [21, 34, 55] },
 * });
 * const { parameters, windows: figures } = rows[windows[0]!.best]!;
 * console.log(parameters, figures[0]!.inSample.totalReturn, figures[0]!.outOfSample.totalReturn);
 * ```
 */
export async function sweep<P>(options: SweepOptions<P>): Promise<SweepResult<P>> {
  checkNames(
    options,
    namesOf<SweepOptions<P>>({
      feeds: true,
      strategy: true,
      parameters: true,
      split: true,
      workers: true,
      broker: true,
      weekStart: true,
      score: true,
      onProgress: true,
      signal: true,
    }),
  );
  const { strategy, signal, score = ({ totalReturn }) => totalReturn, onProgress = () => {} } = options;
  checkFunctions({ score, onProgress });
  const workers = checkStrategy(strategy, options.workers);
  const parameters = parametersOf(options.parameters);
  const shares = checkSplit(options.split ?? { inSample: 0.7 });
  const rules = checkBroker(options.broker);
  const weekStart = checkWeekStart(options.weekStart);
  const feeds = checkFeeds(options.feeds);
  signal?.throwIfAborted();
  const events = await eventsOf(new MergedFeeds(feeds, weekStart));
  const market: SweepMarket = { events, series: feeds.map(({ series }) => series), rules, weekStart };
  const parts = partsOf(events, shares);
  const ranges = parts.flatMap(({ inSample, outOfSample }) => [inSample, outOfSample]);
  signal?.throwIfAborted();
  let done = 0;
  const onDone = () => {
    done += 1;
    onProgress(done, parameters.length);
  };
  const outcomes =
    typeof strategy === "function"
      ? await sweepHere(market, strategy, parameters, ranges, signal, onDone)
      : await sweepInWorkers(
          { ...market, events: packEvents(events, market.series), module: strategy.href, ranges },
          cloneable(parameters),
          workers,
          signal,
          onDone,
        );
  const rows = outcomes.map(({ statistics, ...counts }, at): SweepRow<P> => {
    return Object.freeze({ parameters: parameters[at]!, windows: figuresOf(statistics), ...counts });
  });
  const held = figuresOf(holdRanges(market, ranges));
  const windows = parts.map((part, window): SweepWindow => {
    const scores = rows.map((row) => checkScore(score(row.windows[window]!.inSample)));
    return Object.freeze({ ...part, buyAndHold: held[window]!, best: greatestOf(scores) });
  });
  return Object.freeze({ rows: Object.freeze(rows), windows: Object.freeze(windows), broker: rules });
}

/** One strategy after the other, in this thread, with a turn of the event loop after each. */
async function sweepHere<P>(
  market: SweepMarket,
  make: (parameters: P) => Strategy,
  parameters: readonly P[],
  ranges: readonly TimeRange[],
  signal: AbortSignal | undefined,
  onDone: () => void,
): Promise<RangesOutcome[]> {
  const outcomes: RangesOutcome[] = [];
  for (const each of parameters) {
    try {
      outcomes.push(runRanges(market, make(each), ranges));
    } catch (error) {
      throw sweepError(each, error);
    }
    onDone();
    await macrotask();
    signal?.throwIfAborted();
  }
  return outcomes;
}

async function eventsOf(merged: MergedFeeds): Promise<CandleEvent[]> {
  const events: CandleEvent[] = [];
  try {
    for (let next = await merged.next(); next !== undefined; ) {
      events.push(next);
      const later = merged.next();
      next = later instanceof Promise ? await later : later;
    }
  } finally {
    await merged.close();
  }
  return events;
}

/** Where each window begins, is cut, and ends. */
function partsOf(events: readonly CandleEvent[], { windows, inSample }: Shares) {
  if (events.length === 0) throw new InvalidInputError("feeds", "at least one candle", "hold no candle");
  let [from, to] = [Infinity, 0];
  for (const { candle, observedAt } of events) {
    from = Math.min(from, candle.timestamp);
    to = Math.max(to, observedAt);
  }
  // The out-of-sample parts, and the in-sample part of the first window before them.
  const after = (to - from) / (windows + inSample / (1 - inSample));
  const before = to - windows * after - from;
  return Array.from({ length: windows }, (_, at) => {
    const begin = from + at * after;
    const [cut, end] = [Math.round(begin + before), Math.round(begin + before + after)];
    return {
      inSample: Object.freeze({ from: Math.round(begin), to: cut }),
      outOfSample: Object.freeze({ from: cut, to: end }),
    };
  });
}

function figuresOf(statistics: readonly Statistics[]): readonly SweepFigures[] {
  const figures = statistics.flatMap((inSample, at): SweepFigures[] =>
    at % 2 === 0 ? [Object.freeze({ inSample, outOfSample: statistics[at + 1]! })] : [],
  );
  return Object.freeze(figures);
}

/** What gives none, as of no trades, loses. */
function checkScore(score: number | undefined = -Infinity): number {
  if (typeof score === "number") return Number.isNaN(score) ? -Infinity : score;
  throw new InvalidInputError("score", "a function to numbers", "gives no number");
}

function greatestOf(scores: readonly number[]): number {
  return scores.reduce((best, score, at) => (score > scores[best]! ? at : best), 0);
}

interface Shares {
  readonly windows: number;
  readonly inSample: number;
}

function checkSplit(split: SweepSplit): Shares {
  checkNames(split, ["inSample", "walkForward"], "split.");
  const { inSample, walkForward } = split as { inSample: number; walkForward?: number };
  const windows =
    walkForward === undefined ? 1 : checkNumber("split.walkForward", walkForward, { min: 2, integer: true });
  checkNumber("split.inSample", inSample, { min: 0 });
  if (inSample > 0 && inSample < 1) return { windows, inSample };
  throw new InvalidInputError("split.inSample", "a share above 0 and below 1", `is ${inSample}`);
}

function checkStrategy(strategy: unknown, workers: number | undefined): number {
  const isModule = strategy instanceof URL;
  if (!isModule && typeof strategy !== "function") {
    throw new InvalidInputError("strategy", STRATEGY_ALLOWED, `is of type ${typeof strategy}`);
  }
  if (workers === undefined) return isModule ? usualWorkers() : 0;
  if (isModule) return checkNumber("workers", workers, { min: 1, integer: true });
  throw new InvalidInputError("workers", "no workers where strategy is a function", "is given");
}

function checkFunctions(functions: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(functions)) {
    if (typeof value !== "function")
      throw new InvalidInputError(name, "a function", `is of type ${typeof value}`);
  }
}

/** All combinations, the last name fastest. */
function parametersOf<P>(given: SweepOptions<P>["parameters"]): readonly P[] {
  if (typeof given !== "object" || given === null) {
    throw new InvalidInputError(
      "parameters",
      "a list of parameters, or an object of lists by name",
      `is of type ${typeof given}`,
    );
  }
  const combine = (made: readonly object[], [name, values]: [string, unknown]): readonly object[] => {
    if (!Array.isArray(values))
      throw new InvalidInputError(`parameters.${name}`, "a list of values", "is not a list");
    return made.flatMap((one) => values.map((value) => Object.freeze({ ...one, [name]: value })));
  };
  const all = Array.isArray(given)
    ? [...given]
    : (Object.entries(given).reduce(combine, [Object.freeze({})]) as P[]);
  if (all.length > 0) return all;
  throw new InvalidInputError("parameters", "at least one set of parameters", "are empty");
}

/** What workers are given is copied. */
function cloneable<P>(parameters: readonly P[]): readonly P[] {
  parameters.forEach((each, at) => {
    try {
      structuredClone(each);
    } catch (cause) {
      const allowed = "values that can be sent to a worker thread, such as numbers and strings";
      throw new InvalidInputError(`parameters[${at}]`, allowed, "cannot be copied", { cause });
    }
  });
  return parameters;
}
