import fc from "fast-check";
import { debounceTime, delay, firstValueFrom, interval, map, of, Subject, take, timer, toArray } from "rxjs";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../src/replay/virtual-clock.js";

describe("VirtualClock", () => {
  it("starts where it is told, and lets time pass only when told", async () => {
    expect(new VirtualClock().now()).toBe(0);
    const clock = new VirtualClock(1_000);
    expect(clock.now()).toBe(1_000);
    await clock.advanceBy(5);
    expect(clock.now()).toBe(1_005);
    await clock.advanceTo(2_000);
    expect(clock.now()).toBe(2_000);
    expect(() => new VirtualClock(Number.NaN)).toThrow(/^start /);
  });

  it("refuses to go back, to be advanced twice at once, and delays that are none", async () => {
    const clock = new VirtualClock(10);
    await expect(clock.advanceTo(9)).rejects.toThrow(/^instant /);
    await expect(clock.advanceBy(Number.NaN)).rejects.toThrow(/^instant /);
    await expect(clock.advanceTo(Number.POSITIVE_INFINITY)).rejects.toThrow(/^instant /);
    const advance = clock.advanceBy(10);
    await expect(clock.advanceBy(1)).rejects.toThrow("already being advanced");
    await advance;
    expect(() => clock.schedule(() => {}, Number.POSITIVE_INFINITY)).toThrow(/^delay /);
  });

  it("fires at its instant, in the order of instants and then of arming", async () => {
    const clock = new VirtualClock();
    const fired: [string, number][] = [];
    const note = (name: string) => () => fired.push([name, clock.now()]);
    clock.schedule(note("late"), 20);
    clock.schedule(note("first of two"), 10);
    clock.schedule(note("second of two"), 10);
    clock.schedule(note("now"));
    clock.schedule(note("past"), -5);
    expect(fired).toEqual([]);
    await clock.advanceTo(10);
    expect(fired).toEqual([
      ["now", 0],
      ["past", 0],
      ["first of two", 10],
      ["second of two", 10],
    ]);
    expect(clock.pending).toBe(1);
  });

  it("passes the state on, and arms again from inside", async () => {
    const clock = new VirtualClock();
    const seen: [number, number][] = [];
    clock.schedule<number>(
      function (state = 0) {
        seen.push([state, clock.now()]);
        if (state < 3) this.schedule(state + 1, 5);
      },
      5,
      1,
    );
    await clock.advanceTo(100);
    expect(seen).toEqual([
      [1, 5],
      [2, 10],
      [3, 15],
    ]);
  });

  it("drives RxJS operators", async () => {
    const clock = new VirtualClock();
    const stamped = <T>() => map((value: T) => [value, clock.now()] as const);
    const ticks = firstValueFrom(interval(10, clock).pipe(stamped(), take(3), toArray()));
    const timed = firstValueFrom(timer(5, 20, clock).pipe(stamped(), take(2), toArray()));
    const delayed = firstValueFrom(of("a", "b").pipe(delay(7, clock), stamped(), toArray()));
    const typed = new Subject<string>();
    const quiet: (readonly [string, number])[] = [];
    typed.pipe(debounceTime(10, clock), stamped()).subscribe((value) => quiet.push(value));
    typed.next("x");
    await clock.advanceTo(6);
    typed.next("y");
    await clock.advanceTo(100);
    expect(await ticks).toEqual([
      [0, 10],
      [1, 20],
      [2, 30],
    ]);
    expect(await timed).toEqual([
      [0, 5],
      [1, 25],
    ]);
    expect(await delayed).toEqual([
      ["a", 7],
      ["b", 7],
    ]);
    expect(quiet).toEqual([["y", 16]]);
    expect(clock.pending).toBe(0);
  });

  it("forgets what is cancelled", async () => {
    const clock = new VirtualClock();
    const fired: string[] = [];
    const early = clock.schedule(() => fired.push("early"), 10);
    const subscription = interval(10, clock).subscribe(() => fired.push("tick"));
    clock.schedule(() => subscription.unsubscribe(), 25);
    expect(clock.pending).toBe(3);
    early.unsubscribe();
    expect(clock.pending).toBe(2);
    await clock.advanceTo(1_000);
    expect(fired).toEqual(["tick", "tick"]);
    expect(clock.pending).toBe(0);
  });

  it("cancels a timer that another one, due at the same instant, cancels first", async () => {
    const clock = new VirtualClock();
    const fired: string[] = [];
    clock.schedule(() => second.unsubscribe(), 10);
    const second = clock.schedule(() => fired.push("second"), 10);
    await clock.advanceTo(100);
    expect(fired).toEqual([]);
  });

  it("lets promises settle before it starts, and between its steps", async () => {
    const clock = new VirtualClock();
    const order: string[] = [];
    const chain = async (name: string) => {
      for (let link = 0; link < 50; link += 1) await Promise.resolve();
      order.push(name);
      clock.schedule(() => order.push(`${name}'s timer`), 1);
    };
    void chain("before");
    clock.schedule(() => void chain("inside"), 1);
    clock.schedule(() => order.push("next"), 1);
    await clock.advanceTo(2);
    expect(order).toEqual(["before", "inside", "next", "before's timer", "inside's timer"]);
  });

  it("rejects with what a work throws, and can go on", async () => {
    const clock = new VirtualClock();
    const fired: string[] = [];
    clock.schedule(() => {
      throw new Error("no");
    }, 10);
    clock.schedule(() => fired.push("other"), 10);
    await expect(clock.advanceTo(100)).rejects.toThrow("no");
    expect(clock.now()).toBe(10);
    expect(fired).toEqual([]);
    await clock.advanceTo(100);
    expect(fired).toEqual(["other"]);
  });

  it("fires in order, whatever is armed and cancelled", async () => {
    const timers = fc.array(fc.record({ delay: fc.nat(50), isCancelled: fc.boolean() }), { maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(timers, async (list) => {
        const clock = new VirtualClock();
        const fired: number[] = [];
        const armed = list.map(({ delay: after }, index) => clock.schedule(() => fired.push(index), after));
        list.forEach(({ isCancelled }, index) => {
          if (isCancelled) armed[index]!.unsubscribe();
        });
        const kept = list
          .map((entry, index) => ({ ...entry, index }))
          .filter(({ isCancelled }) => !isCancelled);
        expect(clock.pending).toBe(kept.length);
        await clock.advanceTo(50);
        const expected = kept
          .sort((a, b) => a.delay - b.delay || a.index - b.index)
          .map(({ index }) => index);
        expect(fired).toEqual(expected);
        expect(clock.pending).toBe(0);
      }),
      { numRuns: 30 },
    );
  });

  it("holds 50,000 timers", async () => {
    const clock = new VirtualClock();
    const fired: number[] = [];
    let random = 1;
    for (let index = 0; index < 50_000; index += 1) {
      random = (random * 48_271) % 2_147_483_647;
      clock.schedule(() => fired.push(clock.now()), random % 1_000_000);
    }
    expect(clock.pending).toBe(50_000);
    await clock.advanceTo(1_000_000);
    expect(fired).toHaveLength(50_000);
    expect(fired.every((instant, index) => index === 0 || fired[index - 1]! <= instant)).toBe(true);
  });
});
