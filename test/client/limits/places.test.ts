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
    fc.assert(
      fc.property(
        fc.array(fc.nat(2_500), { maxLength: 14 }),
        fc.nat(12),
        fc.nat(4),
        (ends, requests, underWay) => {
          const leaving = ends.sort((a, b) => a - b);
          const now = 1_000;
          const isOpen = (instant: number) =>
            underWay + leaving.filter((until) => until > instant).length < requests;
          let first = Number.POSITIVE_INFINITY;
          for (let at = now; at <= 3_100 && first === Number.POSITIVE_INFINITY; at++)
            if (isOpen(at)) first = at;
          expect(opensAt({ underWay, leaving }, requests, now)).toBe(first);
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
