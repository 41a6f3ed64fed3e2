import { row } from "./indicators/figures.js";
import { geometricMean, type Spread } from "./rounds.js";

/** The figures that benches have saved, by their names; absent where they never were. */
export type AllFigures = Readonly<Record<string, object | undefined>>;

/** A stretch of work, and how many times as long as ours others take. */
export interface Comparison {
  readonly name: string;
  readonly others: readonly { readonly name: string; readonly times: number }[];
}

interface Timed {
  readonly name: string;
  readonly contestant?: string;
  readonly mode?: string;
  readonly isFloor?: boolean;
  readonly time: Spread;
  readonly ratio: Spread;
  readonly wrong?: string;
}

interface Follower {
  readonly name: string;
  readonly seen: readonly (number | null)[];
  readonly wrong: number;
  readonly missed: number;
  readonly candles: number;
  readonly requests: number;
}

const OURS = "pairstream";

/** How many times as long others take for the same, from what is saved. */
export function comparisonsOf(all: AllFigures): Comparison[] {
  const indicators = (mode?: string) => (each: Timed) => mode === undefined || each.mode === mode;
  const found: Comparison[] = [
    {
      name: "eight indicators, a whole series at once",
      others: peersIn(figuresIn(all.columns), indicators()),
    },
    {
      name: "eight indicators, candle by candle",
      others: peersIn(figuresIn(all.indicators), indicators("append")),
    },
    { name: "eight indicators behind RxJS", others: timedPeers(figuresIn(all.pipe)[0]) },
    { name: "a year of minutes as events, EMA, RSI", others: timedPeers(all.replay) },
    { name: "what an answer has changed, a candle", others: timedPeers(figuresIn(all.book)[0]) },
  ];
  return found.filter(({ others }) => others.length > 0);
}

/** What a user can expect, and what they would have instead: lines of a table. */
export function expectationsOf(all: AllFigures): string {
  const lines = [
    ...[
      ["eight indicators over a whole series", sumOf(all.columns), all.columns, "candles"],
      ["the same eight, candle by candle", sumOf(all.indicators, "append"), all.indicators, "candles"],
      ["the same behind RxJS, events frozen", ownTime(figuresIn(all.pipe)[0]), all.pipe, "events"],
      ["a year of minutes as events, with EMA and RSI", ownTime(all.replay), all.replay, "candles"],
      ["what an answer has changed", ownTime(figuresIn(all.book)[0]), all.book, "candles"],
    ].flatMap(([name, time, figures, unit], at) => {
      if (typeof time !== "number" || figures === undefined) return [];
      const others = comparisonsOf(all).find((each) => each.name === COMPARED[at])?.others ?? [];
      const slower = others.map((other) => `${other.name}: ${(1 / other.times).toFixed(2)} of that`);
      return [[`${name}`, `${(1e3 / time).toFixed(1)} million ${unit} a second`, slower.join("; ")]];
    }),
    ...followersIn(all.freshness),
    ...bytesIn(all.download),
    ...memoryIn(all.scale),
  ];
  return [row(["", "with pairstream", "instead"]), "|---|---|---|", ...lines.map(row)].join("\n");
}

const COMPARED = [
  "eight indicators, a whole series at once",
  "eight indicators, candle by candle",
  "eight indicators behind RxJS",
  "a year of minutes as events, EMA, RSI",
  "what an answer has changed, a candle",
];

function figuresIn(figures: object | undefined): readonly Timed[] {
  return (figures as { figures?: readonly Timed[] } | undefined)?.figures ?? [];
}

function timedIn(figures: object | undefined): readonly Timed[] {
  return (figures as { timed?: readonly Timed[] } | undefined)?.timed ?? [];
}

/** Of those whose results are right in every row that they have. */
function peersIn(figures: readonly Timed[], isWanted: (each: Timed) => boolean): Comparison["others"] {
  const isPeer = ({ contestant = OURS }: Timed) => !/^(pairstream|loop|a window)/.test(contestant);
  const wanted = figures.filter((each) => isWanted(each) && isPeer(each) && each.wrong === undefined);
  return [...new Set(wanted.map(({ contestant }) => contestant!))].map((name) => {
    const own = wanted.filter(({ contestant }) => contestant === name);
    return { name, times: geometricMean(own.map(({ ratio }) => ratio.median)) };
  });
}

function timedPeers(figures: object | undefined): Comparison["others"] {
  const peers = timedIn(figures).filter(({ name, isFloor }) => name !== OURS && isFloor === false);
  return peers.map(({ name, ratio }) => ({ name, times: ratio.median }));
}

/** The nanoseconds of all rows of ours together. */
function sumOf(figures: object | undefined, mode?: string): number | undefined {
  const own = figuresIn(figures).filter((each) => each.contestant === OURS && each.mode === mode);
  return own.length === 0 ? undefined : own.reduce((sum, { time }) => sum + time.median, 0);
}

function ownTime(figures: object | undefined): number | undefined {
  return timedIn(figures).find(({ name }) => name === OURS)?.time.median;
}

function followersIn(figures: object | undefined): string[][] {
  const [ours, , timer] = (figures as { figures?: readonly Follower[] } | undefined)?.figures ?? [];
  if (ours === undefined || timer === undefined) return [];
  const words = ({ requests, candles, seen, missed, wrong }: Follower) => {
    const share = (count: number) => `${((100 * count) / candles).toFixed(1)} %`;
    const after = `${((seen[0] ?? Number.NaN) / 1_000).toFixed(1)} s after its end`;
    return `${(requests / candles).toFixed(2)} requests, there ${after}, ${share(missed)} missed, ${share(wrong)} wrong for good`;
  };
  return [
    ["a closed candle, late swaps and faults among them", words(ours), `${timer.name}: ${words(timer)}`],
  ];
}

function bytesIn(figures: object | undefined): string[][] {
  const bundles =
    (figures as { bundles?: readonly { name: string; size: number }[] } | undefined)?.bundles ?? [];
  const kilobytes = (name: string) => bundles.find((each) => each.name === name)?.size ?? Number.NaN;
  if (bundles.length === 0) return [];
  const shown = (name: string) => `${(kilobytes(name) / 1_000).toFixed(1)} kB`;
  const whole = `${shown("the same with zod and cross-fetch")} with all it needs but RxJS, an indicator ${shown("one indicator")}`;
  return [["in a page, compressed", whole, ""]];
}

function memoryIn(figures: object | undefined): string[][] {
  const sizes =
    (figures as { figures?: readonly { count: number; heap?: number }[] } | undefined)?.figures ?? [];
  const most = sizes.at(-1);
  if (most?.heap === undefined) return [];
  return [
    [
      `${most.count.toLocaleString("en")} series in one process`,
      `${most.heap.toFixed(1)} kB of heap each`,
      "",
    ],
  ];
}
