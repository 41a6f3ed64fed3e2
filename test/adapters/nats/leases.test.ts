import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  countsAfter,
  emptyTable,
  type GroupRules,
  heldBy,
  type LeaseTable,
  nextMove,
  nothingSeen,
  PARTS,
  readTable,
  type Sightings,
  shareOf,
  sight,
  waitAfterLosses,
  withoutCollector,
} from "../../../src/adapters/nats/leases.js";
import { slotOf } from "../../../src/adapters/nats/subjects.js";

const RULES: GroupRules = { slots: 6, lease: 8_000, limit: { requests: 40, per: 1_000, timeout: 5_000 } };

/** One collector as `Collector` behaves: reads, decides, and writes some time later what nobody else has changed. */
class Member {
  readonly id: string;
  /** How far its clock is off, in ms. */
  readonly offset: number;
  seen: Sightings = nothingSeen;
  actsUntil = Number.NEGATIVE_INFINITY;
  held: ReadonlyMap<number, number> = new Map();
  /** From when on its part of the limit may be used, by slot. */
  countsFrom: ReadonlyMap<number, number> = new Map();
  isAsleep = false;
  /** What it has sent, and what becomes of that. */
  pending: { table: LeaseTable; revision: number; sentAt: number } | undefined;

  constructor(id: string, offset: number) {
    this.id = id;
    this.offset = offset;
  }

  actsOn(slot: number, now: number): boolean {
    return now + this.offset < this.actsUntil && this.held.has(slot);
  }

  /** The slots whose part of the limit it may use. */
  usable(now: number): ReadonlyMap<number, number> {
    return new Map([...this.held].filter(([slot]) => this.countsFrom.get(slot)! <= now + this.offset));
  }
}

/** The bucket, and what the members do to it. */
class Group {
  table: LeaseTable = emptyTable(RULES);
  revision = 0;
  now = 1_000_000;
  readonly members: Member[] = [];
  joined = 0;
  /** Until when what each member has sent with a slot's part of the limit may count, by slot and member. */
  readonly sent = Array.from({ length: RULES.slots }, () => new Map<Member, number>());

  join(offset: number): void {
    this.members.push(new Member(`m${this.joined++}`, offset));
  }

  leave(member: Member): void {
    this.table = withoutCollector(this.table, member.id, member.usable(this.now));
    this.revision += 1;
    this.members.splice(this.members.indexOf(member), 1);
    const { per } = RULES.limit!;
    for (const sent of this.sent) {
      if (sent.has(member)) sent.set(member, Math.min(sent.get(member)!, this.now + per));
    }
  }

  /** All members send as much as they may. Returns slots whose part of the limit two have used within a window. */
  send(): number[] {
    const { per, timeout } = RULES.limit!;
    const overused: number[] = [];
    for (const member of this.members) {
      for (const slot of member.usable(this.now).keys()) {
        if (!member.actsOn(slot, this.now)) continue;
        const sent = this.sent[slot]!;
        for (const [other, until] of sent) if (other !== member && until > this.now) overused.push(slot);
        sent.set(member, this.now + timeout + per);
      }
    }
    return overused;
  }

  read(member: Member): void {
    const now = this.now + member.offset;
    member.seen = sight(member.seen, this.table, now);
    const ours = heldBy(this.table, member.id);
    member.held = new Map([...member.held].filter(([slot, epoch]) => ours.get(slot) === epoch));
    const move = nextMove(this.table, member.seen, member, now);
    const released = new Set(move.released);
    member.held = new Map([...member.held].filter(([slot]) => !released.has(slot)));
    member.pending = { table: move.table, revision: this.revision, sentAt: now };
  }

  /** The write arrives; `isHeard`: whether the member learns of it. */
  write(member: Member, isHeard: boolean): void {
    const { pending } = member;
    member.pending = undefined;
    if (pending === undefined || pending.revision !== this.revision) return;
    this.table = pending.table;
    this.revision += 1;
    if (!isHeard) return;
    member.actsUntil = pending.sentAt + RULES.lease * PARTS.act;
    const held = heldBy(pending.table, member.id);
    const { slots } = pending.table;
    member.countsFrom = new Map(
      [...held.keys()].map((slot) => {
        const taken = this.now + member.offset + countsAfter(RULES, slots[slot]);
        return [slot, member.held.has(slot) ? member.countsFrom.get(slot)! : taken];
      }),
    );
    member.held = held;
  }

  /** Slots on which more than one acts. */
  get shared(): number[] {
    return this.table.slots.flatMap((_, slot) => {
      return this.members.filter((member) => member.actsOn(slot, this.now)).length > 1 ? [slot] : [];
    });
  }
}

type Step =
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "beat" | "read" | "write" | "lose" | "sleep" | "wake" | "leave"; readonly member: number }
  | { readonly do: "join"; readonly offset: number };

const member = fc.nat({ max: 2 });
const someSteps = fc.array(
  fc.oneof(
    {
      weight: 8,
      arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.integer({ min: 1, max: 2_000 }) }),
    },
    { weight: 12, arbitrary: fc.record({ do: fc.constant("beat" as const), member }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constantFrom(...(["read", "write", "lose", "sleep", "wake", "leave"] as const)),
        member,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant("join" as const), offset: fc.integer({ min: -1e6, max: 1e6 }) }),
    },
  ),
  { maxLength: 200, size: "max" },
);

function play(steps: readonly Step[], check: (group: Group) => void): Group {
  const group = new Group();
  for (const step of steps) {
    if (step.do === "pass") group.now += step.ms;
    else if (step.do === "join") {
      if (group.members.length < 3) group.join(step.offset);
    } else {
      const member = group.members[step.member];
      if (member === undefined) continue;
      if (step.do === "sleep") member.isAsleep = true;
      else if (step.do === "wake") member.isAsleep = false;
      else if (step.do === "write") group.write(member, true);
      else if (step.do === "lose") group.write(member, false);
      else if (step.do === "leave") group.leave(member);
      else if (!member.isAsleep) group.read(member);
      if (step.do === "beat" && !member.isAsleep) group.write(member, true);
    }
    check(group);
  }
  return group;
}

/** Everyone who is awake beats as it should for a while. */
function settle(group: Group, ms: number): void {
  for (const end = group.now + ms; group.now < end; group.now += RULES.lease * PARTS.renew) {
    for (const member of group.members.filter(({ isAsleep }) => !isAsleep)) {
      group.read(member);
      group.write(member, true);
    }
  }
}

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
