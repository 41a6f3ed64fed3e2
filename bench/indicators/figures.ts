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
  /** Whether that is ours to another's; the one that is divided by has none. */
  isCost?: boolean | undefined;
  /** What is wrong with its results. */
  wrong?: string | undefined;
}

/** What the ratios to a contestant ought to be. */
export interface Goal {
  contestant: string;
  /** As in "3.1 times …". */
  unit: string;
  most?: Readonly<Record<Mode, number>>;
  least?: number;
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
