import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { earliestAnswerTime } from "../../src/client/answer-time.js";
import {
  boundsOf,
  isContradicted,
  learn,
  type RoundTrip,
  type ServiceClock,
  safeSendTimeFor,
  sendTimeFor,
  serviceTime,
  unknownClock,
} from "../../src/client/service-clock.js";

/** A round trip to a service whose clock is `offset` ahead, and the true instant of its answer. */
function exchange(
  sent: number,
  there: number,
  back: number,
  offset: number,
): { trip: RoundTrip; truth: number } {
  const truth = sent + there + offset;
  return { trip: { sent, received: sent + there + back, date: Math.floor(truth / 1_000) * 1_000 }, truth };
}

const NOW = 1_700_000_000_000;
const offsets = fc.integer({ min: -5_000_000, max: 5_000_000 });
const latency = fc.integer({ min: 0, max: 2_000 });

describe("the service's clock", () => {
  it("is never wrong about an honest service", () => {
    const trips = fc.array(fc.tuple(fc.integer({ min: 0, max: 100_000 }), latency, latency), {
      minLength: 1,
    });
    fc.assert(
      fc.property(offsets, trips, (offset, list) => {
        let clock = unknownClock;
        let now = NOW;
        for (const [pause, there, back] of list) {
          const { trip, truth } = exchange(now + pause, there, back, offset);
          now = trip.received;
          clock = learn(clock, trip);
          expect(earliestAnswerTime(clock, trip)).toBeLessThanOrEqual(truth);
          expect(boundsOf(clock).low).toBeLessThanOrEqual(offset);
          expect(boundsOf(clock).high).toBeGreaterThanOrEqual(offset);
          expect(clock.epoch).toBe(1);
        }
      }),
    );
  });

  it("is known to about one round trip after ten closings that were aimed at", () => {
    const legs = fc.tuple(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 300 }));
    fc.assert(
      fc.property(offsets, legs, (offset, [there, back]) => {
        // The first answer of all comes at any instant.
        let clock = learn(unknownClock, exchange(NOW + 137, there, back, offset).trip);
        let now = NOW + 10_000;
        for (let closing = 0; closing < 10; closing += 1) {
          const target = Math.ceil((serviceTime(clock, now) + 5_000) / 60_000) * 60_000 + 1_000;
          const { trip } = exchange(sendTimeFor(clock, target), there, back, offset);
          expect(trip.sent).toBeGreaterThan(now);
          clock = learn(clock, trip);
          now = trip.received;
        }
        const { low, high } = boundsOf(clock);
        expect(high - low).toBeLessThanOrEqual(there + back + 20);
      }),
    );
  });

  it("aims safely: the answer is proven to be late enough, and no later than it must", () => {
    const learned = fc.array(fc.tuple(fc.integer({ min: 0, max: 100_000 }), latency, latency), {
      minLength: 1,
    });
    const legs = fc.tuple(fc.integer({ min: 0, max: 500 }), fc.integer({ min: 0, max: 500 }));
    const ahead = fc.integer({ min: 10_000, max: 40 * 86_400_000 });
    fc.assert(
      fc.property(offsets, learned, legs, ahead, (offset, list, [there, back], distance) => {
        let clock: ServiceClock = unknownClock;
        let now = NOW;
        for (const [pause, up, down] of list) {
          const { trip } = exchange(now + pause, up, down, offset);
          now = trip.received;
          clock = learn(clock, trip);
        }
        const target = Math.ceil((now + offset + distance) / 1_000) * 1_000;
        const { trip } = exchange(safeSendTimeFor(clock, target), there, back, offset);
        const width = boundsOf(clock).high - boundsOf(clock).low;
        // As far as clocks may have drifted apart by then.
        const drift = (trip.sent - NOW) * 1.001e-4;
        expect(trip.sent + offset).toBeLessThanOrEqual(target + width + drift + 1);
        expect(earliestAnswerTime(learn(clock, trip), trip)).toBeGreaterThanOrEqual(target);
      }),
    );
  });

  it("follows clocks that drift apart", () => {
    fc.assert(
      fc.property(
        offsets,
        fc.constantFrom(-5e-5, 5e-5),
        fc.integer({ min: 1, max: 100 }),
        (offset, drift, leg) => {
          let clock = unknownClock;
          for (let poll = 0; poll < 1_440; poll += 1) {
            const sent = NOW + poll * 60_000 + ((poll * 7_919) % 1_000);
            const present = Math.round(offset + drift * (sent - NOW));
            clock = learn(clock, exchange(sent, leg, leg, present).trip);
            expect(Math.abs(serviceTime(clock, sent) - sent - present)).toBeLessThanOrEqual(1_000 + 2 * leg);
            // Once the seconds' edges were seen, the estimate stays close to what slides away under it.
            if (poll > 100) {
              expect(Math.abs(serviceTime(clock, sent) - sent - present)).toBeLessThanOrEqual(150 + 2 * leg);
            }
          }
          expect(clock.epoch).toBe(1);
        },
      ),
      { numRuns: 20 },
    );
  });

  it("is not moved by one wrong Date, and promises less about that answer", () => {
    const wrong = fc.oneof(fc.integer({ min: 3, max: 1_000_000 }), fc.integer({ min: -1_000_000, max: -3 }));
    fc.assert(
      fc.property(offsets, wrong, fc.integer({ min: 0, max: 200 }), (offset, seconds, leg) => {
        let clock = unknownClock;
        for (let poll = 0; poll < 5; poll += 1) {
          clock = learn(clock, exchange(NOW + poll * 10_370, leg, leg, offset).trip);
        }
        const { trip: honest, truth } = exchange(NOW + 60_000, leg, leg, offset);
        const trip = { ...honest, date: honest.date! + seconds * 1_000 };
        const after = learn(clock, trip);
        expect(after.epoch).toBe(1);
        expect(serviceTime(after, trip.received)).toBeCloseTo(serviceTime(clock, trip.received), 3);
        expect(earliestAnswerTime(after, trip)).toBeLessThanOrEqual(Math.min(truth, trip.date));
        // The next honest answer ends the doubt.
        const next = exchange(NOW + 70_000, leg, leg, offset);
        const settled = learn(after, next.trip);
        expect(isContradicted(settled)).toBe(false);
        expect(settled.epoch).toBe(1);
        expect(earliestAnswerTime(settled, next.trip)).toBeGreaterThanOrEqual(next.trip.date!);
      }),
    );
  });

  it("believes a lasting jump at the second answer", () => {
    const jumps = fc.oneof(fc.integer({ min: 8_000, max: 1e9 }), fc.integer({ min: -1e9, max: -8_000 }));
    fc.assert(
      fc.property(offsets, jumps, fc.integer({ min: 0, max: 200 }), (offset, jump, leg) => {
        let clock = unknownClock;
        for (let poll = 0; poll < 5; poll += 1) {
          clock = learn(clock, exchange(NOW + poll * 10_370, leg, leg, offset).trip);
        }
        const first = exchange(NOW + 60_000, leg, leg, offset + jump);
        clock = learn(clock, first.trip);
        expect(clock.epoch).toBe(1);
        const second = exchange(NOW + 70_123, leg, leg, offset + jump);
        clock = learn(clock, second.trip);
        expect(clock.epoch).toBe(2);
        expect(boundsOf(clock).low).toBeLessThanOrEqual(offset + jump);
        expect(boundsOf(clock).high).toBeGreaterThanOrEqual(offset + jump);
        expect(earliestAnswerTime(clock, second.trip)).toBeLessThanOrEqual(second.truth);
      }),
    );
  });

  it("is not moved by answers that a cache gave, which prove no more than was true when they were made", () => {
    const trips = fc.array(fc.tuple(fc.integer({ min: 0, max: 9_000 }), latency, fc.nat({ max: 90_000 })), {
      minLength: 1,
      maxLength: 60,
    });
    fc.assert(
      fc.property(offsets, trips, fc.integer({ min: -1, max: 1 }), (offset, list, off) => {
        let clock = unknownClock;
        let now = NOW;
        for (const [pause, leg, old] of list) {
          const { trip, truth } = exchange(now + pause, leg, 20, offset);
          const made = truth - old;
          const date = Math.floor(made / 1_000) * 1_000;
          // A cache counts in whole seconds.
          const age = Math.max(0, Math.floor(old / 1_000) + (old > 1_000 ? Math.max(off, 0) : 0));
          const aged = old < 45_000 ? { ...trip, date, age } : trip;
          now = trip.received;
          clock = learn(clock, aged);
          expect([clock.epoch, isContradicted(clock)]).toEqual([1, false]);
          expect(boundsOf(clock).low).toBeLessThanOrEqual(offset);
          expect(boundsOf(clock).high).toBeGreaterThanOrEqual(offset);
          expect(earliestAnswerTime(clock, aged)).toBeLessThanOrEqual(aged === trip ? truth : made);
        }
      }),
    );
  });

  it("of answers that are all old is taken for the scheduler's where that fits", () => {
    const trip = { ...exchange(NOW, 20, 20, 300).trip, age: 3_600 };
    const clock = learn(unknownClock, { ...trip, date: trip.date! - 3_600_000 });
    expect(serviceTime(clock, NOW)).toBe(NOW);
  });

  it("is held against a Date again where its bounds have proven for long", () => {
    let clock = unknownClock;
    for (let at = NOW; at < NOW + 40_000; at += 370) clock = learn(clock, exchange(at, 20, 20, 7_000).trip);
    const sentFor = (target: number) => sendTimeFor(clock, target) + 7_000 - target;
    const soon = NOW + 100_400;
    expect(sentFor(soon)).toBeLessThanOrEqual(60);
    const later = NOW + 1_800_400;
    // It arrives as a second begins.
    expect(Math.abs(((later + sentFor(later) + 20 + 500) % 1_000) - 500)).toBeLessThanOrEqual(30);
    clock = learn(clock, exchange(sendTimeFor(clock, later), 20, 20, 7_000).trip);
    expect(sentFor(later + 60_000)).toBeLessThanOrEqual(60);
  });

  it("is the scheduler's where no answer has a Date", () => {
    const trip: RoundTrip = { sent: NOW, received: NOW + 80, date: undefined };
    const clock = learn(unknownClock, trip);
    expect(clock.answers).toBe(0);
    expect(earliestAnswerTime(clock, trip)).toBe(NOW);
    expect(serviceTime(clock, NOW + 5)).toBe(NOW + 5);
    expect(sendTimeFor(clock, NOW + 1_000)).toBe(NOW + 1_000);
    expect(safeSendTimeFor(clock, NOW + 1_000)).toBe(NOW + 1_000);
  });

  it("goes by what it knows where one answer lacks its Date", () => {
    let clock = learn(unknownClock, exchange(NOW, 20, 20, 7_000).trip);
    const before = boundsOf(clock);
    const trip: RoundTrip = { sent: NOW + 500, received: NOW + 560, date: undefined };
    clock = learn(clock, trip);
    expect(boundsOf(clock)).toEqual(before);
    expect(earliestAnswerTime(clock, trip)).toBeLessThanOrEqual(NOW + 7_520);
    // The next one may lack it, too: it is sent so late that it proves its time without.
    for (let at = NOW + 1_000; at < NOW + 40_000; at += 370) {
      clock = learn(clock, exchange(at, 20, 20, 7_000).trip);
    }
    const [target, early] = [NOW + 60_000, sendTimeFor(clock, NOW + 60_000)];
    expect(early).toBeLessThan(safeSendTimeFor(clock, target));
    clock = learn(clock, { sent: NOW + 50_000, received: NOW + 50_040, date: undefined });
    expect(sendTimeFor(clock, target)).toBe(safeSendTimeFor(clock, target));
  });
});

