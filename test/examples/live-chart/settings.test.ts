import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Choices } from "../../../examples/live-chart/gateway.js";
import {
  FIRST_LOOK,
  lookFrom,
  neighbour,
  searchOf,
  selectionFrom,
} from "../../../examples/live-chart/page/settings.js";

const CHOICES: Choices = {
  network: "mainnet",
  pairs: ["one", "two"],
  timeframes: ["1s", "10s", "1min"],
  currencies: ["usd", "native"],
  first: { pairAddress: "one", timeframe: "10s", currency: "usd" },
  watch: {},
};

describe("what the page is asked for", () => {
  it("is what its address says, as far as it is offered", () => {
    const selection = { pairAddress: "two", timeframe: "1min", currency: "native" } as const;
    expect(selectionFrom(searchOf(selection), CHOICES)).toEqual({ selection });
    expect(selectionFrom("", CHOICES)).toEqual({ selection: CHOICES.first });
    expect(selectionFrom("?pair=three&timeframe=7s", CHOICES)).toEqual({
      selection: CHOICES.first,
      unknownPair: "three",
    });
  });

  it("looks as it was left; of what was stored otherwise, as at first", () => {
    const look = { on: ["fast", "bands"], isLog: true, zone: "local" } as const;
    expect(lookFrom(JSON.stringify(look))).toEqual(look);
    expect(lookFrom(null)).toEqual(FIRST_LOOK);
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        const { on, isLog, zone } = lookFrom(text);
        expect([Array.isArray(on), typeof isLog, ["utc", "local"].includes(zone)]).toEqual([
          true,
          "boolean",
          true,
        ]);
      }),
    );
  });

  it("goes round from the last choice to the first", () => {
    expect(neighbour(["a", "b", "c"], "c", 1)).toBe("a");
    expect(neighbour(["a", "b", "c"], "a", -1)).toBe("c");
  });
});
