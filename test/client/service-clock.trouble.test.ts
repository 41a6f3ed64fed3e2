import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { earliestAnswerTime } from "../../src/client/answer-time.js";
import {
  boundsOf,
  earliestTime,
  isContradicted,
  learn,
  type RoundTrip,
  safeSendTimeFor,
  sendTimeFor,
  serviceTime,
  unknownClock,
} from "../../src/client/service-clock.js";

const NOW = 1_700_000_000_000;
const TRIP = 40;
const offsets = fc.integer({ min: -5_000_000, max: 5_000_000 });

/** The `Date` of an answer that is made at an instant of the service's clock. */
const dateAt = (made: number) => Math.floor(made / 1_000) * 1_000;

/** A round trip to a service whose clock is `offset` ahead. */
function exchange(sent: number, offset: number): RoundTrip {
  return { sent, received: sent + TRIP, date: dateAt(sent + TRIP / 2 + offset) };
}

/** A clock that has heard a service for a minute. */
function learned(offset: number) {
  let clock = unknownClock;
  for (let sent = NOW - 60_000; sent < NOW; sent += 2_370) clock = learn(clock, exchange(sent, offset));
  return clock;
}

describe("a cache that hides how old its answers are", () => {
  /** A service behind a cache that keeps an answer for `keeps` ms, asked every `every` ms. */
  const behindCache = (
    { offset, keeps, every }: { offset: number; keeps: number; every: number },
    see: (clock: typeof unknownClock, trip: RoundTrip, made: number) => void,
  ) => {
    let clock = learned(offset);
    let made = Number.NEGATIVE_INFINITY;
    for (let sent = NOW; sent < NOW + 200 * every; sent += every) {
      const now = sent + TRIP / 2 + offset;
      if (now - made >= keeps) made = now;
      const trip = { sent, received: sent + TRIP, date: dateAt(made) };
      clock = learn(clock, trip);
      see(clock, trip, made);
    }
  };

  it("is no clock that jumps, and its answers are as old as their Date", () => {
    const keeps = fc.integer({ min: 5_000, max: 60_000 });
    const every = fc.integer({ min: 40, max: 7_000 });
    fc.assert(
      fc.property(offsets, keeps, every, (offset, keeps, every) => {
        // How much too late an answer is thought to be made, and how far the clock is ahead, or behind.
        let [late, ahead, behind] = [0, 0, 0];
        behindCache({ offset, keeps, every }, (clock, trip, made) => {
          const error = serviceTime(clock, trip.received) - trip.received - offset;
          late = Math.max(late, earliestAnswerTime(clock, trip) - made);
          ahead = Math.max(ahead, error);
          behind = Math.max(behind, -error);
          expect(clock.epoch).toBe(1);
        });
        // Up to a second what is old cannot be told from what is new, and up to some from another machine's.
        expect(late).toBeLessThanOrEqual(1_000 + TRIP);
        expect(ahead).toBeLessThanOrEqual(1_000);
        expect(behind).toBeLessThanOrEqual(6_000);
      }),
    );
  });
});

it("learns nothing from a copy that comes once its second is over, though that was less than a second before", () => {
  const phases = fc.integer({ min: 0, max: 999 });
  fc.assert(
    fc.property(offsets, phases, fc.constantFrom(10_000, 60_000), (offset, phase, every) => {
      let clock = learn(unknownClock, exchange(NOW + phase, offset));
      const begin = Math.ceil((NOW + phase + offset + 2_000) / every) * every;
      for (let target = begin; target < begin + 30 * every; target += every) {
        const first = exchange(sendTimeFor(clock, target), offset);
        clock = learn(clock, first);
        if (earliestAnswerTime(clock, first) < target) {
          // It is asked for again, and a cache gives the same answer.
          const sent = Math.max(first.received, safeSendTimeFor(clock, target));
          clock = learn(clock, { sent, received: sent + TRIP, date: first.date });
        }
        expect(clock.machines.length).toBe(1);
        expect(boundsOf(clock).low).toBeLessThanOrEqual(offset);
        expect(boundsOf(clock).high).toBeGreaterThanOrEqual(offset);
      }
    }),
  );
});

