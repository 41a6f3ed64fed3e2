import {
  applyCandleEvent,
  type Candle,
  type CandleEvent,
  clientSource,
  fetchCandles,
  type PairSource,
  pauseWhileHidden,
  type Series,
  type WatchOptions,
} from "../../src/index.js";
import { at, MINUTES, time, World } from "../world.js";
import { FakePage } from "./page.js";

export const MINUTE = 60_000;
export const START = at("12:00:10");
export const BORN = at("10:00:00");

export class PauseStage {
  readonly page = new FakePage();
  readonly world = new World({ start: START, createdAt: BORN, hasDate: true });
  readonly source: PairSource;

  constructor() {
    const { client, clock } = this.world;
    this.source = pauseWhileHidden(clientSource(client), { after: 10_000, scheduler: clock });
  }

  /** Two swaps a minute, of each at another price. */
  trade(from = BORN, to = START + 60 * MINUTE): void {
    for (let instant = from, index = 0; instant < to; instant += 30_000, index += 1) {
      this.world.swap(instant, 100 + (index % 17));
    }
  }

  follow(options: Partial<WatchOptions> = {}, error?: (thrown: unknown) => void) {
    const events: CandleEvent[] = [];
    const candles = new Map<number, Candle>();
    const asked: Series & WatchOptions = { ...MINUTES, ...options };
    const following = this.source.candles(asked).subscribe({
      ...(error && { error }),
      next: (event) => {
        events.push(event);
        applyCandleEvent(candles, event);
      },
    });
    return { events, candles, leave: () => following.unsubscribe() };
  }

  pass(minutes: number): Promise<void> {
    return this.world.clock.advanceBy(minutes * MINUTE);
  }
}

/** What does not follow on the events before it. */
export function contradictions(events: readonly CandleEvent[]): string[] {
  const known = new Map<number, CandleEvent>();
  const found: string[] = [];
  let finalUntil = Number.NEGATIVE_INFINITY;
  for (const event of events) {
    const { type, candle, revision, status } = event;
    const before = known.get(candle.timestamp);
    const say = (problem: string) => found.push(`${time(candle.timestamp)} ${type}: ${problem}`);
    if (type === "new" ? before !== undefined : before === undefined) say("no such candle, or one already");
    if (before !== undefined && revision !== before.revision + 1) say(`${revision} after ${before.revision}`);
    if (event.type === "updated" && before !== undefined) {
      if (JSON.stringify(event.previous) !== JSON.stringify(before.candle)) say("another candle before");
      if (before.status === status && JSON.stringify(before.candle) === JSON.stringify(candle))
        say("an echo");
      if (before.status === "final") say("after final");
    }
    if (!Object.isFrozen(event)) say("not frozen");
    // Operators leave such an event out.
    if (candle.timestamp <= finalUntil) say("behind a final one");
    if (status === "final" && type !== "removed") finalUntil = candle.timestamp;
    if (type === "removed") known.delete(candle.timestamp);
    else known.set(candle.timestamp, event);
  }
  return found;
}

export const told = (events: readonly CandleEvent[]) =>
  events.map(({ type, candle, status, live }) =>
    [type, time(candle.timestamp).slice(0, 5), status, ...(live ? ["live"] : [])].join(" "),
  );

export async function truth(world: World): Promise<Candle[]> {
  const other = new World({ start: world.clock.now(), createdAt: BORN, hasDate: true });
  other.swaps.push(...world.swaps);
  const candles: Candle[] = [];
  fetchCandles(other.client, { ...MINUTES, from: BORN }).subscribe((candle) => candles.push(candle));
  await other.clock.advanceBy(30_000);
  return candles;
}
