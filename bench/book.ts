import { pathToFileURL } from "node:url";
import type { Candle } from "pairstream";
import { isSame } from "../src/candles/event.js";
import { type CandleBook, type CandleChange, type CandleEntry, emptyBook } from "../src/candles/read/book.js";
import { judge } from "../src/candles/read/judge.js";
import type { Page } from "../src/candles/read/page.js";
import { type CandleRules, settledUntil, windowStart } from "../src/candles/rules.js";
import { intervalsOf } from "../src/timeframe.js";
import { marketOf, randomOf } from "../test/indicators/random-candles.js";
import type { Bench, MeasureOptions, Report } from "./bench.js";
import { circumstances, inWords } from "./machine.js";
import { installedPeer } from "./peers.js";
import { keepingResults } from "./rounds.js";
import { aboutRounds, type Contestant, inUnitsOf, ratioGoal, sideBySide, tableOf } from "./side-by-side.js";

const MINUTE = 60_000;
const INTERVALS = intervalsOf("1min");
const SETTLE = 1_000;
/** ms between two polls. */
const EVERY = 10_000;
/** How often a closed candle of the window turns out to be another one than was served before. */
const CORRECTED = 0.01;
/** How many final candles every answer has to show. */
const ANCHORS = 4;

const PEER = "ccxt";
const PEER_VERSION = "4.5.84";
/** How many candles ccxt keeps of a series where nobody says. */
const PEER_SIZE = 1_000;
const LEAST = 10;

/** Candles as ccxt has them: timestamp, open, high, low, close, volume. */
type Row = number[];
interface Cache extends Array<Row> {
  append(row: Row): void;
}
type MakeCache = new (maxSize: number) => Cache;

/** The same polls in the forms that the contestants take. */
interface Polls {
  readonly rules: CandleRules;
  readonly pages: readonly Page[];
  readonly rows: readonly (readonly Row[])[];
  /** How many candles are read in all. */
  readonly calls: number;
}

const WORKLOADS = {
  "the default window of 2 intervals": pollsOf(2, 500),
  "a window of 200 intervals": pollsOf(200, 100),
};

/** The book, which says what every read has changed, and the table that ccxt keeps candles in. */
export const book: Bench = { check: () => compare(), measure };

/** Throws where the book, or a change that it has told, is wrong; says where the peer's table is. */
function compare(makeCache?: MakeCache): string[] {
  const findings: string[] = [];
  for (const [name, polls] of Object.entries(WORKLOADS)) {
    const right = new Map<number, Candle>();
    for (const { candles } of polls.pages) for (const candle of candles) right.set(candle.timestamp, candle);
    const told = new Map<number, Candle>();
    let count = 0;
    let byHand = 0;
    takeByHand(polls, () => {
      byHand += 1;
    });
    const { entries } = takePages(polls, (change) => {
      const { type, candle } = change;
      count += 1;
      if (change.type === "updated" && told.get(candle.timestamp) !== change.previous) {
        throw new Error(`ours, ${name}: a candle is said to have been another than it was`);
      }
      if (type === "removed") throw new Error(`ours, ${name}: a candle is said to be gone`);
      told.set(candle.timestamp, candle);
    });
    const isRight = [...right].every(([timestamp, candle]) =>
      isSameRow(rowOf(told.get(timestamp)), rowOf(candle)),
    );
    if (!isRight || told.size !== right.size) throw new Error(`ours, ${name}: candles are missing or wrong`);
    if (entries.length !== polls.rules.revisionWindow + 1)
      throw new Error(`ours, ${name}: not all that left is final`);
    if (count <= right.size) throw new Error(`ours, ${name}: no candle is said to have changed`);
    if (byHand !== count) throw new Error(`by hand, ${name}: ${byHand} changes, where ours tells ${count}`);
    if (makeCache === undefined) continue;
    const fresh = { ...polls, rows: polls.rows.map((rows) => rows.map((row) => [...row])) };
    const cache = appendRows(makeCache, fresh, () => {});
    const last = [...right.values()].slice(-cache.length).map(rowOf);
    if (!cache.every((row, at) => isSameRow(row, last[at])))
      findings.push(`${PEER}, ${name}: candles are wrong`);
  }
  return findings;
}

