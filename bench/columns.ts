import { marketOf } from "../test/indicators/random-candles.js";
import type { Bench, GoalResult, MeasureOptions, Report } from "./bench.js";
import {
  CLASSICS,
  type Contestant,
  INTO,
  LOOP,
  OURS,
  PEERS,
  type WholeSeries,
  wholeSeriesOf,
} from "./columns/contestants.js";
import { differenceOf } from "./indicators/comparison.js";
import { row, spread } from "./indicators/figures.js";
import { circumstances, inWords } from "./machine.js";
import { geometricMean, meanSpread, ratioOf, type Spread, spreadOf, timeByTurns } from "./rounds.js";

const CANDLES = 200_000;
const CHECKED = 5_000;
const WARM_UP = 4_096;

interface Entry {
  name: string;
  contestant: string;
  by: Contestant;
}

const ENTRIES: readonly Entry[] = Object.entries(CLASSICS).flatMap(([name, all]) =>
  Object.entries(all).map(([contestant, by]) => ({ name, contestant, by })),
);

/** Whole series at once: ours, other packages, and the loops of the other bench. */
export const columns: Bench = {
  check: () => [...wrongs()].map(([entry, difference]) => describe(entry, difference)),
  measure,
};

/** Who gives wrong results, and in what way; throws where we do. */
function wrongs(): Map<Entry, string> {
  const series = wholeSeriesOf(marketOf(6, CHECKED));
  const found = new Map<Entry, string>();
  for (const entry of ENTRIES) {
    const results = numbersOf(entry.by, series);
    const width = Math.max(...results.map((numbers) => numbers.length));
    const right = numbersOf(CLASSICS[entry.name]![LOOP]!, series).map((numbers) => numbers.slice(0, width));
    const difference = differenceOf(results, right, series.rows);
    if (difference === undefined) continue;
    if (entry.contestant === OURS || entry.contestant === INTO) throw new Error(describe(entry, difference));
    found.set(entry, difference);
  }
  return found;
}

/** The numbers of every candle; NaN where a result has not begun. */
function numbersOf({ run, columnsOf }: Contestant, series: WholeSeries): number[][] {
  const all = columnsOf(run(series));
  const { length } = series.close;
  return series.close.map((_, at) => all.map((column) => column[at - length + column.length] ?? Number.NaN));
}

function describe({ contestant, name }: Entry, difference: string): string {
  return `${contestant}, ${name}: ${difference}`;
}

interface Figure extends Omit<Entry, "by"> {
  /** Nanoseconds a candle. */
  time: Spread;
  /** Of a peer to ours; of ours, with `into`, to the loop. */
  ratio: Spread;
  /** Whether it is of ours; ours itself has none. */
  isCost: boolean | undefined;
  wrong: string | undefined;
  rounds: number[];
}

async function measure({ rounds, command }: MeasureOptions): Promise<Report> {
  const wrong = wrongs();
  const series = wholeSeriesOf(marketOf(6, CANDLES));
  const short = wholeSeriesOf(marketOf(7, WARM_UP));
  const works = ENTRIES.map(({ by }) => ({
    calls: CANDLES,
    run: () => by.run(series),
    warmUp: () => by.run(short),
  }));
  const times = await timeByTurns(works, rounds);
  const timesOf = (name: string, contestant: string) =>
    times[ENTRIES.findIndex((each) => each.name === name && each.contestant === contestant)]!;
  const figures = ENTRIES.map((entry, at): Figure => {
    const { name, contestant } = entry;
    const ratio =
      contestant === INTO
        ? ratioOf(times[at]!, timesOf(name, LOOP))
        : ratioOf(times[at]!, timesOf(name, OURS));
    const own = times[at]!.map((time) => +time.toPrecision(4));
    const isCost = contestant === OURS ? undefined : contestant === INTO;
    return {
      name,
      contestant,
      time: spreadOf(times[at]!),
      ratio,
      isCost,
      wrong: wrong.get(entry),
      rounds: own,
    };
  });
  const about = circumstances([...PEERS], command);
  const findings = [...wrong].map(([entry, difference]) => describe(entry, difference));
  return {
    goals: goalsOf(figures),
    markdown: `${pageOf(figures, rounds, findings)}\n\n${inWords(about)}`,
    results: { ...about, rounds, candles: CANDLES, figures },
  };
}

/** The fastest peer of a row whose results are right. */
function bestPeer(figures: readonly Figure[], name: string): Figure {
  return figures
    .filter((each) => each.name === name && each.wrong === undefined)
    .filter(({ contestant }) => (PEERS as readonly string[]).includes(contestant))
    .reduce((best, each) => (each.time.median < best.time.median ? each : best));
}

