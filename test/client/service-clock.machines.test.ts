import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { earliestAnswerTime } from "../../src/client/answer-time.js";
import {
  boundsOf,
  isContradicted,
  learn,
  type RoundTrip,
  safeSendTimeFor,
  sendTimeFor,
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

/** Whole numbers below a bound, the same ones for the same seed. */
function drawsOf(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

describe("the service's clock", () => {
  describe.each([
    ["as chance has it", (random: number) => random < 0.5],
    ["in turn", (_: number, turn: number) => turn % 2 === 0],
    ["two by two", (_: number, turn: number) => turn % 4 < 2],
    ["nine to one", (random: number) => random < 0.9],
  ] as const)("of two machines that answer %s", (_, isFirst) => {
    const skews = fc.integer({ min: 1_300, max: 2_400 });
    const randoms = fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), latency), {
      minLength: 250,
      maxLength: 250,
    });

    it("is that of the one that is behind, and never jumps", () => {
      fc.assert(
        fc.property(offsets, skews, randoms, (offset, skew, list) => {
          let clock = unknownClock;
          let now = NOW;
          let doubts = 0;
          for (const [turn, [random, there]] of list.entries()) {
            const sent = now + Math.round(random * 7_919);
            const trip = exchange(
              sent,
              there % 40,
              20,
              offset + (isFirst((random * 7) % 1, turn) ? 0 : skew),
            ).trip;
            now = trip.received;
            clock = learn(clock, trip);
            expect(clock.epoch).toBe(1);
            if (isContradicted(clock)) doubts += 1;
            if (turn < 100) continue;
            expect(earliestAnswerTime(clock, trip)).toBeLessThanOrEqual(sent + (there % 40) + offset);
            expect(boundsOf(clock).high).toBeGreaterThanOrEqual(offset);
          }
          expect(doubts).toBeLessThanOrEqual(12);
        }),
        { numRuns: 40 },
      );
    });

    it("waits for no more than half of the time to an instant that is not whole seconds away", () => {
      const steps = fc.constantFrom(315, 500, 795, 1_022, 2_296);
      fc.assert(
        fc.property(offsets, skews, steps, randoms, (offset, skew, step, list) => {
          let clock = learn(unknownClock, exchange(NOW + 137, 20, 20, offset).trip);
          let target = NOW + offset + 1_000;
          for (const [turn, [random]] of list.entries()) {
            target += step;
            const sent = sendTimeFor(clock, target, target + step);
            expect(sent - safeSendTimeFor(clock, target)).toBeLessThan(step / 2);
            const from = isFirst((random * 7) % 1, turn) ? 0 : skew;
            clock = learn(clock, exchange(sent, 20, 20, offset + from).trip);
          }
        }),
        { numRuns: 40 },
      );
    });

    it("needs one request for each instant that is to be proven", () => {
      fc.assert(
        fc.property(
          offsets,
          skews,
          fc.constantFrom(0, 250, 400, 999),
          randoms,
          (offset, skew, settle, list) => {
            let clock = learn(unknownClock, exchange(NOW + 137, 20, 20, offset).trip);
            let [now, asked, latest] = [NOW + 300, 0, 0];
            for (const [turn, [random]] of list.entries()) {
              const target = Math.ceil((now + offset + 500) / 1_000) * 1_000 + settle;
              const from = isFirst((random * 7) % 1, turn) ? 0 : skew;
              const { trip, truth } = exchange(
                Math.max(now, sendTimeFor(clock, target)),
                20,
                20,
                offset + from,
              );
              clock = learn(clock, { ...trip, question: String(target) });
              const isProven = earliestAnswerTime(clock, trip) >= target;
              now = isProven ? trip.received : Math.max(trip.received, safeSendTimeFor(clock, target));
              if (turn < 60) continue;
              asked += isProven ? 1 : 2;
              latest = Math.max(latest, truth - from - target);
            }
            expect(asked).toBeLessThanOrEqual((list.length - 60) * 1.05);
            expect(latest).toBeLessThanOrEqual(2_100);
          },
        ),
        { numRuns: 40 },
      );
    });
  });

  const pauses = fc.integer({ min: 0, max: 5_000 });
  const answers = fc.array(fc.tuple(pauses, fc.nat({ max: 30 }), fc.nat({ max: 30 })), { maxLength: 60 });

  it("of a machine is not pulled further along by another one ahead of it than clocks drift", () => {
    const skews = fc.integer({ min: 20, max: 900 });
    fc.assert(
      fc.property(offsets, skews, answers, (offset, skew, list) => {
        // Just before a second ends and just after one has begun its bounds are the narrowest.
        const known = [-10, 10].map((phase) => exchange(NOW + phase - offset, 5, 5, offset).trip);
        let clock = known.reduce(learn, unknownClock);
        const { received, high } = { ...known[1]!, ...boundsOf(clock) };
        let now = received;
        for (const [pause, there, back] of list) {
          const { trip } = exchange(now + pause, there, back, offset + skew);
          now = trip.received;
          clock = learn(clock, trip);
          expect(boundsOf(clock).low).toBeLessThanOrEqual(high + 1e-4 * (now - received) + 0.01);
        }
      }),
    );
  });

  it("of two machines half a second apart holds that of both, once they are told apart", () => {
    const skews = fc.integer({ min: 500, max: 900 });
    fc.assert(
      fc.property(offsets, skews, fc.integer({ min: 1, max: 1e9 }), (offset, skew, seed) => {
        let [clock, now] = [unknownClock, NOW];
        const draw = drawsOf(seed);
        for (let turn = 0; turn < 250; turn += 1) {
          const ahead = draw(2) * skew;
          const { trip } = exchange(now + draw(60_000), draw(30), draw(30), offset + ahead);
          now = trip.received;
          clock = learn(clock, trip);
          if (turn < 150) continue;
          expect(clock.machines).toHaveLength(2);
          expect(boundsOf(clock).low).toBeLessThanOrEqual(offset);
          // A bound is proven as of an instant, and clocks may drift from then on.
          const { high, highAt } = clock.machines[1]!;
          expect(high + 1e-4 * (now - highAt)).toBeGreaterThanOrEqual(offset + skew);
        }
      }),
    );
  });

  it("of two machines about a second apart is told by what the last answers leave, however each was taken at first", () => {
    const skews = fc.integer({ min: 770, max: 1_150 });
    fc.assert(
      fc.property(offsets, skews, fc.integer({ min: 1, max: 1e9 }), (offset, skew, seed) => {
        let [clock, now] = [unknownClock, NOW];
        const draw = drawsOf(seed);
        for (let turn = 0; turn < 120; turn += 1) {
          const isAhead = draw(100) < 35;
          const { trip } = exchange(
            now + draw(20_000),
            5 + draw(20),
            5 + draw(20),
            offset + (isAhead ? skew : 0),
          );
          now = trip.received;
          clock = learn(clock, trip);
          if (turn < 40) continue;
          expect(earliestAnswerTime(clock, trip) - trip.received).toBeLessThanOrEqual(offset + 100);
          expect(clock.machines).toHaveLength(2);
        }
      }),
    );
  });

  it.each([600, 700, 766, 800])(
    "of two machines that are %i ms apart is not that of the one ahead",
    (skew) => {
      for (let offset = 0; offset < 3_000; offset += 100) {
        let clock = learn(unknownClock, exchange(NOW + 7 * offset, 20, 20, offset).trip);
        let now = NOW + 30_000;
        let [answers, early, again] = [0, 0, 0];
        for (let slot = 0; slot < 600; slot += 1) {
          const settle = slot % 2 === 0 ? 0 : 1_000;
          const target = Math.ceil((now + offset + 500) / 30_000) * 30_000 + settle;
          for (let isProven = false; !isProven; answers += 1) {
            const ahead = answers % 2 === 0 ? 0 : skew;
            const [there, back] = [5 + ((answers * 5) % 7), 5 + ((answers * 3) % 8)];
            const sent = Math.max(now, sendTimeFor(clock, target));
            const { trip, truth } = exchange(sent, there, back, offset + ahead);
            clock = learn(clock, trip);
            isProven = earliestAnswerTime(clock, trip) >= target;
            now = isProven ? trip.received : Math.max(trip.received, safeSendTimeFor(clock, target));
            if (slot < 60) continue;
            if (!isProven) again += 1;
            else if (truth - ahead < target) early += 1;
          }
        }
        expect(early).toBe(0);
        expect(again).toBeLessThanOrEqual(1);
      }
    },
  );

  it.each([400, 450, 600, 800, 950])(
    "of two machines that are %i ms apart makes seven polls of eight no more than a second late",
    (skew) => {
      const turns = [
        (at: number) => at % 2,
        (at: number) => (at >> 1) % 2,
        (at: number) => ((at * 7_919) % 13) % 2,
      ];
      for (const turn of turns) {
        for (const length of [10_000, 30_000, 60_000]) {
          for (let offset = 0; offset < 2_000; offset += 190) {
            const lates: number[] = [];
            let clock = learn(unknownClock, exchange(NOW + 7 * offset, 20, 20, offset).trip);
            let now = NOW + 30_000;
            for (let answers = 0; answers < 300; answers += 1) {
              const target = Math.ceil((now + offset + 500) / length) * length;
              const sent = sendTimeFor(clock, target, target + length);
              const ahead = turn(answers) * skew;
              const way = 5 + ((answers * 5) % 7);
              const { trip, truth } = exchange(Math.max(now, sent), way, 10, offset + ahead);
              clock = learn(clock, trip);
              now = trip.received;
              if (answers >= 100) lates.push(truth - ahead - target);
            }
            expect(Math.min(...lates)).toBeGreaterThanOrEqual(0);
            lates.sort((a, b) => a - b);
            expect(lates[lates.length >> 1]).toBeLessThanOrEqual(900);
            expect(lates.filter((late) => late > 1_050).length).toBeLessThanOrEqual(25);
            expect(lates.at(-1)).toBeLessThanOrEqual(1_800);
          }
        }
      }
    },
  );

  it("that was set by up to two seconds costs few requests more", () => {
    const steps = fc.integer({ min: 100, max: 2_000 }).chain((by) => fc.constantFrom(by, -by));
    const ways = fc.array(fc.integer({ min: 5, max: 35 }), { minLength: 160, maxLength: 160 });
    fc.assert(
      fc.property(offsets, steps, ways, (offset, step, list) => {
        let clock = learn(unknownClock, exchange(NOW + 137, 20, 20, offset).trip);
        let [now, again, asks] = [NOW + 300, 0, 0];
        for (const [turn, there] of list.entries()) {
          const ahead = turn < 60 ? offset : offset + step;
          const target = Math.ceil((now + ahead + 500) / 10_000) * 10_000;
          const { trip, truth } = exchange(Math.max(now, sendTimeFor(clock, target)), there, 20, ahead);
          clock = learn(clock, trip);
          expect(earliestAnswerTime(clock, trip)).toBeLessThanOrEqual(Math.max(truth, truth - step));
          const isProven = earliestAnswerTime(clock, trip) >= target;
          if (turn >= 60 && !isProven) again += 1;
          asks = isProven || asks === 2 ? 0 : asks + 1;
          const next = Math.max(trip.received, safeSendTimeFor(clock, target));
          // What two more have not proven is left to the next slot.
          now = isProven ? trip.received : asks === 0 ? Math.max(next, trip.sent + 10_000) : next;
        }
        expect(again).toBeLessThanOrEqual(20);
      }),
      { numRuns: 50 },
    );
  });

  it("of a machine that is gone is forgotten", () => {
    let clock = unknownClock;
    for (let turn = 0; turn < 120; turn += 1) {
      const skew = turn < 40 && turn % 2 === 0 ? -2_000 : 0;
      clock = learn(clock, exchange(NOW + turn * 10_370, 20, 20, 7_000 + skew).trip);
      expect(clock.machines.length).toBeLessThanOrEqual(3);
    }
    expect(clock.machines).toHaveLength(1);
    expect(boundsOf(clock).low).toBeGreaterThan(6_900);
  });

  it("of two machines is that of the one behind, also where the one ahead has told of each second before", () => {
    const answers = (question: (turn: number) => string) => {
      let clock = unknownClock;
      for (let turn = 0; turn < 40; turn += 1) {
        const { trip } = exchange(NOW + turn * 1_000 + 805, 0, 0, turn % 4 < 2 ? 1_622 : 0);
        clock = learn(clock, { ...trip, question: question(turn) });
      }
      return clock;
    };
    const clock = answers(String);
    expect(clock.machines).toHaveLength(2);
    expect(boundsOf(clock).low).toBeLessThanOrEqual(0);
    // Whoever asks for the same may be given copies.
    expect(answers(() => "the same").machines).toHaveLength(1);
  });

  it("of a machine that is gone stays forgotten, whatever copies come, and however much Dates lie", () => {
    for (const period of [2, 3, 5]) {
      let clock = unknownClock;
      const lengths: number[] = [];
      let gone = Infinity;
      for (let turn = 0; turn < 300; turn += 1) {
        const skew = turn === 50 || turn === 51 ? -1_700 : 0;
        const { trip } = exchange(NOW + turn * 10_370, 20, 20, skew);
        clock = learn(clock, trip);
        if (turn % period === 0) {
          // A cache that tells the age, and a lie.
          clock = learn(clock, { ...trip, sent: trip.sent + 3_000, received: trip.received + 3_000, age: 3 });
          clock = learn(clock, { ...trip, date: trip.date! + 1_000_000 * (turn + 1) });
        }
        if (turn === 51) gone = clock.answers + 64;
        if (clock.answers > gone) lengths.push(clock.machines.length);
      }
      expect(new Set(lengths)).toEqual(new Set([1]));
    }
  });

  it.each([-2_400, -1_852, -1_300, 1_300, 1_852, 2_400])(
    "of one machine that was set by %i ms is that machine's again, though every answer fits both",
    (step) => {
      for (let settle = 0; settle < 1_000; settle += 100) {
        let clock = learn(unknownClock, exchange(NOW + 137, 97, 97, 7_000).trip);
        let [now, offset] = [NOW + 400, 7_000];
        for (let turn = 0; turn < 260; turn += 1) {
          if (turn === 60) offset += step;
          const target = Math.ceil((now + offset - settle + 300) / 1_000) * 1_000 + settle;
          const { trip } = exchange(Math.max(now, sendTimeFor(clock, target)), 97, 97, offset);
          clock = learn(clock, trip);
          now = trip.received;
        }
        expect(clock.machines).toHaveLength(1);
        expect(boundsOf(clock).low).toBeLessThanOrEqual(offset);
        expect(boundsOf(clock).high).toBeGreaterThanOrEqual(offset);
      }
    },
  );

  it.each([-2_400, -1_700, -1_200, 1_200, 1_700, 2_400])(
    "of a machine that was never there, as two Dates were off by %i ms, is forgotten at whatever phase of the second",
    (lie) => {
      for (let phase = 0; phase < 1_000; phase += 50) {
        let clock = unknownClock;
        for (let turn = 0; turn < 120; turn += 1) {
          const isLie = turn === 50 || turn === 51;
          clock = learn(clock, exchange(NOW + phase + turn * 10_000, 20, 20, isLie ? lie : 0).trip);
        }
        expect(clock.machines).toHaveLength(1);
        expect(boundsOf(clock).low).toBeGreaterThan(-1_100);
        expect(boundsOf(clock).high).toBeLessThan(1_100);
      }
    },
  );
});
