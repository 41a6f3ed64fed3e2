import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SessionClock } from "../../src/replay/session-clock.js";
import { VirtualClock } from "../../src/replay/virtual-clock.js";
import { drawing, type Trouble, TroubledMachine } from "./sessions.js";

const NEVER_LATE = { tell: () => {}, until: ({ due }: { due: number }) => due };

/** A session's clock on a machine, and what has happened on it. */
function session(trouble: Trouble = {}, seed = 1) {
  const world = new VirtualClock();
  const machine = new TroubledMachine(world, drawing(seed), trouble);
  const told: [due: number, at: number, hasTurn: boolean][] = [];
  const clock = new SessionClock(machine, {
    tell: ({ due, at, hasTurn }) => void told.push([due, at, hasTurn]),
    until: ({ due }) => due,
  });
  const log: [name: string, at: number][] = [];
  const note = (name: string) => () => void log.push([name, clock.now()]);
  /** Something comes in at an instant of the machine's clock, which nobody else delays. */
  const arrives = (at: number, order: number, name: string) =>
    world.schedule(() => clock.arrive(machine.now(), order, note(name)), at - world.now());
  return { world, clock, told, log, note, arrives };
}

const settled = async (links = 20) => {
  for (let link = 0; link < links; link += 1) await Promise.resolve();
};

