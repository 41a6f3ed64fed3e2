import fc from "fast-check";
import type { Candle } from "pairstream";
import type { CandleStore, Span } from "pairstream/store";
import { describe, expect, it } from "vitest";
import { candleAt, keyOf, MINUTE } from "./conformance-data.js";

const spanOf = (from: number, to: number): Span => ({ from: from * MINUTE, to: to * MINUTE });

/** What a store is by its definition: for each interval whether it is covered, and its candle. */
class Model {
  readonly #intervals = new Map<string, Candle | null>();

  write(key: string, from: number, to: number, candles: readonly Candle[]): void {
    for (let at = from; at < to; at++) this.#intervals.set(`${key} ${at}`, null);
    for (const candle of candles) this.#intervals.set(`${key} ${candle.timestamp / MINUTE}`, candle);
  }

  forget(key: string, from: number, to: number): void {
    for (let at = from; at < to; at++) this.#intervals.delete(`${key} ${at}`);
  }

  read(key: string, from: number, to: number, last = Infinity): { candles: Candle[]; covered: Span[] } {
    const candles: Candle[] = [];
    const covered: { from: number; to: number }[] = [];
    for (let at = from; at < to; at++) {
      const candle = this.#intervals.get(`${key} ${at}`);
      if (candle === undefined) continue;
      if (candle !== null) candles.push(candle);
      const before = covered.at(-1);
      if (before?.to === at * MINUTE) before.to += MINUTE;
      else covered.push({ ...spanOf(at, at + 1) });
    }
    return { candles: candles.slice(Math.max(0, candles.length - last)), covered };
  }
}

const LONGEST = 40;
const bounds = fc
  .tuple(fc.nat(LONGEST), fc.nat(LONGEST))
  .map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) + 1 }));
/** Of what is asked for, or forgotten, nothing may be left. */
const anyBounds = bounds.map(({ from, to }) => ({ from, to: to - 1 }));
const action = fc.oneof(
  fc.record({
    type: fc.constant("write" as const),
    key: fc.nat(2),
    bounds,
    value: fc.integer({ min: 1, max: 9 }),
    holes: fc.array(fc.boolean(), { minLength: LONGEST + 1, maxLength: LONGEST + 1 }),
  }),
  fc.record({ type: fc.constant("forget" as const), key: fc.nat(2), bounds: anyBounds }),
  fc.record({
    type: fc.constant("read" as const),
    key: fc.nat(2),
    bounds: anyBounds,
    last: fc.option(fc.nat(LONGEST), { nil: undefined }),
  }),
);

