import { describe, expect, it } from "vitest";
import { type StoredSeries, StoreKeeper } from "../../../src/adapters/store/keeping/stored-series.js";
import { memoryStore } from "../../../src/adapters/store/memory.js";
import type { StoreActivity } from "../../../src/client/activity.js";
import type { Series, Timeframe } from "../../../src/contract/model.js";
import type { CandleStore } from "../../../src/contract/store.js";
import { VirtualClock } from "../../../src/replay/virtual-clock.js";
import { MINUTE, minuteCandle, SERIES } from "../../candles/minute-candles.js";

const OTHER: Series<Timeframe> = { ...SERIES, pairAddress: "other" };
const NOTHING_UNKNOWN: ReadonlySet<number> = new Set();

function keeperOf(store: CandleStore) {
  const clock = new VirtualClock();
  const told: StoreActivity[] = [];
  const warned: [string, string][] = [];
  const report = (activity: StoreActivity) => told.push(activity);
  const keeper = new StoreKeeper(store, {
    service: "https://service.test",
    scheduler: clock,
    timeout: 500,
    report,
    warn: (text, error) => warned.push([text, error.name]),
  });
  return { clock, told, warned, open: (series: Series<Timeframe>) => keeper.open(series, "monday") };
}

function write(series: StoredSeries, from: number, to: number): void {
  const candles = Array.from({ length: to - from }, (_, minute) => minuteCandle(from + minute));
  series.write({ from: from * MINUTE, to: to * MINUTE, candles }, NOTHING_UNKNOWN);
}

