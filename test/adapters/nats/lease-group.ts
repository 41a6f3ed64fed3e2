import fc from "fast-check";
import {
  countsAfter,
  emptyTable,
  type GroupRules,
  heldBy,
  type LeaseTable,
  nextMove,
  nothingSeen,
  PARTS,
  type Sightings,
  sight,
  withoutCollector,
} from "../../../src/adapters/nats/leases.js";

export const RULES: GroupRules = {
  slots: 6,
  lease: 8_000,
  limit: { requests: 40, per: 1_000, timeout: 5_000 },
};

/** One collector as `Collector` behaves: reads, decides, and writes some time later what nobody else has changed. */
export class Member {
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
export class Group {
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

export type Step =
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "beat" | "read" | "write" | "lose" | "sleep" | "wake" | "leave"; readonly member: number }
  | { readonly do: "join"; readonly offset: number };

const member = fc.nat({ max: 2 });

export const someSteps = fc.array(
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

export function play(steps: readonly Step[], check: (group: Group) => void): Group {
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
export function settle(group: Group, ms: number): void {
  for (const end = group.now + ms; group.now < end; group.now += RULES.lease * PARTS.renew) {
    for (const member of group.members.filter(({ isAsleep }) => !isAsleep)) {
      group.read(member);
      group.write(member, true);
    }
  }
}
