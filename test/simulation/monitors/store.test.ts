import { expect, it } from "vitest";
import { intervalsOf } from "../calendar.js";
import type { Look } from "../reads.js";
import { areLacking, withoutMargins } from "./store.js";

const MINUTE = 60_000;
const BORN = 1_000 * MINUTE;

it("leaves no margin before the first interval of a pair: what begins there asks for that interval", () => {
  const wanted = (from: number, to: number) =>
    withoutMargins({ from: from * MINUTE, to: to * MINUTE }, intervalsOf("1min"), BORN);
  expect(wanted(1_000, 1_010)).toEqual({ from: BORN, to: 1_009 * MINUTE });
  expect(wanted(999, 1_010)).toEqual({ from: BORN, to: 1_009 * MINUTE });
  expect(wanted(1_003, 1_010)).toEqual({ from: 1_004 * MINUTE, to: 1_009 * MINUTE });
});

it("takes a stored candle for one in doubt once two answers that were made apart lack it, until one shows it", () => {
  const lookAt = (second: number, isShown = false, isHistory = false) =>
    ({
      ...{ asked: { from: 0, to: BORN }, isHistory, madeAt: second * 1_000 },
      rows: new Map(isShown ? [[MINUTE, []]] : []),
    }) as unknown as Look;
  const areInDoubt = (...looks: readonly Look[]) => areLacking(looks, MINUTE, false);
  expect(areInDoubt()).toBe(false);
  expect(areInDoubt(lookAt(1))).toBe(false);
  expect(areInDoubt(lookAt(1), lookAt(1.5))).toBe(false);
  expect(areInDoubt(lookAt(1), lookAt(2))).toBe(true);
  expect(areInDoubt(lookAt(0, true), lookAt(1), lookAt(2))).toBe(true);
  expect(areInDoubt(lookAt(1), lookAt(2), lookAt(3, true))).toBe(false);
  expect(areInDoubt(lookAt(1), lookAt(2), lookAt(3, true, true))).toBe(true);
  expect(areInDoubt(lookAt(1, false, true), lookAt(2, false, true))).toBe(false);
  expect(areLacking([lookAt(1), lookAt(2)], BORN, false)).toBe(false);
});