async function measure({ rounds, command }: MeasureOptions): Promise<Report> {
  const folder = installedPeer(PEER, PEER_VERSION);
  const makeCache = folder === undefined ? undefined : await cacheOf(folder);
  const findings = compare(makeCache);
  if (findings.length > 0) throw new Error(findings.join("; "));
  const sections: string[] = [];
  const goals: Report["goals"][number][] = [];
  const figures: object[] = [];
  for (const [name, polls] of Object.entries(WORKLOADS)) {
    const stretch = { ...polls, pages: polls.pages.slice(0, 100), rows: polls.rows.slice(0, 100) };
    const contestants: Contestant[] = [
      {
        name: "pairstream",
        work: {
          calls: polls.calls,
          run: (): unknown => keepingResults((take) => takePages(polls, take)),
          warmUp: (): unknown => keepingResults((take) => takePages(stretch, take)),
        },
      },
    ];
    contestants.push({
      name: "what changes alone, by hand: nothing is judged",
      isFloor: true,
      work: {
        calls: polls.calls,
        run: () => keepingResults((take) => takeByHand(polls, take)),
        warmUp: () => keepingResults((take) => takeByHand(stretch, take)),
      },
    });
    if (makeCache !== undefined) {
      contestants.push({
        name: `${PEER}'s \`ArrayCacheByTimestamp\``,
        work: {
          calls: polls.calls,
          run: () => keepingResults((take) => appendRows(makeCache, polls, take)),
          warmUp: () => keepingResults((take) => appendRows(makeCache, stretch, take)),
        },
      });
    }
    const timed = await sideBySide(contestants, rounds);
    const row = "book, per candle, revision detection included";
    const peer = timed[2];
    goals.push(
      peer === undefined
        ? {
            row,
            goal: `at least ${LEAST} times as fast as ${PEER}`,
            figure: `${PEER} could not be installed`,
            met: false,
          }
        : ratioGoal(
            `${row}: ${name}`,
            peer.ratio,
            { least: LEAST },
            `as fast as ${PEER}'s \`ArrayCacheByTimestamp\``,
          ),
    );
    sections.push(`### Polls of ${name}\n\n${tableOf(timed, "ns a candle", inUnitsOf(1))}`);
    figures.push({ name, timed });
  }
  const about = circumstances([], command);
  about.versions.push(`${PEER} ${makeCache === undefined ? "could not be installed" : PEER_VERSION}`);
  return {
    goals,
    markdown: `## Book

The answers of polls are compared with what is known: \`1min\` candles, one poll every ${EVERY / 1_000} s. The running candle changes with each poll, and one in ${1 / CORRECTED} of the others does. Ours says which candles are new, changed, closed and final, and how they were before. By hand the same is told, and nothing is judged: no answer lacks a candle, comes late, is silent or is broken. ${PEER} overwrites its candles, keeps the last ${PEER_SIZE.toLocaleString("en-US")}, and does not say what has changed.

${sections.join("\n\n")}

${aboutRounds(rounds)} It is processor time.

${inWords(about)}`,
    results: { ...about, unit: "ns a candle", figures },
  };
}

function takePages({ rules, pages }: Polls, take: (change: CandleChange) => void): CandleBook {
  let state = emptyBook(pages[0]!.from);
  for (const page of pages) {
    const { book, changes } = judge(rules, state, page);
    state = book;
    for (const change of changes) take(change);
  }
  return state;
}

