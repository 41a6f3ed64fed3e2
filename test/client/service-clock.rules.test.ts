import { describe, expect, it } from "vitest";
import {
  boundsOf,
  earliestTime,
  isContradicted,
  latestTime,
  learn,
  type RoundTrip,
  type ServiceClock,
  sendTimeFor,
  serviceTime,
  unanswered,
  unknownClock,
} from "../../src/client/service-clock.js";

/** A trip of `took` ms whose `Date` is `ahead` ms after it was sent: its bounds are `[ahead - took, ahead + 1,000]`. */
function trip(ahead: number, { sent = 0, took = 0 } = {}): RoundTrip {
  return { sent, received: sent + took, date: sent + ahead };
}

function learned(...trips: RoundTrip[]): ServiceClock {
  return trips.reduce(learn, unknownClock);
}

/** The service's time at least, and as a request arrives at most. */
function timeBounds(clock: ServiceClock, now: number) {
  return { earliest: earliestTime(clock, now), latest: latestTime(clock, now) };
}

const withoutDate = { sent: 0, received: 40, date: undefined };

describe("what the service's time lies between", () => {
  it("is the scheduler's time until a Date comes, and no later than a way there", () => {
    expect(timeBounds(unknownClock, 1_000)).toEqual({ earliest: 1_000, latest: 1_000 });
    expect(timeBounds(learned(withoutDate), 1_000)).toEqual({ earliest: 1_000, latest: 1_080 });
  });

  it("is what the Dates leave, and the way there, and less is proven as clocks may drift", () => {
    const clock = learned(trip(7_000, { took: 40 }));
    expect(timeBounds(clock, 40)).toEqual({ earliest: 7_000, latest: 8_120 });
    expect(timeBounds(clock, 10_040)).toEqual({ earliest: 16_999, latest: 18_120 });
  });

  it.each([
    ["up to 5,000 ms wide: its middle", 5_000, 4_000, 3_500],
    ["wider: as near to the scheduler's as it goes, below", 5_000, 4_001, 999],
    ["wider, about the scheduler's: the scheduler's", 2_000, 4_001, 0],
    ["wider: as near to the scheduler's as it goes, above", -3_000, 4_001, -2_000],
  ])("is likeliest, if it is %s", (_, ahead, took, likeliest) => {
    expect(serviceTime(learned(trip(ahead, { took })), 100)).toBe(100 + likeliest);
  });
});

describe("a round trip", () => {
  it.each([
    ["quicker ones at once", 0, 0],
    ["slower ones by a sixteenth", 56, 41],
    ["the slowest that counts, too", 60_000, 3_787.5],
    ["none that is slower", 60_001, 40],
  ])("follows %s", (_, took, roundTrip) => {
    expect(learned(withoutDate, { ...withoutDate, received: took }).roundTrip).toBe(roundTrip);
  });
});

describe("a clock is confirmed", () => {
  it("by an answer without a Date where none ever came, and by none otherwise", () => {
    expect(learned(withoutDate).isConfirmed).toBe(true);
    expect(learned(trip(60_000), withoutDate).isConfirmed).toBe(false);
    expect(learned(trip(0), withoutDate).isConfirmed).toBe(true);
  });

  it.each([
    [5_000, true],
    [5_001, false],
    [-6_000, true],
    [-6_001, false],
  ])("by one Date %i ms ahead of the scheduler: %s", (ahead, isConfirmed) => {
    expect(learned(trip(ahead)).isConfirmed).toBe(isConfirmed);
  });

  it("by a second answer, one that agrees and one that proves a jump", () => {
    expect(learned(trip(60_000), trip(60_000)).isConfirmed).toBe(true);
    expect(learned(trip(60_000), trip(0), trip(900, { sent: 900 })).isConfirmed).toBe(true);
  });

  it("by its next Date, if the last answer had one and came from no cache", () => {
    expect(learned(trip(0)).hasFreshDate).toBe(true);
    expect(learned({ ...trip(0), age: 0 }).hasFreshDate).toBe(false);
    expect(learned(trip(0), withoutDate).hasFreshDate).toBe(false);
  });
});

