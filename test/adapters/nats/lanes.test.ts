import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Lanes } from "../../../src/adapters/nats/lanes.js";

describe("lanes", () => {
  it("leave nobody waiting while one is free, whoever takes none", () => {
    const step = fc.record({ isLeaving: fc.boolean(), takes: fc.boolean() });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 3 }), fc.array(step, { maxLength: 40 }), (most, steps) => {
        const lanes = new Lanes(most);
        let taken = 0;
        let waiting = 0;
        for (const { isLeaving, takes } of steps) {
          if (isLeaving) {
            if (taken === 0) continue;
            taken -= 1;
            lanes.leave();
          } else {
            const enter = () => {
              if (lanes.enter(retry)) taken += 1;
              else waiting += 1;
            };
            const retry = () => {
              waiting -= 1;
              if (takes) enter();
            };
            enter();
          }
          expect(taken).toBeLessThanOrEqual(most);
          expect(taken === most || waiting === 0).toBe(true);
        }
      }),
    );
  });
});
