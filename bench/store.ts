import type { Bench, GoalResult, MeasureOptions, Report } from "./bench.js";
import { row, spread } from "./indicators/figures.js";
import { circumstances, inWords } from "./machine.js";
import { aboutRounds, inUnitsOf, ratioGoal, tableOf } from "./side-by-side.js";
import { type Closings, timeClosings } from "./store/closings.js";
import { DRIVER } from "./store/files.js";
import { type StartCost, startCosts } from "./store/requests.js";
import { checkRows, timeRows } from "./store/rows.js";
import { checkYear, timeYear, YEAR } from "./store/year.js";

const SERIES = 1_000;
const CANDLES = 500;
/** A minute of both takes seconds. */
const MOST_MINUTES = 15;
/** Times the requests that are strictly missing, but for one a series. */
const MOST_REQUESTS = 1;
const MOST_DRIVERS = 2;

/** What a store saves, counted, and what it takes, timed. */
export const store: Bench = { check, measure };

async function check(): Promise<readonly string[]> {
  await startCosts(60);
  await checkRows(3);
  await checkYear();
  const { transactions } = await timeClosings(20, 2);
  if (transactions !== 1) throw new Error(`ours: ${transactions} transactions a minute`);
  return [];
}

async function measure({ rounds: asked, command }: MeasureOptions): Promise<Report> {
  const starts = await startCosts(CANDLES);
  const rows = await timeRows(SERIES, asked);
  const year = await timeYear(asked);
  const closings = await timeClosings(SERIES, Math.min(asked, MOST_MINUTES));
  const about = circumstances(["rxjs", DRIVER], command);
  return {
    goals: goalsOf(starts, rows, year, closings),
    markdown: `## Store

Ten series begin with ${CANDLES} candles each. A first run takes 20 minutes, and leaves a file; each restart uses a copy of it.
Every start is a process of its own with virtual time, and a message takes 40 ms each way. "Strictly missing" counts the
pages of 1,000 candles that hold what the store does not cover, which always includes the running candle.

${startTable(starts)}

The events are the same as without a store, except for the instants at which they were seen. A start sends at most one
request for each series more than is missing: the first poll does not wait for the history.

### Out of a file

${SERIES.toLocaleString("en-US")} series of ${CANDLES} candles are read at once.

${tableOf(rows.timed, "ms", inUnitsOf(1e6 / (SERIES * CANDLES), 0))}

${aboutRounds(rows.rounds)} It is processor time. \`fetchCandles\` reads the store through the client, which checks every candle.

### A year

${YEAR.toLocaleString("en-US")} \`1min\` candles become events. \`watchCandles\` reads them from the store as its history; \`replayCandles\` gets them from a file of lines.

${tableOf(year.timed, "s", inUnitsOf(1e9 / YEAR, 2))}

${aboutRounds(year.rounds)} It is processor time.

### Closings

A candle of each of ${SERIES.toLocaleString("en-US")} \`1min\` series closes within one second. This was timed ${closings.rounds} times. From an answer to the event of its
closed candle it takes ${spread(closings.with)} µs with a store and ${spread(closings.without)} µs without one, which is
${spread(closings.ratio)} times as long. The slowest event of a minute takes ${spread(closings.worst.with)} ms with a store and
${spread(closings.worst.without)} ms without one. Final candles are written after these events, in ${closings.transactions.toFixed(2)} transactions a minute.
A write blocks the process for ${spread(closings.writing, 0)} ms.

${inWords(about)}`,
    results: { ...about, starts, unit: "ns a candle", rows: rows.timed, year: year.timed, closings },
  };
}

type Timing = Awaited<ReturnType<typeof timeRows>>;

function goalsOf(
  starts: readonly StartCost[],
  rows: Timing,
  year: Timing,
  { ratio, transactions }: Closings,
): GoalResult[] {
  const beyond = Math.max(...starts.map(({ requests, missing, series }) => (requests - series) / missing));
  const all = `${SERIES.toLocaleString("en-US")} series`;
  return [
    {
      row: "requests of a start with a store, but for one a series",
      goal: `at most ${MOST_REQUESTS.toFixed(1)} times what is strictly missing`,
      figure: `${Math.max(0, beyond).toFixed(2)} at most`,
      met: beyond <= MOST_REQUESTS,
    },
    ratioGoal(
      `${all} of ${CANDLES} candles out of a store`,
      rows.timed[1]!.ratio,
      { most: MOST_DRIVERS },
      "the same rows by the driver alone",
    ),
    ratioGoal(
      "a year of minutes out of a store into events",
      inverse(year.timed[1]!.ratio),
      { most: 1 },
      "the same out of NDJSON by `readCandles`",
    ),
    {
      row: `a minute's closings of ${all} are written`,
      goal: "in one transaction",
      figure: `${transactions.toFixed(2)}`,
      met: transactions <= 1,
    },
    ratioGoal(`a closed candle of ${all}, after its answer`, ratio, { most: 1.25 }, "that without a store"),
  ];
}

function inverse({ median, low, high }: Timing["timed"][number]["ratio"]) {
  return { median: 1 / median, low: 1 / high, high: 1 / low };
}

function startTable(starts: readonly StartCost[]): string {
  const heads = ["", "requests", "units", "strictly missing", "without a store", "s until all is there"];
  const lines = starts.map(({ name, requests, units, missing, without, took }) =>
    row([
      name,
      String(requests),
      units.toLocaleString("en-US"),
      String(missing),
      String(without),
      (took / 1_000).toFixed(2),
    ]),
  );
  return [row(heads), "|---|---:|---:|---:|---:|---:|", ...lines].join("\n");
}
