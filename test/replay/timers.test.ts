import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Timer, TimerQueue } from "../../src/replay/timers.js";

describe("a queue of timers", () => {
  it("gives them by when they are due, then by order, whichever are taken out meanwhile", () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ due: fc.integer({ min: 0, max: 20 }) }) },
      { weight: 1, arbitrary: fc.record({ remove: fc.nat(60) }) },
      { weight: 1, arbitrary: fc.constant("first" as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const queue = new TimerQueue<Timer>();
        const all: Timer[] = [];
        let kept: Timer[] = [];
        const check = () => {
          expect(queue.size).toBe(kept.length);
          expect(new Set(queue)).toEqual(new Set(kept));
          expect(queue.first).toBe([...kept].sort((a, b) => a.due - b.due || a.order - b.order)[0]);
        };
        const remove = (timer: Timer | undefined) => {
          if (timer === undefined) return;
          queue.remove(timer);
          kept = kept.filter((other) => other !== timer);
        };
        for (const action of steps) {
          if (action === "first") remove(queue.first);
          else if ("remove" in action) remove(all[action.remove]);
          else {
            const timer = { due: action.due, order: all.length, fire: () => {}, place: -1 };
            all.push(timer);
            kept.push(timer);
            queue.add(timer);
          }
          check();
        }
        while (kept.length > 0) {
          remove(queue.first);
          check();
        }
      }),
    );
  });
});
