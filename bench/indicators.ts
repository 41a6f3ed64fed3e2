import { adx, atr, bollinger, ema, macd, rsi, sma, stochastic } from "pairstream";
import type { Bench, GoalResult, MeasureOptions, Report } from "./bench.js";
import { differenceOf, resultsOf } from "./indicators/comparison.js";
import { type Contestant, loop, ours, PEERS } from "./indicators/contestants.js";
import { type Figure, type Goal, MODES, type Mode, row, spread, tableOf } from "./indicators/figures.js";
import {
  adxLoop,
  atrLoop,
  bollingerLoop,
  emaLoop,
  macdLoop,
  rsiLoop,
  smaLoop,
  stochasticLoop,
} from "./indicators/loops.js";
import { arithmetic, call } from "./indicators/parts.js";
import { type Rows, walk } from "./indicators/rows.js";
import { circumstances, inWords } from "./machine.js";
import { geometricMean, meanSpread, ratioOf, type Spread, spreadOf, timeByTurns } from "./rounds.js";

const CANDLES = 4096;
const TRIES = 4;
const ROWS: Readonly<Record<Mode, Rows>> = { append: walk(CANDLES, 0), replace: walk(CANDLES, TRIES) };

/** Enough for all to have values. */
const SHORT_ROWS: Readonly<Record<Mode, Rows>> = { append: walk(256, 0), replace: walk(64, TRIES) };

const OURS = "pairstream";
const LOOP = "loop";
const LONG = "a window of 200";
const SHORT = "a window of 20";
const GOALS: readonly Goal[] = [
  { contestant: LOOP, unit: "the time of the loop", most: { append: 2.5, replace: 3 } },
  { contestant: "trading-signals", unit: "as fast as trading-signals", least: 10 },
  { contestant: LONG, unit: `the time of ${SHORT}`, most: { append: 1.5, replace: 1.5 } },
];

/** The eight classics: ours, and the loop with the columns it fills, of which ours gives the same numbers. */
export const CLASSICS: Readonly<Record<string, readonly [Contestant, Contestant]>> = {
  "SMA(20)": [ours(sma(20)), loop(smaLoop(20), 1)],
  "EMA(20)": [ours(ema(20)), loop(emaLoop(20), 1)],
  "RSI(14)": [ours(rsi(14)), loop(rsiLoop(14), 1)],
  "MACD(12, 26, 9)": [ours(macd(12, 26, 9), "macd", "signal", "histogram"), loop(macdLoop(12, 26, 9), 3)],
  "Bollinger(20, 2)": [
    ours(bollinger(20, 2), "upper", "middle", "lower", "percentB", "width"),
    loop(bollingerLoop(20, 2), 5),
  ],
  "ATR(14)": [ours(atr(14)), loop(atrLoop(14), 1)],
  "stochastic(14, 3, 3)": [ours(stochastic(14, 3, 3), "k", "d"), loop(stochasticLoop(14), 2)],
  "ADX(14)": [ours(adx(14), "adx", "plusDi", "minusDi"), loop(adxLoop(14), 3)],
};

const WINDOWS: Readonly<Record<string, readonly [long: Contestant, short: Contestant]>> = {
  Bollinger: [ours(bollinger(200, 2)), ours(bollinger(20, 2))],
  stochastic: [ours(stochastic(200, 3, 3)), ours(stochastic(20, 3, 3))],
};

/** What a call does at least, and its arithmetic, by what they are part of. */
const [CALL, ARITHMETIC] = ["call", "arithmetic"];
const PARTS: Readonly<Record<string, readonly [called: Contestant, computed: Contestant]>> = {
  "SMA(20)": [call(1), arithmetic(sma(20))],
  "EMA(20)": [call(1), arithmetic(ema(20))],
  "RSI(14)": [call(1), arithmetic(rsi(14))],
  "MACD(12, 26, 9)": [call(3), arithmetic(macd(12, 26, 9))],
  "Bollinger(20, 2)": [call(5), arithmetic(bollinger(20, 2))],
  "ATR(14)": [call(1), arithmetic(atr(14))],
  "stochastic(14, 3, 3)": [call(2), arithmetic(stochastic(14, 3, 3))],
  "ADX(14)": [call(3), arithmetic(adx(14))],
};

