import { describe, expect, it } from "vitest";
import {
  type CandleEvent,
  ContractError,
  type FeedStatus,
  fetchCandles,
  type SniperEvent,
  watchCandles,
  watchFeedStatus,
  watchSnipers,
} from "../../src/index.js";
import { at, MINUTES, PAIR, World, withRows } from "../world.js";

type Row = Record<string, unknown>;

const texts = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, typeof value === "number" ? String(value) : value]),
  );
const instants = (row: Row, write: (ms: number) => unknown): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (Array.isArray(value)) return [name, value.map((inner) => instants(inner, write))];
      return [name, /timestamp$/i.test(name) ? write(Date.parse(String(value))) : value];
    }),
  );

const WAYS: [string, (row: Row) => Row][] = [
  ["numbers as texts", texts],
  ["instants in seconds", (row) => instants(row, (ms) => ms / 1_000)],
  ["instants in ms", (row) => instants(row, (ms) => ms)],
  ["all as texts, instants in seconds", (row) => texts(instants(row, (ms) => ms / 1_000))],
];

/** What streams of a pair tell, from a service that writes its rows in its own way. */
async function told(write: (row: Row) => Row) {
  const world = new World({ start: at("12:00:10"), createdAt: at("11:30:00") });
  world.interfere = (_asked, answer) => withRows(answer, (rows) => rows.map(write));
  world.swapsEvery(15_000, at("11:30:00"), at("12:10:00"));
  for (const second of [0, 20, 200])
    world.swap(at("11:30:00") + second * 1_000, 3, {
      walletAddress: "ann",
      side: second === 0 ? "buy" : "sell",
      blockNumber: 1 + second,
    });
  const events: (CandleEvent | SniperEvent)[] = [];
  const statuses: FeedStatus[] = [];
  const options = { ...MINUTES, since: { candles: 20 } };
  watchCandles(world.client, options).subscribe((event) => events.push(event));
  watchFeedStatus(world.client, options).subscribe((status) => statuses.push(status));
  watchSnipers(world.client, { pairAddress: PAIR, blocksAfterCreation: 1_000 }).subscribe((event) =>
    events.push(event),
  );
  await world.clock.advanceTo(at("12:03:30"));
  return { events, statuses };
}

describe("a service of another chain", () => {
  it.each(WAYS)("gives the same events: %s", async (_, write) => {
    const plain = await told((row) => row);
    expect(plain.events.length).toBeGreaterThan(30);
    expect(plain.events.some((event) => event.type === "sold" || event.type === "wallet-added")).toBe(true);
    expect(await told(write)).toEqual(plain);
  });
});

describe("a history with a row that cannot be read", () => {
  const BROKEN = "2024-01-05T11:40:00.000Z";

  function world() {
    const world = new World({ start: at("12:00:10") });
    world.swapsEvery(15_000, at("11:00:00"), at("12:10:00"));
    world.interfere = (_asked, answer) =>
      withRows(answer, (rows) =>
        rows.map((row) => (row.timestamp === BROKEN ? { ...row, close: "five" } : row)),
      );
    return world;
  }

  it.each([{ candles: 60 }, at("11:10:00")])("says so, with its series, once: since %j", async (since) => {
    const one = world();
    const timestamps: number[] = [];
    watchCandles(one.client, { ...MINUTES, since }).subscribe(({ candle }) =>
      timestamps.push(candle.timestamp),
    );
    await one.clock.advanceTo(at("12:02:30"));
    expect(timestamps).toContain(Date.parse(BROKEN) + 60_000);
    expect(timestamps).not.toContain(Date.parse(BROKEN));
    expect(one.activity.filter(({ type }) => type === "dropped")).toMatchObject([
      {
        reading: "history",
        series: MINUTES,
        pairAddress: PAIR,
        key: Date.parse(BROKEN),
        error: { name: "ContractError", issue: "not a number from 0 to 1e+100" },
      },
    ]);
  });

  it("fails a download", async () => {
    const one = world();
    const errors: unknown[] = [];
    fetchCandles(one.client, { ...MINUTES, from: at("11:10:00"), to: at("12:00:00") }).subscribe({
      error: (error) => errors.push(error),
    });
    await one.clock.advanceTo(at("12:02:30"));
    expect(errors).toHaveLength(1);
    expect(errors[0]).toBeInstanceOf(ContractError);
    expect(one.activity.filter(({ type }) => type === "dropped")).toEqual([]);
  });
});
