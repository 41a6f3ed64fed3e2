import { describe, expect, it } from "vitest";
import { type Candle, fetchCandles, type PairstreamError } from "../../src/index.js";
import { answered, at, MINUTES, time, tradedCandle, World, withRows } from "../world.js";

async function fetched(world: World, options: Partial<Parameters<typeof fetchCandles>[1]>) {
  const candles: Candle[] = [];
  let outcome: "running" | "complete" | PairstreamError = "running";
  const subscription = fetchCandles(world.client, { ...MINUTES, from: 0, ...options }).subscribe({
    next: (candle) => candles.push(candle),
    error: (error) => {
      outcome = error;
    },
    complete: () => {
      outcome = "complete";
    },
  });
  await world.clock.advanceBy(30_000);
  return { candles, outcome: outcome as "running" | "complete" | PairstreamError, subscription };
}

describe("fetchCandles", () => {
  it.each([true, false])(
    "gives the closed candles of [from, to), ascending, each once (Date: %s)",
    async (hasDate) => {
      const world = new World({ start: at("12:00:30"), hasDate, offset: hasDate ? -5 * 31_536_000_000 : 0 });
      const shift = world.offset;
      world.swapsEvery(10_000, at("08:00:00") + shift, at("12:00:30") + shift);
      const range = { timeframe: "10s", from: at("08:30:00") + shift, to: at("11:00:00") + shift } as const;
      const { candles, outcome } = await fetched(world, range);
      expect(outcome).toBe("complete");
      expect(candles).toHaveLength(2.5 * 360);
      expect(candles.map(({ timestamp }) => timestamp)).toEqual(
        candles.map((_, index) => range.from + index * 10_000),
      );
      expect(world.clock.pending).toBe(0);
    },
  );

  it("ends, without `to`, with the last candle that has closed by the service's clock", async () => {
    const world = new World({ start: at("12:00:00.500"), latency: 0 });
    world.swapsEvery(60_000, at("11:00:00"), at("12:10:00"));
    const { candles } = await fetched(world, { from: at("11:30:00") });
    // 11:59 has been over for half a second only.
    expect(time(candles.at(-1)!.timestamp)).toBe("11:58:00");
    const again = await fetched(world, { from: at("11:30:00") });
    expect(time(again.candles.at(-1)!.timestamp)).toBe("11:59:00");
  });

  it.each([
    ["newest-first", 1_000],
    ["oldest-first", 1_000],
    ["shuffled", 41],
  ] as const)(
    "goes over a silence in long steps where its first page ended for want of the time: %s",
    async (order, pageSize) => {
      const day = 86_400_000;
      for (const silent of [1, 5, 30]) {
        const quirks = { order, pageSize };
        const world = new World({ start: at("12:00:30"), hasDate: true, offset: 100 * day, quirks });
        const now = world.clock.now() + world.offset;
        world.swapsEvery(60_000, now - 600_000, now);
        const from = now - silent * day;
        const { candles, outcome } = await fetched(world, { network: "devnet", from, to: now - 300_000 });
        expect(outcome).toBe("complete");
        expect(candles).toHaveLength(6);
        expect(world.asked.length).toBeLessThan(20);
      }
    },
  );

  it("counts a candle by its start: `from` and `to` inside an interval", async () => {
    const world = new World({ start: at("12:00:30") });
    world.swapsEvery(60_000, at("11:00:00"), at("12:10:00"));
    const { candles } = await fetched(world, { from: at("11:10:30"), to: at("11:13:30") });
    expect(candles.map(({ timestamp }) => time(timestamp))).toEqual(["11:11:00", "11:12:00", "11:13:00"]);
  });

  it("fills gaps from the first known candle on, to the end", async () => {
    const world = new World({ start: at("12:00:30") });
    world.swap(at("11:02:10"), 4);
    world.swap(at("11:04:10"), 6);
    const { candles } = await fetched(world, { from: at("11:00:00"), to: at("11:06:00"), fillGaps: true });
    expect(candles.map(({ timestamp, close, swaps }) => [time(timestamp), close, swaps])).toEqual([
      ["11:02:00", 4, 1],
      ["11:03:00", 4, 0],
      ["11:04:00", 6, 1],
      ["11:05:00", 6, 0],
    ]);
    expect(candles[0]).toEqual(tradedCandle(at("11:02:00"), 4));
  });

  it("fails with the last error when the client's retries are exhausted", async () => {
    const world = new World({ start: at("12:00:30") });
    world.swapsEvery(60_000, at("11:00:00"), at("12:10:00"));
    world.interfere = () => answered(503, "busy");
    const { outcome } = await fetched(world, { from: at("11:00:00") });
    expect(outcome).toMatchObject({ name: "HttpError", status: 503 });
    expect(world.asked).toHaveLength(3);
    world.interfere = (_asked, answer) =>
      withRows(answer, (rows) => rows.map((row) => ({ ...row, open: "one" })));
    // The first row lies in the margin, which nobody asked for.
    const broken = await fetched(world, { from: at("11:00:00"), to: at("12:00:00") });
    expect(broken.outcome).toMatchObject({ name: "ContractError", path: ["result", 1, "open"] });
    expect(world.asked).toHaveLength(6);
  });

  it("aborts what is in flight when its subscriber leaves", async () => {
    const world = new World({ start: at("12:00:30") });
    world.interfere = () => new Promise(() => {});
    const { subscription } = await fetched(world, { from: at("11:59:00") });
    subscription.unsubscribe();
    expect(world.clock.pending).toBe(0);
    expect(world.asked.at(-1)!.signal!.aborted).toBe(true);
  });

  it("reads anew for each subscriber", async () => {
    const world = new World({ start: at("12:00:30") });
    world.swapsEvery(60_000, at("11:00:00"), at("12:10:00"));
    const candles = fetchCandles(world.client, { ...MINUTES, from: at("11:00:00"), to: at("11:10:00") });
    const counts = [0, 0];
    candles.subscribe(() => counts[0]!++);
    candles.subscribe(() => counts[1]!++);
    await world.clock.advanceBy(1_000);
    expect(counts).toEqual([10, 10]);
  });
});
