import { expect, it } from "vitest";
import type { Exchange } from "../exchanges.js";
import type { RunLog } from "../run-log.js";
import { watchJumps } from "./jumps.js";
import type { Context } from "./monitor.js";

/**
 * What is said of the clock's jumps, each at the answer of that number; `lies`: the numbers of those with a false `Date`,
 * `copies`: of those from a cache, `setAt`: when the machine's clock was set,
 * `perSecond`: how many of them have the same `Date`.
 */
function breaches(
  answers: number,
  lies: readonly number[],
  jumps: readonly number[],
  copies: readonly number[] = [],
  setAt = Number.NaN,
  perSecond = 1,
): string[] {
  const found: string[] = [];
  const told = Array.from({ length: answers }, (_, at) => ({
    sent: 1_000 * at,
    old: copies.includes(at) ? 500 : 0,
    headers: { date: Math.floor(at / perSecond) },
    faults: lies.includes(at) ? ["wrongDate"] : [],
  }));
  const activities = jumps.map((order) => ({
    at: 1_000 * order,
    order,
    value: { type: "clock", jumped: true, offset: 5 },
  }));
  const context = {
    breach: (_: number, what: string) => found.push(what),
    clockWasSet: (from: number, to: number) => from <= setAt && setAt <= to,
  };
  const log = { told: told as unknown as Exchange[], activities } as unknown as RunLog;
  watchJumps(log, context as unknown as Context);
  return found;
}

const JUMP = "takes the service's clock for one that has jumped by 5 ms";

it("takes a jump for one that a false Date has made, or the way back from that, however late it comes", () => {
  expect(breaches(40, [], [9])).toEqual([JUMP]);
  expect(breaches(40, [4, 5], [5, 7])).toEqual([]);
  expect(breaches(40, [4, 5], [5, 30])).toEqual([]);
});

it("takes one way back for no reason to jump once more", () => {
  expect(breaches(40, [4, 5], [5, 25, 35])).toEqual([JUMP]);
  expect(breaches(40, [4, 5], [30])).toEqual([JUMP]);
});

it("finds the cause of a jump before as many copies as there are", () => {
  const copies = Array.from({ length: 12 }, (_, at) => 10 + at);
  expect(breaches(40, [], [23], copies, 9_500)).toEqual([]);
  expect(breaches(40, [], [23], [], 9_500)).toEqual([JUMP]);
});

it("finds the cause of a jump before as many answers of one second as there are", () => {
  expect(breaches(40, [], [20], [], 500, 20)).toEqual([]);
  expect(breaches(40, [], [20], [], 500)).toEqual([JUMP]);
});
