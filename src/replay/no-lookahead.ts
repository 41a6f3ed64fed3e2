import { isObservable, type OperatorFunction, ReplaySubject } from "rxjs";
import type { CandleEvent } from "../candles/event.js";
import { checkNumber, checkWeekStart, show } from "../contract/input.js";
import { type Candle, type Series, TIMEFRAMES, type Timeframe, type WeekStart } from "../contract/model.js";
import { checkNames, SERIES_NAMES } from "../contract/names.js";
import { InvalidInputError, PairstreamError } from "../errors.js";
import { intervalsOf } from "../timeframe.js";
import { isIterable } from "./read-candles.js";
import { replayCandles } from "./replay-candles.js";

/** How to look for look-ahead, and in which series. */
export interface LookaheadOptions<T> extends Partial<Series> {
  /**
   * How many beginnings of the history to try, at least 1, of evenly spread lengths; default 200. Each one runs the
   * operator over all of its candles.
   */
  prefixes?: number;
  /**
   * The instant at which an output claims to have been known, ms since the epoch; `undefined` if it claims none.
   * Default: its `observedAt`, or that of its `event`.
   */
  knownAt?: (output: T) => number | undefined;
  /** The day on which `1w` begins; default `"monday"`. */
  weekStart?: WeekStart;
}

/**
 * Throws a `PairstreamError` if an operator uses candles from the future of its own output.
 *
 * ```text
 * a---b---|          →  operator  →  1---2---|
 * a---b---c---d---|  →  operator  →  1---5---3---4---|    look-ahead: 2 has become 5
 * ```
 *
 * It runs the operator over all candles, as `replayCandles` emits them, and then over ever longer beginnings of the
 * history, each of which completes. The operator looks ahead
 * - if a beginning makes it emit something other than the whole history does at the same place: later candles changed
 *   an output. This catches operators that wait for the end, such as `toArray` or a scale made of all prices, and
 *   objects that are altered after they were emitted;
 * - if an output comes with a later candle than it claims. An example is an average over both neighbours that carries
 *   the event in the middle. See `knownAt`.
 *
 * Outputs are compared by their contents, without functions. To test an operator on open candles, put it after
 * `resample` over shorter ones. It sees only data from the source; what the operator gets from elsewhere is not
 * checked.
 *
 * By default `timeframe` is the longest one whose interval starts fit all candles, `pairAddress` is "pair", `network`
 * mainnet and `currency` usd. Throws an `InvalidInputError` for bad candles and options; for an operator that emits
 * nothing, as there is nothing to compare, or that emits Observables; and for one that does not complete with its
 * source, as its later outputs would be missed. Throws the operator's own error if it fails.
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
      "an operator, which is a function over a stream of candle events",
      `is of type ${typeof operator}`,
    );
  }
  checkNames(options, [...SERIES_NAMES, "prefixes", "knownAt", "weekStart"]);
  const prefixes = checkNumber("prefixes", options.prefixes ?? 200, { min: 1, integer: true });
  const { knownAt = observedAtOf } = options;
  if (typeof knownAt !== "function") {
    throw new InvalidInputError(
      "knownAt",
      "a function from an output to ms since the epoch",
      `is of type ${typeof knownAt}`,
    );
  }
  if (checkBeginnings(operator, eventsOf(candles, options), prefixes, knownAt) > 0) return;
  throw new InvalidInputError(
    "candles",
    "enough candles for at least one output",
    "are too few: the operator emits nothing",
  );
}

/**
 * The same for events of any kind: throws if an operator looks ahead. Returns how many outputs it has compared; of none,
 * nothing can be said.
 */
export function checkBeginnings<T>(
  operator: OperatorFunction<CandleEvent, T>,
  events: readonly CandleEvent[],
  prefixes: number,
  knownAt: (output: T) => number | undefined = observedAtOf,
): number {
  const outputs = outputsOf(operator, events);
  if (outputs.length === 0) return 0;
  checkClaims(outputs, events, knownAt);
  // The whole history runs twice: an operator whose outputs differ by themselves, such as random ones, is not looking
  // ahead.
  for (const length of [events.length, ...lengthsBelow(events.length, prefixes)]) {
    checkBeginning(operator, events, length, outputs);
  }
  return outputs.length;
}

/** Throws if an output was altered after it was emitted, or came later than it claims. */
function checkClaims<T>(
  outputs: readonly Output<T>[],
  events: readonly CandleEvent[],
  knownAt: (output: T) => number | undefined,
): void {
  for (const [at, { value, given, held }] of outputs.entries()) {
    const alteration = changeOf(copyOf(value), held);
    if (alteration !== undefined) throw altered(at, alteration);
    const claim = knownAt(value);
    const newest = events[given - 1];
    if (claim !== undefined && newest !== undefined && claim < newest.observedAt) {
      throw lookedAhead(claim, newest);
    }
  }
}

