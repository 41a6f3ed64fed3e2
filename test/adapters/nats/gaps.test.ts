import fc from "fast-check";
import { expect, it } from "vitest";
import { type Heard, isBehind, isGapBefore, NOTHING_HEARD, newer } from "../../../src/adapters/nats/gaps.js";

const places = fc.record({ epoch: fc.nat(3), number: fc.integer({ min: 1, max: 6 }) });

it("messages that come whole and in order leave no gap", () => {
  let heard: Heard = NOTHING_HEARD;
  for (const place of [1, 2, 3].flatMap((epoch) => [1, 2, 3].map((number) => ({ epoch, number })))) {
    expect(isGapBefore(heard, place)).toBe(false);
    heard = newer(heard, place);
    expect(heard).toEqual(place);
  }
});

it("whatever comes, a message of which an earlier one of its run is missing tells of a gap, unless that was told", () => {
  fc.assert(
    fc.property(fc.array(places), (all) => {
      let heard = NOTHING_HEARD;
      for (const place of all) {
        const isNewest = isBehind(heard, place);
        const lastBefore = place.epoch > heard.epoch ? 0 : heard.number;
        expect(isGapBefore(heard, place)).toBe(isNewest && place.number !== lastBefore + 1);
        heard = newer(heard, place);
        expect(isBehind(heard, place)).toBe(false);
      }
    }),
  );
});

it("what is newer takes back nothing of what is known", () => {
  fc.assert(
    fc.property(places, places, (known, told) => {
      const after = newer(known, told);
      expect(isBehind(after, told) || isBehind(after, known)).toBe(false);
    }),
  );
  expect(newer(undefined, { epoch: 1, number: 1 })).toEqual({ epoch: 1, number: 1 });
});
