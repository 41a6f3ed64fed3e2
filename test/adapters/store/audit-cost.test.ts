import { auditCost, memoryStore } from "pairstream/store";
import { describe, expect, it } from "vitest";
import { InvalidInputError } from "../../../src/index.js";
import { at, MINUTES, World } from "../../world.js";
import { audited, FROM, HOUR, MINUTE, START, TO } from "./audited-market.js";

describe("auditCost", () => {
  it.each([
    ["a day of minutes", { from: "2024-01-05", to: "2024-01-06" }, 2 + 2],
    ["a page", { from: FROM, to: FROM + 992 * MINUTE }, 1 + 1],
    ["a page and one", { from: FROM, to: FROM + 993 * MINUTE }, 2 + 2],
    ["a year of minutes", { from: "2023-01-01", to: "2024-01-01" }, 530 + 10],
    ["no interval", { from: FROM + 1, to: FROM + 2 }, 0],
  ])("counts %s", (_name, range, requests) => {
    const cost = auditCost({ ...MINUTES, ...range });
    expect(cost).toEqual({ requests, units: 150 * requests });
    expect(Object.isFrozen(cost)).toBe(true);
  });

  it("is twice what an audit of a series with all its candles costs, as that needs no second look", async () => {
    for (const hours of [3, 24, 50]) {
      const world = new World({ start: START, createdAt: START - 60 * 24 * HOUR, hasDate: true });
      const to = at("11:00:00");
      const from = to - hours * HOUR;
      world.swapsEvery(MINUTE, from - HOUR, START);
      const query = { ...MINUTES, from, to, against: memoryStore() };
      const { outcome } = await audited(world, query);
      expect(outcome).toBe("complete");
      expect(2 * world.asked.length).toBe(auditCost(query).requests);
    }
  });

  it("refuses what an audit would refuse", () => {
    expect(() => auditCost({ ...MINUTES, from: TO, to: FROM })).toThrow(InvalidInputError);
    expect(() => auditCost({ ...MINUTES, from: FROM } as never)).toThrow(/^to /);
    expect(() => auditCost({ ...MINUTES, timeframe: "15min", from: FROM, to: TO })).toThrow(/^timeframe /);
  });
});
