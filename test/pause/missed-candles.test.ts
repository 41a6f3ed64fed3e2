import { describe, expect, it } from "vitest";
import { checkWatch } from "../../src/candles/options.js";
import {
  type AnyTimeframe,
  AuthenticationError,
  type Candle,
  type CandleEvent,
  ContractError,
  clientSource,
  HttpError,
  InvalidInputError,
  NetworkError,
  type PairSource,
  QuotaExceededError,
  RateLimitError,
  TimeoutError,
  VirtualClock,
  type WatchOptions,
} from "../../src/index.js";
import { missedCandles, startAfterLongPause } from "../../src/pause/missed-candles.js";
import type { Span } from "../../src/spans.js";
import { MINUTES, World } from "../world.js";
import { BORN, contradictions, MINUTE, PauseStage, START, truth } from "./pause-stage.js";

const SPAN = { from: START - 10_000 - 3 * MINUTE, to: START - 10_000 };

/** What is read where one attempt after the other fails so, and when each was made. */
async function reading(failures: readonly unknown[], options: WatchOptions = {}) {
  const clock = new VirtualClock(START);
  const left = [...failures];
  const askedAt: number[] = [];
  const row = { open: 1, high: 1, low: 1, close: 1, volume: 1, swaps: 1 };
  const source: PairSource = {
    ...clientSource(new World({ start: START }).client),
    history: async (): Promise<readonly Candle[]> => {
      askedAt.push(clock.now() - START);
      if (left.length > 0) throw left.shift();
      return [{ timestamp: SPAN.from, ...row }];
    },
  };
  const events: CandleEvent[] = [];
  let error: unknown;
  missedCandles(source, checkWatch({ ...MINUTES, ...options }), SPAN, clock).subscribe({
    next: (event) => events.push(event),
    error: (thrown) => {
      error = thrown;
    },
  });
  await clock.advanceBy(24 * 60 * MINUTE);
  expect(clock.pending).toBe(0);
  return { read: events.length, error, askedAt };
}

const notFound = new HttpError("none", 404, "");

describe("what a long pause has missed", () => {
  it.each<AnyTimeframe>(["1s", "15s", "45s", "1min", "3min", "16min", "45min", "3h", "3M"])(
    "is read in pieces that a gateway gives, as is the rest: %s",
    async (timeframe) => {
      const watch = checkWatch({ ...MINUTES, timeframe });
      const { intervals } = watch.served.rules;
      for (const pause of [10, 999, 1_001, 2_050, 5_001, 12_000]) {
        const since = watch.rules.intervals.start(intervals.shift(intervals.start(START), -pause));
        const start = startAfterLongPause(watch, since, START);
        expect(intervals.count(start ?? since, START)).toBeLessThan(2_400);
        if (start === undefined) continue;
        const asked: Span[] = [];
        const history = async ({ from, to }: { from?: unknown; to?: unknown }) => {
          asked.push({ from, to } as Span);
          return [];
        };
        const source = { ...clientSource(new World({ start: START }).client), history } as PairSource;
        const clock = new VirtualClock(START);
        missedCandles(source, watch, { from: since, to: start }, clock).subscribe();
        await clock.advanceBy(1_000);
        expect([asked[0]!.from, asked.at(-1)!.to]).toEqual([since, start]);
        for (const [at, { from, to }] of asked.entries()) {
          expect(intervals.count(from, to)).toBeLessThan(1_200);
          if (at > 0) expect(from).toBe(asked[at - 1]!.to);
        }
      }
    },
  );

  it.each([
    new NetworkError("none"),
    new TimeoutError("slow", 10_000),
    new HttpError("down", 503, ""),
    new HttpError("down", 500, ""),
    new ContractError([], "no JSON"),
    new QuotaExceededError("spent"),
    new RateLimitError("busy", ""),
    new RateLimitError("busy", "", 0),
  ])("is read once the trouble is over: %s", async (trouble) => {
    const { read, error, askedAt } = await reading(Array(6).fill(trouble));
    expect(error).toBeUndefined();
    expect(read).toBe(1);
    const waits = askedAt.slice(1).map((at, index) => (at - askedAt[index]!) / 1_000);
    expect(waits).toEqual([5, 10, 20, 40, 60, 60]);
  });

  it.each([
    [7_000, 7_000],
    [1e12, 3_600_000],
  ])("waits for as long as it is asked to, within reason: %d ms", async (retryAfter, waited) => {
    const { read, askedAt } = await reading([new RateLimitError("busy", "", retryAfter)]);
    expect(read).toBe(1);
    expect(askedAt).toEqual([0, waited]);
  });

  it.each([
    new AuthenticationError("no", 401, ""),
    new HttpError("no", 400, ""),
    new InvalidInputError("count", "1 to 5", "is 9"),
    new RangeError("a fault of its own"),
  ])("ends with what no other attempt can mend: %s", async (trouble) => {
    expect(await reading([trouble])).toEqual({ read: 0, error: trouble, askedAt: [0] });
  });

  it("ends with a pair that is gone, as its stream says", async () => {
    const { error, askedAt } = await reading([notFound, notFound, notFound]);
    expect([error, askedAt]).toEqual([notFound, [0, 30_000, 60_000]]);
    const patient = await reading([notFound, notFound, notFound], { whenMissing: "wait" });
    expect(patient).toMatchObject({ read: 1, askedAt: [0, 60_000, 180_000, 420_000] });
  });

  it.each<[string, () => Promise<never>]>([
    ["the network is not there yet", () => Promise.reject(new Error("asleep"))],
    ["nobody answers", () => new Promise(() => {})],
  ])("comes to a page that wakes up while %s", async (_, interfere) => {
    const stage = new PauseStage();
    stage.trade(BORN, START + 2_200 * MINUTE);
    const errors: unknown[] = [];
    const { events, candles, leave } = stage.follow({ since: { candles: 3 } }, (error) => errors.push(error));
    await stage.pass(2);
    stage.page.hide();
    await stage.pass(2_100);
    stage.world.interfere = interfere;
    stage.page.show();
    await stage.pass(2);
    stage.world.interfere = () => undefined;
    await stage.pass(10);
    expect(errors).toEqual([]);
    expect(contradictions(events)).toEqual([]);
    const first = Math.min(...candles.keys());
    const expected = (await truth(stage.world)).filter(({ timestamp }) => timestamp >= first);
    const running = expected.at(-1)!.timestamp;
    expect([...candles.values()].filter(({ timestamp }) => timestamp <= running)).toEqual(expected);
    leave();
    await stage.pass(0);
    expect(stage.world.clock.pending).toBe(0);
  });
});