describe("what waits to be written", () => {
  it.each([1_000, 60_000])(
    "is written whole, however much comes at once: slices of %i candles",
    async (slice) => {
      const store = memoryStore();
      const { clock, told, open } = keeperOf(store);
      const both = [open(SERIES), open(OTHER)];
      for (let from = 0; from < 60_000; from += slice)
        for (const series of both) write(series, from, from + slice);
      await clock.advanceBy(2_000);
      for (const { key } of both) {
        const { covered } = await store.read(key, { from: 0, to: 60_000 * MINUTE, last: 0 });
        expect(covered).toEqual([{ from: 0, to: 60_000 * MINUTE }]);
      }
      expect(told).toEqual([]);
    },
  );

  it("is given up, oldest first, and told, where a store fails for too long", async () => {
    const { clock, told, open } = keeperOf({
      ...memoryStore(),
      write: () => Promise.reject(new Error("full")),
    });
    const both = [open(SERIES), open(OTHER)];
    for (let from = 0; from < 40_000; from += 1_000) {
      for (const series of both) write(series, from, from + 1_000);
      await clock.advanceBy(1_500);
    }
    const givenUp = told.filter(({ error }) => error.message.includes("are not written"));
    const lost = givenUp.reduce((sum, { from, to }) => sum + (to - from) / MINUTE, 0);
    expect(lost).toBeGreaterThanOrEqual(30_000);
    expect(givenUp[0]).toMatchObject({ type: "store", operation: "write", from: 0 });
  });

  it("is given up in parts, and told, of one series that goes on while the store fails", async () => {
    const kept = memoryStore();
    let isIll = true;
    const { clock, told, open } = keeperOf({
      ...kept,
      write: (key, known) => (isIll ? Promise.reject(new Error("full")) : kept.write(key, known)),
    });
    const series = open(SERIES);
    for (let from = 0; from < 200_000; from += 1_000) {
      write(series, from, from + 1_000);
      await clock.advanceBy(100);
    }
    expect(told.some(({ error }) => error.message.includes("are not written"))).toBe(true);
    isIll = false;
    await clock.advanceBy(120_000);
    const { covered, candles } = await kept.read(series.key, { from: 0, to: 200_000 * MINUTE });
    expect(covered).toEqual([{ from: expect.any(Number), to: 200_000 * MINUTE }]);
    expect(candles.length).toBeGreaterThan(30_000);
    expect(candles.length).toBeLessThanOrEqual(50_000);
  });

  it("is one write a series, however long the store fails, where nothing happens", async () => {
    const written = new Map<string, number>();
    const { clock, open } = keeperOf({
      ...memoryStore(),
      write: ({ pairAddress }) => {
        written.set(pairAddress, (written.get(pairAddress) ?? 0) + 1);
        return Promise.reject(new Error("full"));
      },
    });
    const both = [open(SERIES), open(OTHER)];
    for (let from = 0; from < 600; from += 1) {
      for (const series of both)
        series.write({ from: from * MINUTE, to: (from + 1) * MINUTE, candles: [] }, NOTHING_UNKNOWN);
      await clock.advanceBy(MINUTE);
    }
    written.clear();
    await clock.advanceBy(MINUTE);
    expect([...written.values()]).toEqual([1, 1]);
  });

  it("is given up after a while, too, where it holds no candle and cannot be joined", async () => {
    const { clock, told, open } = keeperOf({
      ...memoryStore(),
      write: () => Promise.reject(new Error("full")),
    });
    const series = open(SERIES);
    for (let from = 0; from < 120_000; from += 2) {
      series.write({ from: from * MINUTE, to: (from + 1) * MINUTE, candles: [] }, NOTHING_UNKNOWN);
    }
    await clock.advanceBy(0);
    const givenUp = told.filter(({ error }) => error.message.includes("are not written"));
    expect(givenUp.length).toBeGreaterThanOrEqual(10_000);
    expect(givenUp.length).toBeLessThanOrEqual(20_001);
  });

  it("is forgotten with all of its series, though that was closed and opened anew", async () => {
    const kept = memoryStore();
    let isIll = true;
    const { clock, open } = keeperOf({
      ...kept,
      write: (key, known) => (isIll ? Promise.reject(new Error("full")) : kept.write(key, known)),
    });
    const other = open(OTHER);
    const before = open(SERIES);
    write(before, 0, 10);
    before.close();
    await clock.advanceBy(100);
    const series = open(SERIES);
    await series.forget(0, 5 * MINUTE);
    write(series, 20, 30);
    isIll = false;
    await clock.advanceBy(120_000);
    expect((await kept.read(series.key, { from: 0, to: 100 * MINUTE })).covered).toEqual([
      { from: 20 * MINUTE, to: 30 * MINUTE },
    ]);
    other.close();
  });

  it("is not tried again once it was forgotten while it failed", async () => {
    const kept = memoryStore();
    let fail = (_: Error) => {};
    let isIll = true;
    const slow = () =>
      new Promise<void>((_, reject) => {
        fail = reject;
      });
    const { clock, open } = keeperOf({
      ...kept,
      write: (key, known) => (isIll ? slow() : kept.write(key, known)),
    });
    const series = open(SERIES);
    write(series, 0, 10);
    await clock.advanceBy(1_100);
    const forgotten = series.forget(0);
    fail(new Error("disk"));
    isIll = false;
    await clock.advanceBy(120_000);
    await forgotten;
    expect(await kept.read(series.key, { from: 0, to: 10 * MINUTE })).toEqual({ candles: [], covered: [] });
  });

  it("is written although it comes right after a forgetting, and read after it", async () => {
    for (const pause of [0, 50, 5_000]) {
      const kept = memoryStore();
      const later = <T>(work: () => Promise<T>) =>
        new Promise<T>((resolve) => clock.schedule(() => resolve(work()), 100));
      const { clock, open } = keeperOf({
        read: (key, range) => kept.read(key, range),
        write: (key, known) => later(() => kept.write(key, known)),
        forget: (key, from, to) => later(() => kept.forget(key, from, to)),
      });
      const series = open(SERIES);
      write(series, 0, 30);
      await clock.advanceBy(pause);
      void series.forget(10 * MINUTE);
      write(series, 10, 20);
      let held: unknown;
      void series.read({ from: 0, to: 100 * MINUTE, last: 0 }).then(({ covered }) => {
        held = covered;
      });
      await clock.advanceBy(10_000);
      const covered =
        pause < 1_000 ? [{ from: 10 * MINUTE, to: 20 * MINUTE }] : [{ from: 0, to: 20 * MINUTE }];
      expect(held).toEqual(covered);
      expect((await kept.read(series.key, { from: 0, to: 100 * MINUTE })).covered).toEqual(covered);
    }
  });

  it("leaves no timer where a forgetting begins after all have left", async () => {
    let answer = () => {};
    const { clock, open } = keeperOf({
      ...memoryStore(),
      write: () =>
        new Promise<void>((resolve) => {
          answer = resolve;
        }),
      forget: () => new Promise<never>(() => {}),
    });
    const series = open(SERIES);
    write(series, 0, 10);
    await clock.advanceBy(1_100);
    void series.forget(0);
    series.close();
    answer();
    await clock.advanceBy(0);
    expect(clock.pending).toBe(0);
  });
});

describe("a store that fails", () => {
  it("is warned of once an hour, with what it says and what is done in its place", async () => {
    const { clock, told, warned, open } = keeperOf({
      ...memoryStore(),
      write: () => Promise.reject(new Error("file is not a database")),
    });
    const series = open(SERIES);
    for (let from = 0; from < 70; from += 1) {
      write(series, from, from + 1);
      await clock.advanceBy(MINUTE);
    }
    expect(told.length).toBeGreaterThan(10);
    const once = [
      expect.stringMatching(/^the store is in trouble: .*file is not a database/),
      "PairstreamError",
    ];
    expect(warned).toEqual([once, once]);
  });
});
