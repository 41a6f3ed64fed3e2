import { describe, expect, it } from "vitest";
import { Chart, MARKETS, MINUTE, market } from "../adapters/tradingview/chart.js";
import { answered } from "../world.js";

describe.each(Object.entries(MARKETS))("a datafeed of %s", (_, sourceOf) => {
  it("leaves it to the client that asks the service to say why no bars come", async () => {
    const world = market();
    const chart = new Chart(sourceOf(world), world.clock);
    await chart.bars();
    chart.follow();
    await chart.pass(2 * MINUTE);
    expect(world.warnings).toEqual([]);
    world.interfere = () => answered(500, { message: "database is down" });
    await chart.pass(5 * MINUTE);
    expect(world.warnings).toMatchObject([
      { message: expect.stringContaining("“database is down”"), series: { timeframe: "1min" } },
    ]);
    world.interfere = () => undefined;
    await chart.pass(5 * MINUTE);
    expect(world.warnings.slice(1)).toMatchObject([{ message: expect.stringMatching(/: well again$/) }]);
  });
});
