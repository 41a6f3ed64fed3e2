import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  firstEpoch,
  type GroupRules,
  hashOf,
  type Lease,
  type LeaseMove,
  nextMove,
  PARTS,
  quietFor,
  readLease,
  releasedLease,
  type Self,
  sight,
  UNSEEN,
} from "../../../src/adapters/nats/lease.js";
import { VERSION } from "../../../src/adapters/nats/message.js";

const RULES: GroupRules = { lease: 8_000, limit: { requests: 40, per: 1_000, timeout: 10_000 } };
const lease = (more: Partial<Lease> = {}): Lease => ({
  ...{ version: VERSION, rules: RULES, holder: "other", term: 5, beat: 1, isQuiet: false },
  ...more,
});
const self = (more: Partial<Self> = {}): Self => ({
  ...{ id: "me", rules: RULES, held: undefined, mayAct: false },
  ...more,
});
/** The move after the lease was shown at some instants of one's own clock, or that somebody leads without one. */
function moveAfter(
  shown: readonly (readonly [at: number, lease: Lease | "led" | undefined])[],
  me = self(),
): LeaseMove {
  let seen = UNSEEN;
  let now = 0;
  let last: Lease | undefined;
  for (const [at, one] of shown) {
    now = at;
    last = one === "led" ? undefined : one;
    seen = sight(seen, last, one === "led", at, RULES);
  }
  return nextMove(last, seen, me, now);
}