it("tells of two answers of one second that they are less than a second apart, as one may be a copy", () => {
  const pauses = fc.double({ min: 990, max: 1_100, noNaN: true });
  fc.assert(
    fc.property(offsets, fc.integer({ min: 0, max: 40 }), pauses, (offset, phase, pause) => {
      let clock = learned(offset);
      const sent = dateAt(NOW + 60_000 + offset) - offset - TRIP / 2 + phase;
      const first = exchange(sent, offset);
      clock = learn(clock, first);
      const at = earliestAnswerTime(clock, first);
      const copy = { sent: sent + pause, received: sent + pause + TRIP, date: first.date };
      clock = learn(clock, copy);
      expect(earliestAnswerTime(clock, copy) - at).toBeLessThan(999.5);
    }),
  );
});

it("tells one time of all copies of an answer whose age a cache tells, and none beyond that", () => {
  const ages = fc.array(fc.integer({ min: 0, max: 60_000 }), { minLength: 2, maxLength: 20 });
  fc.assert(
    fc.property(offsets, fc.integer({ min: 0, max: 999 }), ages, (offset, phase, list) => {
      let clock = learned(offset);
      const made = NOW + 1_000 + phase;
      const [first, ...later] = list.map((old) => {
        const [sent, age] = [made - TRIP / 2 + old, Math.floor(old / 1_000)];
        const copy = { sent, received: sent + TRIP, date: dateAt(made + offset), age };
        clock = learn(clock, copy);
        return earliestAnswerTime(clock, copy);
      });
      expect(first).toBeLessThanOrEqual(made + offset);
      expect(new Set(later)).toEqual(new Set([first]));
    }),
  );
});

