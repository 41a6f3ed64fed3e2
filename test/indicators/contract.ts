import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Candle } from "../../src/contract/model.js";
import { InvalidInputError } from "../../src/errors.js";
import { indicatorColumns } from "../../src/indicators/columns/indicator-columns.js";
import type { Indicator, Kernel } from "../../src/indicators/kernel.js";
import { columnsIn, columnsOf, expectColumnsAsStreamed, expectSameNumbers } from "./by-column.js";
import { extremesOf, flatMarket, marketOf, randomOf, scaled, someSeed } from "./random-candles.js";
import { numbersOf } from "./values.js";

/** What an indicator claims about itself. */
export interface IndicatorCase<T> {
  /** As called, such as `sma(10)`. */
  name: string;
  indicator: Indicator<T>;
  /** How many candles have no value before the first one that has. */
  warmUp: number;
  /**
   * How many candles, the newest included, decide about a value: with other ones before them, of prices 1e15 times
   * higher, it is the same to 1e-9. An average that only fades has such a number too, see `fading`. `Infinity` for a
   * running total, which is not asked to forget.
   */
  memory: number;
  /** The value goes with this power of the prices: 1 for a price, 0 for an index; by key where they differ. */
  scaling: number | Record<string, number>;
  /** The same of the volumes; absent: 0. */
  volumeScaling?: number | Record<string, number>;
  /** The value in a market that has always stood still at this price. */
  flat(price: number): T;
  /** How far rounding alone may carry two computations of a value apart, by key; absent: no further than `expectNear` allows. */
  rounding?(value: T): Record<string, number>;
  /** The values of a batch, by the plainest code there is. */
  reference(candles: readonly Candle[]): readonly (T | undefined)[];
}

/**
 * The memory of `stages` exponential averages in a row, of weight `2 / (n + 1)` or else as given: a past 1e15 times
 * larger has faded to 1e-9 after `ln(1e24) / weight` candles, about 55, and a few more where averages are averaged.
 */
export function fading(n: number, { weight = 2 / (n + 1), stages = 1 } = {}): number {
  return n * stages + Math.ceil((45 + 20 * stages) / weight);
}

