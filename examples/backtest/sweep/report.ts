import type { Statistics, SweepFigures, TimeRange } from "pairstream/backtest";
import { dateAndTime, shortened } from "../../live/text.js";
import { percent } from "../figures.js";
import { assumptionsOf, FEW_TRADES, refusedNotes } from "../report.js";
import type { ParameterSet, SweepRun } from "./sweep-past.js";

/** What one part of the time came to. */
interface PartFigures {
  /** The return, compounded, as a share in the unit of the report: parts of different length can be compared. */
  readonly rate: number;
  /** 1 for the set with the greatest rate; absent for holding. */
  readonly rank?: number;
  readonly maxDrawdown: number;
  readonly trades: number;
}

/** Before the cut, and after it. */
export interface BothParts {
  readonly inSample: PartFigures;
  readonly outOfSample: PartFigures;
}

/** One set of parameters, over all windows. */
export interface SweptSet extends BothParts {
  readonly parameters: ParameterSet;
}

/** One window, with the figures of the set that was the best before its cut. */
export interface WindowReport extends BothParts {
  readonly best: ParameterSet;
  /** In the order in which they were tried. */
  readonly sets: readonly SweptSet[];
  readonly ranges: { readonly inSample: TimeRange; readonly outOfSample: TimeRange };
  readonly held: BothParts;
}

/** The columns of the table of windows, in text and page. */
export const WINDOW_COLUMNS = [
  "out-of-sample, UTC",
  "best in-sample",
  "in-sample",
  "out-of-sample",
  "rank there",
  "held there",
];

/** What the gains of the table of sets are. */
export function gainsNote({ unit, windows }: SweepReport): string {
  const together =
    " They are for all windows together: the out-of-sample part of one window is in-sample in the next, so the two are alike here.";
  return `Gains are compounded per ${unit}, so that you can compare both parts.${windows.length === 1 ? "" : together}`;
}

