import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { rangeSince } from "../../src/indicators/range-since.js";
import { ExponentialAverage } from "../../src/indicators/smoothing.js";
import { SlidingExtreme } from "../../src/indicators/windows/extreme.js";
import { SlidingExtremeAge } from "../../src/indicators/windows/extreme-age.js";
import { History } from "../../src/indicators/windows/history.js";
import { SlidingMean } from "../../src/indicators/windows/mean.js";
import { SlidingRegression } from "../../src/indicators/windows/regression.js";
import { SlidingSum } from "../../src/indicators/windows/sum.js";
import { SlidingVariance } from "../../src/indicators/windows/variance.js";
import { SlidingWeightedMean } from "../../src/indicators/windows/weighted-mean.js";
import { exponential, meanOf, sumOf, varianceOf, weightedMeanOf, wilder, windowed } from "./reference.js";

/** A piece that gives one number: as it is peeked at, and as it is pushed. */
interface Piece {
  peek(value: number): number;
  push(value: number): number;
  fork(): Piece;
}

/** What is asked of a window before the number is taken in, as a piece. */
class Asked implements Piece {
  constructor(
    private readonly window: SlidingVariance | SlidingRegression,
    private readonly question: "mean" | "variance" | "slope",
  ) {}

  peek(value: number): number {
    return (this.window as SlidingRegression)[this.question](value);
  }

  push(value: number): number {
    const answer = this.peek(value);
    this.window.push(value);
    return answer;
  }

  fork(): Piece {
    return new Asked(this.window.fork(), this.question);
  }
}

function slopeOf(numbers: readonly number[]): number {
  const middle = (numbers.length - 1) / 2;
  const steps = sumOf(numbers.map((_, at) => (at - middle) ** 2));
  const mean = meanOf(numbers);
  return numbers.length === 1 ? 0 : sumOf(numbers.map((each, at) => (each - mean) * (at - middle))) / steps;
}

function ageOf(numbers: readonly number[], extreme: number): number {
  return numbers.length - 1 - numbers.lastIndexOf(extreme);
}

const PIECES: [string, (n: number) => Piece, (numbers: number[]) => number][] = [
  ["mean", (n) => new SlidingMean(n), meanOf],
  ["sum", (n) => new SlidingSum(n), sumOf],
  ["weighted mean", (n) => new SlidingWeightedMean(n), weightedMeanOf],
  ["highest", (n) => SlidingExtreme.highest(n), (numbers) => Math.max(...numbers)],
  ["lowest", (n) => SlidingExtreme.lowest(n), (numbers) => Math.min(...numbers)],
  ["age of the highest", (n) => SlidingExtremeAge.ofHighest(n), (all) => ageOf(all, Math.max(...all))],
  ["age of the lowest", (n) => SlidingExtremeAge.ofLowest(n), (all) => ageOf(all, Math.min(...all))],
  ["mean beside the variance", (n) => new Asked(new SlidingVariance(n), "mean"), meanOf],
  ["variance", (n) => new Asked(new SlidingVariance(n), "variance"), varianceOf],
  ["mean of the line", (n) => new Asked(new SlidingRegression(n), "mean"), meanOf],
  ["variance about the line", (n) => new Asked(new SlidingRegression(n), "variance"), varianceOf],
  ["slope", (n) => new Asked(new SlidingRegression(n), "slope"), slopeOf],
];

/** Prices of every size side by side, with many equal ones. */
const somePrices = fc.array(
  fc.oneof(
    fc.constantFrom(1, 2, 3, 0.1, 1e6, 1e-9),
    fc.double({ min: 0.5, max: 2, noNaN: true }),
    fc.double({ min: 1e-9, max: 1e-8, noNaN: true }),
  ),
  { minLength: 1, maxLength: 60 },
);
const someSize = fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 25 }));

