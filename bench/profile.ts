import { Session } from "node:inspector/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Bench, MeasureOptions, Report } from "./bench.js";
import { row } from "./indicators/figures.js";
import { circumstances, inWords } from "./machine.js";
import { page } from "./page.js";
import { pipe } from "./pipe.js";
import { replay } from "./replay.js";
import { year } from "./year.js";

const SHOWN = 10;
/** How long each is watched, in ms, after it has run as long to be compiled. */
const WATCHED = 3_000;
/** What waits, and what talks to the profiler. */
const NOT_OURS: readonly string[] = ["(idle)", "(program)", "dispatch"];
const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** The benches whose own part is looked into, by what that does. */
const LOOKED_INTO: Readonly<Record<string, Bench>> = {
  "a poll": year,
  "a page of 1,000 candles": page,
  "an event behind eight indicators": pipe,
  "a replayed candle": replay,
};

/** Where the time goes, function by function. */
export const profile: Bench = { check, measure };

async function check(): Promise<readonly string[]> {
  for (const bench of Object.values(LOOKED_INTO)) await bench.prepared!()();
  return [];
}

async function measure({ command }: MeasureOptions): Promise<Report> {
  const parts = [];
  for (const [name, bench] of Object.entries(LOOKED_INTO)) {
    parts.push({ name, places: await placesOf(bench.prepared!()) });
  }
  const about = circumstances(["rxjs"], command);
  const tables = parts.map(({ name, places }) => {
    const lines = places
      .slice(0, SHOWN)
      .map(({ place, share }) => row([place, `${(100 * share).toFixed(1)} %`]));
    return `### ${name}\n\n${[row(["", "of the time"]), "|---|---:|", ...lines].join("\n")}`;
  });
  return {
    goals: [],
    markdown: `## Profiles

The ${SHOWN} functions in which most of the time passes, without what they call, by a sampling profiler, ${WATCHED / 1_000} s each. A
poll is that of the section above: the local service is a part of it.

${tables.join("\n\n")}

${inWords(about)}`,
    results: { ...about, parts: parts.map(({ name, places }) => ({ name, places: places.slice(0, SHOWN) })) },
  };
}

/** The functions that take most of the time, the largest first. */
async function placesOf(run: () => unknown): Promise<{ place: string; share: number }[]> {
  await repeated(run);
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.start");
    await repeated(run);
    const { profile: taken } = await session.post("Profiler.stop");
    const places = new Map(taken.nodes.map(({ id, callFrame }) => [id, placeOf(callFrame)]));
    const times = new Map<string, number>();
    let total = 0;
    for (const [at, id] of (taken.samples ?? []).entries()) {
      const place = places.get(id)!;
      const time = taken.timeDeltas![at]!;
      if (NOT_OURS.includes(place)) continue;
      total += time;
      times.set(place, (times.get(place) ?? 0) + time);
    }
    return [...times]
      .map(([place, time]) => ({ place, share: time / total }))
      .sort((a, b) => b.share - a.share);
  } finally {
    session.disconnect();
  }
}

async function repeated(run: () => unknown): Promise<void> {
  for (const end = performance.now() + WATCHED; performance.now() < end; ) await run();
}

function placeOf({ functionName, url }: { functionName: string; url: string }): string {
  const name = functionName || "(anonymous)";
  const file = url.replace(/^file:.*\/node_modules\//, "").replace(pathToFileURL(ROOT).href, "");
  return file === "" ? name : `\`${name}\` in ${file}`;
}