it("goes by the age where a cache writes its own time into its copies, and takes none for made a second after the answer that it is one of", () => {
  const ages = fc.array(fc.integer({ min: 0, max: 60_000 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(
      offsets,
      fc.integer({ min: 0, max: 999 }),
      ages,
      fc.boolean(),
      (offset, phase, list, isHeard) => {
        let clock = learned(offset);
        const hear = (trip: RoundTrip) => {
          clock = learn(clock, { ...trip, question: "candles" });
          expect([clock.epoch, isContradicted(clock)]).toEqual([1, false]);
          return earliestAnswerTime(clock, { ...trip, question: "candles" });
        };
        const sent = NOW + 1_000 + phase;
        const made = sent + TRIP / 2;
        const first = isHeard ? hear(exchange(sent, offset)) : Number.POSITIVE_INFINITY;
        // Of one that was not heard a second of age tells nothing yet.
        for (const old of isHeard ? list : list.map((each) => 3_000 + each)) {
          const told = hear({
            ...exchange(sent + TRIP + old, offset),
            age: Math.floor((TRIP + old) / 1_000),
          });
          if (isHeard) expect(told).toBeLessThan(first + 999);
          else expect(told).toBeLessThanOrEqual(made + offset);
          expect(told).toBeGreaterThan(made + offset - 2_300);
        }
      },
    ),
  );
});

it("tells of an answer no time beyond the second of its Date", () => {
  fc.assert(
    fc.property(offsets, (offset) => {
      const known = learned(offset);
      const date = dateAt(NOW + 60_000 + offset);
      // One that comes just as a second begins proves that; the next one is sent at once, and a cache answers it.
      const received = date + 1_000 - offset;
      const clock = learn(known, { sent: received - TRIP, received, date: date + 1_000 });
      const copy = { sent: received, received: received + TRIP, date };
      expect(earliestAnswerTime(learn(clock, copy), copy)).toBeLessThan(date + 1_000);
    }),
  );
});

describe("a clock that is set", () => {
  // One that is set back by less gives Dates that were heard before, as a cache does.
  const steps = fc.oneof(fc.integer({ min: 3_600, max: 1e9 }), fc.integer({ min: -1e9, max: -130_000 }));

  it.each(["ours", "theirs"])(
    "is found out at the second answer whose Date advances, if it is %s",
    (whose) => {
      fc.assert(
        fc.property(offsets, steps, fc.integer({ min: 1_000, max: 60_000 }), (offset, step, pause) => {
          let clock = learned(offset);
          const ahead = offset + step;
          const start = whose === "ours" ? NOW - step : NOW;
          for (const [turn, sent] of [start + 3_137, start + 3_137 + pause].entries()) {
            const trip = exchange(sent, ahead);
            clock = learn(clock, trip);
            expect(clock.epoch).toBe(turn + 1);
            expect(earliestAnswerTime(clock, trip)).toBeLessThanOrEqual(sent + TRIP / 2 + ahead);
          }
          expect(Math.abs(serviceTime(clock, NOW) - NOW - ahead)).toBeLessThanOrEqual(1_000 + TRIP);
        }),
      );
    },
  );

  it("is no clock that drifts, where two answers that are off agree, though the second is off by no more than that", () => {
    const pauses = fc.integer({ min: 200_000, max: 900_000 });
    const steps = fc.integer({ min: 150, max: 900 });
    fc.assert(
      fc.property(offsets, steps, pauses, fc.integer({ min: 1, max: 20 }), (offset, step, pause, off) => {
        const ahead = offset - step;
        const known = learned(offset);
        // Nothing is as far off as what is made at the very end of a second.
        const end = dateAt(NOW + 60_000 + ahead) + 999;
        const doubted = learn(known, exchange(end - TRIP / 2 - ahead, ahead));
        expect(isContradicted(doubted)).toBe(true);
        const sent = Math.ceil(dateAt(NOW + pause + offset) + 1_000 - boundsOf(known).low + off);
        const trip = exchange(sent, ahead);
        const clock = learn(doubted, trip);
        expect(earliestTime(clock, trip.received) - trip.received).toBeLessThanOrEqual(ahead);
        expect([clock.epoch, isContradicted(clock)]).toEqual([1, false]);
      }),
    );
  });

  it("is never taken from a Date that lies, however often one does", () => {
    // A lie of a second or two may be another machine's truth.
    const lie = fc.oneof(fc.integer({ min: 4, max: 1e6 }), fc.integer({ min: -1e6, max: -4 }));
    const lies = fc.array(lie, { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(offsets, lies, (offset, list) => {
        let clock = learned(offset);
        for (const [turn, lie] of list.entries()) {
          const honest = exchange(NOW + turn * 4_740, offset);
          const trip = { ...honest, date: honest.date! + lie * 1_000 };
          clock = learn(clock, trip);
          expect(earliestAnswerTime(clock, trip)).toBeLessThanOrEqual(
            Math.max(honest.date!, trip.sent + TRIP / 2 + offset),
          );
          clock = learn(clock, exchange(NOW + turn * 4_740 + 2_370, offset));
          expect([clock.epoch, isContradicted(clock)]).toEqual([1, false]);
        }
      }),
    );
  });
});

describe("clocks that drift apart by 100 ppm", () => {
  it.each([1e-4, -1e-4])("prove nothing that is not so, however long nobody has looked: %d", (drift) => {
    const pauses = fc.array(fc.integer({ min: 1_000, max: 900_000 }), { minLength: 40, maxLength: 80 });
    fc.assert(
      fc.property(offsets, pauses, fc.constantFrom(0, 437), (offset, list, settled) => {
        const ahead = (now: number) => offset + drift * (now - NOW);
        let clock = learned(offset);
        let now = NOW;
        for (const pause of list) {
          const target = Math.ceil((now + pause + ahead(now)) / 1_000) * 1_000 + settled;
          const safe = safeSendTimeFor(clock, target);
          expect(safe + ahead(safe)).toBeGreaterThanOrEqual(target - 1);
          const sent = Math.max(now, sendTimeFor(clock, target));
          const trip = exchange(sent, ahead(sent));
          clock = learn(clock, trip);
          const earliest = earliestTime(clock, trip.received);
          expect(earliestAnswerTime(clock, trip)).toBeLessThanOrEqual(sent + TRIP / 2 + ahead(sent) + 1);
          expect(earliest).toBeLessThanOrEqual(trip.received + ahead(trip.received) + 1);
          expect(clock.epoch).toBe(1);
          now = trip.received;
        }
      }),
    );
  });

  it.each([1e-4, -1e-4])("are no two machines, however long nobody has looked: %d", (drift) => {
    const pauses = fc.array(fc.integer({ min: 1_000, max: 14_400_000 }), { minLength: 40, maxLength: 80 });
    fc.assert(
      fc.property(offsets, pauses, (offset, list) => {
        let [clock, now] = [learned(offset), NOW];
        for (const pause of list) {
          const trip = exchange(now + pause, offset + drift * (now + pause - NOW));
          clock = learn(clock, trip);
          expect([clock.machines.length, clock.epoch, isContradicted(clock)]).toEqual([1, 1, false]);
          now = trip.received;
        }
      }),
    );
  });

  it.each([1e-4, -1e-4])(
    "ask twice for at most one closing in 20 ms of drift, over short ways too: %d",
    (drift) => {
      const ways = fc.integer({ min: 0, max: 40 });
      fc.assert(
        fc.property(offsets, ways, fc.constantFrom(10_000, 60_000), (offset, way, every) => {
          const ahead = (now: number) => offset + drift * (now - NOW);
          let clock = learned(offset);
          let early = 0;
          const begin = Math.ceil((NOW + offset) / every) * every;
          for (let target = begin; target < begin + 200 * every; target += every) {
            let sent = sendTimeFor(clock, target);
            for (let isProven = false; !isProven; ) {
              const made = sent + way + ahead(sent + way);
              const trip = { sent, received: sent + 2 * way + 1, date: dateAt(made) };
              clock = learn(clock, trip);
              isProven = earliestAnswerTime(clock, trip) >= target;
              if (target < begin + 20 * every) break;
              if (!isProven) early += 1;
              sent = Math.max(trip.received, safeSendTimeFor(clock, target));
            }
          }
          expect(early).toBeLessThanOrEqual((Math.abs(drift) * 180 * every) / 20 + 1);
        }),
      );
    },
  );
});

it("believes no Date beyond what two machines may differ by for the drift of a day alone", () => {
  fc.assert(
    fc.property(offsets, fc.integer({ min: 3_600, max: 9_000 }), (offset, off) => {
      const clock = learned(offset);
      const sent = NOW + 86_400_000;
      const wrong = learn(clock, exchange(sent, offset + off));
      expect(isContradicted(wrong)).toBe(true);
      const right = learn(wrong, exchange(sent + 10_000, offset));
      expect([isContradicted(right), right.epoch]).toEqual([false, clock.epoch]);
    }),
  );
});

it("is as certain after the machine slept during a request as before it", () => {
  const clock = learned(7_000);
  const trip = { sent: NOW, received: NOW + 3_600_000, date: dateAt(NOW + 20 + 7_000) };
  const after = learn(clock, trip);
  expect([after.epoch, isContradicted(after)]).toEqual([1, false]);
  expect(earliestAnswerTime(after, trip)).toBeLessThanOrEqual(NOW + 20 + 7_000);
  expect(Math.abs(serviceTime(after, NOW) - NOW - 7_000)).toBeLessThanOrEqual(1_000);
});