it("learns no round trip from one in which the scheduler's clock was set", () => {
  const at = NOW;
  let clock = learn(unknownClock, { sent: at, received: at + 40, date: NOW });
  for (const received of [at - 160_000, at + 3_600_000]) {
    clock = learn(clock, { sent: at, received, date: undefined });
    expect(clock.roundTrip).toBe(40);
  }
});

it.each([0, 40])("follows one slow trip by a little, where the others take %d ms", (quick) => {
  let clock = unknownClock;
  for (const [turn, took] of [quick, quick, quick + 1_600].entries()) {
    const sent = NOW + turn * 5_000;
    clock = learn(clock, { sent, received: sent + took, date: undefined });
  }
  expect(clock.roundTrip).toBe(quick + 100);
});

it("begins with a request during which ours was set back", () => {
  const clock = learn(unknownClock, { sent: NOW, received: NOW - 500, date: NOW + 7_000 });
  expect(boundsOf(clock)).toEqual({ low: 7_500, high: 8_500 });
  const target = NOW + 60_100;
  expect(sendTimeFor(clock, target)).toBe(NOW + 53_000);
  const { low, high } = boundsOf(learn(clock, { sent: NOW, received: NOW - 40, date: NOW + 7_000 }));
  expect([low, high]).toEqual([7_500, 8_040]);
});

