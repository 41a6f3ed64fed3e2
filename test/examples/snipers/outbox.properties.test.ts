import fc from "fast-check";
import { emptyReport } from "pairstream";
import { describe, expect, it } from "vitest";
import type { Alert } from "../../../examples/snipers/alerts.js";
import { Outbox, type OutboxFile, type OutboxState } from "../../../examples/snipers/outbox.js";

const EMPTY: OutboxState = { looks: {}, waiting: [], told: [] };
const QUERY = { pairAddress: "pair" };

const alertOf = (id: string): Alert => ({
  ...{ id, kind: "sale", side: "sell", usd: 1, trades: 1, observedAt: 0 },
  ...{ pairAddress: "pair", walletAddress: "ann" },
});

class Crash extends Error {}

/** A machine on which a file stays, and that is switched off at one of its steps: before what the step does, or after it. */
class Machine implements OutboxFile {
  state: OutboxState = EMPTY;
  readonly told: string[] = [];
  /** Before how many steps from now on it goes down. */
  life = Number.POSITIVE_INFINITY;

  read(): OutboxState {
    return JSON.parse(JSON.stringify(this.state));
  }

  write(state: OutboxState): void {
    this.#step();
    this.state = state;
    this.#step();
  }

  tell({ id }: Alert): void {
    this.#step();
    this.told.push(id);
    this.#step();
  }

  #step(): void {
    if (this.life <= 0) throw new Crash();
    this.life -= 1;
  }
}

/** A program that reads what the service shows from where it left off; every look holds `size` alerts. */
function run(machine: Machine, looks: readonly (readonly string[])[]): void {
  const outbox = new Outbox(machine);
  for (const alert of outbox.waiting) tell(alert);
  // The block stands for how far the program has read.
  const read = outbox.knownOf(QUERY)?.report.blockNumber ?? 0;
  for (const [at, ids] of looks.entries()) {
    if (at < read) continue;
    const look = { ...QUERY, report: { ...emptyReport, blockNumber: at + 1 } };
    for (const alert of outbox.take(look, ids.map(alertOf))) tell(alert);
  }
  expect(outbox.waiting).toEqual([]);

  function tell(alert: Alert): void {
    machine.tell(alert);
    outbox.mark(alert);
  }
}

/** Runs it again and again until it comes to its end; gives how many times it went down. */
function runThrough(
  machine: Machine,
  looks: readonly (readonly string[])[],
  lives: readonly number[],
): number {
  for (let crashes = 0; ; crashes++) {
    machine.life = lives[crashes] ?? Number.POSITIVE_INFINITY;
    try {
      run(machine, looks);
      return crashes;
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
    }
  }
}

const once = (ids: readonly string[]) => [...new Set(ids)];

describe("an outbox", () => {
  it("loses no alert and repeats one at most, wherever its process is ended", () => {
    const looks = [["a", "b"], [], ["c"], ["d", "e", "f"]];
    const steps = new Machine();
    steps.life = 10_000;
    run(steps, looks);
    const all = 10_000 - steps.life;
    expect(all).toBeGreaterThan(30);
    for (let life = 0; life < all; life++) {
      const machine = new Machine();
      expect(runThrough(machine, looks, [life])).toBe(1);
      expect(once(machine.told), `after ${life} steps`).toEqual(["a", "b", "c", "d", "e", "f"]);
      expect(machine.told.length, `after ${life} steps`).toBeLessThanOrEqual(7);
    }
  });

  it("repeats no more than one for each crash, over any looks and crashes", () => {
    const looksOf = fc.array(fc.uniqueArray(fc.constantFrom(..."abcdefgh"), { maxLength: 3 }), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(looksOf, fc.array(fc.nat(20), { maxLength: 12 }), (looks, lives) => {
        const machine = new Machine();
        const crashes = runThrough(machine, looks, lives);
        // In the order of the looks, and what comes twice, as after a fork, only once.
        expect(once(machine.told)).toEqual(once(looks.flat()));
        expect(machine.told.length - once(machine.told).length).toBeLessThanOrEqual(crashes);
      }),
    );
  });

  it("is as it was where it could not be written", () => {
    const machine = new Machine();
    const outbox = new Outbox(machine);
    const look = { ...QUERY, report: emptyReport };
    machine.life = 0;
    expect(() => outbox.take(look, [alertOf("a")])).toThrow(Crash);
    expect(outbox.waiting).toEqual([]);
    machine.life = Number.POSITIVE_INFINITY;
    expect(outbox.take(look, [alertOf("a")])).toHaveLength(1);
  });

  it("keeps the looks at each pair and number of blocks apart, and of a look what the next start needs", () => {
    const machine = new Machine();
    const outbox = new Outbox(machine);
    const more = { initial: true, observedAt: 1, events: [], trades: [] };
    outbox.take({ ...QUERY, report: emptyReport, ...more }, []);
    outbox.take({ ...QUERY, blocksAfterCreation: 0, report: { ...emptyReport, blockNumber: 7 } }, []);
    const again = new Outbox(machine);
    expect(again.knownOf(QUERY)).toEqual({ ...QUERY, report: emptyReport });
    expect(again.knownOf({ ...QUERY, blocksAfterCreation: 0 })?.report.blockNumber).toBe(7);
    expect(again.knownOf({ ...QUERY, blocksAfterCreation: 1 })).toBeUndefined();
  });

  it("remembers a thousand of those that it has told", () => {
    const machine = new Machine();
    const outbox = new Outbox(machine);
    const look = { ...QUERY, report: emptyReport };
    const all = Array.from({ length: 1_001 }, (_, at) => alertOf(`${at}`));
    for (const alert of outbox.take(look, all)) outbox.mark(alert);
    expect(machine.state.told).toHaveLength(1_000);
    expect(outbox.take(look, all).map(({ id }) => id)).toEqual(["0"]);
  });
});
