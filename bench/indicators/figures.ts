import { geometricMean, type Spread } from "../rounds.js";

export const MODES = ["append", "replace"] as const;
export type Mode = (typeof MODES)[number];

/** What came out for one contestant. */
export interface Figure {
  name: string;
  mode: Mode;
  contestant: string;
  /** Nanoseconds a call. */
  time: Spread;
  /** Of two times, the one that is in question in `goal`. */
  ratio: Spread;
  /** What is wrong with its results. */
  wrong?: string | undefined;
}

/** What the ratios to a contestant ought to be. */
export interface Goal {
  contestant: string;
  /** As in "3.1 times …". */
  unit: string;
  most?: number;
  least?: number;
}

/** The figures that miss their goals, in words: the means first. */
export function shortOf(figures: readonly Figure[], goals: readonly Goal[]): string[] {
  const means: string[] = [];
  const singles: string[] = [];
  for (const mode of MODES) {
    for (const goal of goals) {
      const own = figures.filter((each) => each.mode === mode && each.contestant === goal.contestant);
      const mean = meanOf(own);
      if (mean !== undefined && misses(mean, goal)) means.push(`the mean, ${mode}: ${against(mean, goal)}`);
      for (const { name, ratio } of own) {
        if (misses(ratio.median, goal)) singles.push(`${name}, ${mode}: ${against(ratio.median, goal)}`);
      }
    }
  }
  return [...means, ...singles];
}

function misses(ratio: number, { most = Number.POSITIVE_INFINITY, least = 0 }: Goal): boolean {
  return ratio > most || ratio < least;
}

function against(ratio: number, { unit, most, least }: Goal): string {
  const goal = most === undefined ? `at least ${least}` : `at most ${most}`;
  return `${ratio.toFixed(2)} times ${unit} (goal: ${goal})`;
}

/** One line an indicator, one column a contestant, and the geometric means of those whose results are right. */
export function tableOf(
  figures: readonly Figure[],
  heads: Readonly<Record<string, string>>,
  own: string,
): string[] {
  const names = [...new Set(figures.map(({ name }) => name))];
  const others = Object.keys(heads).filter((contestant) => contestant !== own);
  const lines = names.map((name) => {
    const find = (contestant: string) =>
      figures.find((each) => each.name === name && each.contestant === contestant);
    return [name, spread(find(own)!.time, 1), ...others.map((contestant) => cellOf(find(contestant)))];
  });
  const means = others.map((contestant) => {
    const mean = meanOf(figures.filter((each) => each.contestant === contestant));
    return mean === undefined ? "–" : `**${mean.toFixed(2)}**`;
  });
  return [
    row(["", ...Object.values(heads)]),
    `|---|${"---:|".repeat(1 + others.length)}`,
    ...lines.map(row),
    row(["**geometric mean**", "", ...means]),
  ];
}

function cellOf(figure: Figure | undefined): string {
  if (figure === undefined) return "–";
  return figure.wrong === undefined ? spread(figure.ratio) : `✗ (${spread(figure.ratio)})`;
}

function meanOf(figures: readonly Figure[]): number | undefined {
  const right = figures.filter(({ wrong }) => wrong === undefined);
  return right.length === 0 ? undefined : geometricMean(right.map(({ ratio }) => ratio.median));
}

export function row(cells: readonly string[]): string {
  return `| ${cells.join(" | ")} |`;
}

export function spread({ median, low, high }: Spread, digits = 2): string {
  return `${median.toFixed(digits)} [${low.toFixed(digits)}, ${high.toFixed(digits)}]`;
}