describe("the clock of a session", () => {
  it("fires timers in the order in which they are due, at the instants at which they are", async () => {
    const delays = fc.array(fc.nat(300), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(delays, fc.nat(1_000), fc.nat(200), async (list, seed, late) => {
        const { world, clock, log, told } = session({ late }, seed);
        list.forEach((delay, at) => {
          clock.schedule(() => log.push([String(at), clock.now()]), delay);
        });
        await world.advanceTo(2_000);
        const due = list.map((delay, at) => [String(at), delay] as const).sort((a, b) => a[1] - b[1]);
        expect(log).toEqual(due);
        expect(told).toEqual([]);
        expect(world.pending).toBe(0);
      }),
      { numRuns: 40 },
    );
  });

  it("lets what arrives wait for the timers due by then, and for those alone", async () => {
    const { world, clock, log, note, arrives } = session({ late: 40 }, 3);
    clock.schedule(note("timer at 100"), 100);
    clock.schedule(note("timer at 120"), 120);
    clock.schedule(note("timer at 121"), 121);
    arrives(120, 2, "second at 120");
    arrives(120, 3, "third at 120");
    arrives(90, 1, "first at 90");
    await world.advanceTo(1_000);
    expect(log).toEqual([
      ["first at 90", 90],
      ["timer at 100", 100],
      ["timer at 120", 120],
      ["second at 120", 120],
      ["third at 120", 120],
      ["timer at 121", 121],
    ]);
  });

  it("stands still for as long as promises go on, and no longer", async () => {
    const { world, clock, log } = session();
    const machine = new VirtualClock(7_000);
    const ticking = { now: () => machine.now() + world.now(), schedule: world.schedule.bind(world) };
    const live = new SessionClock(ticking, NEVER_LATE);
    void clock;
    live.schedule(async () => {
      log.push(["at first", live.now()]);
      await machine.advanceBy(0);
    }, 10);
    live.schedule(async () => {
      const before = live.now();
      await settled(200);
      log.push(["after promises", live.now() - before]);
    }, 20);
    await world.advanceTo(20);
    await world.advanceTo(500);
    log.push(["to whoever asks later", live.now()]);
    expect(log).toEqual([
      ["at first", 7_010],
      ["after promises", 0],
      ["to whoever asks later", 7_500],
    ]);
  });

  it("gives what arrives while promises go on a turn of its own", async () => {
    const { world, clock, log, note } = session();
    clock.schedule(async () => {
      note("timer")();
      void Promise.resolve().then(() => clock.arrive(10, 1, note("arrival")));
      await settled(50);
      note("the timer's promises")();
    }, 10);
    await world.advanceTo(100);
    expect(log.map(([name]) => name)).toEqual(["timer", "the timer's promises", "arrival"]);
  });

  it("takes arrivals in their order, though the later one tells first", async () => {
    const { world, clock, log, note } = session();
    clock.schedule(() => {
      clock.arrive(10, 2, note("second"));
      clock.arrive(10, 1, note("first"));
    }, 10);
    await world.advanceTo(100);
    expect(log.map(([name]) => name)).toEqual(["first", "second"]);
  });

  it("tells of a timer that is more than a second late, which has its turn now", async () => {
    const { world, clock, log, note, told } = session({ sleep: { from: 50, until: 5_000 } });
    clock.schedule(note("slept"), 100);
    clock.schedule(note("slept, too"), 3_999);
    clock.schedule(note("a little late"), 4_500);
    await world.advanceTo(10_000);
    expect(log).toEqual([
      ["slept", 5_000],
      ["slept, too", 5_000],
      ["a little late", 5_000],
    ]);
    expect(told).toEqual([
      [100, 5_000, true],
      [3_999, 5_000, true],
    ]);
  });

  it("tells of what is still to come when somebody from outside acts, though it is due", async () => {
    const { world, clock, log, note, told } = session({ sleep: { from: 100, until: 200 } });
    clock.schedule(note("late"), 110);
    clock.schedule(note("not due yet"), 160);
    const leaving = clock.schedule(note("left"), 140);
    world.schedule(() => {
      log.push(["outside", clock.now()]);
      leaving.unsubscribe();
    }, 150);
    await world.advanceTo(1_000);
    // Turns do not go back behind it.
    expect(log).toEqual([
      ["outside", 150],
      ["late", 150],
      ["not due yet", 160],
    ]);
    expect(told).toEqual([
      [110, 150, false],
      [140, 150, false],
    ]);
  });

  it("tells an arrival that is late from a timer due at the same instant", async () => {
    const world = new VirtualClock();
    const schedule: VirtualClock["schedule"] = (work, delay = 0, state) =>
      world.schedule(work, delay + 40, state);
    const told: object[] = [];
    const tell = (turn: object) => void told.push(turn);
    const clock = new SessionClock({ now: () => world.now(), schedule }, { ...NEVER_LATE, tell });
    clock.schedule(() => {}, 100);
    world.schedule(() => clock.arrive(100, 7, () => {}), 100);
    world.schedule(() => clock.now(), 120);
    await world.advanceTo(1_000);
    const common = { due: 100, at: 120, hasTurn: false, taken: 0 };
    expect(told).toEqual([
      { ...common, ahead: 0 },
      { ...common, ahead: 1, arrival: 7 },
    ]);
  });

  it("notices who leaves by the timer that is taken back", async () => {
    const { world, clock, note, told } = session({ sleep: { from: 100, until: 200 } });
    const timer = clock.schedule(note("left"), 110);
    world.schedule(() => timer.unsubscribe(), 150);
    await world.advanceTo(1_000);
    expect(told).toEqual([[110, 150, false]]);
    expect(world.pending).toBe(0);
  });

  it("waits on where a timer fires a little early", async () => {
    const world = new VirtualClock();
    const early = {
      now: () => world.now(),
      schedule: ((work, delay = 0, state) =>
        world.schedule(work, delay > 5 ? delay - 1 : delay, state)) as VirtualClock["schedule"],
    };
    const clock = new SessionClock(early, NEVER_LATE);
    const fired: number[] = [];
    clock.schedule(() => fired.push(world.now()), 100);
    await world.advanceTo(1_000);
    expect(fired).toEqual([100]);
  });

  it("lets what has passed be past where the clock is set back", async () => {
    const { world, clock, log, note, told } = session({ set: { at: 50, by: -3_600_000 } });
    clock.schedule(note("timer"), 100);
    await world.advanceTo(1_000);
    expect(log).toEqual([["timer", 100 - 3_600_000]]);
    expect(told).toEqual([[100, 100 - 3_600_000, true]]);
  });

  /** A machine whose clock is set back by an hour at 50, and each of whose timers is late by as much as is said. */
  function setBack(...lateness: number[]) {
    const world = new VirtualClock();
    const now = () => world.now() - (world.now() < 50 ? 0 : 3_600_000);
    const schedule: VirtualClock["schedule"] = (work, delay = 0, state) =>
      world.schedule(work, delay + (lateness.shift() ?? 0), state);
    return { world, machine: { now, schedule } };
  }

  it("gives what has passed its turn only after what is due by the clock that was set back", async () => {
    const { world, machine } = setBack(0, 25);
    const clock = new SessionClock(machine, NEVER_LATE);
    const log: [string, number][] = [];
    const note = (name: string) => () => void log.push([name, clock.now() + 3_600_000]);
    clock.schedule(note("passed"), 100);
    world.schedule(() => clock.schedule(note("late, and due by then"), 20), 60);
    await world.advanceTo(1_000);
    expect(log).toEqual([
      ["late, and due by then", 80],
      ["passed", 100],
    ]);
    expect(world.pending).toBe(0);
  });

  it("says which of those due at one instant it was that has passed", async () => {
    const { world, machine } = setBack(30, 10, 20);
    const told: unknown[] = [];
    const tell = (turn: object) => void told.push(turn);
    const recorded = new SessionClock(machine, { ...NEVER_LATE, tell });
    const names = ["a", "b", "c"];
    const turns: string[] = [];
    for (const name of names) recorded.schedule(() => turns.push(name), 100);
    await world.advanceTo(1_000);
    expect(turns).toEqual(["b", "c", "a"]);
    expect(told).toMatchObject([{ ahead: 1 }, { ahead: 1 }, { ahead: 0 }]);

    const replayed = new SessionClock(new VirtualClock(), {
      tell: () => {},
      until: () => Number.POSITIVE_INFINITY,
    });
    for (const name of names) replayed.schedule(() => turns.push(name), 100);
    for (const turn of told) replayed.takePassed(turn as { due: number; ahead: number });
    expect(turns.slice(3)).toEqual(["b", "c", "a"]);
    expect(replayed.takePassed({ due: 100, ahead: 0 })).toBe(false);
  });

  it("fires what comes to be due at the instant of one that has passed", async () => {
    const world = new VirtualClock();
    let isOver = false;
    const until = ({ due }: { due: number }) => (isOver ? due : Number.POSITIVE_INFINITY);
    const clock = new SessionClock(world, { tell: () => {}, until });
    const fired: [string, number][] = [];
    for (const name of ["passed", "in time"]) clock.schedule(() => fired.push([name, world.now()]), 100);
    await world.advanceTo(50);
    isOver = true;
    clock.takePassed({ due: 100, ahead: 0 });
    await world.advanceTo(1_000);
    expect(fired).toEqual([
      ["passed", 50],
      ["in time", 100],
    ]);
    expect(world.pending).toBe(0);
  });

  it("can be armed again from within, and leaves no timer behind", async () => {
    const { world, clock, log } = session({ late: 30 });
    const ticks = clock.schedule<number>(
      function (count = 0) {
        log.push([`tick ${count}`, clock.now()]);
        this.schedule(count + 1, 50);
      },
      50,
      0,
    );
    world.schedule(() => ticks.unsubscribe(), 190);
    await world.advanceTo(1_000);
    expect(log).toEqual([
      ["tick 0", 50],
      ["tick 1", 100],
      ["tick 2", 150],
    ]);
    expect(world.pending).toBe(0);
  });

  it("has turns as late as a tape says", async () => {
    const world = new VirtualClock();
    const late = new Map([
      [100, [2_500]],
      [200, [2_500.5]],
    ]);
    const clock = new SessionClock(world, {
      tell: ({ due, hasTurn }) => void (hasTurn && late.get(due)?.shift()),
      until: ({ due, arrival }) => (arrival === undefined && late.get(due)?.[0]) || due,
    });
    const log: [string, number][] = [];
    const note = (name: string) => () => void log.push([name, clock.now()]);
    clock.schedule(note("at 100"), 100);
    clock.schedule(note("at 200"), 200);
    clock.schedule(note("at 300"), 300);
    world.schedule(() => clock.arrive(150, 1, note("arrival")), 150);
    await world.advanceTo(5_000);
    expect(log).toEqual([
      ["at 100", 2_500],
      ["arrival", 2_500],
      ["at 200", 2_500.5],
      ["at 300", 2_500.5],
    ]);
  });
});
