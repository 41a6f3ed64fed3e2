import type { Candle, Series } from "pairstream";
import { backtest, type Strategy } from "pairstream/backtest";
import { mergeMap, of } from "rxjs";
import { describe, expect, it } from "vitest";
import { csvOf, textOf } from "../../../examples/backtest/outputs.js";
import { reportOf } from "../../../examples/backtest/report.js";

const DAY = 86_400_000;
const series: Series = { network: "mainnet", pairAddress: "pair", timeframe: "1d", currency: "usd" };
const free = { fees: { maker: 0, taker: 0 }, slippage: { share: 0 } };

/** Days with these closes, each open at the close before, but for gaps. */
function daysOf(closes: readonly number[], opens: Readonly<Record<number, number>> = {}): Candle[] {
  return closes.map((close, at) => {
    const open = opens[at] ?? closes[at - 1] ?? close;
    const [low, high] = [Math.min(open, close), Math.max(open, close)];
    return { timestamp: at * DAY, open, high, low, close, volume: 1, swaps: at === 0 ? 0 : 1 };
  });
}

async function reported(candles: readonly Candle[], strategy: Strategy) {
  const result = await backtest({ feeds: [{ series, candles }], strategy, broker: free });
  const pairs = [{ series, candles, feeds: [] }];
  const past = { pairs, within: undefined, title: "a table", explanation: "It is made up." };
  const loaded = { title: "By hand", parameters: { size: 1 }, strategy };
  return reportOf({ result, kindReturn: result.statistics.totalReturn + 0.05, past, loaded });
}

/** Buys with the first candle, with a stop. */
const buyer =
  (stop: number): Strategy =>
  (events) =>
    events.pipe(
      mergeMap(({ candle, series }) => {
        if (candle.timestamp > 0) return of();
        const exit = { side: "sell", series, size: { position: 1 } } as const;
        return of(
          { id: "in", type: "market", side: "buy", series, size: { equity: 1 } } as const,
          { type: "stop", stop, after: "in", ...exit } as const,
        );
      }),
    );

describe("a report", () => {
  it("says first what came of it, then what is to be known, then the figures, and what they hold for", async () => {
    // Bought at 10; the stop of 8 meets an open of 6.
    const report = await reported(daysOf([10, 10, 12, 7, 7], { 3: 6 }), buyer(8));
    const lines = textOf(report).split("\n");
    expect(lines.slice(0, 4)).toEqual([
      "By hand",
      "size 1",
      "a table: pair 1d, in usd",
      "1970-01-01 00:00 to 1970-01-06 00:00 UTC, 5 candles, 1 of them without swaps",
    ]);
    expect(lines[5]).toBe(
      "In 5 d the strategy returned -40.00 %, and buy and hold -30.00 %. The deepest fall was 50.00 %, and 41.67 % for buy and hold. The costs were 0.00 usd.",
    );
    expect(report.notes).toEqual([
      "It is made up.",
      "There is only 1 closed trade: the mean of fewer than 30 says little about the next one.",
      "The time span is only 5 d: less than 30 days show one kind of market.",
      "A candle does not tell whether its high or its low came first. The figures assume the worse order; with the better one the return is -35.00 %.",
      "1 stop was filled after a gap, on average 25.00 % worse than the price of the stop: a stop does not guarantee a price.",
    ]);
    const row = (name: string) => lines.find((line) => line.startsWith(`${name} `))!.replace(/ {2,}/g, " | ");
    expect(row("return")).toBe("return | -40.00 % | -30.00 %");
    expect(row("Sharpe")).toBe("Sharpe | – (5 of 30 days) | – (5 of 30 days)");
    expect(row("win rate")).toBe("win rate | 0.00 %");
    expect(row("average win")).toBe("average win | – (no trade with a profit)");
    expect(csvOf(report.trades).split("\n")[1]).toBe(
      "pair,long,1970-01-02T00:00:00.000Z,1970-01-04T00:00:00.000Z,1000,10,6,0,0,-4000,-0.4",
    );
  });

  it("says that stops were nearer than what a candle moves", async () => {
    // Bought at 10 with the second day, and sold in it or soon; each day goes a third from low to high.
    const candles = daysOf([10, 10, 10, 10, 10]).map((candle) => ({ ...candle, high: 12, low: 9 }));
    const noteOf = async (stop: number) =>
      (await reported(candles, buyer(stop))).notes.find((note) => note.includes("ended at a stop"));
    expect(await noteOf(9.5)).toBe(
      "1 of 1 closed trade ended at a stop, 5.00 % from the entry in the median. The median candle is larger: 33.33 % from low to high. Such a stop is hit by chance.",
    );
    expect(await noteOf(6)).toBeUndefined();
  });

  it("explains a Sharpe ratio above 0 beside a loss", async () => {
    // Doubles and halves, and a little less.
    const closes = Array.from({ length: 41 }, (_, at) => (at % 2 === 0 ? 10 : 20) * 0.999 ** at);
    const { notes, rows } = await reported(daysOf(closes), buyer(0.001));
    expect(rows.find(({ name }) => name === "Sharpe")!.cells[1]!.sign).toBe(1);
    expect(
      notes.filter((note) => note.startsWith("The Sharpe ratio and the return can have different signs")),
    ).toHaveLength(1);
  });
});
