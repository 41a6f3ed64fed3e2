import fc from "fast-check";
import { emptyReport } from "pairstream";
import { describe, expect, it } from "vitest";
import type { Alert } from "../../../examples/snipers/alerts.js";
import { type Letter, Outbox, type OutboxFile, type OutboxState } from "../../../examples/snipers/outbox.js";

const EMPTY: OutboxState = { looks: {}, waiting: [], ids: [] };
const QUERY = { pairAddress: "pair" };
const RECEIVERS = ["terminal", "webhook"];

const alertOf = (id: string): Alert => ({
  ...{ id, kind: "sale", side: "sell", usd: 1, trades: 1, observedAt: 0 },
  ...{ pairAddress: "pair", walletAddress: "ann" },
});

class Crash extends Error {}

/** A machine on which a file stays, and that is switched off at one of its steps: before what the step does, or after it. */
class Machine implements OutboxFile {
  state: OutboxState = EMPTY;
  readonly #delivered: Letter[] = [];
  /** How many steps from now on it lives. */
  life = Number.POSITIVE_INFINITY;

  read(): OutboxState {
    return JSON.parse(JSON.stringify(this.state));
  }

  write(state: OutboxState): void {
    this.#step();
    this.state = state;
    this.#step();
  }

  deliver(letter: Letter): void {
    this.#step();
    // Whoever is told of something that no file knows would be told of it again and again.
    expect(this.state.waiting).toContainEqual(letter);
    this.#delivered.push(letter);
    this.#step();
  }

  /** What a receiver has got. */
  got(receiver: string): string[] {
    return this.#delivered.flatMap(({ to, alert }) => (to === receiver ? alert.id : []));
  }

  #step(): void {
    if (this.life <= 0) throw new Crash();
    this.life -= 1;
  }
}

/** What the service shows, look by look: the ids of the alerts in it. */
type Looks = readonly (readonly string[])[];

/** A program that goes on where it left off; `picks` say which of what it could do it does next. */
function run(machine: Machine, looks: Looks, picks: Iterator<number>): void {
  const outbox = new Outbox(machine, RECEIVERS);
  // The block stands for how far the program has read.
  const read = () => outbox.knownOf(QUERY)?.report.blockNumber ?? 0;
  for (;;) {
    const queues = RECEIVERS.map((receiver) => outbox.waiting.filter(({ to }) => to === receiver));
    const next = queues.flatMap(([letter]) => (letter === undefined ? [] : letter));
    const ids = looks[read()];
    const choices = next.length + (ids === undefined ? 0 : 1);
    if (choices === 0) return;
    const letter = next[(picks.next().value ?? 0) % choices];
    if (letter === undefined) {
      outbox.take({ ...QUERY, report: { ...emptyReport, blockNumber: read() + 1 } }, ids!.map(alertOf));
    } else {
      machine.deliver(letter);
      outbox.mark(letter);
    }
  }
}

/** Runs it again and again until it comes to its end; gives how many times it went down. */
function runThrough(
  machine: Machine,
  looks: Looks,
  lives: readonly number[],
  picks: Iterable<number> = [],
): number {
  const iterator = picks[Symbol.iterator]();
  for (let crashes = 0; ; crashes++) {
    machine.life = lives[crashes] ?? Number.POSITIVE_INFINITY;
    try {
      run(machine, looks, iterator);
      return crashes;
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
    }
  }
}

const once = (ids: readonly string[]) => [...new Set(ids)];

/** Holds what each receiver has got to what it should have: all, in order, and one again at most for each crash. */
function check(machine: Machine, looks: Looks, crashes: number, message = ""): void {
  for (const receiver of RECEIVERS) {
    const got = machine.got(receiver);
    expect(once(got), message).toEqual(once(looks.flat()));
    expect(got.length - once(got).length, message).toBeLessThanOrEqual(crashes);
  }
  expect(machine.state.waiting).toEqual([]);
}

describe("an outbox", () => {
  it("loses no alert and repeats one at most, wherever its process is ended", () => {
    const looks = [["a", "b"], [], ["c"], ["d", "e", "f"]];
    for (let life = 0; ; life++) {
      const machine = new Machine();
      const crashes = runThrough(machine, looks, [life]);
      check(machine, looks, crashes, `after ${life} steps`);
      if (crashes > 0) continue;
      expect(life).toBe(2 * looks.length + 4 * 6 * RECEIVERS.length);
      return;
    }
  });

  it("repeats no more than one a receiver for each crash, over any looks, crashes and slow receivers", () => {
    const looksOf = fc.array(fc.uniqueArray(fc.constantFrom(..."abcdefgh"), { maxLength: 3 }), {
      maxLength: 6,
    });
    const picksOf = fc.array(fc.nat(5), { maxLength: 60 });
    fc.assert(
      fc.property(looksOf, fc.array(fc.nat(20), { maxLength: 12 }), picksOf, (looks, lives, picks) => {
        const machine = new Machine();
        // What comes twice, as after a fork, is told once.
        check(machine, looks, runThrough(machine, looks, lives, picks));
      }),
    );
  });

  it("is as it was where it could not be written", () => {
    const machine = new Machine();
    const outbox = new Outbox(machine, RECEIVERS);
    const look = { ...QUERY, report: emptyReport };
    machine.life = 0;
    expect(() => outbox.take(look, [alertOf("a")])).toThrow(Crash);
    expect(outbox.waiting).toEqual([]);
    machine.life = Number.POSITIVE_INFINITY;
    expect(outbox.take(look, [alertOf("a")])).toHaveLength(2);
  });

  it("keeps the looks at each pair and number of blocks apart, and of a look what the next start needs", () => {
    const machine = new Machine();
    const outbox = new Outbox(machine, RECEIVERS);
    const more = { initial: true, observedAt: 1, events: [], trades: [] };
    outbox.take({ ...QUERY, report: emptyReport, ...more }, []);
    outbox.take({ ...QUERY, blocksAfterCreation: 0, report: { ...emptyReport, blockNumber: 7 } }, []);
    const again = new Outbox(machine, RECEIVERS);
    expect(again.knownOf(QUERY)).toEqual({ ...QUERY, report: emptyReport });
    expect(again.knownOf({ ...QUERY, blocksAfterCreation: 0 })?.report.blockNumber).toBe(7);
    expect(again.knownOf({ ...QUERY, blocksAfterCreation: 1 })).toBeUndefined();
  });

  it("remembers the last thousand alerts", () => {
    const machine = new Machine();
    const outbox = new Outbox(machine, ["terminal"]);
    const look = { ...QUERY, report: emptyReport };
    const all = Array.from({ length: 1_001 }, (_, at) => alertOf(`${at}`));
    expect(outbox.take(look, all)).toHaveLength(1_001);
    expect(machine.state.ids).toHaveLength(1_000);
    expect(outbox.take(look, all).map(({ alert }) => alert.id)).toEqual(["0"]);
  });
});
