import { isObservable, type OperatorFunction, ReplaySubject } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { checkNumber, checkWeekStart, show } from "../contract/input.js";
import { type Candle, type Series, TIMEFRAMES, type Timeframe, type WeekStart } from "../contract/model.js";
import { checkNames, SERIES_NAMES } from "../contract/names.js";
import { InvalidInputError, PairstreamError } from "../errors.js";
import { intervalsOf } from "../timeframe.js";
import { isIterable } from "./read-candles.js";
import { replayCandles } from "./replay-candles.js";

/** How to look for look-ahead, and in what. */
export interface LookaheadOptions<T> extends Partial<Series> {
  /**
   * How many shorter histories to try, at least 1, spread over all of them; default 200. Each costs a run of the operator
   * over as many candles as it has.
   */
  prefixes?: number;
  /**
   * From when on an output claims to have been known, in ms since the epoch; `undefined` where it claims nothing.
   * Default: its `observedAt`, or that of its `event`.
   */
  knownAt?: (output: T) => number | undefined;
  /** Where `1w` begins; default `"monday"`. */
  weekStart?: WeekStart;
}

/**
 * Throws a `PairstreamError` where an operator uses candles that come later than what it says.
 *
 * ```text
 * a---b---|          →  operator  →  1---2---|
 * a---b---c---d---|  →  operator  →  1---5---3---4---|    look-ahead: 2 has become 5
 * ```
 *
 * The operator runs over the candles as `replayCandles` gives them, then over ever longer beginnings of them, each of
 * which completes. It looks ahead
 * - where a beginning makes it emit something that the whole does not make it emit at the same place: what was told when
 *   a candle was final has changed since. This catches what waits for the end, such as `toArray` or a scale made of all
 *   prices, and objects that are altered after they were emitted;
 * - where an output comes with a later candle than it claims, as that of an average over both neighbours which bears the
 *   event in the middle. See `knownAt`.
 *
 * Outputs are compared by what they hold, functions aside. To try an operator on running candles, let it follow
 * `resample` over finer ones. What an operator has from elsewhere than its source is not seen.
 *
 * `timeframe` is by default the longest one whose intervals the candles begin; `pairAddress` is "pair", `network`
 * mainnet and `currency` usd. Throws an `InvalidInputError` for bad candles and options, for an operator that emits
 * nothing (there is nothing to compare) or emits Observables, and for one that does not complete with its source: it
 * works in its own time, and what it emits later is not seen. Throws what the operator fails with.
 *
 * ```ts
 * import { assertNoLookahead, type Candle, crosses, ema, withIndicators } from "pairstream";
 * import { pipe } from "rxjs";
 *
 * declare const candles: Candle[];
 * const entries = pipe(withIndicators({ fast: ema(9), slow: ema(21) }), crosses("fast", "slow"));
 * assertNoLookahead(entries, candles);
 * ```
 */
export function assertNoLookahead<T>(
  operator: OperatorFunction<CandleEvent, T>,
  candles: Iterable<Candle>,
  options: LookaheadOptions<T> = {},
): void {
  if (typeof operator !== "function") {
    throw new InvalidInputError(
      "operator",
      "an operator over candle events",
      `is of type ${typeof operator}`,
    );
  }
  checkNames(options, [...SERIES_NAMES, "prefixes", "knownAt", "weekStart"]);
  const prefixes = checkNumber("prefixes", options.prefixes ?? 200, { min: 1, integer: true });
  const { knownAt = observedAtOf } = options;
  if (typeof knownAt !== "function") {
    throw new InvalidInputError("knownAt", "a function of an output", `is of type ${typeof knownAt}`);
  }
  const events = eventsOf(candles, options);
  const outputs = outputsOf(operator, events);
  if (outputs.length === 0) {
    throw new InvalidInputError("candles", "enough for the operator to emit", "make it emit nothing");
  }
  checkClaims(outputs, events, knownAt);
  // The whole once more: what differs without a candle's difference is no look-ahead.
  for (const length of [events.length, ...lengthsBelow(events.length, prefixes)]) {
    checkBeginning(operator, events, length, outputs);
  }
}