describe.each(PIECES)("the sliding %s", (name, make, batch) => {
  /** A slope is as exact as its window's spread allows; the others are to be exact in themselves. */
  const expectNear = (value: number, expected: number, window: readonly number[]) => {
    const size = name === "slope" ? Math.max(...window) - Math.min(...window) : Math.abs(expected);
    expect(Math.abs(value - expected)).toBeLessThanOrEqual(1e-10 * size);
  };

  it("equals a batch over the window, whatever has been before", () => {
    fc.assert(
      fc.property(somePrices, someSize, (prices, n) => {
        const piece = make(n);
        const values = prices.map((price) => piece.push(price));
        windowed(prices, n, batch).forEach((expected, at) => {
          if (expected === undefined) expect(values[at]).toBeNaN();
          else expectNear(values[at]!, expected, prices.slice(at - n + 1, at + 1));
        });
      }),
      { numRuns: 500 },
    );
  });

  it("is peeked at without a trace, bit for bit as pushed, and stays as it was where it is given NaN", () => {
    fc.assert(
      fc.property(somePrices, someSize, (prices, n) => {
        const [tried, untried] = [make(n), make(n)];
        for (const price of prices) {
          tried.peek(price * 3);
          expect(tried.peek(Number.NaN)).toBeNaN();
          if (!name.includes("age")) expect(tried.push(Number.NaN)).toBeNaN();
          expect(tried.peek(price)).toBe(untried.peek(price));
          const pushed = untried.push(price);
          expect(tried.push(price)).toBe(pushed);
        }
      }),
    );
  });

  it("forks", () => {
    fc.assert(
      fc.property(somePrices, somePrices, someSize, (prices, others, n) => {
        const pushAll = (piece: Piece, numbers: readonly number[]) => numbers.map((each) => piece.push(each));
        const piece = make(n);
        pushAll(piece, prices);
        const fork = piece.fork();
        const [values, forked] = [pushAll(piece, others), pushAll(fork, prices)];
        const alone = (numbers: readonly number[]) => pushAll(make(n), [...prices, ...numbers]);
        expect(values).toEqual(alone(others).slice(prices.length));
        expect(forked).toEqual(alone(prices).slice(prices.length));
      }),
    );
  });
});

describe("prices that stand still", () => {
  it("have exactly their mean, and exactly no variance and no slope", () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-12, max: 1e12, noNaN: true }), someSize, (price, n) => {
        const mean = new SlidingMean(n);
        const weighted = new SlidingWeightedMean(n);
        const average = ExponentialAverage.ofSpan(n);
        const variance = new SlidingVariance(n);
        const line = new SlidingRegression(n);
        for (let at = 1; at <= 3 * n; at += 1) {
          const expected = at < n ? Number.NaN : price;
          expect([mean.push(price), weighted.push(price), average.push(price)]).toEqual(
            new Array(3).fill(expected),
          );
          expect([variance.mean(price), line.mean(price)]).toEqual([expected, expected]);
          expect([variance.variance(price), line.variance(price), line.slope(price)]).toEqual(
            new Array(3).fill(0 * expected),
          );
          variance.push(price);
          line.push(price);
        }
      }),
    );
  });
});

describe("the variance", () => {
  it("keeps its precision beside an outlier, where all of the others are as good as equal", () => {
    const outlier = (at: number) =>
      Array.from({ length: 200 }, (_, each) => (each === at ? 1e9 : 1 + each / 1e6));
    for (const at of [0, 1, 57, 198, 199]) {
      const variance = new SlidingVariance(200);
      const prices = [...outlier(at), ...outlier(at), ...outlier(at)];
      prices.forEach((price, step) => {
        if (step >= 199) {
          const expected = varianceOf(prices.slice(step - 199, step + 1));
          expect(variance.variance(price) / expected).toBeCloseTo(1, 11);
        }
        variance.push(price);
      });
    }
  });

  it("sees the smallest of moves at the highest of prices", () => {
    const variance = new SlidingVariance(4);
    for (const price of [1e9, 1e9 + 1, 1e9 + 2]) variance.push(price);
    expect(variance.variance(1e9 + 3)).toBe(1.25);
  });
});

describe("the exponential averages", () => {
  it("begin as a mean and equal a batch", () => {
    fc.assert(
      fc.property(somePrices, someSize, (prices, n) => {
        const pairs = [
          [ExponentialAverage.ofSpan(n), exponential(prices, n)],
          [ExponentialAverage.ofWilder(n), wilder(prices, n)],
        ] as const;
        for (const [average, expected] of pairs) {
          prices.forEach((price, at) => {
            expect(average.push(Number.NaN)).toBeNaN();
            const peeked = average.peek(price);
            expect(average.push(price)).toBe(peeked);
            if (expected[at] === undefined) expect(peeked).toBeNaN();
            else expect(Math.abs(peeked / expected[at] - 1)).toBeLessThan(1e-9);
          });
        }
      }),
    );
  });
});

describe("the history", () => {
  it("holds the last numbers, and none that were not", () => {
    fc.assert(
      fc.property(fc.array(fc.integer()), fc.integer({ min: 1, max: 10 }), (numbers, n) => {
        const history = new History(n);
        numbers.forEach((number, at) => {
          const ages = Array.from({ length: n }, (_, index) => index + 1);
          const expected = ages.map((age) => numbers[at - age] ?? Number.NaN);
          const fork = history.fork();
          history.push(Number.NaN);
          history.push(number);
          expect(ages.map((age) => fork.ago(age))).toEqual(expected);
          expect(history.ago(1)).toBe(number);
        });
      }),
    );
  });
});

describe("the true range", () => {
  it("reaches to the close before, and is none without one", () => {
    expect([8, 10, 15, Number.NaN].map((close) => rangeSince(12, 9, close))).toEqual([4, 3, 6, Number.NaN]);
  });
});
