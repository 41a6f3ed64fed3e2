import { candleStore, memoryStore } from "pairstream/store";
import { describe, expect, it } from "vitest";
import type { CandleStore } from "../../../src/adapters/store/index.js";
import { createClient } from "../../../src/index.js";
import {
  ALL,
  begin,
  everyQuarter,
  fetched,
  HOUR,
  KEY_OF_MINUTES,
  START,
  told,
  truthOf,
} from "../../candles/stored-world.js";
import { at, World } from "../../world.js";
import { describeStore } from "./conformance.js";

/** A store whose methods need it, and which is more than a store. */
class OwnStore implements CandleStore {
  readonly calls: string[] = [];
  readonly #kept = memoryStore();

  read(...args: Parameters<CandleStore["read"]>) {
    this.calls.push("read");
    return this.#kept.read(...args);
  }

  write(...args: Parameters<CandleStore["write"]>) {
    this.calls.push("write");
    return this.#kept.write(...args);
  }

  forget(...args: Parameters<CandleStore["forget"]>) {
    this.calls.push("forget");
    return this.#kept.forget(...args);
  }
}

describeStore("candleStore", async () => candleStore(new OwnStore()));

describe("candleStore", () => {
  it("serves a client by the methods of its own", async () => {
    const own = new OwnStore();
    const [from, to] = [START - HOUR, START];
    const first = await fetched(begin(own, START), from, to);
    expect(new Set(own.calls)).toEqual(new Set(["read", "write"]));
    const again = begin(own, START + HOUR);
    expect(await fetched(again, from, to - 10 * 60_000)).toEqual(
      first.filter(({ timestamp }) => timestamp < to - 10 * 60_000),
    );
    expect(again.asked).toEqual([]);
  });

  it("serves a client by the methods of a copy that has others", async () => {
    const kept = memoryStore();
    const unread = { ...kept, read: () => Promise.reject(new Error("unreadable")) };
    const world = new World({
      start: START,
      createdAt: at("00:00:00"),
      hasDate: true,
      client: { store: unread },
    });
    everyQuarter(world);
    const candles = await fetched(world, START - HOUR, START);
    expect(candles).toEqual(await truthOf(START, START - HOUR, START));
    expect(new Set(told(world).map(({ operation }) => operation))).toEqual(new Set(["read"]));
    expect((await kept.read(KEY_OF_MINUTES, ALL)).candles.length).toBeGreaterThan(30);
  });

  it("serves several clients at once", async () => {
    const store = candleStore(new OwnStore());
    const worlds = [begin(store, START), begin(store, START)];
    const [one, other] = await Promise.all(worlds.map((world) => fetched(world, START - HOUR, START)));
    expect(one).toEqual(other);
    expect(await fetched(begin(store, START), START - HOUR, START)).toEqual(one);
  });

  it.each([
    ["a copy", { ...memoryStore(), forget: undefined }, /^store lacks forget; /],
    ["two methods", { ...memoryStore(), read: 1, write: null }, /^store lacks read, write; /],
  ])("says which methods a copy lacks that a client is given: %s", (_, store, said) => {
    const options = { baseUrl: "https://api.example.com", apiKey: "key" };
    expect(() => createClient({ ...options, store: store as never })).toThrow(said);
  });

  it.each([null, undefined, 1, "candles.db", {}, { read() {}, write() {} }])("refuses %s", (own) => {
    expect(() => candleStore(own as never)).toThrow(
      expect.objectContaining({ name: "InvalidInputError", parameter: "own" }),
    );
  });
});
