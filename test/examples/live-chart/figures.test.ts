import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  ageText,
  amountText,
  dollarText,
  instantText,
  percentText,
  plainPrice,
  priceText,
  timeText,
} from "../../../examples/page/figures.js";

describe("figures of the pages", () => {
  it.each([
    [1_234.5, "1,234.50"],
    [12.3456789, "12.3457"],
    [0.3706, "0.370600"],
    [0.003706, "0.0₂370600"],
    [0.0000085012, "0.0₅850120"],
    [1.5e-12, "0.0₁₁150000"],
    [0, "0.00"],
  ])("shows the price %d as %s", (price, text) => expect(priceText(price)).toBe(text));

  it("keeps six digits of a price of any size, whether zeros are counted or written out", () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-18, max: 999, noNaN: true }), (price) => {
        const counted = priceText(price).replace(/0\.0([₀-₉]+)/, (_, digits: string) => {
          const count = Number([...digits].map((digit) => "₀₁₂₃₄₅₆₇₈₉".indexOf(digit)).join(""));
          return `0.${"0".repeat(count)}`;
        });
        expect(counted).toBe(plainPrice(price));
        expect(Math.abs(Number(counted) / price - 1)).toBeLessThan(1e-5);
      }),
    );
  });

  it.each([
    [0, "0.00%"],
    [0.001, "0.00%"],
    [-0.001, "0.00%"],
    [3.2, "+3.20%"],
    [-12.04, "−12.0%"],
    [250, "+250%"],
    [12_345, "+12,345%"],
    [1.2e9, "+1.20B%"],
    [null, "–"],
    [undefined, "–"],
  ])("shows %d per cent as %s", (percent, text) => expect(percentText(percent)).toBe(text));

  it.each([
    [0, "0s"],
    [59_999, "59s"],
    [12 * 60_000, "12m"],
    [3 * 3_600_000 + 5 * 60_000, "3h 5m"],
    [12 * 86_400_000 + 4 * 3_600_000, "12d 4h"],
    [-5, "0s"],
  ])("shows %d ms as %s", (length, text) => expect(ageText(length)).toBe(text));

  it("shows money and amounts in few characters", () => {
    expect([12.5, -745, 1_290, null].map((one) => dollarText(one, { signed: true }))).toEqual([
      "+$12.50",
      "−$745",
      "+$1.29K",
      "–",
    ]);
    expect([0, 12.3, 12_340, 0.0000123, -0.0000123].map(amountText)).toEqual([
      "0.00",
      "12.30",
      "12.34K",
      "0.0₄123",
      "-0.0₄123",
    ]);
  });

  it("tells times by UTC or by the clock here, and the day where it is another one", () => {
    const at = Date.UTC(2026, 0, 5, 14, 0, 5);
    expect(timeText(at)).toBe("14:00:05");
    const here = new Date(at);
    const own = [here.getHours(), here.getMinutes(), here.getSeconds()];
    expect(timeText(at, "local")).toBe(own.map((part) => String(part).padStart(2, "0")).join(":"));
    expect(instantText(at, at + 60_000)).toBe("14:00:05");
    expect(instantText(at, at + 86_400_000)).toBe("5 Jan 14:00");
  });
});