/** What every store promises; `open` gives an empty one, and closes it after the test. */
export function describeStore(name: string, open: () => Promise<CandleStore>, runs = 60): void {
  describe(name, () => {
    it("holds what a plain table of intervals would, whatever is written, forgotten and read", async () => {
      const store = await open();
      let run = 0;
      const property = fc.asyncProperty(fc.array(action, { maxLength: 15 }), async (actions) => {
        run += 1;
        const keys = ["A", "B"].map((address) => keyOf(`${address}${run}`));
        keys.push(keyOf(`A${run}`, { currency: "native" }));
        const model = new Model();
        for (const act of actions) {
          const { from, to } = act.bounds;
          const span = spanOf(from, to);
          const key = keys[act.key]!;
          if (act.type === "write") {
            const candles = act.holes.flatMap((isHole, at) =>
              isHole || at < from || at >= to ? [] : [candleAt(at, act.value)],
            );
            await store.write(key, { ...span, candles });
            model.write(`${act.key}`, from, to, candles);
          } else if (act.type === "forget") {
            await store.forget(key, span.from, span.to);
            model.forget(`${act.key}`, from, to);
          } else {
            const expected = model.read(`${act.key}`, from, to, act.last);
            expect(await store.read(key, { ...span, last: act.last })).toEqual(expected);
          }
        }
        for (const [at, key] of keys.entries()) {
          expect(await store.read(key, spanOf(0, LONGEST + 2))).toEqual(model.read(`${at}`, 0, LONGEST + 2));
        }
      });
      await fc.assert(property, { numRuns: runs });
    });

    it("takes in what is asked of it at once, in that order", async () => {
      const store = await open();
      const key = keyOf("pair");
      const results = await Promise.all([
        store.write(key, { ...spanOf(0, 2), candles: [candleAt(0)] }),
        store.read(key, spanOf(0, 10)),
        store.write(key, { ...spanOf(2, 4), candles: [candleAt(3)] }),
        store.forget(key, 0, MINUTE),
        store.read(key, spanOf(0, 10)),
      ]);
      expect(results[1]).toEqual({ candles: [candleAt(0)], covered: [spanOf(0, 2)] });
      expect(results[4]).toEqual({ candles: [candleAt(3)], covered: [spanOf(1, 4)] });
    });

    it("holds nothing of an empty range, and forgets nothing of one", async () => {
      const store = await open();
      const key = keyOf("pair");
      const held = { candles: [candleAt(1)], covered: [spanOf(0, 3)] };
      await store.write(key, { ...spanOf(0, 3), candles: held.candles });
      for (const at of [0, 1, 2, 3, 4]) {
        expect(await store.read(key, spanOf(at, at))).toEqual({ candles: [], covered: [] });
        await store.forget(key, at * MINUTE, at * MINUTE);
        expect(await store.read(key, spanOf(0, 9))).toEqual(held);
      }
    });

    it("tells each part of a key from every other", async () => {
      const store = await open();
      const keys = [
        keyOf("pair"),
        keyOf("other"),
        keyOf("pair", { service: "https://api.test/v2" }),
        keyOf("pair", { network: "devnet" }),
        keyOf("pair", { timeframe: "5min" }),
        keyOf("pair", { currency: "native" }),
        keyOf("pair", { weekStart: "thursday" }),
      ];
      for (const [at, key] of keys.entries()) {
        await store.write(key, { ...spanOf(at, at + 1), candles: [candleAt(at)] });
      }
      for (const [at, key] of keys.entries()) {
        const expected = { candles: [candleAt(at)], covered: [spanOf(at, at + 1)] };
        expect(await store.read(key, spanOf(0, 10))).toEqual(expected);
      }
    });

    it("gives back the very numbers, as plain objects", async () => {
      const store = await open();
      const key = keyOf("pair");
      const odd = {
        timestamp: 0,
        open: 5e-324,
        high: 1e100,
        low: 0,
        close: 0.1 + 0.2,
        volume: Number.MAX_SAFE_INTEGER,
        swaps: Number.MAX_SAFE_INTEGER,
      };
      await store.write(key, {
        ...spanOf(0, 1),
        candles: [Object.assign(Object.create(null), odd, { more: 1 })],
      });
      const { candles } = await store.read(key, spanOf(0, 1));
      expect(candles).toStrictEqual([odd]);
    });

    it.each([
      ["a candle outside of the span", { ...spanOf(0, 2), candles: [candleAt(0), candleAt(2)] }],
      ["descending candles", { ...spanOf(0, 2), candles: [candleAt(1), candleAt(0)] }],
      ["a candle twice", { ...spanOf(0, 2), candles: [candleAt(1), candleAt(1)] }],
      ["a number that is none", { ...spanOf(0, 2), candles: [{ ...candleAt(1), open: Number.NaN }] }],
      ["no span", { ...spanOf(2, 2), candles: [] }],
    ])("refuses %s, and nothing of that is held", async (_, known) => {
      const store = await open();
      const key = keyOf("pair");
      const before = { ...spanOf(0, 1), candles: [candleAt(0, 7)] };
      await store.write(key, before);
      const refused = expect(store.write(key, known)).rejects.toMatchObject({ name: "InvalidInputError" });
      await Promise.all([refused, store.write(key, { ...spanOf(5, 6), candles: [] })]);
      expect(await store.read(key, spanOf(0, 9))).toEqual({
        candles: [candleAt(0, 7)],
        covered: [spanOf(0, 1), spanOf(5, 6)],
      });
    });
  });
}
