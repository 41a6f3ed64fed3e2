import type { Candle, CandleEvent, Series } from "pairstream";
import { checkWatch } from "../src/candles/options.js";
import { SeriesReader } from "../src/candles/read/range-reader.js";
import { CandleView } from "../src/candles/view/view.js";
import type { ClientCore, Walk } from "../src/client/core.js";
import { KnownPairs } from "../src/client/known-pairs.js";
import { marketOf } from "../test/indicators/random-candles.js";
import type { Bench, MeasureOptions, Report } from "./bench.js";
import { circumstances, inWords } from "./machine.js";
import { keepingResults } from "./rounds.js";
import { aboutRounds, inUnitsOf, ratioGoal, sideBySide, tableOf } from "./side-by-side.js";

const CANDLES = 1_000;
const MINUTE = 60_000;
const BEGIN = Date.UTC(2026, 0, 1);
const END = BEGIN + CANDLES * MINUTE;
const SERIES: Series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" };
const WATCH = checkWatch({ ...SERIES, since: BEGIN });

const NEVER = new AbortController().signal;

const MOST = 1.4;
const FLOOR = "`JSON.parse` and `Date.parse`";

type WireCandle = Omit<Candle, "timestamp"> & { readonly timestamp: string };

/** A page of history from its text to events: as a watch reads it, and the parsing that nobody gets around. */
export const page: Bench = { check, measure };

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
  const core: Pick<ClientCore, "walk" | "shared" | "pairs"> = {
    shared: new Map(),
    pairs: new KnownPairs(),
    walk: async function* <T>({ parse }: Walk<T>) {
      const told = { sentAt: END, observedAt: END, epoch: 0, isInDoubt: false };
      yield { ...told, value: parse(text), cursor: undefined };
    },
  };
  const reader = new SeriesReader(core as ClientCore, SERIES, WATCH.rules.intervals, { skipsRows: true });
  const read = await reader.read(BEGIN, END, { priority: "history", signal: NEVER });
  const view = new CandleView(WATCH, { start: BEGIN, hasHistory: true });
  for (const event of view.take({ type: "history", read })) take(event);
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
        lateBy: Math.max(0, END - (candle.timestamp + 61_000)),
        observedAt: END,
        series: SERIES,
      }),
    );
  }
}
