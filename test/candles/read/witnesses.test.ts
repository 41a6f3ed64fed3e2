import { describe, expect, it } from "vitest";
import { Witnesses } from "../../../src/candles/read/witnesses.js";

describe("the known candles that answers have to hold", () => {
  it("are none until one was read, but for one that is known from elsewhere, if it lies before the range", () => {
    const witnesses = new Witnesses();
    expect([witnesses.hasAny, witnesses.before(50, undefined)]).toEqual([false, undefined]);
    expect(witnesses.before(50, 50)).toBeUndefined();
    expect([witnesses.before(50, 40), witnesses.hasAny]).toEqual([40, true]);
    expect(witnesses.before(50, 45)).toBe(40);
  });

  it("are the newest four before a range, whatever it was that showed them", () => {
    const witnesses = new Witnesses();
    witnesses.remember([3, 1, 2]);
    witnesses.show([4, 5, 6]);
    witnesses.show([]);
    expect(witnesses.before(6, undefined)).toBe(5);
    expect(witnesses.before(5, undefined)).toBe(4);
    expect(witnesses.before(3, undefined)).toBe(2);
    expect(witnesses.before(2, undefined)).toBeUndefined();
  });

  it("are the oldest alone while one is in doubt, until an answer settles that", () => {
    const witnesses = new Witnesses();
    witnesses.remember([10, 20, 30]);
    witnesses.show([40]);
    witnesses.doubt(30);
    expect(witnesses.before(50, undefined)).toBe(10);
    expect([witnesses.settle(31, 50), witnesses.settle(10, 30)]).toEqual([undefined, undefined]);
    expect(witnesses.settle(30, 31)).toBe(30);
    expect(witnesses.settle(30, 31)).toBeUndefined();
  });

  it("are forgotten where they are gone, and confirmed once", () => {
    const witnesses = new Witnesses();
    witnesses.remember([10, 20]);
    witnesses.show([30]);
    witnesses.forget(30);
    witnesses.forget(20);
    expect(witnesses.before(40, undefined)).toBe(10);
    witnesses.confirm(10);
    expect([witnesses.takeConfirmed(10), witnesses.takeConfirmed(10)]).toEqual([true, false]);
    witnesses.confirm(10);
    expect([witnesses.takeConfirmed(20), witnesses.takeConfirmed(10)]).toEqual([false, false]);
    witnesses.replace(5);
    expect(witnesses.before(40, undefined)).toBe(5);
  });
});