describe("the lease of a group", () => {
  it("is taken at once where there is none, and by nobody who hears a leader, or has seen one", () => {
    expect(moveAfter([[10, undefined]])).toMatchObject({ isTaken: true, isQuiet: true });
    expect(moveAfter([[10, "led"]])).toBe("wait");
    expect(
      moveAfter([
        [10, "led"],
        [1_000, undefined],
      ]),
    ).toBe("wait");
    expect(
      moveAfter([
        [10, lease()],
        [1_000, undefined],
      ]),
    ).toBe("wait");
  });

  it("is taken from one that shows no sign of life for long enough, by one's own clock", () => {
    const dead = RULES.lease * PARTS.dead;
    const looks = (until: number) =>
      Array.from({ length: until / 1_000 + 1 }, (_, at) => [at * 1_000, lease()] as const);
    expect(moveAfter(looks(dead - 1_000))).toBe("wait");
    expect(moveAfter(looks(dead))).toMatchObject({ isTaken: true, isQuiet: false, lease: { holder: "me" } });
    // While it could not be read, nobody could show a sign of life.
    expect(
      moveAfter([
        [0, lease()],
        [60_000, lease()],
      ]),
    ).toBe("wait");
    // The clock was set back.
    expect(moveAfter([...looks(dead - 1_000), [100, lease()]])).toBe("wait");
  });

  it("is taken at once from one that has left, and says whether its requests can count", () => {
    for (const isQuiet of [false, true]) {
      const left = releasedLease(lease(), isQuiet);
      expect(moveAfter([[0, left]])).toMatchObject({ isTaken: true, isQuiet });
    }
    expect(quietFor(RULES, true)).toBe(1_000);
    expect(quietFor(RULES, false)).toBe(11_000);
    expect(quietFor({ ...RULES, limit: null }, false)).toBe(0);
  });

  it("is renewed by its holder, and written again where it was lost while it lasts", () => {
    const held = self({ held: 5, mayAct: true });
    expect(moveAfter([[0, lease({ holder: "me" })]], held)).toMatchObject({
      isTaken: false,
      lease: { term: 5 },
    });
    expect(moveAfter([[0, undefined]], held)).toMatchObject({ isTaken: false, lease: { term: 5 } });
    const late = self({ held: 5, mayAct: false });
    expect(moveAfter([[0, lease({ holder: "me" })]], late)).toMatchObject({ isTaken: false });
    expect(
      moveAfter(
        [
          [0, lease()],
          [10, undefined],
        ],
        late,
      ),
    ).toBe("wait");
    expect(moveAfter([[0, lease({ holder: "me", term: 6 })]], held)).toMatchObject({ isTaken: true });
  });

  it("passes under a higher term, whatever clocks say, and shows another beat", () => {
    fc.assert(
      fc.property(fc.nat(), fc.nat(), fc.nat(), (term, beat, now) => {
        const before = lease({ holder: null, term, beat });
        const move = moveAfter([[now, before]], self());
        expect(move).not.toBe("wait");
        if (move === "wait") return;
        expect(move.lease.term).toBeGreaterThan(term);
        expect(move.lease.beat).toBeGreaterThan(beat);
      }),
    );
  });

  it("passes under a higher term after its loss, too, where a clock ran ahead that is gone", () => {
    const looks = Array.from({ length: 8 }, (_, at) => [1_000 + at * 1_000, undefined] as const);
    for (const term of [7, 10_000]) {
      const move = moveAfter([[0, lease({ term })], ...looks]);
      expect(move).toMatchObject({ isTaken: true, lease: { term: Math.max(term + 1, 8_000) } });
    }
  });

  it("of others who go by other rules is refused once they live, and taken after they have gone", () => {
    const rules = { ...RULES, lease: 4_000 };
    const look = (beat: number) => lease({ rules, beat });
    expect(moveAfter([[0, look(1)]])).toBe("wait");
    expect(() =>
      moveAfter([
        [0, look(1)],
        [1_000, look(2)],
      ]),
    ).toThrow(/different rules/);
    expect(
      moveAfter([
        [0, look(1)],
        [2_900, look(1)],
        [5_800, look(1)],
      ]),
    ).toMatchObject({ lease: { rules: RULES } });
  });

  it("is one alone: of any number of collectors whose clocks run apart, no two may act at once", () => {
    const collectors = fc.array(
      fc.record({
        offset: fc.integer({ min: -1e6, max: 1e6 }),
        asleep: fc.tuple(fc.nat(60_000), fc.nat(30_000)),
      }),
      { minLength: 2, maxLength: 4 },
    );
    fc.assert(
      fc.property(collectors, fc.array(fc.nat(3), { maxLength: 200 }), (of, order) => {
        let stored: Lease | undefined;
        const states = of.map(() => ({
          seen: UNSEEN,
          held: undefined as number | undefined,
          until: -Infinity,
        }));
        for (const [step, who] of order.entries()) {
          const at = who % of.length;
          const { offset, asleep } = of[at]!;
          const time = step * 400;
          if (asleep[0] <= time && time < asleep[0] + asleep[1]) continue;
          const state = states[at]!;
          const now = 2e6 + time + offset;
          state.seen = sight(state.seen, stored, false, now, RULES);
          const me = self({
            id: `c${at}`,
            held: state.held,
            mayAct: time < state.until,
          });
          const move = nextMove(stored, state.seen, me, now);
          if (move === "wait") {
            state.held = undefined;
            state.until = -Infinity;
            continue;
          }
          stored = move.lease;
          state.held = move.lease.term;
          state.until = time + RULES.lease * PARTS.act;
          expect(states.filter(({ until }) => time < until)).toHaveLength(1);
        }
      }),
    );
  });

  it("gives each holder runs of its own, later than those of all terms before", () => {
    const ids = Array.from({ length: 400 }, (_, at) => `KXCQ2P7W3T8YB5N0${(at * 7_919).toString(36)}`);
    const firsts = ids.map((id) => firstEpoch(1_800_000_000_000, hashOf(id)));
    expect(new Set(firsts).size).toBeGreaterThan(300);
    for (const first of firsts) expect(first + 1_024).toBeLessThan(firstEpoch(1_800_000_000_001, 0));
    expect(Number.isSafeInteger(firstEpoch(4_000_000_000_000, 2 ** 31))).toBe(true);
  });

  it("is read as it was written, and refused if it is of another version", () => {
    expect(readLease(JSON.stringify(lease()))).toEqual(lease());
    for (const text of ["{", JSON.stringify({ ...lease(), version: 2 }), "null"]) {
      expect(() => readLease(text)).toThrow(expect.objectContaining({ name: "ContractError" }));
    }
  });
});
