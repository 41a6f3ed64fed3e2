import type { TimeRange } from "pairstream/backtest";
import { dateAndTime } from "../../live/text.js";
import { percent } from "../figures.js";
import { documentOf, escaped, items } from "../page/html.js";
import {
  type BothParts,
  gainsNote,
  type SweepReport,
  type SweptSet,
  setText,
  WINDOW_COLUMNS,
  type WindowReport,
} from "./report.js";
import type { ParameterSet } from "./sweep-past.js";

type Part = keyof BothParts;
const PARTS: readonly (readonly [Part, string])[] = [
  ["inSample", "in-sample"],
  ["outOfSample", "out-of-sample"],
];

/** One HTML page without a script: tables, and cells whose colour says how much. */
export function sweepPageOf(report: SweepReport): Promise<string> {
  const { title, subject, verdict, notes, assumptions, windows } = report;
  const body = `<main>
<section aria-label="In short">
<dl class="tiles">${tiles(report)}</dl>
<p class="verdict">${escaped(verdict)}</p>
<ul class="notes">${items(notes)}</ul>
</section>
${windows.length === 1 ? "" : `<section class="windows">\n<h2>Windows</h2>\n${windowsTable(report)}\n</section>\n`}<section class="maps">
<h2>The same parameters, before and after the cut</h2>
${windows.map((window) => maps(window, report)).join("\n")}
${mapsHint(report)}
</section>
<section class="sets">
<h2>All sets</h2>
${setsTable(report)}
</section>
<section class="assumptions">
<h2>Assumptions</h2>
<ul>${items(assumptions)}</ul>
</section>
</main>`;
  return documentOf({ title, subject, body });
}

const span = ({ from, to }: TimeRange) =>
  `${dateAndTime(from).slice(0, 16)} to ${dateAndTime(to).slice(0, 16)}`;
/** Below it, as a share, a map has two decimals. */
const FINE = 0.02;

const rate = (value: number) => percent(value, { signed: true });
const toneOf = (value: number) => (value === 0 ? "" : ` class="${value > 0 ? "up" : "down"}"`);

/** What is looked at first. */
function tiles({ sets, windows, unit, agreement, chosen, held }: SweepReport): string {
  const tile = (name: string, value: string, beside: string, tone = "") =>
    `<div><dt>${escaped(name)}</dt><dd${tone}>${escaped(value)}</dd><small>${escaped(beside)}</small></div>`;
  const ofBest = ([part, name]: (typeof PARTS)[number]) => {
    const { rate: own } = chosen[part];
    return tile(`best set, ${name}`, rate(own), `per ${unit}; held: ${rate(held[part].rate)}`, toneOf(own));
  };
  const ranks = windows.map(({ outOfSample }) => outOfSample.rank).join(", ");
  return [
    ...PARTS.map(ofBest),
    tile("its rank out-of-sample", `${ranks} of ${sets.length}`, "in-sample it is 1"),
    tile("rank correlation", agreement?.toFixed(2) ?? "–", "1: same order, 0: unrelated"),
  ].join("");
}

/** A cell whose colour is as strong as its figure beside the greatest one of both parts. */
function heat(value: number, most: number, text = rate(value)): string {
  const share = Math.round((60 * Math.abs(value)) / most);
  return `class="heat ${value < 0 ? "down" : "up"}" style="--heat:${share}%">${escaped(text)}`;
}

const greatest = (sets: readonly SweptSet[]) =>
  Math.max(
    ...sets.flatMap(({ inSample, outOfSample }) => [Math.abs(inSample.rate), Math.abs(outOfSample.rate)]),
    Number.MIN_VALUE,
  );

const valuesOf = (name: string, sets: readonly SweptSet[]) =>
  [...new Set(sets.map(({ parameters }) => parameters[name]!))].sort((a, b) => a - b);

/** The parameters with most values first: two of them make a map. */
function axesOf({ sets, swept }: SweepReport): [across: string, down?: string, ...others: string[]] {
  const counts = new Map(swept.map((name) => [name, valuesOf(name, sets).length]));
  return [...swept].sort((a, b) => counts.get(b)! - counts.get(a)!) as [string];
}