const NAMES = Object.keys(CLASSICS);

function goalsOf(figures: readonly Figure[]): GoalResult[] {
  const peers = NAMES.map((name) => bestPeer(figures, name).ratio);
  const [mean, overLoop] = [meanSpread(peers), meanSpread(NAMES.map((name) => loopRatio(figures, name)))];
  const least = peers.reduce((one, other) => (one.median < other.median ? one : other));
  const rowName = "whole series at once";
  return [
    {
      row: rowName,
      goal: "faster than the fastest peer of every row",
      figure: `${spread(least)} times, ${NAMES[peers.indexOf(least)]}`,
      met: least.median > 1,
    },
    {
      row: rowName,
      goal: "at least 1.7 times as fast as the fastest peer of each row, in the mean",
      figure: spread(mean),
      met: mean.median >= 1.7,
    },
    {
      row: rowName,
      goal: "at most 1.3 times the time of the loop, in the mean",
      figure: spread(overLoop),
      met: overLoop.median <= 1.3,
    },
  ];
}

function loopRatio(figures: readonly Figure[], name: string): Spread {
  return figures.find((each) => each.name === name && each.contestant === INTO)!.ratio;
}

function pageOf(figures: readonly Figure[], rounds: number, findings: readonly string[]): string {
  const find = (name: string, contestant: string) =>
    figures.find((each) => each.name === name && each.contestant === contestant);
  const cellOf = (figure: Figure | undefined) => {
    if (figure === undefined) return "–";
    return figure.wrong === undefined ? spread(figure.ratio) : `✗ (${spread(figure.ratio)})`;
  };
  const lines = NAMES.map((name) => [
    name,
    spread(find(name, OURS)!.time, 1),
    ...PEERS.map((peer) => cellOf(find(name, peer))),
    spread(find(name, INTO)!.time, 1),
    spread(loopRatio(figures, name)),
  ]);
  const mean = (ratios: readonly number[]) => `**${geometricMean(ratios).toFixed(2)}**`;
  const means = PEERS.map((peer) =>
    mean(
      NAMES.flatMap((name) => {
        const figure = find(name, peer);
        return figure === undefined || figure.wrong !== undefined ? [] : [figure.ratio.median];
      }),
    ),
  );
  const best = mean(NAMES.map((name) => bestPeer(figures, name).ratio.median));
  const overLoop = mean(NAMES.map((name) => loopRatio(figures, name).median));
  const heads = [
    "ours, ns a candle",
    ...PEERS.map((peer) => `${peer} / ours`),
    "with `into`, ns",
    "with `into` / loop",
  ];
  const bullets = findings.length === 0 ? ["- none"] : findings.map((each) => `- ${each}`);
  return `## Whole series

\`indicatorColumns\` over ${CANDLES.toLocaleString("en")} candles. Each call computes one indicator, and checks the columns that
it reads. There are three goals. Ours is faster than the fastest peer of every row. In the geometric mean of the rows it is
at least 1.7 times as fast as the fastest peer (it is ${best}). It takes at most 1.3 times as long as the loop
(${overLoop}).

${[row(["", ...heads]), `|---|${"---:|".repeat(heads.length)}`, ...lines.map(row), row(["**geometric mean**", "", ...means, "", overLoop])].join("\n")}

Each number is the median of ${rounds} rounds of processor time, and the brackets hold the middle half of them. All
contestants were warmed up, and then ran in turns in one process. Ours and the peers make new arrays, so they are compared
with each other. With \`into\` ours writes over the arrays of the last call. The loop does the same, so these two are
compared. The peers get plain arrays, as their types require, and none of them checks a number. Some peers compute fewer
columns, and are timed for those: indicatorts has no ADX and no MACD histogram, trading-signals has no directions of the
ADX, and no peer has the width of the Bollinger bands. @debut/indicators has no call for a whole series. tulind is left out:
its package holds C, which has to be compiled.

Ours takes longer than the loop because it checks its input: about 1 ns a candle for the timestamps, and 0.6 ns for each
column that it reads. New arrays take another 1 to 3 ns a candle for each column, as their memory is new. SMA and EMA
compute for less than 3 ns a candle, so peers without checks come close there.

✗: the results are wrong, and the mean leaves the ratio out:

${bullets.join("\n")}

Results are compared with those of the loop, to 1e-6, from the thousandth candle on: by then it does not matter any more
how an indicator begins.`;
}
