import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  countsAfter,
  emptyTable,
  heldBy,
  type LeaseTable,
  nextMove,
  nothingSeen,
  PARTS,
  readTable,
  shareOf,
  sight,
  waitAfterLosses,
  withoutCollector,
} from "../../../src/adapters/nats/leases.js";
import { slotOf } from "../../../src/adapters/nats/subjects.js";
import { Group, Member, play, RULES, settle, someSteps } from "./lease-group.js";

describe("leases", () => {
  it("let no two act on a slot, whatever is late, lost or asleep, and whosever clock is off", () => {
    fc.assert(
      fc.property(someSteps, (steps) => {
        play(steps, (group) => expect(group.shared).toEqual([]));
      }),
      { numRuns: 1_000 },
    );
  });

  it("never give out more than the limit", () => {
    fc.assert(
      fc.property(someSteps, (steps) => {
        play(steps, ({ members, now }) => {
          const shares = members.map((member) => {
            const acting = [...member.held.keys()].filter((slot) => member.actsOn(slot, now));
            return shareOf(RULES, acting.length);
          });
          expect(shares.reduce((sum, share) => sum + share, 0)).toBeLessThanOrEqual(40);
        });
      }),
    );
  });

  it("let no two use a slot's part of the limit within a window, whoever dies, leaves or sleeps", () => {
    fc.assert(
      fc.property(someSteps, (steps) => {
        play(steps, (group) => expect(group.send()).toEqual([]));
      }),
      { numRuns: 1_000 },
    );
  });

  it("raise the epoch whenever a slot passes to another", () => {
    fc.assert(
      fc.property(someSteps, (steps) => {
        let before = emptyTable(RULES).slots;
        const lastHolder = new Map<number, string>();
        play(steps, ({ table }) => {
          table.slots.forEach(({ holder, epoch }, slot) => {
            const last = before[slot]!;
            if (holder !== null && lastHolder.get(slot) !== holder && lastHolder.has(slot)) {
              expect(epoch).toBeGreaterThan(last.epoch);
            }
            expect(epoch).toBeGreaterThanOrEqual(last.epoch);
            if (holder !== null) lastHolder.set(slot, holder);
          });
          before = table.slots;
        });
      }),
    );
  });

  it("are shared fairly among those who are alive, within a lease of the last trouble", () => {
    fc.assert(
      fc.property(someSteps, (steps) => {
        const group = play(steps, () => {});
        const awake = group.members.filter(({ isAsleep }) => !isAsleep);
        fc.pre(awake.length > 0);
        // Once to notice who does not beat any more, and once more for what was released meanwhile.
        settle(group, 2 * RULES.lease);
        const counts = awake.map((member) => heldBy(group.table, member.id).size);
        expect(counts.reduce((sum, count) => sum + count, 0)).toBe(6);
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
        expect(Object.keys(group.table.beats).sort()).toEqual(awake.map(({ id }) => id).sort());
      }),
    );
  });

  it("move within the lease when their holder dies", () => {
    const group = new Group();
    group.members.push(new Member("m0", 0), new Member("m1", 12_345));
    settle(group, 3 * RULES.lease);
    expect(group.members.map(({ held }) => held.size)).toEqual([3, 3]);
    const diedAt = group.now;
    group.members[0]!.isAsleep = true;
    while (group.members[1]!.held.size < 6) settle(group, 1);
    expect(group.now - diedAt).toBeLessThanOrEqual(RULES.lease);
  });

  it("count nothing against anyone while the table cannot be read", () => {
    const group = new Group();
    const [first, second] = [new Member("m0", 0), new Member("m1", 0)];
    group.members.push(first, second);
    settle(group, 3 * RULES.lease);
    group.now += 10 * RULES.lease;
    group.read(second);
    group.write(second, true);
    expect(heldBy(group.table, "m0").size).toBe(3);
    settle(group, RULES.lease);
    expect(heldBy(group.table, "m0").size).toBe(3);
  });

  it("take no one for dead by a clock that was set back", () => {
    const table = { ...emptyTable(RULES), beats: { other: 5 } };
    const seen = sight(nothingSeen, table, 100_000);
    const later = sight(seen, table, 40_000);
    expect(later.beats.get("other")).toEqual({ beat: 5, since: 40_000 });
  });

  it("are free at once when a collector leaves", () => {
    const group = new Group();
    group.members.push(new Member("m0", 0), new Member("m1", 0));
    settle(group, 3 * RULES.lease);
    group.leave(group.members[0]!);
    settle(group, 1);
    expect(group.members[0]!.held.size).toBe(6);
  });

  it("begin with epochs that grow although the bucket was lost", () => {
    const { table } = nextMove(
      emptyTable(RULES),
      nothingSeen,
      { id: "me", held: new Map() },
      1_700_000_000_123,
    );
    for (const { epoch } of table.slots) expect(Math.floor(epoch / 1_024)).toBe(1_700_000_000_123);
  });

  it("never give a slot the epoch that another collector has given it, whatever tables each of them knew", () => {
    const id = fc.string({ minLength: 22, maxLength: 22, unit: fc.constantFrom(..."0123456789ABCDEFxyz") });
    const ids = fc.tuple(id, id).filter(([a, b]) => slotOf(a, 1_024) !== slotOf(b, 1_024));
    const now = fc.oneof(fc.constantFrom(0, 7, 1_800_000_000_000), fc.integer({ min: 0, max: 2 ** 42 }));
    const known = fc.record({
      now,
      last: fc.integer({ min: 0, max: 20 }),
      least: fc.integer({ min: 0, max: 20 }),
    });
    fc.assert(
      fc.property(ids, known, known, ([a, b], ofA, ofB) => {
        const epochOf = (id: string, { now, last, least }: typeof ofA) => {
          const slots = emptyTable(RULES).slots.map((slot) => ({ ...slot, epoch: last }));
          const move = { id, held: new Map(), leastEpoch: least };
          const [slot] = nextMove({ ...emptyTable(RULES), slots }, nothingSeen, move, now).table.slots;
          expect(slot!.epoch).toBeGreaterThan(last);
          expect(slot!.epoch).toBeGreaterThanOrEqual(least);
          return slot!.epoch;
        };
        expect(epochOf(a, ofA)).not.toBe(epochOf(b, ofB));
      }),
    );
  });

  it("are taken anew where only the table says that they are one's own", () => {
    const slots = Array.from({ length: 6 }, () => ({ holder: "me", epoch: 10, isQuiet: true }));
    const held = new Map([[2, 10]]);
    const { table, taken } = nextMove({ ...emptyTable(RULES), slots }, nothingSeen, { id: "me", held }, 7);
    expect(taken).toEqual([0, 1, 3, 4, 5]);
    expect(table.slots.map(({ epoch }) => epoch > 10)).toEqual([true, true, false, true, true, true]);
  });

  it("count a window after one who has left, and only after all that another one may have sent", () => {
    const other = (table: LeaseTable) =>
      nextMove(table, nothingSeen, { id: "other", held: new Map() }, 9).table;
    const mine = nextMove(emptyTable(RULES), nothingSeen, { id: "me", held: new Map() }, 7).table;
    const held = heldBy(mine, "me");
    const waits = (table: LeaseTable) => table.slots.map((slot) => countsAfter(RULES, slot));
    const quiet = 1_000;
    const whole = 6_000;
    expect(waits(mine)).toEqual(Array(6).fill(quiet));
    const left = (table: LeaseTable, counting: ReadonlyMap<number, number> = new Map()) =>
      other(withoutCollector(table, "me", counting));
    expect(waits(left(mine))).toEqual(Array(6).fill(quiet));

    const joined = other(mine);
    const { table, released } = nextMove(joined, nothingSeen, { id: "me", held }, 8);
    expect(released).toEqual([3, 4, 5]);
    expect(waits(other(table))).toEqual([quiet, quiet, quiet, whole, whole, whole]);

    let seen = sight(nothingSeen, mine, 0);
    for (let now = 1_000; now <= 7_000; now += 1_000) seen = sight(seen, mine, now);
    const { table: afterDeath, taken } = nextMove(mine, seen, { id: "other", held: new Map() }, 7_000);
    expect(taken).toHaveLength(6);
    expect(waits(afterDeath)).toEqual(Array(6).fill(whole));
    expect(countsAfter({ ...RULES, limit: null }, undefined)).toBe(0);

    // One who leaves answers for earlier holders where it has waited for their requests to count no more.
    const loud = { ...mine, slots: mine.slots.map((slot) => ({ ...slot, isQuiet: false })) };
    const [first] = held;
    const counting = new Map([first!, [1, 6]]);
    expect(waits(left(loud, counting))).toEqual([quiet, whole, whole, whole, whole, whole]);
  });

  it("survive being written and read", () => {
    const { table } = nextMove(emptyTable(RULES), nothingSeen, { id: "me", held: new Map() }, 7);
    expect(readTable(JSON.stringify(table))).toEqual(table);
  });

  it.each(["", "{}", "null", '{"version":2}', JSON.stringify({ ...emptyTable(RULES), slots: [] })])(
    "of another kind are refused: %s",
    (text) => {
      expect(() => readTable(text)).toThrow(expect.objectContaining({ name: "ContractError" }));
    },
  );
});

describe("the wait after losses", () => {
  it("is another one each time, so that nobody stays in step with others", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 1_000 }), (first) => {
        const longest = RULES.lease * PARTS.again;
        const waits = Array.from({ length: 8 }, (_, at) => waitAfterLosses(RULES, first + at));
        const ascending = [0, ...waits, longest].sort((a, b) => a - b);
        const gaps = ascending.slice(1).map((wait, at) => wait - ascending[at]!);
        expect(Math.min(...waits)).toBeGreaterThanOrEqual(0);
        expect(Math.max(...gaps)).toBeLessThan(longest / 4);
      }),
    );
  });
});

describe("a share of the limit", () => {
  it.each([
    [0, 0],
    [1, 6],
    [3, 20],
    [5, 33],
    [6, 40],
  ])("of %i slots is %i requests", (held, requests) => {
    expect(shareOf(RULES, held)).toBe(requests);
  });

  it("is unlimited where the limit is", () => {
    expect(shareOf({ ...RULES, limit: null }, 1)).toBe(Number.POSITIVE_INFINITY);
  });
});
