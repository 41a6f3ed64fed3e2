import type { Candle, CandleEvent, Series, Timeframe } from "pairstream";
import { checkWatch } from "../src/candles/options.js";
import { emptyBook } from "../src/candles/read/book.js";
import { judge } from "../src/candles/read/judge.js";
import { SeriesPages } from "../src/candles/read/pages.js";
import { CandleView } from "../src/candles/view/view.js";
import type { ClientCore } from "../src/client/core.js";
import { KnownPairs } from "../src/client/known-pairs.js";
import { beginning } from "../src/contract/quote.js";
import { marketOf } from "../test/indicators/random-candles.js";
import type { Bench, MeasureOptions, Report } from "./bench.js";
import { circumstances, inWords } from "./machine.js";
import { keepingResults } from "./rounds.js";
import { aboutRounds, inUnitsOf, ratioGoal, sideBySide, tableOf } from "./side-by-side.js";

const CANDLES = 1_000;
const MINUTE = 60_000;
const BEGIN = Date.UTC(2026, 0, 1);
const END = BEGIN + CANDLES * MINUTE;
/** When it is read: all of it is final by then. */
const READ_AT = END + 5 * MINUTE;
const SERIES: Series<Timeframe> = {
  network: "mainnet",
  pairAddress: "pair",
  timeframe: "1min",
  currency: "usd",
};
const WATCH = checkWatch({ ...SERIES, since: BEGIN });

const NONE: ReadonlySet<number> = new Set();
const NEVER = new AbortController().signal;

const MOST = 1.4;
const FLOOR = "`JSON.parse` and `Date.parse`";

type WireCandle = Omit<Candle, "timestamp"> & { readonly timestamp: string };

/** A page of history from its text to events: as a watch reads it, and the parsing that nobody gets around. */
export const page: Bench = {
  check,
  measure,
  prepared: () => {
    const text = pageText();
    return () => readPage(text, () => {});
  },
};

async function check(): Promise<readonly string[]> {
  const text = pageText();
  const events: CandleEvent[] = [];
  await readPage(text, (event) => events.push(event));
  const right: CandleEvent[] = [];
  buildEvents(text, (event) => right.push(event));
  if (events.length !== CANDLES) throw new Error(`ours: ${events.length} events of ${CANDLES} candles`);
  events.forEach((event, at) => {
    const [own, other] = [JSON.stringify(event), JSON.stringify(right[at])];
    if (own !== other) throw new Error(`ours: event ${at} is ${own}, not ${other}`);
    if (!Object.isFrozen(event) || !Object.isFrozen(event.candle)) throw new Error("ours: not frozen");
  });
  return [];
}

async function measure({ rounds, command }: MeasureOptions): Promise<Report> {
  await check();
  const text = pageText();
  const taken = (run: (take: (result: unknown) => void) => unknown) => {
    const once = () => keepingResults(run);
    return { calls: 1, run: once, warmUp: once };
  };
  const timed = await sideBySide(
    [
      { name: "pairstream", work: taken((take) => readPage(text, take)) },
      { name: FLOOR, work: taken((take) => parsePage(text, take)), isFloor: true },
      { name: "events built by hand", work: taken((take) => buildEvents(text, take)), isFloor: true },
    ],
    rounds,
  );
  const about = circumstances(["rxjs"], command);
  return {
    goals: [
      ratioGoal(
        "a page of 1,000 candles: text → validated, frozen events",
        timed[1]!.ratio,
        { most: MOST },
        FLOOR,
      ),
    ],
    markdown: `## Page

The text of ${CANDLES.toLocaleString("en-US")} candles, newest first, becomes validated, frozen events, oldest first, in the way in which a history is read.

${tableOf(timed, "µs a page", inUnitsOf(1e3, 0))}

${aboutRounds(rounds)} It is processor time. By hand, the same frozen events are built from what ${FLOOR} give, and nothing is checked.

${inWords(about)}`,
    results: { ...about, candles: CANDLES, unit: "ns a page", timed },
  };
}

/** The body of an answer, as the service serves it. */
function pageText(): string {
  const result = marketOf(8, CANDLES)
    .map((candle): WireCandle => ({ ...candle, timestamp: new Date(BEGIN + candle.timestamp).toISOString() }))
    .reverse();
  const { pairAddress, timeframe, currency } = SERIES;
  return JSON.stringify({
    cursor: null,
    page: 1,
    pairAddress,
    tokenAddress: "token",
    timeframe,
    currency,
    result,
  });
}

async function readPage(text: string, take: (event: CandleEvent) => void): Promise<void> {
  const core: Pick<ClientCore, "send" | "shared" | "pairs"> = {
    shared: new Map(),
    pairs: new KnownPairs(),
    send: async ({ parse }) => {
      const told = { observedAt: READ_AT, epoch: 0, isInDoubt: false };
      return { ...told, value: parse(text, beginning) };
    },
  };
  const { rules } = WATCH;
  const pages = new SeriesPages(core as ClientCore, SERIES, rules.intervals);
  const options = { priority: "history", signal: NEVER } as const;
  const answer = await pages.read({ from: BEGIN, to: END, anchors: [] }, options);
  const { changes } = judge(rules, emptyBook(BEGIN), answer);
  const view = new CandleView(WATCH, { start: BEGIN, hasHistory: true });
  const candles = changes.map(({ candle }) => candle);
  const { at: observedAt, epoch } = answer;
  const part = { from: BEGIN, to: END, candles, unreadable: NONE, hasUnplaced: false, observedAt, epoch };
  for (const event of view.take({ type: "history", part })) take(event);
}

function parsePage(text: string, take: (instant: number) => void): void {
  const { result } = JSON.parse(text) as { result: WireCandle[] };
  for (const { timestamp } of result) take(Date.parse(timestamp));
}

function buildEvents(text: string, take: (event: CandleEvent) => void): void {
  const { result } = JSON.parse(text) as { result: WireCandle[] };
  for (let at = result.length - 1; at >= 0; at -= 1) {
    const { timestamp, open, high, low, close, volume, swaps } = result[at]!;
    const candle = Object.freeze({ timestamp: Date.parse(timestamp), open, high, low, close, volume, swaps });
    take(
      Object.freeze({
        type: "new",
        candle,
        status: "final",
        revision: 0,
        live: false,
        lateBy: Math.max(0, READ_AT - (candle.timestamp + 61_000)),
        observedAt: READ_AT,
        series: SERIES,
      }),
    );
  }
}