/** A sweep in figures and words; text and page show the same ones. */
export interface SweepReport {
  readonly title: string;
  /** What was tried, and on what. */
  readonly subject: readonly string[];
  /** What came of the best set, in a few words. */
  readonly verdict: string;
  readonly notes: readonly string[];
  /** What rates are of: `"30 days"`, `"day"` or `"hour"`. */
  readonly unit: string;
  /** The names of what was tried, in order. */
  readonly swept: readonly string[];
  /** All windows together; in-sample the best first. */
  readonly sets: readonly SweptSet[];
  readonly windows: readonly WindowReport[];
  /** What came of the best set of each window. */
  readonly chosen: BothParts;
  readonly held: BothParts;
  /**
   * How alike the orders of the sets are before and after a cut, from −1 to 1, the mean of the windows; absent where that
   * says nothing.
   */
  readonly agreement: number | undefined;
  readonly assumptions: readonly string[];
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** From here on one order says much of the other. */
const MUCH = 0.5;
const OWN_ACCOUNTS =
  "Each part has an account of its own, which begins with money alone; the strategy has seen all that came before.";
/** Fewer sets have no order to speak of. */
const FEW_SETS = 4;

export function sweepReportOf({ result, past, loaded, swept }: SweepRun): SweepReport {
  const ranges = result.windows.flatMap(({ inSample, outOfSample }) => [inSample, outOfSample]);
  const [unit, length] = unitFor(Math.min(...ranges.map(({ from, to }) => to - from)));
  const both = (windows: readonly SweepFigures[]): BothParts => ({
    inSample: partOf(
      windows.map(({ inSample }) => inSample),
      length,
    ),
    outOfSample: partOf(
      windows.map(({ outOfSample }) => outOfSample),
      length,
    ),
  });
  const setsOf = (rows: readonly (readonly SweepFigures[])[]) =>
    ranked(rows.map(both)).map((figures, at): SweptSet => {
      return { ...figures, parameters: result.rows[at]!.parameters };
    });
  const sets = setsOf(result.rows.map(({ windows }) => windows));
  const windows = result.windows.map(({ best, buyAndHold, inSample, outOfSample }, at): WindowReport => {
    const ofWindow = setsOf(result.rows.map((row) => [row.windows[at]!]));
    const { parameters, ...figures } = ofWindow[best]!;
    const ranges = { inSample, outOfSample };
    return { ...figures, best: parameters, sets: ofWindow, ranges, held: both([buyAndHold]) };
  });
  const chosen = both(result.windows.map(({ best }, at) => result.rows[best]!.windows[at]!));
  const held = both(result.windows.map(({ buyAndHold }) => buyAndHold));
  // Not of all windows together: what is out-of-sample in one is in-sample in the next.
  const agreements = windows.flatMap(({ sets }) => agreementOf(sets) ?? []);
  const agreement =
    sets.length < FEW_SETS || agreements.length === 0
      ? undefined
      : agreements.reduce((sum, each) => sum + each, 0) / agreements.length;
  const { series } = past.pairs[0]!;
  return {
    title: `${loaded.title}: a sweep of ${sets.length.toLocaleString("en-US")} sets of parameters`,
    subject: [
      triedText(result.rows, swept, loaded.parameters),
      `${past.title}: ${past.pairs.map(({ series }) => `${shortened(series.pairAddress)} ${series.timeframe}`).join(", ")}, in ${series.currency}`,
      splitText(windows.map(({ ranges }) => ranges)),
    ],
    verdict: verdictOf({ windows, chosen, held, count: sets.length, unit, swept }),
    notes: [
      ...(past.explanation === undefined ? [] : [past.explanation]),
      ...notesOf({ agreement, sets, windows, chosen, swept }),
      ...refusedNotes(result.rows.flatMap(({ rejections }) => Object.entries(rejections))),
    ],
    unit,
    swept,
    sets: [...sets].sort((a, b) => a.inSample.rank! - b.inSample.rank!),
    windows,
    chosen,
    held,
    agreement,
    assumptions: [OWN_ACCOUNTS, ...assumptionsOf(result.broker, past)],
  };
}

/** None longer than the shortest part: nothing is said of what was not seen. */
function unitFor(shortest: number): readonly [name: string, ms: number] {
  if (shortest >= 30 * DAY) return ["30 days", 30 * DAY];
  return shortest >= DAY ? ["day", DAY] : ["hour", HOUR];
}

/** Of several parts, what they come to one after the other. */
function partOf(parts: readonly Statistics[], unit: number): PartFigures {
  const grown = parts.reduce((all, { totalReturn }) => all * Math.max(0, 1 + totalReturn), 1);
  const span = parts.reduce((all, { from, to }) => all + to - from, 0);
  return {
    rate: grown ** (unit / span) - 1,
    maxDrawdown: Math.max(...parts.map(({ maxDrawdown }) => maxDrawdown)),
    trades: parts.reduce((all, { trades }) => all + trades, 0),
  };
}

/** Of equals the first in the list is the better one. */
function ranked(sets: readonly BothParts[]): BothParts[] {
  const ranksOf = (part: keyof BothParts) => {
    const order = sets.map((_, at) => at).sort((a, b) => sets[b]![part].rate - sets[a]![part].rate || a - b);
    return new Map(order.map((at, place) => [at, place + 1]));
  };
  const [before, after] = [ranksOf("inSample"), ranksOf("outOfSample")];
  return sets.map(({ inSample, outOfSample }, at) => ({
    inSample: { ...inSample, rank: before.get(at)! },
    outOfSample: { ...outOfSample, rank: after.get(at)! },
  }));
}

/** Spearman's rank correlation of both parts, equals with the mean of their ranks; none where all are equal. */
export function agreementOf(sets: readonly BothParts[]): number | undefined {
  const [before, after] = (["inSample", "outOfSample"] as const).map((part) =>
    meanRanks(sets.map((set) => set[part].rate)),
  ) as [number[], number[]];
  const middle = (sets.length + 1) / 2;
  const product = (a: readonly number[], b: readonly number[]) =>
    a.reduce((sum, rank, at) => sum + (rank - middle) * (b[at]! - middle), 0);
  const spread = Math.sqrt(product(before, before) * product(after, after));
  return spread === 0 ? undefined : product(before, after) / spread;
}

function meanRanks(values: readonly number[]): number[] {
  const sorted = [...values].sort((a, b) => a - b);
  const places = new Map<number, { first: number; count: number }>();
  sorted.forEach((value, at) => {
    const place = places.get(value);
    if (place === undefined) places.set(value, { first: at + 1, count: 1 });
    else place.count += 1;
  });
  return values.map((value) => {
    const { first, count } = places.get(value)!;
    return first + (count - 1) / 2;
  });
}

/** `fast 9, slow 21`: of what was tried alone. */
export function setText(parameters: ParameterSet, swept: readonly string[]): string {
  return swept.map((name) => `${name} ${parameters[name]}`).join(", ");
}

function triedText(
  rows: readonly { readonly parameters: ParameterSet }[],
  swept: readonly string[],
  own: ParameterSet,
): string {
  const tried = swept.map((name) => {
    const values = [...new Set(rows.map(({ parameters }) => parameters[name]!))];
    const [least, most] = [Math.min(...values), Math.max(...values)];
    return values.length < 5
      ? `${name} ${values.join(", ")}`
      : `${name} ${least} to ${most} (${values.length} values)`;
  });
  const fixed = Object.entries(own).filter(([name]) => !swept.includes(name));
  const rest = fixed.map(([name, value]) => `${name} ${value}`).join(", ");
  return `tried: ${tried.join("; ")}${rest === "" ? "" : `; always ${rest}`}`;
}

const day = (instant: number) => dateAndTime(instant).slice(0, 16);

function splitText(ranges: readonly WindowReport["ranges"][]): string {
  const [first, last] = [ranges[0]!, ranges.at(-1)!];
  const windows =
    ranges.length === 1 ? `cut at ${day(first.inSample.to)}` : `${ranges.length} windows, each cut once`;
  return `${day(first.inSample.from)} to ${day(last.outOfSample.to)} UTC, ${windows}: in-sample before, out-of-sample after`;
}

interface Told {
  readonly windows: readonly WindowReport[];
  /** What came of the best set of each window. */
  readonly chosen: BothParts;
  readonly held: BothParts;
  readonly count: number;
  readonly unit: string;
  readonly swept: readonly string[];
}

function verdictOf({ windows, chosen, held, count, unit, swept }: Told): string {
  const rate = (value: number) => `${percent(value, { signed: true })} per ${unit}`;
  const [{ best, outOfSample }] = windows as [WindowReport];
  const holding = `Buy and hold returns ${rate(held.outOfSample.rate)} there.`;
  if (windows.length > 1) {
    return `The best set is chosen in each of ${windows.length} windows. It returns ${rate(chosen.inSample.rate)} in-sample and ${rate(chosen.outOfSample.rate)} out-of-sample. ${holding}`;
  }
  return `${setText(best, swept)} is the best set in-sample, with ${rate(chosen.inSample.rate)}. Out-of-sample it is number ${outOfSample.rank} of ${count}, with ${rate(chosen.outOfSample.rate)}. ${holding}`;
}

interface Noted extends Pick<Told, "windows" | "chosen" | "swept"> {
  readonly agreement: number | undefined;
  readonly sets: readonly SweptSet[];
}

function notesOf({ agreement, sets, windows, chosen, swept }: Noted): string[] {
  const notes: string[] = [];
  if (agreement !== undefined) {
    const says =
      agreement >= MUCH
        ? "In-sample and out-of-sample the sets have much the same order"
        : agreement >= 0
          ? "The order of the sets in-sample says little about their order out-of-sample: the best one may fit only that past"
          : "The sets that are good in-sample are the worse ones out-of-sample: the best one fits only that past";
    notes.push(
      `${says} (rank correlation ${agreement.toFixed(2)}; 1: same order, 0: unrelated, −1: opposite order).`,
    );
  }
  const { rate } = chosen.inSample;
  if (rate <= 0) notes.push("No set gains in-sample, so there is nothing to choose.");
  if (rate > 0 && chosen.outOfSample.rate <= 0) notes.push("The best set gains nothing out-of-sample.");
  else if (rate > 0 && chosen.outOfSample.rate < rate / 2) {
    notes.push("The best set makes less than half as much out-of-sample as in-sample.");
  }
  if (chosen.outOfSample.trades < FEW_TRADES) {
    notes.push(
      `There are only ${chosen.outOfSample.trades.toLocaleString("en-US")} closed trades out-of-sample: the mean of fewer than ${FEW_TRADES} says little about the next one.`,
    );
  }
  const edges = swept.flatMap((name) => edgeOf(name, sets, windows));
  if (edges.length > 0) {
    notes.push(`The best set is at the edge of what was tried (${edges.join(", ")}): try more values there.`);
  }
  notes.push(
    "Use the out-of-sample part only once. If you sweep again after you have seen it, you choose by it: keep another part of the past aside.",
  );
  return notes;
}

/** A value that is the least or the greatest of at least three. */
function edgeOf(name: string, sets: readonly SweptSet[], windows: readonly WindowReport[]): string[] {
  const values = [...new Set(sets.map(({ parameters }) => parameters[name]!))].sort((a, b) => a - b);
  const best = windows.at(-1)!.best[name]!;
  const isEdge = values.length > 2 && (best === values[0] || best === values.at(-1));
  return isEdge ? [`${name} ${best}`] : [];
}
