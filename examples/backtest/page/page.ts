import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Trade } from "pairstream/backtest";
import { amount, dateAndTime, prices, shortened } from "../../live/text.js";
import { chartLicence } from "../../page/chart-licence.js";
import { type Bin, type Cell, duration, percent, type Row } from "../figures.js";
import type { Report, Run } from "../report.js";
import { documentOf, escaped, items } from "./html.js";
import { dataOf } from "./page-data.js";

/** One HTML page that needs nothing else, and asks nobody for anything. */
export async function pageOf(run: Run, report: Report): Promise<string> {
  const [script, licence, data] = await Promise.all([bundle(), chartLicence(), dataOf(run)]);
  const json = JSON.stringify(data).replaceAll("<", "\\u003c");
  const { title, subject, verdict, notes, rows, assumptions } = report;
  const body = `<main>
<section aria-label="In short">
<dl class="tiles">${TILES.map((name) => tile(rows.find((row) => row.name === name)!)).join("")}</dl>
<p class="verdict">${escaped(verdict)}</p>
<ul class="notes">${items(notes)}</ul>
</section>
<figure>
<figcaption>
<span>${pairChoice(run)}<b class="buy">▲</b> bought <b class="buy">▼</b> sold</span>
<span><i class="strategy"></i> strategy <i class="held"></i> buy and hold</span>
<span><i class="drawdown"></i> drawdown of the strategy</span>
<span class="ranges"><button data-days="0">All</button><button data-days="30">30 days</button><button data-days="7">7 days</button><button data-days="1">1 day</button></span>
</figcaption>
<p id="legend" class="legend" aria-hidden="true">&nbsp;</p>
<div id="chart" role="img" aria-label="Price with entries and exits, equity, drawdown"></div>
<div id="print" aria-hidden="true"></div>
</figure>
<section class="figures">
<h2>Figures</h2>
${figures(report)}
</section>
<section class="assumptions">
<h2>Assumptions</h2>
<ul>${items(assumptions)}</ul>
<details><summary>The formula of each figure</summary>
<dl class="formulas">${rows.map(({ name, formula }) => `<dt>${escaped(name)}</dt><dd>${escaped(formula)}</dd>`).join("")}</dl>
</details>
</section>
<section class="months">
<h2>Months</h2>
${months(report)}
</section>
<section class="distribution">
<h2>Gains of the closed trades</h2>
${distribution(report.distribution)}
</section>
<section class="trades">
<h2>Trades</h2>
${trades(report.trades, run.past.pairs.length > 1)}
</section>
</main>
<footer>
TradingView Lightweight Charts™, copyright (c) TradingView, Inc. <a href="https://www.tradingview.com/">https://www.tradingview.com/</a>,
under the <a href="https://www.apache.org/licenses/LICENSE-2.0">Apache License 2.0</a>, whose text is in the source of this page.
</footer>
<script type="text/plain">
${licence.replaceAll("<", "&lt;")}</script>
<script id="data" type="application/json">${json}</script>
<script>
${script}</script>`;
  return documentOf({ title, subject, tools: THEME, body });
}

const THEME = `<button id="theme" type="button" class="icon"><svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="6" /><path d="M8 2a6 6 0 0 1 0 12z" /></svg></button>
`;

/** What is looked at first. */
const TILES = ["return", "max drawdown", "Sharpe", "profit factor", "trades"];

function tile({ name, cells: [own, held] }: Row): string {
  const beside = held === undefined ? "" : `<small>held: ${escaped(held.text)}</small>`;
  const why = own.reason === undefined ? beside : `<small>${escaped(own.reason)}</small>`;
  return `<div><dt>${escaped(name)}</dt><dd${classOf(own)}>${escaped(own.text)}</dd>${why}</div>`;
}

const classOf = ({ sign = 0 }: Cell) => (sign === 0 ? "" : ` class="${sign > 0 ? "up" : "down"}"`);

function pairChoice({ past: { pairs } }: Run): string {
  if (pairs.length < 2) return "";
  const option = (name: string, at: number) => `<option value="${at}">${escaped(name)}</option>`;
  const names = pairs.map(({ series }) => shortened(series.pairAddress));
  return `<select id="pair" aria-label="Pair">${names.map(option).join("")}</select>`;
}

function figures({ columns, rows }: Report): string {
  const cell = (of: Cell | undefined) => {
    if (of === undefined) return "<td></td>";
    const reason = of.reason === undefined ? "" : `<small>${escaped(of.reason)}</small>`;
    return `<td${classOf(of)}>${escaped(of.text)}${reason}</td>`;
  };
  const line = ({ name, cells: [own, held], formula }: Row) =>
    `<tr title="${escaped(formula)}"><th scope="row">${escaped(name)}</th>${cell(own)}${cell(held)}</tr>`;
  const groups = ["return", "risk", "trades", "costs"] as const;
  return `<table>
<thead><tr><th></th>${columns.map((name) => `<th scope="col">${escaped(name)}</th>`).join("")}</tr></thead>
${groups
  .map(
    (group) =>
      `<tbody>${rows
        .filter((row) => row.group === group)
        .map(line)
        .join("\n")}</tbody>`,
  )
  .join("\n")}
</table>`;
}

