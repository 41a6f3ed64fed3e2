import { copyFileSync, statSync, truncateSync } from "node:fs";
import { intervalOf, type Series, type Timeframe, type WatchOptions } from "pairstream";
import { type CandleStore, sqliteStore } from "pairstream/store";
import { inFolder, openDatabase, openStore } from "./files.js";
import { pacedMarket, type Started, started } from "./starts.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Far from the end of any interval, as is every start. */
const START = Date.UTC(2026, 0, 5, 12, 0, 17);
const FIRST_RUN = 20 * MINUTE;
/** What a start takes is over by then, and no candle closes. */
const WHOLE_START = 30_000;
const PAGE = 1_000;

const TIMEFRAMES = ["1min", "5min", "10min", "30min", "1h"] as const;
const PAIRS = ["one", "two"];
const market = pacedMarket(START - 100 * DAY, 30_000);

type Watch = Series<Timeframe> & WatchOptions;

/** What a start asks for. */
export interface StartCost {
  readonly name: string;
  readonly requests: number;
  readonly units: number;
  /** The fewest requests in which that which is missing comes, and what each series runs on. */
  readonly missing: number;
  readonly series: number;
  /** The requests of the same start without a store. */
  readonly without: number;
  /** ms, of virtual time, until all of it is there. */
  readonly took: number;
}

/** What starts cost with a store in a file, each after the same first run; none that differs from one without a store. */
export function startCosts(candles: number): Promise<StartCost[]> {
  return inFolder(async (pathOf) => {
    const ten = PAIRS.flatMap((pairAddress) =>
      TIMEFRAMES.map((timeframe): Watch => ({ ...seriesOf(pairAddress, timeframe), since: { candles } })),
    );
    const first = pathOf("first.db");
    const torn = pathOf("torn.db");
    const costs = [await costOf("a first start", pathOf("new.db"), START, ten)];
    await runFirst(ten, first, torn);
    const again = async (name: string, from: string, at: number, watches = ten) => {
      const path = pathOf(`${costs.length}.db`);
      copyFileSync(from, path);
      costs.push(await costOf(name, path, at, watches));
    };
    const end = START + FIRST_RUN + 5_000;
    await again("a restart at once", first, end);
    await again("an hour later", first, end + HOUR);
    await again(`a week later, again ${candles} candles`, first, end + 7 * DAY);
    const since = START - 10 * MINUTE;
    const fromInstant = ten.map((watch) => ({ ...watch, since }));
    await again("a week later, since the same instant", first, end + 7 * DAY, fromInstant);
    copyFileSync(`${torn}-wal`, `${pathOf(`${costs.length}.db`)}-wal`);
    await again("a restart at once, last write cut off", torn, end);
    const subscribers = Array.from({ length: 10 }, (_, at) => ({
      ...seriesOf("three", "1min"),
      since: START - (at + 1) * candles * (MINUTE / 2),
    }));
    const shared = pathOf("shared.db");
    costs.push(await costOf("ten subscribers since ten instants", shared, START, subscribers));
    costs.push(await costOf("the same, a restart at once", shared, START + MINUTE, subscribers));
    return costs;
  });
}

function seriesOf(pairAddress: string, timeframe: Series<Timeframe>["timeframe"]) {
  return { network: "mainnet", pairAddress, timeframe, currency: "usd", every: "close" } as const;
}

/** Fills a file, and leaves a copy of it with the end of its log cut off, as a crash while it is written does. */
async function runFirst(watches: readonly Watch[], path: string, torn: string): Promise<void> {
  const database = openDatabase(path);
  const store = sqliteStore(database);
  const filled = { at: START, ms: FIRST_RUN, watches, source: market, store };
  await store.read(keyOf(watches[0]!), { from: 0, to: 0 });
  // So that the last write stays at the end of the log.
  database.exec("PRAGMA wal_autocheckpoint = 0");
  await started(filled);
  copyFileSync(path, torn);
  copyFileSync(`${path}-wal`, `${torn}-wal`);
  truncateSync(`${torn}-wal`, statSync(`${torn}-wal`).size - 1);
  const whole = await coveredBy(store, watches);
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  store.close();
  const copy = `${torn}.look`;
  copyFileSync(torn, copy);
  copyFileSync(`${torn}-wal`, `${copy}-wal`);
  const cut = openStore(copy);
  const left = await coveredBy(cut, watches);
  cut.close();
  if (!(left < whole && left > 0)) throw new Error(`nothing was torn: ${left} of ${whole} ms are covered`);
}

async function coveredBy(store: CandleStore, watches: readonly Watch[]): Promise<number> {
  const all = { from: 0, to: Number.MAX_SAFE_INTEGER, last: 0 };
  const held = await Promise.all(watches.map((watch) => store.read(keyOf(watch), all)));
  return held.flatMap(({ covered }) => covered).reduce((sum, { from, to }) => sum + to - from, 0);
}

async function costOf(name: string, path: string, at: number, watches: readonly Watch[]): Promise<StartCost> {
  const store = openStore(path);
  const missing = await missingRequests(store, at, watches);
  const start = { at, ms: WHOLE_START, watches, source: market };
  const own = await started({ ...start, store });
  store.close();
  const plain = await started(start);
  const series = new Set(watches.map((watch) => JSON.stringify(keyOf(watch)))).size;
  checkSame(name, own, plain);
  const { requests, units, took } = own;
  if (requests > missing + series) {
    throw new Error(`${name}: ${requests} requests, for ${missing} that are strictly missing`);
  }
  return { name, requests, units, missing, series, without: plain.requests, took };
}

/** The fewest pages that hold what is not covered; the running candle is always missing. */
async function missingRequests(store: CandleStore, at: number, watches: readonly Watch[]): Promise<number> {
  const wanted = new Map<string, { watch: Watch; from: number }>();
  for (const watch of watches) {
    const { start, end } = intervalOf(watch.timeframe, at);
    const { since } = watch;
    const from =
      typeof since === "number" ? since : start - (since as { candles: number }).candles * (end - start);
    const name = JSON.stringify(keyOf(watch));
    wanted.set(name, { watch, from: Math.min(from, wanted.get(name)?.from ?? from) });
  }
  let requests = 0;
  for (const { watch, from } of wanted.values()) {
    const { start, end } = intervalOf(watch.timeframe, at);
    const first = intervalOf(watch.timeframe, from).start;
    const { covered } = await store.read(keyOf(watch), { from: first, to: end, last: 0 });
    const held = covered.reduce((sum, span) => sum + span.to - span.from, 0);
    requests += Math.ceil((end - first - held) / (end - start) / PAGE);
  }
  return requests;
}

function keyOf({ network, pairAddress, timeframe, currency }: Series<Timeframe>) {
  const series = { network, pairAddress, timeframe, currency };
  return { ...series, service: "https://service.test", weekStart: "monday" } as const;
}

/** Events out of a store are those of the service but for when they were seen. */
function checkSame(name: string, own: Started, plain: Started): void {
  const strip = (events: Started["events"]) =>
    JSON.stringify(events, (key, value) => (key === "observedAt" || key === "lateBy" ? undefined : value));
  if (strip(own.events) !== strip(plain.events))
    throw new Error(`${name}: other events than without a store`);
}
