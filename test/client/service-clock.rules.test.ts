import { describe, expect, it } from "vitest";
import {
  learn,
  type RoundTrip,
  type ServiceClock,
  sendTimeFor,
  serviceTime,
  serviceTimeBounds,
  unknownClock,
} from "../../src/client/service-clock.js";

/** A trip of `took` ms whose `Date` is `ahead` ms after it was sent: its bounds are `[ahead - took, ahead + 1,000]`. */
function trip(ahead: number, { sent = 0, took = 0 } = {}): RoundTrip {
  return { sent, received: sent + took, date: sent + ahead };
}

function learned(...trips: RoundTrip[]): ServiceClock {
  return trips.reduce(learn, unknownClock);
}

const withoutDate = { sent: 0, received: 40, date: undefined };

describe("what the service's time lies between", () => {
  it("is the scheduler's time until a Date comes, and no later than a way there", () => {
    expect(serviceTimeBounds(unknownClock, 1_000)).toEqual({ earliest: 1_000, latest: 1_000 });
    expect(serviceTimeBounds(learned(withoutDate), 1_000)).toEqual({ earliest: 1_000, latest: 1_080 });
  });

  it("is what the Dates leave, and the way there", () => {
    const clock = learned(trip(7_000, { took: 40 }));
    expect(serviceTimeBounds(clock, 40)).toEqual({ earliest: 7_000, latest: 8_120 });
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
    expect(learned(trip(60_000), trip(0), trip(0, { sent: 1_000 })).isConfirmed).toBe(true);
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
    [-1_000, 0, false],
    [-1_001, 1, false],
    [1_250, 0, false],
    [1_251, 1, false],
    [3_500, 1, false],
    [3_501, 0, true],
  ])("by its Date %i ms ahead is of a machine, one of %i strangers, or of a jump: %s", (ahead, ...told) => {
    const { machines, unmatched, doubted } = learned(own, trip(ahead));
    expect([unmatched.length, doubted !== undefined]).toEqual(told);
    expect(machines).toHaveLength(1);
  });

  it("is a new machine's once another one agrees", () => {
    const clock = learned(own, trip(2_000), trip(3_000));
    expect(clock.machines).toMatchObject([
      { low: 0, high: 1_000 },
      { low: 3_000, high: 3_000 },
    ]);
    expect([clock.bounds, clock.unmatched]).toEqual([{ low: 0, high: 3_000 }, []]);
    const apart = learned(own, trip(2_000), trip(3_001));
    expect([apart.machines.length, apart.unmatched.length]).toEqual([1, 2]);
  });

  it("is kept with the two before it", () => {
    const { unmatched } = learned(own, ...[1_300, 2_301, 3_302, -1_300].map((ahead) => trip(ahead)));
    expect(unmatched.map(({ low }) => low)).toEqual([-1_300, 3_302, 2_301]);
  });

  it("widens the bounds of those that the new machine may have narrowed", () => {
    const took = 40;
    const { machines } = learned(...[0, 840, 3_000, 3_000].map((ahead) => trip(ahead, { took })));
    expect(machines).toMatchObject([
      { low: -80, high: 1_000 },
      { low: 2_960, high: 4_000 },
    ]);
  });
});

