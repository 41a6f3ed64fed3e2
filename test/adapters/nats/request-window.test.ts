import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  emptyWindow,
  opensAt,
  type RequestWindow,
  setBack,
  wentOut,
} from "../../../src/adapters/nats/request-window.js";

const PER = 1_000;
const SLOTS = 4;
const REQUESTS = 10;
const share = (parts: number) => Math.floor((REQUESTS * parts) / SLOTS);

/** A window with so many parts that count already. */
const whole: RequestWindow = { ...emptyWindow, parts: [0, 0, 0, 0] };

function most(starts: readonly number[]): number {
  const sorted = [...starts].sort((a, b) => a - b);
  return Math.max(
    0,
    ...sorted.map((start) => sorted.filter((one) => one >= start && one < start + PER).length),
  );
}

describe("a window of requests", () => {
  it("opens at once while there is room, then when the oldest request has left", () => {
    let window = whole;
    for (let count = 0; count < REQUESTS; count++) {
      expect(opensAt(window, share, PER, 5_000 + count)).toBe(5_000 + count);
      window = wentOut(window, PER, 5_000 + count, false);
    }
    expect(opensAt(window, share, PER, 5_010)).toBe(6_000);
    expect(opensAt(window, share, PER, 6_000)).toBe(6_000);
  });

  it("counts turns that were given as requests that may go out any moment", () => {
    expect(opensAt({ ...whole, turns: REQUESTS }, share, PER, 0)).toBe(Number.POSITIVE_INFINITY);
    const used = wentOut({ ...whole, turns: REQUESTS }, PER, 100, true);
    expect(used.turns).toBe(REQUESTS - 1);
    expect(opensAt(used, share, PER, 100)).toBe(1_100);
  });

  it("stays shut without parts, and opens when one begins to count", () => {
    expect(opensAt(emptyWindow, share, PER, 0)).toBe(Number.POSITIVE_INFINITY);
    expect(opensAt({ ...emptyWindow, parts: [700] }, share, PER, 0)).toBe(700);
  });

  it("is no wider after the clock was set back", () => {
    const window = wentOut({ ...whole, parts: [0, 0, 0, 9_500] }, PER, 9_900, false);
    const back = setBack(window, 5_000);
    expect(back.starts).toEqual([4_900]);
    expect(back.parts).toEqual([-5_000, -5_000, -5_000, 4_500]);
  });

  it("keeps the sum over all holders within the limit, while parts change hands", () => {
    const step = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 700 }) }),
      },
      {
        weight: 6,
        arbitrary: fc.record({
          do: fc.constant("ask" as const),
          who: fc.nat({ max: 2 }),
          times: fc.nat({ max: 12 }),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          do: fc.constant("move" as const),
          slot: fc.nat({ max: SLOTS - 1 }),
          who: fc.nat({ max: 2 }),
        }),
      },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
        const windows = [emptyWindow, emptyWindow, emptyWindow];
        const holder: (number | undefined)[] = Array(SLOTS).fill(undefined);
        const countsFrom: number[] = Array(SLOTS).fill(0);
        const all: number[] = [];
        let now = 0;
        for (const one of steps) {
          if (one.do === "pass") now += one.ms;
          else if (one.do === "move") {
            if (holder[one.slot] === one.who) continue;
            holder[one.slot] = one.who;
            countsFrom[one.slot] = now + PER;
            for (const who of windows.keys()) {
              const parts = countsFrom.filter((_, slot) => holder[slot] === who).sort((a, b) => a - b);
              windows[who] = { ...windows[who]!, parts };
            }
          } else {
            for (let count = 0; count < one.times; count++) {
              if (opensAt(windows[one.who]!, share, PER, now) > now) break;
              windows[one.who] = wentOut(windows[one.who]!, PER, now, false);
              all.push(now);
            }
          }
        }
        expect(most(all)).toBeLessThanOrEqual(REQUESTS);
      }),
      { numRuns: 500 },
    );
  });

  it("opens no later than it has to", () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: 1_500 }), { maxLength: 14 }),
        fc.array(fc.nat({ max: 3_000 }), { maxLength: SLOTS }),
        fc.nat({ max: 4 }),
        (times, parts, turns) => {
          const starts = times.sort((a, b) => a - b);
          const window = { starts, turns, parts: parts.sort((a, b) => a - b) };
          const now = 1_500;
          const isOpen = (at: number) => {
            const inWindow = starts.filter((start) => start + PER > at).length;
            return inWindow + turns < share(parts.filter((from) => from <= at).length);
          };
          let first = Number.POSITIVE_INFINITY;
          for (let at = now; at <= 4_600 && first === Number.POSITIVE_INFINITY; at++)
            if (isOpen(at)) first = at;
          expect(opensAt(window, share, PER, now)).toBe(first);
        },
      ),
    );
  });
});
