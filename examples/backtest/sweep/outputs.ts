import { dateAndTime } from "../../live/text.js";
import { percent } from "../figures.js";
import { csvLines, table } from "../outputs.js";
import { type BothParts, gainsNote, type SweepReport, setText, WINDOW_COLUMNS } from "./report.js";
import type { SweepRun } from "./sweep-past.js";

/** So many sets a terminal shows; a file holds all. */
const SHOWN = 20;

/** For a terminal. */
export function sweepTextOf(report: SweepReport): string {
  const { title, subject, verdict, notes, swept, sets, windows, held, assumptions } = report;
  const rate = (value: number) => percent(value, { signed: true });
  const cells = ({ inSample, outOfSample }: BothParts) => [
    rate(inSample.rate),
    rate(outOfSample.rate),
    outOfSample.rank === undefined ? "" : String(outOfSample.rank),
    ...[inSample, outOfSample].map(({ maxDrawdown }) => percent(maxDrawdown)),
    ...[inSample, outOfSample].map(({ trades }) => String(trades)),
  ];
  const names = ["in-sample", "out-of-sample", "rank there", "drawdown", "there", "trades", "there"];
  const lines = sets
    .slice(0, SHOWN)
    .map((set, at) => [String(at + 1), ...swept.map((name) => String(set.parameters[name])), ...cells(set)]);
  const hold = ["hold", ...swept.map(() => ""), ...cells(held)];
  const more = sets.length - SHOWN;
  const span = ({ from, to }: { from: number; to: number }) =>
    `${dateAndTime(from).slice(0, 16)} to ${dateAndTime(to).slice(0, 16)}`;
  return [
    title,
    ...subject,
    "",
    verdict,
    ...notes.map((note) => `! ${note}`),
    "",
    ...(windows.length === 1
      ? []
      : [
          ...table([
            WINDOW_COLUMNS,
            ...windows.map(({ ranges, best, inSample, outOfSample, held }) => [
              span(ranges.outOfSample),
              setText(best, swept),
              rate(inSample.rate),
              rate(outOfSample.rate),
              String(outOfSample.rank),
              rate(held.outOfSample.rate),
            ]),
          ]),
          "",
        ]),
    ...table([["#", ...swept, ...names], ...lines, hold]),
    ...(more > 0
      ? [`… and ${more.toLocaleString("en-US")} more; the page, --json and --csv have all of them.`]
      : []),
    gainsNote(report),
    "",
    ...assumptions.map((assumption) => `- ${assumption}`),
  ].join("\n");
}

/** All there is to know, for programs. */
export function sweepJsonOf({ result, past, loaded, swept }: SweepRun, report: SweepReport): string {
  const { rows, windows, broker } = result;
  const all = {
    strategy: { title: loaded.title, parameters: loaded.parameters },
    past: { title: past.title, within: past.within, series: past.pairs.map(({ series }) => series) },
    broker,
    swept,
    windows,
    rows,
    unit: report.unit,
    sets: report.sets,
    chosen: report.chosen,
    held: report.held,
    agreement: report.agreement,
    notes: report.notes,
    assumptions: report.assumptions,
  };
  return JSON.stringify(all, null, 2);
}

/** A line for each set in each window, for a spreadsheet; returns are those of the whole part. */
export function sweepCsvOf({ result: { rows, windows } }: SweepRun): string {
  const names = Object.keys(rows[0]!.parameters);
  const parts = ["inSample", "outOfSample"] as const;
  const figures = ["return", "maxDrawdown", "sharpe", "trades", "fees"];
  const header = [
    ...["window", "from", "cut", "to", "best"],
    ...names,
    ...parts.flatMap((part) => figures.map((figure) => `${part}.${figure}`)),
  ];
  const instant = (at: number) => new Date(at).toISOString();
  const lines = windows.flatMap(({ inSample, outOfSample, best }, window) =>
    rows.map(({ parameters, windows }, row) => [
      ...[window + 1, instant(inSample.from), instant(inSample.to), instant(outOfSample.to), row === best],
      ...names.map((name) => parameters[name]),
      ...parts.flatMap((part) => {
        const { totalReturn, maxDrawdown, sharpe, trades, fees } = windows[window]![part];
        return [totalReturn, maxDrawdown, sharpe.value, trades, fees];
      }),
    ]),
  );
  return csvLines([header, ...lines]);
}
