import { describe, expect, it } from "vitest";
import { applyCandleEvent, type Candle, watchCandles, watchFeedStatus } from "../../src/index.js";
import { at, MINUTES, World } from "../world.js";

const LENGTH = { "1s": 1_000, "1min": 60_000, "3s": 3_000, "3min": 180_000 };
type Timeframe = keyof typeof LENGTH;

interface Scene {
  readonly timeframe: Timeframe;
  readonly every: number | "close";
  /** Intervals before the first look, or a number of candles. */
  readonly since: { readonly back: number } | { readonly candles: number };
  /** How far the service's clock is set, in intervals, and before the answer to which request. */
  readonly by: number;
  readonly request: number;
  readonly startsAt: string;
}

/** The candles of all swaps that there ever are, from an instant until another. */
function truthOf(world: World, length: number, from: number, until: number): Map<number, number[]> {
  const truth = new Map<number, number[]>();
  for (const { timestamp, usdAmount } of world.swaps) {
    const start = timestamp - (timestamp % length);
    if (start >= from && start < until) truth.set(start, [...(truth.get(start) ?? []), usdAmount]);
  }
  return truth;
}

async function play({ timeframe, every, since, by, request, startsAt }: Scene) {
  const length = LENGTH[timeframe];
  const start = at(startsAt);
  const world = new World({ start, hasDate: true, createdAt: at("00:00:00") });
  // Three swaps an interval, and every fifth interval none.
  for (
    let swap = 0, time = start - 400 * length;
    time < start + 200 * length;
    swap += 1, time += length / 3
  ) {
    if (Math.floor(time / length) % 5 > 0) world.swap(Math.floor(time), 1 + (swap % 7));
  }
  world.interfere = (_asked, answer) => {
    if (world.asked.length === request) {
      world.jump(by * length);
    }
    return answer();
  };
  const from = "back" in since ? start - since.back * length : since;
  const options = { ...MINUTES, timeframe, every, settle: 100, revisionWindow: 2, since: from };
  const known = new Map<number, Candle>();
  const finals = new Map<number, Candle>();
  const breaches: string[] = [];
  const states: string[] = [];
  const telling = watchCandles(world.client, options).subscribe((event) => {
    const { timestamp } = event.candle;
    const name = `${event.type} ${event.status} ${(timestamp - start) / length}`;
    const isFinal = finals.has(timestamp);
    if (isFinal && event.type !== "new") breaches.push(`${name} after it was final`);
    if (event.type === "new" && known.has(timestamp) && by >= 0) breaches.push(`${name} again`);
    if (event.type !== "new" && !known.has(timestamp)) breaches.push(`${name} of none`);
    if (event.type === "new") finals.delete(timestamp);
    if (event.status === "final") finals.set(timestamp, event.candle);
    applyCandleEvent(known, event);
  });
  telling.add(watchFeedStatus(world.client, options).subscribe(({ state }) => states.push(state)));
  await world.clock.advanceBy((20 + Math.abs(by)) * length);
  telling.unsubscribe();
  const until = world.clock.now() + world.offset - 4 * length;
  const first = Math.min(...known.keys());
  const begin = typeof from === "number" ? Math.min(first, from - (from % length)) : first;
  const truth = truthOf(world, length, begin, until - (until % length));
  const wrong: string[] = [];
  for (const [timestamp, prices] of truth) {
    const candle = known.get(timestamp);
    if (candle === undefined) wrong.push(`lacks ${(timestamp - start) / length}`);
    else if (candle.swaps !== prices.length) {
      wrong.push(`${(timestamp - start) / length} has ${candle.swaps} swaps for ${prices.length}`);
    }
  }
  for (const [timestamp, { swaps }] of finals) {
    if (timestamp < until - length && truth.get(timestamp)?.length !== swaps && timestamp >= begin) {
      wrong.push(`final ${(timestamp - start) / length} has ${swaps} swaps`);
    }
  }
  for (const timestamp of known.keys()) {
    if (timestamp < until - length && !truth.has(timestamp))
      wrong.push(`has ${(timestamp - start) / length}`);
  }
  return { breaches, wrong, state: states.at(-1) };
}

const SETS = [-12, -4, -3.2, -2.6, -1.3, -0.3, 0.4, 2.6, 12];
const SCENES = (["1s", "1min", "3s", "3min"] as const).flatMap((timeframe) =>
  SETS.flatMap((by) =>
    [{ back: 6 }, { back: 150 }, { candles: 5 }, { candles: 60 }].map((since) => ({ timeframe, by, since })),
  ),
);

/** Those that every run of the tests plays, and those that are left to the long stage: each has all lengths and kinds. */
export const DAILY_SCENES = SCENES.filter((_, at) => at % 5 === 0);
export const LONG_SCENES = SCENES.filter((_, at) => at % 5 !== 0);

export function describeHistoryJumps(scenes: typeof SCENES): void {
  describe("a service's clock that is set while a history is read", () => {
    it.each(scenes)("$timeframe, by $by intervals, since $since", async ({ timeframe, by, since }) => {
      const failed: string[] = [];
      for (const startsAt of ["12:00:00.050", "12:00:30.9"]) {
        for (const every of [LENGTH[timeframe] / 2, "close"] as const) {
          for (let request = 2; request <= 4; request += 1) {
            const { breaches, wrong, state } = await play({ timeframe, every, since, by, request, startsAt });
            const isFine = breaches.length === 0 && wrong.length === 0 && state !== "starting";
            if (!isFine) failed.push(JSON.stringify({ startsAt, every, request, breaches, wrong, state }));
          }
        }
      }
      expect(failed).toEqual([]);
    });
  });
}
