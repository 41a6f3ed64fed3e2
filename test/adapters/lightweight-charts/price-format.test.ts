import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { priceText } from "../../../src/adapters/lightweight-charts/price-format.js";

describe("the text of a price on a scale", () => {
  it("has the decimals of the scale, with zeros counted", () => {
    expect(priceText(0.0000085012, 11)).toBe("0.0₅850120");
    expect(priceText(0.00001, 11)).toBe("0.0₄1000000");
    expect(priceText(12.3456, 4)).toBe("12.3456");
    expect(priceText(0, 11)).toBe("0");
  });

  it("is no wider for the price by which the chart makes room", () => {
    // 0.11111111111111 is what the chart measures for any price below 1.
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 24 }), (decimals) => {
        expect(priceText(0.11111111111111, decimals).length).toBeLessThanOrEqual(10);
      }),
    );
  });
});
