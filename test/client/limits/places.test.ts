import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ended,
  entered,
  noPlaces,
  opensAt,
  type Places,
  setBack,
} from "../../../src/client/limits/places.js";

describe("the places of a rate limit", () => {
  it("open no later than they have to", () => {
    const room = fc.record({ from: fc.nat(3_000), requests: fc.nat(12) });
    fc.assert(
      fc.property(
        fc.array(fc.nat(2_500), { maxLength: 14 }),
        fc.array(room, { maxLength: 4 }),
        fc.nat(4),
        (ends, steps, underWay) => {
          const leaving = ends.sort((a, b) => a - b);
          // Parts of a limit only ever come to count.
          const rooms = steps.sort((a, b) => a.from - b.from);
          rooms.forEach((one, at) => {
            rooms[at] = { ...one, requests: Math.max(one.requests, rooms[at - 1]?.requests ?? 0) };
          });
          const now = 1_000;
          const isOpen = (instant: number) =>
            underWay + leaving.filter((until) => until > instant).length <
            (rooms.findLast(({ from }) => from <= instant)?.requests ?? 0);
          let first = Number.POSITIVE_INFINITY;
          for (let at = now; at <= 3_100 && first === Number.POSITIVE_INFINITY; at++)
            if (isOpen(at)) first = at;
          expect(opensAt({ underWay, leaving }, rooms, now)).toBe(first);
        },
      ),
    );
  });

  it("keep the ends in order, whichever comes first, and forget what has passed", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(50), { maxLength: 30 }), fc.nat(60), (ends, now) => {
        let places: Places = noPlaces;
        for (const _ of ends) places = entered(places, Number.NEGATIVE_INFINITY);
        for (const until of ends) places = ended(places, until);
        expect(places).toEqual({ underWay: 0, leaving: [...ends].sort((a, b) => a - b) });
        expect(entered(places, now).leaving).toEqual(places.leaving.filter((until) => until > now));
        expect(setBack(places, 7).leaving).toEqual(places.leaving.map((until) => until - 7));
        expect(ended(entered(places, Number.NEGATIVE_INFINITY), undefined)).toEqual(places);
      }),
    );
  });
});
