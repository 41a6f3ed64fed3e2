import type { GoalResult } from "./bench.js";
import { type AllFigures, expectationsOf } from "./expectations.js";
import { row } from "./indicators/figures.js";
import { EVENTS_ONE_BY_ONE, TRIED } from "./tried.js";

const INTRODUCTION = `# Performance

What you can expect, and what you would have instead. Times are of the machines that the sections name, and other
machines differ; ratios differ less.`;

const METHOD = `![How many times as long others take, on a logarithmic scale](pictures/performance.svg)

Contestants ran by turns in one process. A figure is the median of its rounds, and stands below with its spread, the
machine and its command. Results are compared first: who gives wrong ones is marked, and not counted. A JSON file in
\`performance/\` has all figures of a section. \`npm run bench -- --save\` makes all of it, the chart, too. Goals and the
benches of single parts are in \`bench/goals.md\` of the repository.`;

/** The benches of single parts, and of loads that few users have. */
const OF_PARTS: readonly string[] = ["page", "hostile", "year", "poll", "scale", "closes", "profile"];

const GOALS = `# Goals

The goals of the benches beside their figures, those that are short first; then the benches of single parts. Those that
users read about stand in [docs/performance.md](../docs/performance.md). All of it is made by
\`npm run bench -- --save\`, but for the last part. Brackets hold the middle half of the rounds. "Another run" is
what the same bench gave on another day, most on a slower machine with other work, so that both together show what chance
does.`;

/** What a bench had to say when it was last saved. */
export interface Saved {
  readonly name: string;
  /** Absent where it never was. */
  readonly goals: readonly GoalResult[] | undefined;
  /** What it had to say in another run. */
  readonly before?: readonly GoalResult[] | undefined;
}

/** Every goal with its figure, those short of it first. */
export function goalTable(saved: readonly Saved[]): string {
  const all = saved.flatMap(({ name, goals, before = [] }) => {
    const missing = { row: name, goal: "", figure: "not taken yet", met: false };
    const earlier = (now: GoalResult) =>
      before.find((each) => each.row === now.row && each.goal === now.goal);
    return (goals ?? [missing]).map((each) => ({
      ...each,
      before: earlier(each)?.figure ?? "",
      command: `\`npm run bench -- ${name}\``,
    }));
  });
  const sorted = [...all.filter(({ met }) => !met), ...all.filter(({ met }) => met)];
  const lines = sorted.map((each) =>
    row([each.met ? "" : "**short**", each.row, each.goal, each.figure, each.before, each.command]),
  );
  return [
    row(["", "what", "goal", "figure", "another run", "command"]),
    "|---|---|---|---|---|---|",
    ...lines,
  ].join("\n");
}

/** The sections of one page, or of both, by name. */
export function sectionsOf(page: string): Map<string, string> {
  const found = page.matchAll(/<!-- begin (\S+) -->\n\n([\s\S]*?)\n\n<!-- end \1 -->/g);
  return new Map([...found].map(([, name, text]) => [name!, text!]));
}

/** The page for users: what to expect, and the sections in the order of `names`. */
export function pageOf(
  names: readonly string[],
  sections: ReadonlyMap<string, string>,
  all: AllFigures = {},
): string {
  const own = names.filter((name) => !OF_PARTS.includes(name));
  return `${[INTRODUCTION, expectationsOf(all), METHOD, ...partsOf(own, sections), EVENTS_ONE_BY_ONE].join("\n\n")}\n`;
}

/** The page for contributors: the goals, the benches of single parts, and what was tried. */
export function goalPageOf(
  names: readonly string[],
  sections: ReadonlyMap<string, string>,
  saved: readonly Saved[],
): string {
  const own = names.filter((name) => OF_PARTS.includes(name));
  return `${[GOALS, goalTable(saved), ...partsOf(own, sections), TRIED].join("\n\n")}\n`;
}

function partsOf(names: readonly string[], sections: ReadonlyMap<string, string>): string[] {
  return names.flatMap((name) => {
    const text = sections.get(name);
    return text === undefined ? [] : [`<!-- begin ${name} -->\n\n${text}\n\n<!-- end ${name} -->`];
  });
}