interface Entry {
  name: string;
  mode: Mode;
  contestant: string;
  by: Contestant;
}

const entries: Entry[] = MODES.flatMap((mode) =>
  Object.entries(CLASSICS).flatMap(([name, [own, plain]]) => {
    const peers = Object.entries(PEERS).map(([contestant, indicators]) => ({
      contestant,
      by: indicators[name]!,
    }));
    const all = [{ contestant: OURS, by: own }, { contestant: LOOP, by: plain }, ...peers];
    const able = all.filter(({ by }) => mode === "append" || by.canReplace);
    return able.map((each) => ({ name, mode, ...each }));
  }),
);
const windowEntries: Entry[] = MODES.flatMap((mode) =>
  Object.entries(WINDOWS).flatMap(([name, [long, short]]) => [
    { name, mode, contestant: LONG, by: long },
    { name, mode, contestant: SHORT, by: short },
  ]),
);
const partEntries: Entry[] = MODES.flatMap((mode) =>
  Object.entries(PARTS).flatMap(([name, [called, computed]]) => [
    { name, mode, contestant: CALL, by: called },
    { name, mode, contestant: ARITHMETIC, by: computed },
  ]),
);

/** Our kernels, and others' indicators, candle by candle: appended, and with a running candle tried before. */
export const indicators: Bench = {
  check: () => [...wrongs()].map(([entry, difference]) => describe(entry, difference)),
  measure,
};

/** Who gives wrong results, and in what way; throws where we do. */
function wrongs(): Map<Entry, string> {
  const found = new Map<Entry, string>();
  for (const entry of entries) {
    const rows = ROWS[entry.mode];
    const right = resultsOf(CLASSICS[entry.name]![1], rows);
    const difference = differenceOf(resultsOf(entry.by, rows), right, rows);
    if (difference === undefined) continue;
    if (entry.contestant === OURS) throw new Error(describe(entry, difference));
    found.set(entry, difference);
  }
  return found;
}

function describe({ contestant, name, mode }: Entry, difference: string): string {
  return `${contestant}, ${name}, ${mode}: ${difference}`;
}

async function measure({ rounds, command }: MeasureOptions): Promise<Report> {
  const all = [...entries, ...windowEntries];
  const works = [...all, ...partEntries].map(({ by, mode }) => ({
    calls: ROWS[mode].candles.length,
    // Places that are as young as what is kept there: to make the old point to the young is dear.
    run: () => by.run(ROWS[mode], new Array<unknown>(8).fill(undefined)),
    warmUp: () => by.run(SHORT_ROWS[mode], new Array<unknown>(8).fill(undefined)),
  }));
  const times = await timeByTurns(works, rounds);
  // After the timing: the engine learns from results that are all kept to make them where the old ones live, which
  // takes three times as long. Nothing is reported before.
  const wrong = wrongs();
  const timesOf = ({ name, mode }: Entry, contestant: string) =>
    times[
      all.findIndex((each) => each.name === name && each.mode === mode && each.contestant === contestant)
    ]!;

  const figures = all.map((entry, at): Figure => {
    const { name, mode, contestant } = entry;
    const ratio =
      contestant === LOOP
        ? ratioOf(timesOf(entry, OURS), times[at]!)
        : ratioOf(times[at]!, timesOf(entry, windowEntries.includes(entry) ? SHORT : OURS));
    const isCost =
      contestant === OURS || contestant === SHORT ? undefined : contestant === LOOP || contestant === LONG;
    return { name, mode, contestant, time: spreadOf(times[at]!), ratio, isCost, wrong: wrong.get(entry) };
  });
  const parts = partEntries.map(({ name, mode, contestant }, at) => {
    const own = times[all.length + at]!;
    const floor = timesOf({ name, mode } as Entry, LOOP);
    return { name, mode, contestant, time: spreadOf(own), loops: ratioOf(own, floor) };
  });
  const about = circumstances(Object.keys(PEERS), command);
  const page = pageOf(
    figures,
    parts,
    rounds,
    [...wrong].map(([entry, difference]) => describe(entry, difference)),
  );
  return {
    goals: goalsOf(figures),
    markdown: `${page}\n\n${inWords(about)}`,
    results: {
      ...about,
      rounds,
      candles: CANDLES,
      tries: TRIES,
      parts,
      figures: figures.map((figure, at) => ({
        ...figure,
        rounds: times[at]!.map((each) => +each.toFixed(3)),
      })),
    },
  };
}