describe("an answer that contradicts the bounds", () => {
  const own = trip(0);

  it.each([
    [-1_020, 1, false, 1],
    [-1_021, 1, true, 2],
    [1_020, 1, false, 1],
    [1_021, 1, true, 2],
    [3_500, 1, true, 2],
    [3_501, 2, true, 1],
  ])("by its Date %i ms ahead, and one a second later", (ahead, epoch, isDoubted, machines) => {
    const first = learned(own, trip(ahead));
    expect([first.epoch, isContradicted(first), first.machines.length]).toEqual([1, isDoubted, 1]);
    const second = learn(first, trip(ahead, { sent: 1_000 }));
    expect([second.epoch, isContradicted(second), second.machines.length]).toEqual([epoch, false, machines]);
  });

  it("tells of no other clock while it may be a copy: its Date was heard before, for the same question", () => {
    for (const ahead of [-60_000, -2_000, 2_000, 60_000]) {
      const other = { ...trip(ahead), sent: 20, received: 20 };
      const copied = learned(own, trip(ahead), other);
      const told = learned(own, trip(ahead), { ...other, question: "another" });
      const isFar = Math.abs(ahead) > 2_500;
      expect([told.epoch, told.machines.length]).toEqual(isFar ? [2, 1] : [1, 2]);
      // A copy is older than what is known.
      if (ahead < 0)
        expect([copied.epoch, copied.machines.length, isContradicted(copied)]).toEqual([1, 1, false]);
      else expect(copied).toMatchObject({ epoch: told.epoch, machines: told.machines });
    }
  });

  it("tells of no other clock where it may be a copy of an answer that has not come", () => {
    const known = learned(trip(0), trip(500, { sent: 500 }));
    const questions = ["first", "second"];
    // Each was asked for twice in vain: the copy may be the answer to the first time.
    const lost = [1_000, 3_000].reduce(
      (before, sent) => questions.reduce((clock, question) => unanswered(clock, sent, question), before),
      known,
    );
    // Made at 1,020, and given by a cache that does not tell how old it is.
    const copies = questions.map((question) => ({ sent: 5_000, received: 5_020, date: 1_000, question }));
    for (const [clock, count] of [
      [lost, 1],
      [known, 2],
    ] as const) {
      const told = copies.reduce(learn, clock);
      const { machines } = learn(told, { sent: 6_000, received: 6_020, date: 6_000, question: "third" });
      expect(Math.max(told.epoch, machines.length)).toBe(count);
    }
    // Once it is answered, what it is asked again for is fresh.
    const again = { sent: 9_000, received: 9_020, date: 6_000, question: "first" };
    expect(isContradicted(learn(copies.reduce(learn, lost), again))).toBe(true);
  });

  it("is a new machine's once another one agrees, also after others", () => {
    const clock = learned(own, trip(2_000), trip(500, { sent: 500 }), trip(3_000, { sent: 1_000 }));
    expect(clock.machines).toMatchObject([
      { low: 500, high: 1_000 },
      { low: 3_000, high: 3_000 },
    ]);
    expect(boundsOf(clock)).toEqual({ low: 500, high: 3_000 });
    const apart = learned(own, trip(2_000), trip(3_001, { sent: 1_000 }));
    expect([apart.machines.length, isContradicted(apart)]).toEqual([1, true]);
  });

  it("leaves another machine what only that can have told", () => {
    const took = 40;
    const list = [trip(0, { took }), trip(840, { took })];
    const ahead = learned(...list, trip(3_000, { took }), trip(3_000, { took, sent: 1_000 }));
    expect(ahead.machines).toMatchObject([
      { low: 800, high: 1_000 },
      { low: 2_960, high: 4_000 },
    ]);
    const behind = learned(...list, trip(-1_060, { took }), trip(-1_060, { took, sent: 1_000 }));
    expect(behind.machines).toMatchObject([
      { low: -1_100, high: -60 },
      { low: 800, high: 1_880 },
    ]);
  });

  it("widens the bounds of those that the new machine may have narrowed", () => {
    const took = 40;
    const list = [trip(0, { took }), trip(840, { took }), trip(1_500, { took })];
    expect(learned(...list, trip(1_500, { took, sent: 1_000 })).machines).toMatchObject([
      { low: -80, high: 1_000 },
      { low: 1_460, high: 2_500 },
    ]);
  });
});

