import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decide,
  GONE,
  isNewer,
  isOutdated,
  nextRevision,
  observedOver,
  type Proposal,
  type StoredRecord,
  takeoversOf,
} from "../../../src/adapters/nats/records.js";

const someProposal = fc.record({
  epoch: fc.nat({ max: 3 }),
  observedAt: fc.nat({ max: 5 }),
  body: fc.constantFrom("a", "b", "c"),
  isRemoval: fc.boolean(),
});

/** A subject of which only the last message is kept, and only what names that is stored. */
class Subject {
  stored: StoredRecord | undefined;
  #sequence = 0;

  publish(record: Omit<StoredRecord, "sequence" | "isOwn">, expected: number): number | undefined {
    if ((this.stored?.sequence ?? 0) !== expected) return undefined;
    this.#sequence += 1;
    this.stored = { ...record, sequence: this.#sequence, isOwn: false };
    return this.#sequence;
  }
}

/** A publisher that believes what it has stored or seen last; one step of it a call. */
class Publisher {
  #known: StoredRecord | undefined;
  #read = false;
  #waiting: Proposal[] = [];

  offer(proposal: Proposal): void {
    this.#waiting.push(proposal);
  }

  get isIdle(): boolean {
    return this.#waiting.length === 0;
  }

  step(subject: Subject): void {
    const [proposal] = this.#waiting;
    if (proposal === undefined) return;
    if (this.#read) {
      this.#read = false;
      this.#known = subject.stored;
    }
    if (decide(this.#known, proposal) !== "store") {
      this.#waiting.shift();
      return;
    }
    const record = { ...proposal, revision: nextRevision(this.#known, proposal) };
    const sequence = subject.publish(record, this.#known?.sequence ?? 0);
    if (sequence === undefined) {
      this.#read = true;
      return;
    }
    this.#known = { ...record, sequence, isOwn: true };
    this.#waiting.shift();
  }
}

const newer = (a: Proposal, b: Proposal) => a.epoch - b.epoch || a.observedAt - b.observedAt;

describe("what is stored", () => {
  it("is never replaced by what is older, and ends as the newest that was offered", () => {
    const someOffers = fc.array(fc.record({ who: fc.nat({ max: 2 }), proposal: someProposal }), {
      minLength: 1,
      maxLength: 12,
    });
    fc.assert(
      fc.property(someOffers, fc.array(fc.nat({ max: 2 }), { maxLength: 60 }), (offers, order) => {
        const subject = new Subject();
        const publishers = [new Publisher(), new Publisher(), new Publisher()];
        // Each of them observes later and later, under no earlier lease, and tells of changes only.
        const proposalsOf = (who: number) =>
          offers
            .filter((offer) => offer.who === who)
            .map(({ proposal }) => proposal)
            .sort(newer)
            .filter(({ body }, at, all) => body !== all[at - 1]?.body);
        for (const who of publishers.keys()) {
          for (const proposal of proposalsOf(who)) publishers[who]!.offer(proposal);
        }
        const check = (who: number) => {
          const before = subject.stored;
          publishers[who]!.step(subject);
          if (before !== undefined) expect(newer(subject.stored!, before)).toBeGreaterThanOrEqual(0);
        };
        for (const who of order) check(who);
        for (let round = 0; publishers.some(({ isIdle }) => !isIdle); round++) check(round % 3);
        const newest = [0, 1, 2].flatMap(proposalsOf).sort(newer).at(-1)!;
        expect(newer(subject.stored!, newest)).toBe(0);
      }),
      { numRuns: 500 },
    );
  });

  it("has a revision that grows within a life with every change, and starts at 0", () => {
    fc.assert(
      fc.property(fc.array(someProposal, { minLength: 1, maxLength: 20 }), (proposals) => {
        let stored: StoredRecord | undefined;
        for (const [at, proposal] of proposals.entries()) {
          const revision = nextRevision(stored, proposal);
          const isBirth = stored === undefined || (stored.isRemoval && !proposal.isRemoval);
          if (isBirth) expect(revision).toBe(0);
          else expect(revision - stored!.revision).toBe(stored!.body === proposal.body ? 0 : 1);
          stored = { ...proposal, revision, sequence: at + 1, isOwn: true };
        }
      }),
    );
  });
});

describe("a proposal", () => {
  const proposal: Proposal = { epoch: 2, observedAt: 5, body: "a", isRemoval: false };
  const stored: StoredRecord = { ...proposal, sequence: 1, revision: 0, isOwn: false };

  it.each([
    ["where nothing is", undefined, "store"],
    ["where it was, and is gone", { ...stored, sequence: GONE }, "store"],
    ["where it is there already", stored, "done"],
    ["where this publisher has said so before", { ...stored, observedAt: 4, isOwn: true }, "done"],
    ["where another one has said so before", { ...stored, observedAt: 4 }, "store"],
    [
      "where this publisher has said so under an earlier lease",
      { ...stored, epoch: 1, isOwn: true },
      "store",
    ],
    ["over something else of the same instant", { ...stored, body: "b" }, "store"],
    ["over something older", { ...stored, observedAt: 4, body: "b" }, "store"],
    ["over something newer", { ...stored, observedAt: 6 }, "keep"],
    [
      "over what this publisher has said by a clock that was set back since",
      { ...stored, observedAt: 6, body: "b", isOwn: true },
      "store",
    ],
    ["over something of a later lease, observed earlier", { ...stored, epoch: 3, observedAt: 1 }, "keep"],
    ["over something of an earlier lease, observed later", { ...stored, epoch: 1, observedAt: 9 }, "store"],
  ] as const)("%s", (_, known, expected) => {
    expect(decide(known, proposal)).toBe(expected);
  });
});

describe("of two messages on a subject", () => {
  const known = { epoch: 2, observedAt: 50, revision: 3, time: 1_000 };

  it.each([
    ["the same is not newer", {}, false],
    ["that of a later lease is newer", { epoch: 3, observedAt: 1, revision: 0, time: 1 }, true],
    ["that of an earlier lease is not", { epoch: 1, observedAt: 99, revision: 9, time: 9_000 }, false],
    [
      "one stored before is not newer, though the candle had more versions in an earlier life",
      { time: 900, observedAt: 40, revision: 8 },
      false,
    ],
    ["one stored later is newer, though it begins a new life", { time: 1_100, revision: 0 }, true],
    ["one stored later, but observed before, is not newer", { time: 1_100, observedAt: 20 }, false],
    [
      "one observed later is newer, though the server's clock was set back",
      { time: 800, observedAt: 60 },
      true,
    ],
    ["one stored in the same instant is newer by its revision", { revision: 4 }, true],
  ])("%s", (_, more, expected) => {
    expect(isNewer({ ...known, ...more }, known)).toBe(expected);
  });

  const small = fc.nat({ max: 2 });
  const placed = fc.record({ epoch: small, observedAt: small, time: small, revision: small });

  it("one at most is newer, and one newer than a newer one is newer, too", () => {
    fc.assert(
      fc.property(placed, placed, placed, (a, b, c) => {
        expect(isNewer(a, b) && isNewer(b, a)).toBe(false);
        if (isNewer(a, b) && isNewer(b, c)) expect(isNewer(a, c)).toBe(true);
      }),
    );
  });

  it("the one stored later is newer under one lease, whatever the clock of the service does", () => {
    const first = {
      epoch: 2,
      observedAt: 50,
      body: "a",
      isRemoval: false,
      sequence: 1,
      revision: 0,
      isOwn: true,
    };
    const next = { epoch: 2, observedAt: 20, body: "b", isRemoval: false };
    const observedAt = observedOver(first, next);
    const placedOf = (record: object, time: number) => ({ ...first, ...record, time });
    expect(isNewer(placedOf({ observedAt, revision: 1 }, 2), placedOf({}, 1))).toBe(true);
    expect(observedOver(first, { ...next, epoch: 3 })).toBe(20);
    expect(observedOver(first, { ...next, observedAt: 60 })).toBe(60);
  });
});

describe("a message of an older lease", () => {
  const takeovers = [
    { epoch: 5, at: 100_000 },
    { epoch: 7, at: 200_000 },
  ];

  it.each([
    ["stored before the next one began", 3, 99_000, false],
    ["stored a moment after it began, by another server's clock", 3, 100_900, false],
    ["stored after it began", 3, 101_100, true],
    ["of the lease that ran then", 5, 150_000, false],
    ["of that lease after the one that followed", 5, 201_100, true],
    ["of the lease that runs", 7, 300_000, false],
  ])("%s", (_, epoch, time, expected) => {
    expect(isOutdated({ epoch, time }, takeovers)).toBe(expected);
  });

  it("is told by the first message of a lease too", () => {
    expect(takeoversOf({ epoch: 9, time: 300_000, takeovers })).toEqual([
      ...takeovers,
      { epoch: 9, at: 300_000 },
    ]);
    expect(takeoversOf({ epoch: 7, time: 300_000, takeovers })).toBe(takeovers);
  });
});