describe("a machine", () => {
  const two = learned(trip(0), trip(2_000), trip(2_000));
  const others = (clock: ServiceClock) => clock.machines.map((machine) => machine.others);

  it("counts an answer of another one once, and twice if that contradicts it", () => {
    expect(others(two)).toEqual([4, 0]);
    expect(others(learn(two, trip(2_000)))).toEqual([6, 0]);
    expect(others(learn(two, trip(1_700, { took: 900 })))).toEqual([5, 0]);
    expect(others(learn(two, trip(1_700, { took: 700 })))).toEqual([5, 0]);
    expect(others(learn(two, trip(1_700, { took: 699 })))).toEqual([6, 0]);
    expect(others(learn(two, trip(0)))).toEqual([0, 2]);
  });

  it.each([
    ["as 20 ms of its bounds are in it", [], -10, 4],
    ["and once one with less", [], -9, 5],
    ["and once one that touches them", [], 10, 5],
    ["and twice one beyond them", [], 11, 6],
    ["as all of its narrow bounds are in it", [-290, -1_285], -290, 0],
    ["and once one with a part of those", [-290, -1_285], -289, 1],
  ])("does not count an answer that may as well be its own, %s", (_, own, ahead, counted) => {
    const near = learned(...[0, -990, 700, 700, ...own].map((each) => trip(each)));
    expect(others(learn(near, trip(ahead)))[0]).toBe(counted);
  });

  it("is forgotten after 64 answers that contradict it", () => {
    let clock = two;
    for (let turn = 0; turn < 61; turn += 1) clock = learn(clock, trip(2_000));
    expect(others(clock)).toEqual([126, 0]);
    expect(learn(clock, trip(2_000)).machines).toMatchObject([{ low: 2_000 }]);
  });

  /** The bounds are [-40, 1,000], and no answer came in less than 40 ms. */
  const slidBy = (ahead: number, sent: number) =>
    learned(trip(0, { took: 40 }), trip(ahead, { sent, took: 40 })).machines[0]!;

  it("keeps bounds that are as wide as the shortest trip", () => {
    expect(slidBy(1_000, 10_000)).toMatchObject({ low: 960, high: 1_000, slid: 0, slidAt: 40 });
  });

  it("slides along where the newest answer leaves less, and counts what drift does not explain", () => {
    expect(slidBy(1_010, 10_000)).toMatchObject({ low: 970, high: 1_010, slid: 5, slidAt: 10_040 });
    expect(slidBy(1_040, 10_000)).toMatchObject({ low: 1_000, high: 1_040, slid: 35, slidAt: 10_040 });
  });

  it("slides as wide as it is where nothing is left", () => {
    const { slid, ...bounds } = slidBy(1_140, 2_220_000);
    expect(bounds).toMatchObject({ low: 1_100, high: 2_140 });
    expect(slid).toBeCloseTo(30, 6);
  });

  it("begins anew once it has slid by more than 40 ms", () => {
    expect(slidBy(1_040, 0)).toMatchObject({ low: 1_000, high: 1_040, slid: 40 });
    expect(slidBy(1_041, 0)).toMatchObject({ low: 1_001, high: 2_041, slid: 0 });
  });

  it("does not forget by answers that leave it as it is how far it has slid", () => {
    const clock = learned(trip(0, { took: 40 }), trip(1_010, { sent: 10_000, took: 40 }));
    const [machine] = learn(clock, trip(900, { sent: 14_000, took: 40 })).machines;
    expect(machine).toMatchObject({ slid: 5, slidAt: 10_040 });
  });
});

describe("a jump", () => {
  const own = trip(0);

  it.each([
    [60_500, { low: 60_500, high: 61_000 }],
    [61_000, { low: 61_000, high: 61_000 }],
    [63_500, { low: 63_500, high: 64_500 }],
  ])("to 60,000 ms ahead is proven by a Date %i ms ahead", (ahead, bounds) => {
    const clock = learned(own, trip(60_000), trip(ahead));
    expect([clock.epoch, clock.bounds]).toEqual([2, bounds]);
  });

  it("is not proven by one that differs by more", () => {
    expect(learned(own, trip(60_000), trip(63_501)).epoch).toBe(1);
  });

  it("leaves no stranger of the time before", () => {
    expect(learned(own, trip(2_000), trip(60_000), trip(60_000)).unmatched).toEqual([]);
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

  it("goes out as a second begins once clocks may have drifted by 100 ms since its bounds were proven", () => {
    const target = 10_040 + 1_000_000 + 940;
    expect(sendTimeFor(narrowed(940), target - 1_999)).toBe(target - 1_999 - 940 + 100);
    expect((sendTimeFor(narrowed(940), target + 1) + 20 + 940) % 1_000).toBe(0);
  });
});