/** The geometric means beside their goals. */
function goalsOf(figures: readonly Figure[]): GoalResult[] {
  return GOALS.flatMap(({ contestant, unit, least, most }) =>
    MODES.map((mode): GoalResult => {
      const right = figures.filter(
        (each) => each.mode === mode && each.contestant === contestant && each.wrong === undefined,
      );
      const mean = meanSpread(right.map(({ ratio }) => ratio));
      const bound = most === undefined ? `least ${least}` : `most ${most[mode]}`;
      return {
        row: `kernels, ${mode}`,
        goal: `at ${bound} times ${unit}`,
        figure: spread(mean),
        met: mean.median <= (most?.[mode] ?? Number.POSITIVE_INFINITY) && mean.median >= (least ?? 0),
      };
    }),
  );
}

/** Of a part, and how many times as long as the loop it takes. */
type Part = Pick<Figure, "name" | "mode" | "contestant" | "time"> & { readonly loops: Spread };

/** How long parts take, as geometric means: in times of the loop. */
function partsOf(figures: readonly Figure[], parts: readonly Part[]): string[] {
  const own = figures.filter(({ contestant }) => contestant === LOOP);
  const rows: [string, readonly { mode: Mode; times: number }[]][] = [
    ["a call that gives a new value", timesIn(parts, CALL)],
    ["the class with the arithmetic", timesIn(parts, ARITHMETIC)],
    ["ours", own.map(({ mode, ratio }) => ({ mode, times: ratio.median }))],
  ];
  return rows.map(([name, all]) => {
    const means = MODES.map((mode) =>
      geometricMean(all.filter((each) => each.mode === mode).map(({ times }) => times)),
    );
    return row([name, ...means.map((mean) => mean.toFixed(2))]);
  });
}

function timesIn(parts: readonly Part[], wanted: string) {
  const own = parts.filter(({ contestant }) => contestant === wanted);
  return own.map(({ mode, loops }) => ({ mode, times: loops.median }));
}

function pageOf(
  figures: readonly Figure[],
  parts: readonly Part[],
  rounds: number,
  findings: readonly string[],
): string {
  const bullets = (lines: readonly string[]) =>
    lines.length === 0 ? ["- none"] : lines.map((line) => `- ${line}`);
  const peers = Object.keys(PEERS).map((name) => [name, `${name} / ours`]);
  const heads = { [OURS]: "ours, ns a call", [LOOP]: "ours / loop", ...Object.fromEntries(peers) };
  const tableIn = (mode: Mode) =>
    tableOf(
      figures.filter((each) => each.mode === mode && each.contestant in heads),
      heads,
      OURS,
    );
  const windows = figures.filter(({ contestant }) => contestant === LONG);
  return `## Indicators

Eight classics, candle by candle. Each number is the median of ${rounds} rounds of processor time, and the brackets hold the middle half of them. All
ran by turns in one process, so every call site saw all of the indicators, as in a program that uses several. Ours
read candles, refuse those with a number that is not finite, and give every result as a value of its own; the loop
reads columns, fills columns, and does nothing else.

### Append: every candle pushed once

${tableIn("append").join("\n")}

### Replace: every candle tried ${TRIES} times while it runs, then pushed; a call is one of the ${TRIES + 1}

${tableIn("replace").join("\n")}

technicalindicators and fast-technical-indicators cannot try a candle. ✗: the results are wrong, and the ratio is not in the mean:

${bullets(findings).join("\n")}

Results are compared with the loop's, from the thousandth candle on, where different beginnings have faded, to 1e-6;
the loops themselves are held to TA-Lib's figures by a test.

### What a call takes

${[row(["times the loop", ...MODES]), "|---|---:|---:|", ...partsOf(figures, parts)].join("\n")}

Geometric means over the eight. The first gives a new value of as many numbers, and computes next to nothing; the
second is what is behind a kernel, called with a price or a candle that nothing has checked.

### Long windows

${[row(["200 / 20", ...MODES]), "|---|---:|---:|", ...Object.keys(WINDOWS).map((name) => row([name, ...windows.filter((each) => each.name === name).map(({ ratio }) => spread(ratio))]))].join("\n")}`;
}
