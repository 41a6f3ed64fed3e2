import fc from "fast-check";
import { expect, it } from "vitest";
import { caughtUp, type Heard, hear, isBehind, NOTHING_HEARD } from "../../../src/adapters/nats/gaps.js";

const places = fc.record({ epoch: fc.nat(3), number: fc.integer({ min: 1, max: 6 }) });

it("messages that come whole and in order leave no gap", () => {
  let heard: Heard = NOTHING_HEARD;
  for (const place of [1, 2, 3].flatMap((epoch) => [1, 2, 3].map((number) => ({ epoch, number })))) {
    const turn = hear(heard, place);
    expect(turn).toEqual({ heard: place, isGap: false, isEarlier: false });
    heard = turn.heard;
  }
});

it("whatever comes, a message of which an earlier one of its run is missing tells of a gap, unless that was told", () => {
  fc.assert(
    fc.property(fc.array(places), (all) => {
      let heard = NOTHING_HEARD;
      const come = new Map<number, Set<number>>();
      for (const place of all) {
        const turn = hear(heard, place);
        const before = come.get(place.epoch) ?? new Set();
        come.set(place.epoch, before.add(place.number));
        expect(turn.isEarlier).toBe(place.epoch < heard.epoch);
        const isNewest = !turn.isEarlier && (place.epoch > heard.epoch || place.number > heard.number);
        const lastBefore = place.epoch > heard.epoch ? 0 : heard.number;
        expect(turn.isGap).toBe(isNewest && place.number !== lastBefore + 1);
        expect(isBehind(turn.heard, place)).toBe(false);
        heard = turn.heard;
      }
    }),
  );
});

it("what was read at once is not missing, and never takes back what was heard", () => {
  fc.assert(
    fc.property(places, places, (heard, read) => {
      const after = caughtUp(heard, read);
      expect(isBehind(after, read) || isBehind(after, heard)).toBe(false);
    }),
  );
});
