import { describe, expect, it } from "vitest";
import { BrokenRows } from "../../../src/candles/read/broken-rows.js";
import type { RefusedRow } from "../../../src/contract/refused-row.js";
import { ContractError } from "../../../src/index.js";
import { tradedCandle } from "../../world.js";

const refused = (...keys: (number | undefined)[]) =>
  keys.map((key) => ({ key, error: new ContractError(["result"], "broken") }) as RefusedRow<number>);
const RANGE = { from: 0, to: 100 };

describe("rows that break the contract", () => {
  it("are counted by read, whatever else a page holds, until one is read well", () => {
    const rows = new BrokenRows();
    rows.count(refused(10, 10, 20), [], RANGE);
    rows.count(refused(10, 20), [tradedCandle(30, 1)], RANGE);
    expect([rows.readsOf(10), rows.readsOf(20), rows.readsOf(30)]).toEqual([2, 2, 0]);
    rows.count(refused(20), [tradedCandle(10, 1)], RANGE);
    expect([rows.readsOf(10), rows.readsOf(20)]).toEqual([0, 3]);
  });

  it("are absent once, if the range that they lie in was read without them", () => {
    const rows = new BrokenRows();
    rows.count(refused(10, 20, 30), [], RANGE);
    expect(rows.takeAbsent({ from: 10, to: 30 }, (key) => key === 20)).toEqual([10]);
    expect(rows.takeAbsent({ from: 10, to: 30 }, () => false)).toEqual([20]);
    expect([10, 20, 30].map((key) => rows.readsOf(key))).toEqual([0, 0, 1]);
  });

  it("are counted by their range where they have no timestamp, on whatever page of it they are", () => {
    const rows = new BrokenRows();
    rows.count(refused(undefined), [], RANGE);
    rows.count([], [], RANGE);
    expect(rows.readsOf(undefined)).toBe(0);
    rows.count(refused(undefined), [], RANGE);
    expect(rows.readsOf(undefined)).toBe(2);
    rows.count(refused(undefined), [], { from: 100, to: 200 });
    expect(rows.readsOf(undefined)).toBe(1);
    rows.forgetUnplaced({ from: 100, to: 150 });
    rows.count(refused(undefined), [], RANGE);
    expect(rows.readsOf(undefined)).toBe(3);
    rows.forgetUnplaced({ from: 50, to: 60 });
    rows.count(refused(undefined), [], RANGE);
    expect(rows.readsOf(undefined)).toBe(1);
  });

  it("are forgotten before an instant, those without a timestamp with their range", () => {
    const rows = new BrokenRows();
    rows.count(refused(10, 20, undefined), [], RANGE);
    rows.forgetBefore(20);
    expect([rows.readsOf(10), rows.readsOf(20)]).toEqual([0, 1]);
    rows.count(refused(20, undefined), [], RANGE);
    expect([rows.readsOf(20), rows.readsOf(undefined)]).toEqual([2, 2]);
    rows.forgetBefore(100);
    rows.count(refused(undefined), [], RANGE);
    expect([rows.readsOf(20), rows.readsOf(undefined)]).toEqual([0, 1]);
  });
});
