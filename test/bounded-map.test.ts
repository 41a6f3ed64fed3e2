import fc from "fast-check";
import { expect, it } from "vitest";
import { BoundedMap } from "../src/bounded-map.js";

const key = fc.integer({ min: 0, max: 30 });

it("a bounded map holds what was set last, half of what it may at least, and never more than that", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 8 }), fc.array(fc.tuple(key, fc.nat())), (half, sets) => {
      const map = new BoundedMap<number, number>(2 * half);
      const all = new Map<number, number>();
      for (const [key, value] of sets) {
        map.set(key, value);
        // Ordered by when a key was set last.
        all.delete(key);
        all.set(key, value);
        const held = [...all].filter(([key]) => map.get(key) !== undefined);
        expect(held.length).toBeLessThanOrEqual(2 * half);
        for (const [key, value] of held) expect(map.get(key)).toBe(value);
        for (const [key, value] of [...all].slice(-half)) expect(map.get(key)).toBe(value);
      }
    }),
  );
});
