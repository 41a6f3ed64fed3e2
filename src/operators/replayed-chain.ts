import type { CandleEvent, CandleStatus } from "../candles/event.js";
import { isSame, laterOf } from "../candles/event.js";
import type { Candle } from "../contract/model.js";
import { type Coming, Lateness } from "./lateness.js";

/** A value that is computed candle by candle, each from all the candles before. It is a kernel that is always warm. */
export interface Recursion<V> {
  /** Commits the next candle and gives the value after it. */
  push(candle: Candle): V;
  /** The value that pushing this candle would give. It changes nothing. */
  peek(candle: Candle): V;
  /** An independent copy. */
  fork(): Recursion<V>;
}

/** A candle that may still change, as it was last emitted. */
interface Pending<V> {
  candle: Candle;
  /** The last event about it. */
  event: CandleEvent;
  value: V;
  status: CandleStatus;
  revision: number;
}

const NOTHING: readonly never[] = [];

/**
 * Keeps the value of every candle correct while candles come, change, go and turn up late. After every event, the last
 * values equal those of a batch over the candles as they now stand.
 *
 * It holds the recursion as of the newest final candle, and the candles after that one. A candle at the end costs one
 * push or one peek. A change before the end starts from a copy of that recursion and replays the candles that follow.
 */
export abstract class ReplayedChain<V, E extends CandleEvent> {
  private readonly lateness = new Lateness();
  /** Whether something other than the candles that the recursion depends on has changed. */
  private hasMoved = false;
  /** Candles that are not final, ascending. */
  private readonly pending: Pending<V>[] = [];
  /** The recursion through all pending candles but the last; absent if that is the same as `base`. */
  private head: Recursion<V> | undefined;

  /** `base`: the recursion through all final candles, of which there are none yet. */
  constructor(private readonly base: Recursion<V>) {}

  /** The candle that an event shows. */
  protected abstract shown(candle: Candle, value: V): Candle;
  protected abstract isSameValue(a: V, b: V): boolean;
  /**
   * `change`: what happened to the candle; for an update, the candle that was shown before. `event`: the last event
   * about the candle. `coming`: when the new event comes.
   */
  protected abstract eventOf(
    change: "new" | "removed" | Candle,
    candle: Candle,
    value: V,
    status: CandleStatus,
    revision: number,
    event: CandleEvent,
    coming: Coming,
  ): E;

  /** Whether two events about a candle agree in the fields that not every candle event has. */
  protected isSameRest(_a: CandleEvent, _b: CandleEvent): boolean {
    return true;
  }

  /**
   * The events that follow from one event: its own, then an `updated` event for each later candle whose value has
   * changed, ascending. A candle's first event is `new` and has the revision of the event that it follows from. Each
   * further event has one more than the last. No event may be about a candle that is already final.
   *
   * `hasMoved`: whether values may have changed although no candle has.
   */
  apply(event: CandleEvent, hasMoved = false): readonly E[] {
    this.lateness.hear(event);
    this.hasMoved = hasMoved;
    const { timestamp } = event.candle;
    let at = this.pending.length;
    while (at > 0 && this.pending[at - 1]!.candle.timestamp >= timestamp) at -= 1;
    const entry = this.pending[at]?.candle.timestamp === timestamp ? this.pending[at] : undefined;
    if (event.type === "removed") return entry === undefined ? NOTHING : this.remove(at, entry, event);
    return event.status === "final" ? this.settle(at, entry, event) : this.put(at, entry, event);
  }

  /** The events that follow if values may have changed without an event about a candle of this series. */
  refresh(cause: CandleEvent): readonly E[] {
    return this.pending.length === 0 ? NOTHING : this.replay(0, this.base.fork(), undefined, cause);
  }

  private settle(at: number, entry: Pending<V> | undefined, event: CandleEvent): readonly E[] {
    const { base, pending } = this;
    // Candles become final in ascending order: no event follows about an older candle that is not final by now.
    for (let older = 0; older < at; older += 1) base.push(pending[older]!.candle);
    const isUnchanged = !this.hasMoved && entry !== undefined && isSame(entry.candle, event.candle);
    const value = base.push(event.candle);
    const told = this.tell(entry, event, value);
    if (pending.length > 0) pending.splice(0, entry === undefined ? at : at + 1);
    if (pending.length === 0) this.head = undefined;
    else if (!isUnchanged) return this.replay(0, base.fork(), told, event);
    return told === undefined ? NOTHING : [told];
  }