it("is known again to about one round trip after a clock was set, also one of ours during a request", () => {
  const legs = fc.tuple(fc.integer({ min: 10, max: 100 }), fc.integer({ min: 10, max: 100 }));
  const step = fc.oneof(fc.integer({ min: 20, max: 240 }), fc.integer({ min: 6_000, max: 900_000 }));
  const settle = fc.constantFrom(0, 100, 437, 1_000);
  fc.assert(
    fc.property(
      offsets,
      legs,
      fc.tuple(step, fc.boolean(), fc.constantFrom("ours", "theirs")),
      settle,
      fc.integer({ min: 1, max: 3 }),
      (offset, [there, back], [by, isForward, whose], settled, slower) => {
        let clock = learn(unknownClock, exchange(NOW + 137, there, back, offset).trip);
        let [now, ahead, width] = [NOW + 300, offset, 0];
        const step = isForward ? by : -by;
        let polls = 160;
        for (let poll = 0; poll < polls; poll += 1) {
          const target = Math.ceil((now + ahead - settled + 300) / 1_000) * 1_000 + settled;
          const sent = Math.max(now, sendTimeFor(clock, target));
          // The way is longer by then, too.
          const [up, down] = poll < 20 ? [there, back] : [slower * there, slower * back];
          const { trip } = exchange(sent, up, down, ahead);
          const isSet = poll === 20;
          const received = isSet && whose === "ours" ? trip.received + step : trip.received;
          if (isSet) ahead += whose === "ours" ? -step : step;
          clock = learn(clock, { ...trip, received });
          // Whoever asks all the time hears for long what it has heard before.
          now = isSet ? received + 1 : Math.max(received + 1, sent + 700);
          width = boundsOf(clock).high - boundsOf(clock).low - (up + down);
          // Once an answer contradicts the clock as it was, that counts beside it for 64 more.
          if (clock.machines.length > 1) polls = Math.min(400, Math.max(polls, poll + 40));
        }
        expect(width).toBeLessThanOrEqual(22);
      },
    ),
    { examples: [[0, [10, 12], [49, false, "theirs"], 0, 2]] },
  );
});