/** Tells the same changes where answers are whole, in order and of one clock, and nothing lacks, is silent or is broken. */
function takeByHand({ rules, pages }: Polls, take: (change: CandleChange) => void): readonly CandleEntry[] {
  let known: readonly CandleEntry[] = [];
  let finalUntil = pages[0]!.from;
  for (const { candles, at } of pages) {
    const [settled, final] = [settledUntil(rules, at), windowStart(rules, at)];
    const entries: CandleEntry[] = [];
    let place = 0;
    for (const candle of candles) {
      const { timestamp } = candle;
      if (timestamp < finalUntil) continue;
      while (place < known.length && known[place]!.candle.timestamp < timestamp) place += 1;
      const before = known[place]?.candle.timestamp === timestamp ? known[place] : undefined;
      const status = timestamp < final ? "final" : timestamp < settled ? "closed" : "open";
      let entry: CandleEntry;
      if (before === undefined) {
        entry = { candle, status, revision: 0 };
        take({ type: "new", candle, status, revision: 0 });
      } else if (status !== before.status || !isSame(before.candle, candle)) {
        const revision = before.revision + 1;
        entry = { candle, status, revision };
        take({ type: "updated", candle, status, revision, previous: before.candle });
      } else entry = before;
      if (status !== "final") entries.push(entry);
    }
    known = entries;
    finalUntil = Math.max(finalUntil, final);
  }
  return known;
}

function appendRows(makeCache: MakeCache, { rows }: Polls, take: (row: Row) => void): Cache {
  const cache = new makeCache(PEER_SIZE);
  for (const poll of rows) {
    for (const row of poll) cache.append(row);
    take(cache[cache.length - 1]!);
  }
  return cache;
}

/** Polls of a market, each of the window and the running candle, until this many candles have come and gone. */
function pollsOf(revisionWindow: number, length: number): Polls {
  const rules: CandleRules = { intervals: INTERVALS, settle: SETTLE, revisionWindow };
  const random = randomOf(7);
  const begin = Date.UTC(2026, 0, 1);
  const candles: Candle[] = marketOf(8, revisionWindow + length).map((candle) =>
    Object.freeze({ ...candle, timestamp: begin + candle.timestamp }),
  );
  const pages: Page[] = [];
  // A poll reads what was not final after the one before, and shows the last four candles that were.
  let from = begin;
  for (let minute = revisionWindow; minute < candles.length; minute += 1) {
    for (let second = SETTLE; second < MINUTE; second += EVERY) {
      const observedAt = begin + minute * MINUTE + second;
      const first = (from - begin) / MINUTE;
      const closed = candles.slice(first, minute);
      for (let at = 0; at < closed.length; at += 1) {
        if (random() >= CORRECTED) continue;
        closed[at] = traded(closed[at]!, random());
        candles[first + at] = closed[at]!;
      }
      const running = traded(candles[minute]!, random());
      candles[minute] = running;
      pages.push({
        from,
        to: begin + (minute + 1) * MINUTE,
        at: observedAt,
        epoch: 0,
        isInDoubt: false,
        candles: [...candles.slice(Math.max(0, first - ANCHORS), first), ...closed, running],
        lacking: [],
        broken: [],
        hasUnplaced: false,
        refusal: undefined,
        isEmpty: false,
        bornAt: begin,
      });
      from = windowStart(rules, observedAt);
    }
  }
  const rows = pages.map((page) => page.candles.filter(({ timestamp }) => timestamp >= page.from).map(rowOf));
  return { rules, pages, rows, calls: rows.reduce((sum, poll) => sum + poll.length, 0) };
}

/** The candle after one more swap. */
function traded(candle: Candle, place: number): Candle {
  const close = candle.low + place * (candle.high - candle.low);
  return Object.freeze({ ...candle, close, volume: candle.volume + 1 + place, swaps: candle.swaps + 1 });
}

function rowOf(candle: Candle | undefined): Row {
  if (candle === undefined) return [];
  const { timestamp, open, high, low, close, volume } = candle;
  return [timestamp, open, high, low, close, volume];
}

function isSameRow(a: Row, b: Row | undefined): boolean {
  return b !== undefined && a.length === b.length && a.every((value, at) => value === b[at]);
}

async function cacheOf(folder: string): Promise<MakeCache> {
  const path = pathToFileURL(`${folder}js/src/base/ws/Cache.js`).href;
  return ((await import(path)) as { ArrayCacheByTimestamp: MakeCache }).ArrayCacheByTimestamp;
}
