import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { HeardClock } from "../../../src/adapters/wire/heard-clock.js";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A message: when it was true by the service's clock, and when it came by one's own. */
interface Heard {
  readonly instant: number;
  readonly now: number;
}

/** How far the clock says the service's clock is ahead, after each of some messages. */
function estimates(messages: readonly Heard[]): number[] {
  const clock = new HeardClock();
  return messages.map(({ instant, now }) => {
    clock.hear(instant, now);
    return Math.round(clock.at(now) - now);
  });
}

/** A message every `every` ms over `length` ms; the service's clock is so far ahead, and the message so long on its way. */
function spell(
  from: number,
  length: number,
  every: number,
  ahead: number | ((at: number) => number),
  held: (at: number) => number = () => 0,
): Heard[] {
  const count = Math.floor(length / every);
  return Array.from({ length: count }, (_, index) => {
    const now = from + index * every;
    const offset = typeof ahead === "number" ? ahead : ahead(now);
    return { instant: now + offset - held(now), now };
  });
}

const last = (messages: readonly Heard[]) => estimates(messages).at(-1);

describe("the service's clock, as messages tell it", () => {
  it("is unknown before the first message", () => {
    expect(new HeardClock().at(5)).toBe(Number.NEGATIVE_INFINITY);
  });

  it("runs on with one's own from the message that puts it furthest ahead", () => {
    const clock = new HeardClock();
    clock.hear(1_000, 0);
    clock.hear(1_500, 700);
    expect([clock.at(700), clock.at(5_000)]).toEqual([1_700, 6_000]);
    clock.hear(7_000, 5_000);
    expect(clock.at(5_000)).toBe(7_000);
  });

  it.each([
    ["every second", SECOND],
    ["every minute", MINUTE],
    ["every hour", HOUR],
    ["every day", DAY],
  ])("is right again after one's own clock was set forward, where messages come %s", (_, every) => {
    const before = spell(0, 20 * every, every, 10 * MINUTE);
    const start = 30 * every + 10 * MINUTE;
    const length = Math.max(5 * MINUTE + 2 * every, 2 * every);
    expect(last([...before, ...spell(start, length, every, 0)])).toBe(0);
  });

  it("is right with the first message after one's own clock was set back", () => {
    expect(last([...spell(0, HOUR, MINUTE, 0), { instant: HOUR, now: HOUR - 10 * MINUTE }])).toBe(
      10 * MINUTE,
    );
  });

  it("is right again after one's own clock was set forward twice", () => {
    const messages = [
      ...spell(0, HOUR, SECOND, 10 * MINUTE),
      ...spell(HOUR, 2 * MINUTE, SECOND, 7 * MINUTE),
      ...spell(HOUR + 2 * MINUTE, 10 * MINUTE, SECOND, 6 * MINUTE),
    ];
    expect(last(messages)).toBe(6 * MINUTE);
  });

  it.each([
    ["fast", -50, SECOND],
    ["fast", -50, MINUTE],
    ["fast", -50, DAY],
    ["slow", 50, SECOND],
    ["slow", 50, DAY],
  ])("follows one's own clock that runs %s, by %i ppm, by messages every %i ms", (_, ppm, every) => {
    const ahead = (now: number) => (now * ppm) / 1e6;
    const length = Math.min(20_000 * every, 400 * DAY);
    const messages = spell(0, length, every, ahead);
    const worst = estimates(messages).map((estimate, at) => Math.abs(estimate - ahead(messages[at]!.now)));
    // It learns of a drift from the next messages: one that comes once a day tells of a whole day's.
    expect(Math.max(...worst)).toBeLessThan(100 + (3 * every * 50) / 1e6);
  });

  it("does not follow what is held up: an outage, and then all of it at once", () => {
    const outage = 2 * HOUR;
    const missed = spell(HOUR, outage, SECOND, 0).map(({ instant }) => ({ instant, now: HOUR + outage }));
    const told = estimates([...spell(0, HOUR, SECOND, 0), ...missed]);
    expect(new Set(told)).toEqual(new Set([0]));
  });

  it("does not follow a reader that catches up slowly, or falls behind", () => {
    const fresh = spell(0, HOUR, SECOND, 0);
    const catching = spell(HOUR, HOUR, SECOND, 0, (now) => 2 * HOUR - now);
    const falling = spell(HOUR, 10 * HOUR, SECOND, 0, (now) => (now - HOUR) / 2);
    expect(new Set(estimates([...fresh, ...catching]))).toEqual(new Set([0]));
    expect(new Set(estimates([...fresh, ...falling]))).toEqual(new Set([0]));
  });

  it("does not follow a reader that sleeps most of the time, and wakes to what came long ago", () => {
    const messages = spell(0, HOUR, MINUTE, 0);
    for (let nap = 1; nap < 50; nap += 1) {
      const woken = (nap + 1) * HOUR;
      for (let minute = 59; minute >= 3; minute -= 1) {
        messages.push({ instant: woken - minute * MINUTE - nap * 7 * SECOND, now: woken });
      }
    }
    expect(Math.min(...estimates(messages))).toBe(0);
  });

  /** Where a message has come and when, how much later it comes than another one, and by how much it is held up. */
  const trace = fc.array(
    fc.record({
      gap: fc.oneof(fc.nat(2 * SECOND), fc.nat(5 * MINUTE), fc.nat(3 * DAY)),
      step: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, fc.integer({ min: -HOUR, max: HOUR })),
      held: fc.oneof(fc.nat(SECOND), fc.nat(20 * SECOND), fc.nat(2 * HOUR)),
    }),
    { maxLength: 120 },
  );
  const heardOf = (steps: readonly { gap: number; step: number; held: number }[]): Heard[] => {
    let [now, ahead] = [0, 0];
    return steps.map(({ gap, step, held }) => {
      now += gap + step;
      ahead -= step;
      return { now, instant: now + ahead - held };
    });
  };

  it("falls only where messages five minutes apart agree, and all between them came no faster", () => {
    const distance = ({ instant, now }: Heard) => instant - now;
    const tolerance = (first: Heard, then: Heard) => 2_500 + Math.max(0, then.now - first.now) / 1e4;
    const agreed = (messages: readonly Heard[], estimate: number) => {
      const newest = messages.at(-1)!;
      return messages.some((first, at) => {
        const since = messages.slice(at);
        return (
          newest.now - first.now >= 5 * MINUTE &&
          distance(newest) >= distance(first) - tolerance(first, newest) &&
          since.every((one) => distance(one) <= distance(first) + tolerance(first, one)) &&
          Math.max(...since.map(distance)) === estimate
        );
      });
    };
    fc.assert(
      fc.property(trace, (steps) => {
        const messages = heardOf(steps);
        const told = estimates(messages);
        for (const [at, estimate] of told.entries()) {
          expect(estimate).toBeGreaterThanOrEqual(distance(messages[at]!));
          if (estimate >= (told[at - 1] ?? estimate)) continue;
          expect(agreed(messages.slice(0, at + 1), estimate)).toBe(true);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it("never takes what is held up for fresh while something fresh comes every four minutes", () => {
    const arrival = fc.record({
      gap: fc.integer({ min: 1, max: 4 * MINUTE }),
      fresh: fc.nat(500),
      // They come with the fresh one, or up to the next one: as late as they like.
      others: fc.array(fc.record({ held: fc.nat(3 * HOUR), after: fc.nat(100) }), { maxLength: 12 }),
    });
    fc.assert(
      fc.property(
        fc.array(arrival, { maxLength: 60 }),
        fc.integer({ min: -50, max: 50 }),
        (arrivals, ppm) => {
          const clock = new HeardClock();
          let now = 0;
          for (const { gap, fresh, others } of arrivals) {
            now += gap;
            const truth = (at: number) => at + (at * ppm) / 1e6;
            clock.hear(truth(now) - fresh, now);
            for (const { held, after } of others.sort((a, b) => a.after - b.after)) {
              const at = now + (gap * after) / 101;
              clock.hear(truth(at) - Math.max(held, 500), at);
              expect(clock.at(at) - truth(at)).toBeGreaterThan(-600);
              expect(clock.at(at) - truth(at)).toBeLessThan(1 * SECOND);
            }
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it("forgets whatever came before once fresh messages have come for five minutes", () => {
    const arrival = fc.record({
      gap: fc.integer({ min: 1, max: MINUTE }),
      fresh: fc.nat(1_000),
      held: fc.array(fc.nat(HOUR), { maxLength: 5 }),
    });
    fc.assert(
      fc.property(trace, fc.array(arrival, { minLength: 10, maxLength: 40 }), (steps, arrivals) => {
        const clock = new HeardClock();
        const before = heardOf(steps);
        for (const { instant, now } of before) clock.hear(instant, now);
        const begun = before.at(-1)?.now ?? 0;
        let now = begun;
        let first: number | undefined;
        for (const { gap, fresh, held } of arrivals) {
          now += gap;
          first ??= now;
          clock.hear(now - 1_000 * HOUR - fresh, now);
          // No message before has told such a distance.
          const isOver = now - first >= 5 * MINUTE;
          for (const late of held) clock.hear(now - 1_000 * HOUR - 1_000 - late, now);
          if (isOver) {
            const ahead = clock.at(now) - now + 1_000 * HOUR;
            expect(ahead).toBeLessThanOrEqual(2_600);
            expect(ahead).toBeGreaterThanOrEqual(-1_000);
          }
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it("keeps of lateness that grows and grows the last eight messages", () => {
    const growing = Array.from({ length: 20 }, (_, index) => {
      return { instant: index * MINUTE - index * 10 * SECOND, now: index * MINUTE };
    });
    const then = (late: number) => estimates([...growing, { instant: HOUR - late, now: HOUR }]).at(-1);
    // With two messages that agree it would be believed, if the first of them were still known.
    expect([30, 110, 120, 150, 190].map((late) => then(late * SECOND))).toEqual([
      0, 0, -120_000, -150_000, -190_000,
    ]);
  });
});