  private put(at: number, entry: Pending<V> | undefined, event: CandleEvent): readonly E[] {
    const { pending } = this;
    const { candle, status, revision } = event;
    const isLast = at === pending.length - (entry === undefined ? 0 : 1);
    if (entry === undefined && isLast && at > 0) {
      this.head ??= this.base.fork();
      this.head.push(pending[at - 1]!.candle);
    }
    const isUnchanged = !this.hasMoved && entry !== undefined && isSame(entry.candle, candle);
    if (isLast || isUnchanged) {
      const value = isUnchanged ? entry.value : (this.head ?? this.base).peek(candle);
      const told = this.tell(entry, event, value);
      if (entry === undefined) pending.push({ candle, event, value, status, revision });
      return told === undefined ? NOTHING : [told];
    }
    const recursion = this.through(at);
    const value = recursion.push(candle);
    const told = this.tell(entry, event, value);
    if (entry === undefined) pending.splice(at, 0, { candle, event, value, status, revision });
    return this.replay(at + 1, recursion, told, event);
  }

  private remove(at: number, entry: Pending<V>, cause: CandleEvent): readonly E[] {
    const { pending } = this;
    const { candle, value, status, revision } = entry;
    const shown = this.shown(candle, value);
    const told = this.eventOf("removed", shown, value, status, revision + 1, cause, cause);
    pending.splice(at, 1);
    if (at < pending.length) return this.replay(at, this.through(at), told, cause);
    this.head = at > 1 ? this.through(at - 1) : undefined;
    return [told];
  }

  /** A candle's own event. `entry`: the candle as it was last emitted, if it was. */
  private tell(entry: Pending<V> | undefined, event: CandleEvent, value: V): E | undefined {
    return entry === undefined ? this.begin(event, value) : this.change(entry, event, value);
  }

  /** The first event of a candle's life. */
  private begin(event: CandleEvent, value: V): E {
    const { candle, status, revision } = event;
    return this.eventOf("new", this.shown(candle, value), value, status, revision, event, event);
  }

  /** The event for a change of a known candle; `undefined` if nothing changes that is shown. */
  private change(entry: Pending<V>, event: CandleEvent, value: V): E | undefined {
    const status = laterOf(entry.status, event.status);
    const before = this.shown(entry.candle, entry.value);
    const shown = this.shown(event.candle, value);
    const isEcho =
      status === entry.status &&
      isSame(before, shown) &&
      this.isSameValue(entry.value, value) &&
      this.isSameRest(entry.event, event);
    entry.candle = event.candle;
    entry.event = event;
    entry.value = value;
    if (isEcho) return undefined;
    entry.status = status;
    entry.revision += 1;
    return this.eventOf(before, shown, value, status, entry.revision, event, event);
  }

  /** A copy of the recursion through the first `count` pending candles. */
  private through(count: number): Recursion<V> {
    const recursion = this.base.fork();
    for (let at = 0; at < count; at += 1) recursion.push(this.pending[at]!.candle);
    return recursion;
  }

  /**
   * Computes the values of the pending candles again from index `from` on. `recursion` has gone through the candles
   * before, and becomes the head. `told`: the cause's own event, which comes first.
   */
  private replay(from: number, recursion: Recursion<V>, told: E | undefined, cause: CandleEvent): E[] {
    const { pending } = this;
    const events = told === undefined ? [] : [told];
    for (let at = from; at < pending.length; at += 1) {
      const entry = pending[at]!;
      const { candle, event, status } = entry;
      const value = at < pending.length - 1 ? recursion.push(candle) : recursion.peek(candle);
      if (this.isSameValue(entry.value, value)) continue;
      const before = this.shown(candle, entry.value);
      const shown = this.shown(candle, value);
      entry.value = value;
      entry.revision += 1;
      const end = this.lateness.endOf(event);
      const coming = this.lateness.judge(cause, event.series.timeframe, end, status);
      events.push(this.eventOf(before, shown, value, status, entry.revision, event, coming));
    }
    this.head = recursion;
    return events;
  }
}