/** Throws where an output was altered after it was emitted, or came later than it claims to have been known. */
function checkClaims<T>(
  outputs: readonly Output<T>[],
  events: readonly CandleEvent[],
  knownAt: (output: T) => number | undefined,
): void {
  for (const [at, { value, given, held }] of outputs.entries()) {
    const alteration = changeOf(heldBy(value), held);
    if (alteration !== undefined) throw altered(at, alteration);
    const claim = knownAt(value);
    const newest = events[given - 1];
    if (claim !== undefined && newest !== undefined && claim < newest.observedAt) {
      throw lateness(claim, newest);
    }
  }
}

/** Throws where the first `length` events make the operator emit something else than all of them did. */
function checkBeginning<T>(
  operator: OperatorFunction<CandleEvent, T>,
  events: readonly CandleEvent[],
  length: number,
  outputs: readonly Output<T>[],
): void {
  const beginning = events.slice(0, length);
  let count = 0;
  outputsOf(operator, beginning, (value) => {
    const output = outputs[count];
    const change = output === undefined ? "is not emitted any more" : changeOf(output.value, value);
    if (change !== undefined) throw revision(count, change, beginning, events);
    count += 1;
  });
  if (length === events.length && count < outputs.length) {
    throw revision(count, "is not emitted a second time", events, events);
  }
}

/** What an operator has emitted, and how many events had been given to it by then. */
interface Output<T> {
  readonly value: T;
  /** What it held then. */
  readonly held: unknown;
  readonly given: number;
}

/** Runs an operator in step with events; what `look` throws ends the run. */
function outputsOf<T>(
  operator: OperatorFunction<CandleEvent, T>,
  events: readonly CandleEvent[],
  look: (value: T) => void = () => {},
): Output<T>[] {
  // One that subscribes several times gets the same events in the same order; later it gets all of the past first.
  const source = new ReplaySubject<CandleEvent>();
  const outputs: Output<T>[] = [];
  let given = 0;
  let hasCompleted = false;
  let failure: { readonly error: unknown } | undefined;
  const fail = (error: unknown) => {
    failure ??= { error };
  };
  const subscription = source.pipe(operator).subscribe({
    next: (value) => {
      if (failure !== undefined) return;
      try {
        if (isObservable(value)) {
          throw new InvalidInputError("operator", "one whose outputs are values", "emits Observables");
        }
        look(value);
        outputs.push({ value, held: heldBy(value), given });
      } catch (error) {
        fail(error);
      }
    },
    error: fail,
    complete: () => {
      hasCompleted = true;
    },
  });
  for (const event of events) {
    if (failure !== undefined || hasCompleted) break;
    given += 1;
    source.next(event);
  }
  source.complete();
  subscription.unsubscribe();
  if (failure !== undefined) throw failure.error;
  if (!hasCompleted) {
    const allowed = "one that keeps step with its source";
    throw new InvalidInputError("operator", allowed, "has not completed with its source");
  }
  return outputs;
}

function eventsOf<T>(candles: Iterable<Candle>, options: LookaheadOptions<T>): CandleEvent[] {
  if (!isIterable(candles))
    throw new InvalidInputError("candles", "an iterable of candles", "cannot be iterated");
  const list = [...candles];
  const weekStart = checkWeekStart(options.weekStart);
  const { network = "mainnet", pairAddress = "pair", currency = "usd" } = options;
  const timeframe = options.timeframe ?? timeframeOf(list, weekStart);
  const events: CandleEvent[] = [];
  let failure: { readonly error: unknown } | undefined;
  replayCandles(list, { network, pairAddress, timeframe, currency, weekStart }).subscribe({
    next: (event) => events.push(event),
    error: (error) => {
      failure = { error };
    },
  });
  if (failure !== undefined) throw failure.error;
  return events;
}