/** Holds every indicator to the contract of kernels. */
export function describeIndicator<T>(given: IndicatorCase<T>): void {
  const { name, indicator, warmUp, memory, scaling, volumeScaling = 0 } = given;
  const length = warmUp + 40;

  /** How near two values have to be, at this level of prices and volumes. */
  const expectNear = (value: unknown, other: unknown, price: number, volume = 1, relative = 1e-9) => {
    const [numbers, others] = [numbersOf(value), numbersOf(other)];
    const rounding = other === undefined ? undefined : given.rounding?.(other as T);
    const keys = (each: typeof numbers) => Object.keys(each ?? {}).join();
    if (keys(numbers) !== keys(others)) expect.fail(`${name}: {${keys(numbers)}} and {${keys(others)}}`);
    for (const [key, each] of Object.entries(numbers ?? {})) {
      const reference = others![key]!;
      const level = 1e-3 * price ** powerOf(scaling, key) * volume ** powerOf(volumeScaling, key);
      const allowed = relative * Math.max(level, Math.abs(each), Math.abs(reference));
      if (Math.abs(each - reference) <= allowed + (rounding?.[key] ?? 0)) continue;
      expect.fail(`${name}, ${key}: ${each} and ${reference}`);
    }
  };

  describe(name, () => {
    it(`has its first value after ${warmUp} candles, and one for each candle from then on`, () => {
      fc.assert(
        fc.property(someSeed, (seed) => {
          const values = pushAll(indicator(), marketOf(seed, length));
          expect(values.findIndex((value) => value !== undefined)).toBe(warmUp);
          expect(values.slice(warmUp)).not.toContain(undefined);
        }),
        { numRuns: 20 },
      );
    });

    it("gives finite numbers only, also where all stands still after a walk", () => {
      const candles = [...marketOf(1, length), ...flatMarket(3 * length, 70)];
      const numbers = pushAll(indicator(), candles).flatMap((value) => Object.values(numbersOf(value) ?? {}));
      expect(numbers.filter((number) => !Number.isFinite(number))).toEqual([]);
    });

    it("peeks, from the first candle on, at what a push gives, bit for bit, and changes nothing", () => {
      const somePeeks = fc.array(fc.nat(3), { minLength: length, maxLength: length });
      fc.assert(
        fc.property(someSeed, someSeed, somePeeks, (seed, otherSeed, peeks) => {
          const [tried, untried] = [indicator(), indicator()];
          const others = marketOf(otherSeed, length, 120);
          const values = marketOf(seed, length).map((candle, at) => {
            for (let count = 0; count < peeks[at]!; count += 1) {
              tried.peek(others[(at + count) % length]!);
            }
            const peeked = tried.peek(candle);
            return { peeked, pushed: tried.push(candle), expected: untried.push(candle) };
          });
          const expected = values.map((value) => value.expected);
          expect(values.map(({ peeked }) => peeked)).toStrictEqual(expected);
          expect(values.map(({ pushed }) => pushed)).toStrictEqual(expected);
        }),
        { numRuns: 25 },
      );
    });

    it("forks into kernels that know nothing of each other", () => {
      fc.assert(
        fc.property(someSeed, someSeed, fc.nat(length), (seed, otherSeed, at) => {
          const past = marketOf(seed, at);
          const futures = [marketOf(seed + 1, 30), marketOf(otherSeed, 30, 130)] as const;
          const kernel = indicator();
          pushAll(kernel, past);
          const fork = kernel.fork();
          const values = futures[0].map((candle, step) => [
            kernel.push(candle),
            fork.push(futures[1][step]!),
          ]);
          const alone = futures.map((future) =>
            pushAll(indicator(), [...past, ...future]).slice(past.length),
          );
          expect(values.map(([value]) => value)).toStrictEqual(alone[0]);
          expect(values.map(([, value]) => value)).toStrictEqual(alone[1]);
        }),
        { numRuns: 25 },
      );
    });

    it("gives an object of its own for every call", () => {
      const kernel = indicator();
      const candles = marketOf(5, length);
      pushAll(kernel, candles.slice(1));
      const values = [kernel.peek(candles[0]!), kernel.peek(candles[0]!), kernel.push(candles[0]!)];
      const objects = values.filter((value) => typeof value === "object");
      expect(new Set(objects).size).toBe(objects.length);
    });

    it("equals a batch", () => {
      fc.assert(
        fc.property(someSeed, (seed) => {
          const candles = marketOf(seed, length + 60);
          const batch = given.reference(candles);
          pushAll(indicator(), candles).forEach((value, at) => {
            expectNear(value, batch[at], 100, 500);
          });
        }),
        // In these markets the price hardly moves for three candles.
        { numRuns: 20, examples: [[-159_747_256], [30_741_811]] },
      );
    });

    const hasEnd = Number.isFinite(memory);
    if (hasEnd)
      it("does not drift, nor remember what is over", () => {
        const before = marketOf(2, 1_000, 1e6);
        const recent = marketOf(3, memory + 20, 1e-9);
        const kernel = indicator();
        for (let round = 0; round < 1_000; round += 1) for (const candle of before) kernel.push(candle);
        const values = pushAll(kernel, recent);
        for (const end of [memory, memory + 1, memory + 20]) {
          const fresh = pushAll(indicator(), recent.slice(end - memory, end));
          expectNear(values[end - 1], fresh.at(-1), 1e-9, 500);
        }
      });

    it("is neutral in a flat market", () => {
      for (const price of [7, 0.1, 8.5e-6, 123_456.789]) {
        const values = pushAll(indicator(), flatMarket(warmUp + 50, price)).slice(warmUp);
        for (const value of values) expectNear(value, given.flat(price), price, 5, 1e-12);
      }
    });

    it("goes with the scale of prices and volumes", () => {
      const candles = marketOf(4, length);
      const plain = pushAll(indicator(), candles);
      for (const [prices, volumes] of [
        [8.5e-8, 1],
        [1e5, 1],
        [1, 1e-6],
      ] as const) {
        pushAll(indicator(), scaled(candles, prices, volumes)).forEach((value, at) => {
          const grown = Object.entries(numbersOf(plain[at]) ?? {}).map(([key, number]) => {
            const factor = prices ** powerOf(scaling, key) * volumes ** powerOf(volumeScaling, key);
            return [key, number * factor];
          });
          const expected = plain[at] === undefined ? undefined : Object.fromEntries(grown);
          expectNear(numbersOf(value), expected, 100 * prices, 500 * volumes);
        });
      }
    });

    it("gives by column what it gives candle by candle, bit for bit", () => {
      fc.assert(
        fc.property(someSeed, fc.nat(length), (seed, count) => {
          expectColumnsAsStreamed(name, indicator, marketOf(seed, count));
          expectColumnsAsStreamed(name, indicator, extremesOf(seed, length));
        }),
        { numRuns: 20 },
      );
      // The borders of what is worked on at a time.
      for (const count of [1, 2_047, 2_048, 2_049, 5_000]) {
        expectColumnsAsStreamed(name, indicator, marketOf(count, count));
      }
      expectColumnsAsStreamed(name, indicator, flatMarket(length, 0.1));
    });

    it("gives by column what a fork of its kernel gives", () => {
      const candles = marketOf(8, length);
      const kernel = indicator();
      const before = pushAll(kernel, candles.slice(0, length - 30));
      const after = pushAll(kernel.fork(), candles.slice(length - 30));
      expectSameNumbers(name, columnsIn(indicator, candles), [...before, ...after]);
    });

    it("writes its columns over those of another series", () => {
      const [old, candles] = [columnsOf(marketOf(9, length)), columnsOf(extremesOf(10, length))];
      const into = indicatorColumns({ own: indicator }, old);
      expect(indicatorColumns({ own: indicator }, candles, { into })).toBe(into);
      expect(into).toStrictEqual(indicatorColumns({ own: indicator }, candles));
    });

    it("does not grow", () => {
      const candles = marketOf(6, 1_000);
      const kernel = indicator();
      for (let round = 0; round < 1 + warmUp / 1_000; round += 1) pushAll(kernel, candles);
      const size = sizeOf(kernel);
      for (let round = 0; round < 100; round += 1) for (const candle of candles) kernel.push(candle);
      expect(sizeOf(kernel)).toBe(size);
      expect(sizeOf(kernel.fork())).toBe(size);
    });

    it("refuses a number that is not finite, and stays as it was", () => {
      const [tried, untried] = [indicator(), indicator()];
      const random = randomOf(7);
      for (const candle of marketOf(7, length)) {
        const field = (["open", "high", "low", "close", "volume"] as const)[Math.floor(5 * random())]!;
        const wrong = {
          ...candle,
          [field]: [Number.NaN, Number.POSITIVE_INFINITY][Math.floor(2 * random())],
        };
        expect(() => tried.push(wrong)).toThrow(InvalidInputError);
        expect(() => tried.peek(wrong)).toThrow(InvalidInputError);
        expect(tried.push(candle)).toStrictEqual(untried.push(candle));
      }
    });
  });
}

/** Expects a parameter to be refused where it is no number of candles. */
export function expectLengthChecked(make: (length: number) => unknown): void {
  const wrong = [0, -1, 2.5, Number.NaN, Number.POSITIVE_INFINITY, 100_001, "9" as never, null as never];
  for (const length of wrong) expect(() => make(length)).toThrow(InvalidInputError);
}

function powerOf(scaling: number | Record<string, number>, key: string): number {
  return typeof scaling === "number" ? scaling : scaling[key]!;
}

/** The values of the candles, one by one. */
export function pushAll<T>(kernel: Kernel<T>, candles: readonly Candle[]): (T | undefined)[] {
  return candles.map((candle) => kernel.push(candle));
}

/** How many values can be reached from here. */
function sizeOf(root: unknown, seen = new Set<unknown>()): number {
  if (typeof root !== "object" || root === null || seen.has(root)) return 1;
  seen.add(root);
  if (ArrayBuffer.isView(root)) return root.byteLength;
  if (root instanceof Map || root instanceof Set) {
    return [...root].reduce<number>((sum, entry) => sum + sizeOf(entry, seen), 1);
  }
  return Reflect.ownKeys(root).reduce((sum, key) => sum + sizeOf(Reflect.get(root, key), seen), 1);
}
