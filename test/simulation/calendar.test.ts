import { describe, expect, it } from "vitest";
import type { Timeframe, WeekStart } from "../../src/index.js";
import { intervalsOf as ofPackage } from "../../src/timeframe.js";
import golden from "../golden/calendar.json" with { type: "json" };
import { intervalsOf } from "./calendar.js";

const DAY = 86_400_000;

const named = Object.entries(golden.samples).map(([name, samples]) => {
  const isWeek = name === "monday" || name === "thursday";
  const timeframe = (isWeek ? "1w" : name) as Timeframe;
  const weekStart: WeekStart = name === "thursday" ? "thursday" : "monday";
  return { name, samples: samples as [number, number, number][], timeframe, weekStart };
});

for (const [whose, of] of Object.entries({ "the judge": intervalsOf, "the package": ofPackage })) {
  describe(`the calendar of ${whose}, 1970 to 2100`, () => {
    it.each(named)("has the intervals of $name", ({ samples, timeframe, weekStart }) => {
      const { start, end, shift, count } = of(timeframe, weekStart);
      for (const [instant, from, to] of samples) {
        expect([instant, start(instant), end(instant)]).toEqual([instant, from, to]);
        expect(start(from)).toBe(from);
        expect(shift(from, 1)).toBe(to);
        expect(shift(to, -1)).toBe(from);
        expect([count(from, to), count(from + 1, to), count(from, to + 1)]).toEqual([1, 0, 2]);
      }
    });

    it("begins each month on its first day", () => {
      const { start, end, count } = of("1M");
      const days = golden.months.filter((day) => day >= 0);
      for (const [at, day] of days.slice(0, -1).entries()) {
        const next = days[at + 1]! * DAY;
        expect([start(next - 1), end(day * DAY), count(0, next)]).toEqual([day * DAY, next, at + 1]);
      }
    });

    it.each(["monday", "thursday"] as const)("begins a week on each %s", (weekStart) => {
      const { start, shift } = of("1w", weekStart);
      const years = golden.weeks[weekStart];
      for (const day of years) expect(start(day * DAY)).toBe(day * DAY);
      const first = years[0]! * DAY;
      const last = years.at(-1)! * DAY;
      expect(shift(first, (last - first) / (7 * DAY))).toBe(last);
    });
  });
}