/** The longest timeframe whose intervals all candles begin. */
function timeframeOf(candles: readonly Candle[], weekStart: WeekStart): Timeframe {
  const isRight = (timeframe: Timeframe) => {
    const { start } = intervalsOf(timeframe, weekStart);
    return candles.every((candle) => start(candle?.timestamp) === candle?.timestamp);
  };
  return [...TIMEFRAMES].reverse().find(isRight) ?? TIMEFRAMES[0];
}

const GOLDEN_RATIO = (1 + Math.sqrt(5)) / 2;

/** So many lengths below one, ascending: spread evenly, but in no step with anything that an operator may count. */
function lengthsBelow(length: number, count: number): number[] {
  const shorter = length - 1;
  if (shorter <= count) return Array.from({ length: Math.max(0, shorter) }, (_, at) => at + 1);
  const chosen = new Set([shorter]);
  for (let turn = 1; chosen.size < count; turn += 1) {
    chosen.add(1 + Math.floor(((turn * GOLDEN_RATIO) % 1) * shorter));
  }
  return [...chosen].sort((a, b) => a - b);
}

function observedAtOf(output: unknown): number | undefined {
  const { observedAt, event } = Object(output) as { observedAt?: unknown; event?: { observedAt?: unknown } };
  const instant = observedAt ?? event?.observedAt;
  return typeof instant === "number" ? instant : undefined;
}

/** Where and how two outputs differ; `undefined` where they hold the same. */
function changeOf(
  whole: unknown,
  part: unknown,
  path = "",
  seen = new Map<object, object>(),
): string | undefined {
  if (Object.is(whole, part) || (typeof whole === "function" && typeof part === "function")) return undefined;
  const isNoObject = typeof whole !== "object" || typeof part !== "object" || whole === null || part === null;
  if (isNoObject || isIterable(whole) !== isIterable(part))
    return `${path}is ${shown(part)}, then ${shown(whole)}`;
  if (seen.get(whole) === part) return undefined;
  seen.set(whole, part);
  const [before, after] = [entriesOf(part), entriesOf(whole)];
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const change = changeOf(after.get(name), before.get(name), `${path}${String(name)} `, seen);
    if (change !== undefined) return change;
  }
  return undefined;
}

/** A copy of an object that could be altered. */
function heldBy(value: unknown): unknown {
  const isAlterable = typeof value === "object" && value !== null && !Object.isFrozen(value);
  return isAlterable ? new Map(entriesOf(value)) : value;
}

/** What an object holds, by name or place. */
function entriesOf(value: object): Map<unknown, unknown> {
  if (value instanceof Date) return new Map([["time", value.getTime()]]);
  if (value instanceof Map) return value;
  return new Map<unknown, unknown>(isIterable(value) ? [...value].entries() : Object.entries(value));
}

function shown(value: unknown): string {
  if (value === undefined) return "missing";
  return typeof value === "object" && isIterable(value) ? "a list" : show(value);
}

function lateness(claim: number, { candle, observedAt }: CandleEvent): PairstreamError {
  const claimed = `claims to have been known at ${isoOf(claim)}`;
  const came = `came only with the candle of ${isoOf(candle.timestamp)}, at ${isoOf(observedAt)}`;
  return new PairstreamError(`The operator looks ahead: an output ${claimed}, but ${came}`);
}

function altered(at: number, change: string): PairstreamError {
  return new PairstreamError(`The operator's output ${at} is altered after it was emitted: ${change}`);
}

function revision(
  at: number,
  change: string,
  beginning: readonly CandleEvent[],
  events: readonly CandleEvent[],
): PairstreamError {
  if (beginning.length === events.length) {
    const reason = "it keeps state from one subscription to the next, or takes chances";
    return new PairstreamError(
      `The operator's output ${at} differs for the same candles: ${change}; ${reason}`,
    );
  }
  const [known, last] = [beginning, events].map((list) => isoOf(list.at(-1)!.candle.timestamp));
  const given = `given the candles until that of ${known}, and then those until ${last}`;
  return new PairstreamError(`The operator looks ahead: its output ${at} ${change}, ${given}`);
}

function isoOf(instant: number): string {
  const date = new Date(instant);
  return Number.isNaN(date.getTime()) ? String(instant) : date.toISOString();
}