describe("a machine", () => {
  const two = learned(trip(0), trip(2_000), trip(2_000, { sent: 1_000 }));

  it("counts the answers since one that fits it alone", () => {
    const unseen = ({ answers, machines }: ServiceClock) => machines.map(({ answer }) => answers - answer);
    // It took two answers to find the other one.
    expect(unseen(learned(trip(0), trip(2_000)))).toEqual([1]);
    expect(unseen(two)).toEqual([2, 0]);
    expect(unseen(learn(two, trip(2_000, { sent: 2_000 })))).toEqual([3, 0]);
    expect(unseen(learn(two, { ...trip(0, { sent: 2_000 }), question: "another" }))).toEqual([0, 1]);
    // That may be a copy.
    expect(unseen(learn(two, trip(0, { sent: 2_000 })))).toEqual([3, 1]);
    expect(unseen(learn(two, trip(1_500, { sent: 2_000, took: 600 })))).toEqual([3, 1]);
    expect(unseen(learn(two, trip(-2_000, { sent: 4_000 })))).toEqual([3, 1]);
    expect(unseen(learn(two, trip(9_000, { sent: 2_000 })))).toEqual([3, 1]);
  });

  it("learns nothing from an answer that may be another one's", () => {
    const { machines } = learn(two, trip(1_500, { sent: 2_000, took: 600 }));
    expect(machines).toMatchObject([
      { low: 0, high: 1_000 },
      { low: 2_000, high: 3_000 },
    ]);
  });

  it("is not pulled along by an answer that it would have to have drifted for, and that fits another one as it is", () => {
    const clock = learn(two, trip(2_000, { sent: 2_999_000 }));
    expect(learn(clock, trip(1_010, { sent: 3_000_000 })).machines).toMatchObject([
      { low: 0, high: 1_000 },
      { low: 2_000, high: 2_010 },
    ]);
  });

  it("is told from another one that both were taken for, once two answers of each are more than 150 ms apart", () => {
    let clock = learned(trip(1_000), trip(0, { sent: 1_000 }));
    for (let slot = 1; slot <= 12; slot += 1) {
      const [behind, ahead] = [-20 * slot, 999 - 20 * slot];
      clock = learn(clock, trip(behind, { sent: 10_000 * slot }));
      clock = learn(clock, trip(ahead, { sent: 10_000 * slot + 1_000 }));
      expect(clock.machines).toHaveLength(slot < 10 ? 1 : 2);
    }
    expect(clock.machines).toMatchObject([{ low: -180 }, { low: 1_000 }]);
  });

  it("is forgotten after 64 answers of others, and the last one never", () => {
    let clock = two;
    const hear = (ahead: number, answers: number) => {
      for (let turn = 1; turn <= answers; turn += 1)
        clock = learn(clock, trip(ahead, { sent: turn * 1_000 }));
    };
    hear(2_000, 61);
    expect(clock.machines).toMatchObject([{ low: 0 }, { low: 2_000 }]);
    clock = learn(clock, trip(2_000, { sent: 64_000 }));
    expect(clock.machines).toMatchObject([{ low: 2_000 }]);
    clock = two;
    hear(0, 63);
    expect(learn(clock, trip(0, { sent: 64_000 })).machines).toMatchObject([{ low: 0 }]);
  });

  /** The bounds are [-40, 1,000], and no answer came in less than 40 ms. */
  const slidBy = (ahead: number, sent: number) =>
    learned(trip(0, { took: 40 }), trip(ahead, { sent, took: 40 })).machines[0]!;

  it("keeps what answers leave, however little", () => {
    expect(slidBy(1_000, 10_000)).toMatchObject({ low: 960, high: 1_000 });
    expect(slidBy(1_040, 10_000)).toMatchObject({ low: 1_000, high: 1_000 });
    expect(slidBy(-1_040, 10_000)).toMatchObject({ low: -40, high: -40 });
  });

  it("slides along where nothing is left, no further than clocks may have drifted", () => {
    expect(slidBy(1_050, 300_000).low).toBe(1_010);
    expect(slidBy(1_050, 300_000).high).toBeCloseTo(1_000 + 30);
    expect(slidBy(-1_050, 300_000).low).toBeCloseTo(-40 - 30);
    expect(slidBy(-1_050, 300_000).high).toBe(-50);
  });

  it("slides as wide as it is, as wide as a trip at least", () => {
    expect(slidBy(1_140, 12_000_000)).toMatchObject({ low: 1_100, high: 2_140 });
    const narrow = [trip(0, { took: 40 }), trip(1_030, { sent: 1_000, took: 40 })];
    const slid = learned(...narrow, trip(1_140, { sent: 12_000_000, took: 40 })).machines[0]!;
    expect([slid.low, slid.high]).toEqual([1_100, 1_140]);
  });

  it("begins anew where it was set back by little, and learns nothing of as little ahead", () => {
    expect(slidBy(-1_110, 600_000)).toMatchObject({ low: -1_150, high: -110 });
    expect(slidBy(1_110, 600_000)).toMatchObject({ low: -40, high: 1_000 });
  });

  it("keeps what is proven of it until a later answer proves more by then", () => {
    const proven = (ahead: number) => {
      const clock = learned(trip(0, { took: 40 }), trip(ahead, { sent: 1_000_000, took: 40 }));
      return earliestTime(clock, 1_000_040) - 1_000_040;
    };
    expect(proven(-101)).toBeCloseTo(-140, 6);
    expect(proven(-99)).toBeCloseTo(-139, 6);
  });
});