const NAMES = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** A year a row; darker is more. */
function months({ months }: Report): string {
  const years = [...new Set(months.map(({ own }) => own.year))];
  const most = Math.max(...months.map(({ own }) => Math.abs(own.gain)), Number.MIN_VALUE);
  const cell = (year: number, month: number) => {
    const found = months.find(({ own }) => own.year === year && own.month === month);
    if (found === undefined) return "<td></td>";
    const { own, held } = found;
    const heat = Math.round((60 * Math.abs(own.gain)) / most);
    const part = own.isWhole ? "" : "<small>in part</small>";
    return (
      `<td class="heat ${own.gain < 0 ? "down" : "up"}" style="--heat:${heat}%">` +
      `${(100 * own.gain).toFixed(1)}<small>${(100 * held.gain).toFixed(1)}</small>${part}</td>`
    );
  };
  const line = (year: number) =>
    `<tr><th scope="row">${year}</th>${NAMES.map((_, at) => cell(year, at + 1)).join("")}</tr>`;
  return `<div class="scroll"><table>
<thead><tr><th></th>${NAMES.map((name) => `<th scope="col">${name}</th>`).join("")}</tr></thead>
<tbody>${years.map(line).join("\n")}</tbody>
</table></div>
<p class="hint">In per cent, by months in UTC; the small figure is buy and hold.</p>`;
}

const [WIDE, HIGH] = [600, 180];

function distribution(bins: readonly Bin[]): string {
  if (bins.length === 0) return '<p class="hint">There are no closed trades.</p>';
  const most = Math.max(...bins.map(({ count }) => count));
  const step = WIDE / bins.length;
  const bars = bins.map(({ from, to, count }, at) => {
    const height = (count / most) * (HIGH - 40);
    const name = `${percent(from)} to ${percent(to)}: ${count}`;
    const place = `x="${(at * step + 1).toFixed(1)}" width="${(step - 2).toFixed(1)}"`;
    const label =
      count === 0
        ? ""
        : `<text x="${((at + 0.5) * step).toFixed(1)}" y="${(HIGH - 24 - height).toFixed(1)}" text-anchor="middle">${count}</text>`;
    return `<g><title>${name}</title><rect class="${from < 0 ? "down" : "up"}" ${place} y="${(HIGH - 20 - height).toFixed(1)}" height="${height.toFixed(1)}"/>${label}</g>`;
  });
  const every = Math.ceil(bins.length / 8);
  const zero = bins.findIndex(({ from }) => from >= 0);
  const edges = [...bins.map(({ from }) => from), bins.at(-1)!.to].flatMap((edge, at) => {
    if ((at - Math.max(zero, 0)) % every !== 0) return [];
    const anchor = at === 0 ? "start" : at === bins.length ? "end" : "middle";
    return `<text x="${(at * step).toFixed(1)}" y="${HIGH - 4}" text-anchor="${anchor}">${Number((100 * edge).toFixed(2))} %</text>`;
  });
  return `<svg viewBox="0 0 ${WIDE} ${HIGH}" role="img" aria-label="How many trades had which gain">${bars.join("")}${edges.join("")}</svg>
<p class="hint">How many closed trades had which gain, after costs.</p>`;
}

function trades(all: readonly Trade[], hasPairs: boolean): string {
  if (all.length === 0) return '<p class="hint">There are no trades.</p>';
  const columns = ["#", ...(hasPairs ? ["pair"] : []), "side", "opened, UTC", "held for", "entry", "exit"];
  const names = [...columns, "value", "profit", "gain", "fees"];
  const line = (trade: Trade, at: number) => {
    const { series, side, from, to, entry, exit, quantity, profit, gain, fees } = trade;
    const tone = profit === undefined ? "" : ` class="${profit < 0 ? "down" : "up"}"`;
    const [entered, exited] = prices([entry, ...(exit === undefined ? [] : [exit])]);
    // By the key a column is sorted; by its text, where it has none.
    const cell = (text: string, key?: number, tone = "") =>
      `<td${key === undefined ? "" : ` data-key="${key}"`}${tone}>${escaped(text)}</td>`;
    const cells = [
      ...(hasPairs ? [cell(shortened(series.pairAddress))] : []),
      cell(side),
      cell(dateAndTime(from).slice(0, 16), from),
      to === undefined ? cell("open", Number.MAX_SAFE_INTEGER) : cell(duration(to - from), to - from),
      cell(entered!, entry),
      cell(exited ?? "", exit),
      cell(amount(entry * quantity), entry * quantity),
      cell(profit === undefined ? "" : amount(profit), profit, tone),
      cell(gain === undefined ? "" : percent(gain, { signed: true }), gain, tone),
      cell(amount(fees), fees),
    ];
    const number = `<th scope="row" data-key="${at}"><button title="Show this trade in the chart">${at + 1}</button></th>`;
    return `<tr data-trade="${at}">${number}${cells.join("")}</tr>`;
  };
  return `<p class="hint">Choose a trade to see it in the chart, or an arrow in the chart to see its trade here.</p>
<div class="scroll tall"><table id="trades">
<thead><tr>${names.map((name) => `<th scope="col"><button type="button">${name}</button></th>`).join("")}</tr></thead>
<tbody>${all.map(line).join("\n")}</tbody>
</table></div>`;
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

function beside(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}