/** Both parts of a window beside each other; parameters that are no axis are those of the best set. */
function maps({ sets, best, ranges }: WindowReport, report: SweepReport): string {
  const [across, down, ...others] = axesOf(report);
  const shown = sets.filter(({ parameters }) => others.every((name) => parameters[name] === best[name]));
  const most = greatest(shown);
  const decimals = most < FINE ? 2 : 1;
  const columns = valuesOf(across, shown);
  const rows = down === undefined ? [undefined] : valuesOf(down, shown);
  const byPlace = new Map(
    shown.map((set) => [
      `${set.parameters[across]} ${down === undefined ? undefined : set.parameters[down]}`,
      set,
    ]),
  );
  const cell = (part: Part, column: number, row: number | undefined) => {
    const set = byPlace.get(`${column} ${row}`);
    if (set === undefined) return "<td></td>";
    const star = set.parameters === best ? "★ " : "";
    const figure = heat(set[part].rate, most, star + (100 * set[part].rate).toFixed(decimals));
    return `<td title="${escaped(setText(set.parameters, report.swept))}" ${figure}</td>`;
  };
  const corner = down === undefined ? "" : `<th>${escaped(down)}</th>`;
  const line = (part: Part, row: number | undefined) =>
    `<tr>${row === undefined ? "" : `<th scope="row">${row}</th>`}${columns.map((column) => cell(part, column, row)).join("")}</tr>`;
  const map = ([part, name]: (typeof PARTS)[number]) => `<div class="scroll"><table class="map">
<caption><b>${name}</b> ${span(ranges[part])} UTC</caption>
<thead><tr>${corner}${columns.map((value) => `<th scope="col">${escaped(`${across} ${value}`)}</th>`).join("")}</tr></thead>
<tbody>${rows.map((row) => line(part, row)).join("\n")}</tbody>
</table></div>`;
  const slice = others.length === 0 ? "" : `<p class="hint">${escaped(setText(best, others))}</p>`;
  return `${slice}<div class="pair">${PARTS.map(map).join("\n")}</div>`;
}

function mapsHint(report: SweepReport): string {
  const [, , ...others] = axesOf(report);
  const slice =
    others.length === 0
      ? ""
      : ` A map shows two parameters. ${escaped(others.join(", "))} ${others.length === 1 ? "has its value" : "have their values"} of the best set; the table below has all sets.`;
  return `<p class="hint">In per cent per ${report.unit}. Both parts of a window use the same scale of colours. ★ marks the best set in-sample.${slice}
If a set and its neighbours are good in both parts, they may have found something. A set that is good alone fits only that past.</p>`;
}

function windowsTable({ windows, swept }: SweepReport): string {
  const lines = windows.map(({ ranges, best, inSample, outOfSample, held }) => {
    const rates = [inSample.rate, outOfSample.rate].map(
      (value) => `<td${toneOf(value)}>${escaped(rate(value))}</td>`,
    );
    return `<tr><th scope="row">${span(ranges.outOfSample)}</th><td>${escaped(setText(best, swept))}</td>${rates.join("")}<td>${outOfSample.rank}</td><td>${escaped(rate(held.outOfSample.rate))}</td></tr>`;
  });
  return `<div class="scroll"><table>
<thead><tr>${WINDOW_COLUMNS.map((name) => `<th scope="col">${escaped(name)}</th>`).join("")}</tr></thead>
<tbody>${lines.join("\n")}</tbody>
</table></div>`;
}

function setsTable(report: SweepReport): string {
  const { sets, swept, held } = report;
  const most = greatest(sets);
  const groups = PARTS.map(([, name]) => `<th scope="colgroup" colspan="4">${name}</th>`).join("");
  const each = ["gain", "rank", "drawdown", "trades"].map((name) => `<th scope="col">${name}</th>`).join("");
  const figures = (of: BothParts) =>
    PARTS.map(([part]) => {
      const { rate: own, rank, maxDrawdown, trades } = of[part];
      return `<td ${heat(own, most)}</td><td>${rank ?? ""}</td><td>${percent(maxDrawdown)}</td><td>${trades}</td>`;
    }).join("");
  const named = (parameters: ParameterSet) => swept.map((name) => `<td>${parameters[name]}</td>`).join("");
  const line = (set: SweptSet, at: number) =>
    `<tr><th scope="row">${at + 1}</th>${named(set.parameters)}${figures(set)}</tr>`;
  return `<div class="scroll tall"><table id="sets">
<thead>
<tr><th rowspan="2" scope="col">#</th>${swept.map((name) => `<th rowspan="2" scope="col">${escaped(name)}</th>`).join("")}${groups}</tr>
<tr>${each}${each}</tr>
</thead>
<tbody>${sets.map(line).join("\n")}</tbody>
<tbody><tr><th scope="row">hold</th>${swept.map(() => "<td></td>").join("")}${figures(held)}</tr></tbody>
</table></div>
<p class="hint">Sorted by the gain in-sample. ${gainsNote(report)}</p>`;
}
