// Runs a strategy over the past, reports, and draws a page: `npm run example:backtest`, with `-- --help`.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { fetchCandles, replayCandles, type Series } from "pairstream";
import { lastValueFrom, switchMap, toArray } from "rxjs";
import { runProgram } from "../terminal/program.js";
import { backtest } from "./backtest.js";
import { openMarket } from "./market.js";
import { readOptions } from "./options.js";
import { pageOf } from "./page/page.js";
import { reportOf, textOf } from "./report.js";
import { loadStrategy } from "./trading.js";

await runProgram(async (args) => {
  const { market: asked, timeframe, rules, strategy: file, page } = readOptions(args);
  const strategy = await loadStrategy(file);
  const market = await openMarket(asked);
  const series: Series = { network: "mainnet", pairAddress: market.pair, timeframe, currency: "usd" };
  const range = { from: market.from, to: market.to, fillGaps: true };
  const events = fetchCandles(market.client, { ...series, ...range }).pipe(
    toArray(),
    switchMap((candles) => replayCandles(candles, series)),
  );
  const result = await lastValueFrom(backtest(events, strategy, rules));
  const report = reportOf(result, { title: strategy.title, series, source: market.title, rules });
  process.stdout.write(`${textOf(report)}\n\n`);
  await mkdir(dirname(page), { recursive: true });
  await writeFile(page, await pageOf(result, report));
  process.stdout.write(`The page: ${pathToFileURL(resolve(page))}\n`);
});
