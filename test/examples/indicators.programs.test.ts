import { afterEach, describe, expect, it } from "vitest";
import { endAll, expectRefusal, run } from "./program.js";

const EXAMPLE = "examples/indicators.ts";

afterEach(endAll);

describe("the indicators of a pair", () => {
  it("are printed with each candle until so many have closed", async () => {
    const program = run(EXAMPLE, ["--timeframe", "1s", "--candles", "3"]);
    expect(await program.ended).toBe(0);
    expect(program.errors()).toBe("");
    const [heading, ...lines] = program.lines;
    expect(heading).toMatch(/^UTC {17}event {3}status +close +fast +slow +RSI$/);
    const last = lines.pop();
    const candles = lines.filter((line) =>
      /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (new|updated|removed) /.test(line),
    );
    const crossings = lines.filter((line) =>
      /^ +the fast average has crossed (up|down), RSI [\d.]+$/.test(line),
    );
    expect(candles.length + crossings.length).toBe(lines.length);
    expect(last).toMatch(/^\d+ candles closed; crossings of the averages: \d+$/);
    expect(last).toContain(`averages: ${crossings.length}`);
    // None of them warm: each keeps its column.
    expect(candles[0]).toMatch(/ final +\d[\d.]*( +-){3}$/);
    expect(new Set([heading, ...candles].map((line) => line!.length)).size).toBe(1);
    // Warm, all three of them: date, time, event, status and four numbers.
    expect(candles.at(-1)).toMatch(/ closed( +\d[\d.]*){4}$/);
    expect(candles.length).toBeGreaterThan(42);
  });

  it("have options, which are checked", async () => {
    await expectRefusal(run(EXAMPLE, ["--timeframe", "7min"]), /7min does not nest in a day/);
  });
});