describe("a copy, whose Date came a second before,", () => {
  it("bounds nothing where one machine answers", () => {
    const clock = learned(trip(0), { sent: 999, received: 999, date: 0 });
    expect(boundsOf(clock)).toEqual({ low: 0, high: 1 });
    expect(boundsOf(learned(trip(0), { sent: 1_000, received: 1_000, date: 0 }))).toEqual({
      low: 0,
      high: 1_000,
    });
  });
});

describe("a jump", () => {
  const own = trip(0);

  it.each([
    [60_500, { low: 60_500, high: 61_000 }],
    [61_000, { low: 61_000, high: 61_000 }],
    [63_500, { low: 63_500, high: 64_500 }],
  ])("to 60,000 ms ahead is proven by a Date %i ms ahead", (ahead, bounds) => {
    const clock = learned(own, trip(60_000), trip(ahead, { sent: 1_000 }));
    expect([clock.epoch, boundsOf(clock)]).toEqual([2, bounds]);
  });

  it("is not proven by one that differs by more, nor where one between them fits", () => {
    expect(learned(own, trip(60_000), trip(63_501, { sent: 1_000 })).epoch).toBe(1);
    const between = trip(0, { sent: 1_000 });
    expect(learned(own, trip(60_000), between, trip(60_000, { sent: 2_000 })).epoch).toBe(1);
  });
});

describe("a request", () => {
  /** The bounds are `[low, 1,000]`, checked at 10,040. */
  const narrowed = (low: number) =>
    learned(trip(0, { took: 40 }), trip(low + 40, { sent: 10_000, took: 40 }));

  it("aims at the low side of bounds that are as narrow as a trip and 20 ms, and else at the middle", () => {
    expect(sendTimeFor(narrowed(940), 100_000)).toBe(99_040);
    expect(sendTimeFor(narrowed(939), 100_000)).toBe(99_011);
  });

  it("finds out how far the one ahead is, of two machines, also by an answer that takes 18 ms longer than the quickest", () => {
    const took = 10;
    const clock = learned(trip(-960, { took }), trip(790, { took }), trip(790, { sent: 1_000, took }));
    expect(clock.machines).toMatchObject([{ high: 40 }, { low: 780, high: 1_790 }]);
    // The one is at 0, the other at 838.
    const sent = sendTimeFor(clock, 100_000, 110_000);
    const date = Math.floor((sent + 10 + 838) / 1_000) * 1_000;
    const after = learn(clock, { sent, received: sent + took + 18, date });
    expect(after.machines[1]!.high).toBeLessThanOrEqual(1_040 + 20 + took);
  });

  it("goes out as a second begins once clocks may have drifted by 100 ms since its bounds were proven", () => {
    const target = 10_040 + 1_000_000 + 940;
    expect(sendTimeFor(narrowed(940), target - 1_999)).toBe(target - 1_999 - 940 + 100);
    expect((sendTimeFor(narrowed(940), target + 1) + 20 + 940) % 1_000).toBe(0);
  });
});
