import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Backtest } from "../backtest.js";
import type { Report } from "../report.js";
import { drawdownsOf } from "../statistics.js";
import type { PageData } from "./data.js";

/** One HTML page that needs nothing else, and asks nobody for anything. */
export async function pageOf(result: Backtest, report: Report): Promise<string> {
  const [script, style, licence] = await Promise.all([
    bundle(),
    readFile(beside("page.css"), "utf8"),
    chartLicence(),
  ]);
  const data = JSON.stringify(dataOf(result)).replaceAll("<", "\\u003c");
  const { title, subject, columns, rows, assumptions } = report;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:">
<title>${escaped(title)}</title>
<style>
${style}</style>
</head>
<body>
<header>
<h1>${escaped(title)}</h1>
${subject.map((line) => `<p>${escaped(line)}</p>`).join("\n")}
</header>
<main>
<table>
<thead><tr><th></th>${columns.map((name) => `<th scope="col">${escaped(name)}</th>`).join("")}</tr></thead>
<tbody>
${rows
  .map(({ name, values }) => {
    const cells = values.map((value) => `<td>${escaped(value)}</td>`).join("");
    return `<tr><th scope="row">${escaped(name)}</th>${cells}</tr>`;
  })
  .join("\n")}
</tbody>
</table>
<figure>
<figcaption>
<span class="price">Price, <b class="buy">▲</b> bought, <b class="sell">▼</b> sold</span>
<span>Equity: <i class="strategy"></i> strategy, <i class="held"></i> buy and hold</span>
<span><i class="drawdown"></i> drawdown of the strategy</span>
</figcaption>
<div id="chart" role="img" aria-label="Price with entries and exits, equity, drawdown"></div>
</figure>
<ul>
${assumptions.map((assumption) => `<li>${escaped(assumption)}</li>`).join("\n")}
</ul>
</main>
<footer>
TradingView Lightweight Charts™, copyright (c) TradingView, Inc. <a href="https://www.tradingview.com/">https://www.tradingview.com/</a>,
under the <a href="https://www.apache.org/licenses/LICENSE-2.0">Apache License 2.0</a>, whose text is in the source of this page.
</footer>
<script type="text/plain">
${licence.replaceAll("<", "&lt;")}</script>
<script id="data" type="application/json">${data}</script>
<script>
${script}</script>
</body>
</html>
`;
}

function dataOf({ candles, fills, strategy, buyAndHold }: Backtest): PageData {
  // Five digits of the lowest price, at least two decimals; no more than the charts can take.
  const lowest = candles.reduce((least, { low }) => Math.min(least, low), Number.POSITIVE_INFINITY);
  const magnitude = Math.floor(Math.log10(lowest));
  return {
    candles: candles.map(({ timestamp, open, high, low, close }) => [timestamp, open, high, low, close]),
    decimals: Number.isFinite(magnitude) ? Math.min(15, Math.max(2, 4 - magnitude)) : 2,
    fills: fills.map(({ candle, order }) => ({ at: candle, side: order.side })),
    equity: strategy.equity,
    held: buyAndHold.equity,
    drawdown: drawdownsOf(strategy),
  };
}

/** The script of the page with the production build of its charts in it, which brings its own notice. */
async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [beside("chart.ts")],
    bundle: true,
    write: false,
    format: "iife",
    minify: true,
    conditions: ["production"],
    legalComments: "inline",
    logLevel: "silent",
  });
  return outputFiles[0]!.text.replaceAll("</script", "<\\/script");
}

async function chartLicence(): Promise<string> {
  const charts = dirname(createRequire(import.meta.url).resolve("lightweight-charts/package.json"));
  return readFile(join(charts, "LICENSE"), "utf8");
}

function beside(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character]!);
}