it.each([40, 0])(
  "goes by the shortest way, %i ms, not by how long many take that hold each other up",
  (way) => {
    let clock = unknownClock;
    for (const took of [600, way, -50, 600, 56]) {
      clock = learn(clock, { sent: NOW, received: NOW + took, date: undefined });
    }
    expect(clock.shortest).toBe(way);
  },
);

it("asks once for a whole second, however much the ways differ", () => {
  const ways = fc.array(fc.tuple(latency, latency), { minLength: 130, maxLength: 130 });
  fc.assert(
    fc.property(offsets, ways, fc.integer({ min: 0, max: 60 }), (offset, list, base) => {
      let clock = learn(unknownClock, exchange(NOW + 137, base, base, offset).trip);
      let [now, early] = [NOW + 10_000, 0];
      for (const [turn, [there, back]] of list.entries()) {
        const target = Math.ceil((now + offset + 5_000) / 1_000) * 1_000;
        const { trip } = exchange(
          sendTimeFor(clock, target),
          base + (there % 60),
          base + (back % 60),
          offset,
        );
        clock = learn(clock, trip);
        now = trip.received;
        if (turn >= 30 && earliestAnswerTime(clock, trip) < target) early += 1;
      }
      expect(early).toBeLessThanOrEqual(2);
    }),
  );
});
