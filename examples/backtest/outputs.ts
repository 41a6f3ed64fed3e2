import type { Trade } from "pairstream/backtest";
import type { Cell } from "./figures.js";
import { percent } from "./figures.js";
import type { Report, Run } from "./report.js";

/** For a terminal. */
export function textOf({
  title,
  subject,
  verdict,
  notes,
  columns,
  rows,
  months,
  assumptions,
}: Report): string {
  const cell = (of: Cell | undefined) =>
    of === undefined ? "" : of.reason === undefined ? of.text : `${of.text} (${of.reason})`;
  const lines = rows.map(({ name, cells: [own, held] }) => [name, cell(own), cell(held)]);
  const monthLines = months.map(({ own, held }) => [
    `${own.year}-${String(own.month).padStart(2, "0")}${own.isWhole ? "" : ", in part"}`,
    ...[own, held].map(({ gain }) => percent(gain, { signed: true })),
  ]);
  return [
    title,
    ...subject,
    "",
    verdict,
    ...notes.map((note) => `! ${note}`),
    "",
    ...table([["", ...columns], ...lines, ...(monthLines.length > 1 ? [["", "", ""], ...monthLines] : [])]),
    "",
    ...assumptions.map((assumption) => `- ${assumption}`),
  ].join("\n");
}

/** Columns of one width: the first one to the left, the others to the right. */
export function table(lines: readonly (readonly string[])[]): string[] {
  const width = (at: number) => Math.max(...lines.map((line) => line[at]!.length));
  const widths = lines[0]!.map((_, at) => width(at));
  return lines.map(([name, ...cells]) =>
    [name!.padEnd(widths[0]!), ...cells.map((text, at) => text.padStart(widths[at + 1]!))]
      .join("  ")
      .trimEnd(),
  );
}

/** All there is to know, for programs. */
export function jsonOf({ result, kindReturn, past, loaded }: Run, report: Report): string {
  const { statistics, buyAndHold, trades, fills, equity, rejections, cancellations, openOrders, broker } =
    result;
  const all = {
    strategy: { title: loaded.title, parameters: loaded.parameters },
    past: { title: past.title, within: past.within, series: past.pairs.map(({ series }) => series) },
    broker,
    statistics,
    buyAndHold: buyAndHold.statistics,
    kindReturn,
    months: report.months.map(({ own, held }) => ({ ...own, held: held.gain })),
    trades,
    fills: fills.map(({ order: _, series, ...fill }) => ({ pair: series.pairAddress, ...fill })),
    equity: equity.map(({ at, equity: value }, place) => [
      at,
      value,
      buyAndHold.equity[place]?.equity ?? null,
    ]),
    rejections: rejections.map(({ reason, message, at }) => ({ reason, message, at })),
    cancellations: cancellations.map(({ id, reason, at }) => ({ id, reason, at })),
    openOrders,
    notes: report.notes,
    assumptions: report.assumptions,
  };
  return JSON.stringify(all, null, 2);
}

const COLUMNS: Readonly<Record<string, (trade: Trade) => string | number | undefined>> = {
  pair: ({ series }) => series.pairAddress,
  side: ({ side }) => side,
  opened: ({ from }) => new Date(from).toISOString(),
  closed: ({ to }) => (to === undefined ? undefined : new Date(to).toISOString()),
  quantity: ({ quantity }) => quantity,
  entry: ({ entry }) => entry,
  exit: ({ exit }) => exit,
  fees: ({ fees }) => fees,
  borrowed: ({ borrowed }) => borrowed,
  profit: ({ profit }) => profit,
  gain: ({ gain }) => gain,
};

/** The trades, a line each, for a spreadsheet; times are the starts of the candles that opened and closed them. */
export function csvOf(trades: readonly Trade[]): string {
  return csvLines([
    Object.keys(COLUMNS),
    ...trades.map((trade) => Object.values(COLUMNS).map((of) => of(trade))),
  ]);
}

/** Lines of values; those that are absent are empty. */
export function csvLines(lines: readonly (readonly (string | number | boolean | undefined)[])[]): string {
  const quoted = (value: string | number | boolean | undefined) => {
    const text = String(value ?? "");
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return lines.map((values) => values.map(quoted).join(",")).join("\n");
}
