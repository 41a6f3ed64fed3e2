import type { GoalResult } from "./bench.js";
import { row } from "./indicators/figures.js";

const INTRODUCTION = `# Performance

Ratios, not times, are what to look at: each comes from contestants that ran by turns in one process, and is the
median of its rounds. Beside every section stands a JSON file with all of its figures, in \`performance/\`.
All of it is taken by \`npm run bench -- --save\`.`;

/** What a bench had to say when it was last saved. */
export interface Saved {
  readonly name: string;
  /** Absent where it never was. */
  readonly goals: readonly GoalResult[] | undefined;
}

/** Every goal with its figure, those short of it first. */
export function goalTable(saved: readonly Saved[]): string {
  const all = saved.flatMap(({ name, goals }) => {
    const missing = { row: name, goal: "", figure: "not taken yet", met: false };
    return (goals ?? [missing]).map((each) => ({ ...each, command: `\`npm run bench -- ${name}\`` }));
  });
  const sorted = [...all.filter(({ met }) => !met), ...all.filter(({ met }) => met)];
  const lines = sorted.map((each) =>
    row([each.met ? "" : "**short**", each.row, each.goal, each.figure, each.command]),
  );
  return [row(["", "what", "goal", "figure", "command"]), "|---|---|---|---|---|", ...lines].join("\n");
}

/** The sections of a page, by name. */
export function sectionsOf(page: string): Map<string, string> {
  const found = page.matchAll(/<!-- begin (\S+) -->\n\n([\s\S]*?)\n\n<!-- end \1 -->/g);
  return new Map([...found].map(([, name, text]) => [name!, text!]));
}

/** The whole page: the goals, then the sections in the order of `names`. */
export function pageOf(
  names: readonly string[],
  sections: ReadonlyMap<string, string>,
  saved: readonly Saved[],
): string {
  const parts = names.flatMap((name) => {
    const text = sections.get(name);
    return text === undefined ? [] : [`<!-- begin ${name} -->\n\n${text}\n\n<!-- end ${name} -->`];
  });
  return `${[INTRODUCTION, "## Goals", goalTable(saved), ...parts].join("\n\n")}\n`;
}
