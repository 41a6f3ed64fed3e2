import { afterEach, describe, expect, it } from "vitest";
import { endAll, run } from "./program.js";

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

  it("go on until Ctrl-C", async () => {
    const program = run(EXAMPLE);
    await program.line((line) => / open /.test(line));
    program.child.kill("SIGINT");
    expect(await program.ended).toBe(0);
    expect(program.errors()).toBe("");
  });

  it("end when the pipe is closed", async () => {
    const program = run(EXAMPLE, ["--timeframe", "1s"]);
    await program.line((line) => / open /.test(line));
    program.child.stdout?.destroy();
    expect(await program.ended).toBe(0);
    expect(program.errors()).toBe("");
  });

  it("have options, which are checked", async () => {
    const help = run(EXAMPLE, ["--help"]);
    expect(await help.ended).toBe(0);
    for (const name of ["timeframe", "seed", "candles"]) expect(help.lines.join("\n")).toContain(`--${name}`);
    const refused = run(EXAMPLE, ["--timeframe", "7min"]);
    expect(await refused.ended).toBe(2);
    expect(refused.errors()).toMatch(/^error: .*allowed: 1s, 10s, .*\n$/);
  });
});
