import { expect, it } from "vitest";
import { intervalsOf } from "../calendar.js";
import { withoutMargins } from "./store.js";

const MINUTE = 60_000;
const BORN = 1_000 * MINUTE;

it("leaves no margin before the first interval of a pair: what begins there asks for that interval", () => {
  const wanted = (from: number, to: number) =>
    withoutMargins({ from: from * MINUTE, to: to * MINUTE }, intervalsOf("1min"), BORN);
  expect(wanted(1_000, 1_010)).toEqual({ from: BORN, to: 1_009 * MINUTE });
  expect(wanted(999, 1_010)).toEqual({ from: BORN, to: 1_009 * MINUTE });
  expect(wanted(1_003, 1_010)).toEqual({ from: 1_004 * MINUTE, to: 1_009 * MINUTE });
});