/** Throws if the first `length` events make the operator emit something else than all events did. */
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

/** An output of the operator, and how many events the operator had got by then. */
interface Output<T> {
  readonly value: T;
  /** Its contents at that time. */
  readonly held: unknown;
  readonly given: number;
}

/** Runs the operator and feeds it one event at a time. An error thrown by `look` ends the run. */
function outputsOf<T>(
  operator: OperatorFunction<CandleEvent, T>,
  events: readonly CandleEvent[],
  look: (value: T) => void = () => {},
): Output<T>[] {
  // An operator that subscribes several times at once gets the same events in the same order. One that subscribes later
  // first gets all past events.
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
          throw new InvalidInputError("operator", "an operator that emits values", "emits Observables");
        }
        look(value);
        outputs.push({ value, held: copyOf(value), given });
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
    const allowed = "an operator that completes at once when its source does";
    throw new InvalidInputError("operator", allowed, "does not complete with its source");
  }
  return outputs;
}

function eventsOf<T>(candles: Iterable<Candle>, options: LookaheadOptions<T>): CandleEvent[] {
  if (!isIterable(candles))
    throw new InvalidInputError("candles", "an iterable of candles", "is not iterable");
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

/** The longest timeframe for which every candle starts an interval. */
function timeframeOf(candles: readonly Candle[], weekStart: WeekStart): Timeframe {
  const isRight = (timeframe: Timeframe) => {
    const { start } = intervalsOf(timeframe, weekStart);
    return candles.every((candle) => start(candle?.timestamp) === candle?.timestamp);
  };
  return [...TIMEFRAMES].reverse().find(isRight) ?? TIMEFRAMES[0];
}

const GOLDEN_RATIO = (1 + Math.sqrt(5)) / 2;

/**
 * Returns `count` lengths below `length`, ascending and evenly spread. Their distances vary, so they do not fall in
 * step with an operator that counts candles.
 */
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

/** Describes where and how two outputs differ; `undefined` if they hold the same. */
function changeOf(
  whole: unknown,
  part: unknown,
  path = "",
  seen = new Map<object, object>(),
): string | undefined {
  if (Object.is(whole, part) || (typeof whole === "function" && typeof part === "function")) return undefined;
  const isNoObject = typeof whole !== "object" || typeof part !== "object" || whole === null || part === null;
  if (isNoObject || isIterable(whole) !== isIterable(part))
    return `${path}is ${shownOutput(part)}, then ${shownOutput(whole)}`;
  if (seen.get(whole) === part) return undefined;
  seen.set(whole, part);
  const [before, after] = [contentsOf(part), contentsOf(whole)];
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const change = changeOf(after.get(name), before.get(name), `${path}${String(name)} `, seen);
    if (change !== undefined) return change;
  }
  return undefined;
}

/** A deep copy, because the operator could alter the object later. */
function copyOf(value: unknown): unknown {
  const isAlterable = typeof value === "object" && value !== null && !Object.isFrozen(value);
  return isAlterable ? new Map(contentsOf(value)) : value;
}

/** The contents of an object by name or index. */
function contentsOf(value: object): Map<unknown, unknown> {
  if (value instanceof Date) return new Map([["time", value.getTime()]]);
  if (value instanceof Map) return value;
  return new Map<unknown, unknown>(isIterable(value) ? [...value].entries() : Object.entries(value));
}

function shownOutput(value: unknown): string {
  if (value === undefined) return "missing";
  return typeof value === "object" && isIterable(value) ? "a list" : show(value);
}

function lookedAhead(claim: number, { candle, observedAt }: CandleEvent): PairstreamError {
  const claimed = `claims to have been known at ${isoOf(claim)}`;
  const came = `came only with the candle of ${isoOf(candle.timestamp)}, at ${isoOf(observedAt)}`;
  return new PairstreamError(`The operator looks ahead: an output ${claimed}, but ${came}`);
}

function altered(at: number, change: string): PairstreamError {
  return new PairstreamError(`Output ${at} of the operator was altered after it was emitted: ${change}`);
}

function revision(
  at: number,
  change: string,
  beginning: readonly CandleEvent[],
  events: readonly CandleEvent[],
): PairstreamError {
  if (beginning.length === events.length) {
    const reason = "the operator keeps state between subscriptions, or is random";
    return new PairstreamError(
      `Output ${at} of the operator differs for the same candles: ${change}; ${reason}`,
    );
  }
  const [known, last] = [beginning, events].map((list) => isoOf(list.at(-1)!.candle.timestamp));
  const given = `once with the candles up to ${known}, once with those up to ${last}`;
  return new PairstreamError(`The operator looks ahead: output ${at} ${change}, ${given}`);
}

function isoOf(instant: number): string {
  const date = new Date(instant);
  return Number.isNaN(date.getTime()) ? String(instant) : date.toISOString();
}
