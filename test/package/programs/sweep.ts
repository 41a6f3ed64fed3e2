// Sweeps in workers over a module of strategies, whose file its argument names: what came of each set.
import type { Candle, Series } from "pairstream";
import { sweep } from "pairstream/backtest";

declare const process: { readonly argv: readonly string[] };

const series: Series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" };
const candles = Array.from({ length: 400 }, (_, at): Candle => {
  const [open, close] = [10 + Math.sin(at / 8), 10 + Math.sin((at + 1) / 8)];
  const [low, high] = [Math.min(open, close), Math.max(open, close)];
  return { timestamp: at * 60_000, open, high, low, close, volume: 100, swaps: 1 };
});

async function main(): Promise<object[]> {
  const [, program, module] = process.argv;
  const { rows } = await sweep<{ fast: number; slow: number }>({
    feeds: [{ series, candles }],
    strategy: new URL(module!, `file://${program}`),
    parameters: { fast: [3, 5], slow: [9] },
    workers: 2,
  });
  return rows.map(({ parameters, orders, windows }) => ({
    parameters,
    orders,
    end: windows[0]!.outOfSample.end,
  }));
}

main().then((result) => console.log(JSON.stringify(result)));
