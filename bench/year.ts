import {
  type Candle,
  type CandleEvent,
  createClient,
  type FetchLike,
  VirtualClock,
  watchCandles,
} from "pairstream";
import { createPairService, simulatedMarket } from "pairstream/service";
import type { Bench, MeasureOptions, Report } from "./bench.js";
import { circumstances, inWords } from "./machine.js";
import { LeastPoll } from "./poll/least.js";
import { aboutRounds, inUnitsOf, ratioGoal, sideBySide, tableOf } from "./side-by-side.js";

const MINUTE = 60_000;
/** In minutes. */
const DAY = 24 * 60;
const YEAR = 365 * DAY;
const START = Date.UTC(2026, 0, 1, 12);
const MOST = 2;
/** What is timed of a year; by then every cache is full. */
const SAMPLE = YEAR / 12;
/** It takes long, and little of what disturbs a moment is left in it. */
const MOST_ROUNDS = 5;

const KEY = "key-of-the-bench";
const source = simulatedMarket({ seed: 31, createdAt: START - 60 * MINUTE });
const SERIES = {
  network: "mainnet",
  pairAddress: source.pairs[0]!,
  timeframe: "1min",
  currency: "usd",
} as const;

/** A year of polls under virtual time: through client, book and service, and what of it is not ours to make faster. */
export const year: Bench = { check, measure, prepared: () => () => watch(DAY / 24, () => {}) };

/** A day: every candle that was said to be final is the one that the service has in the end. */
async function check(): Promise<readonly string[]> {
  const finals = new Map<number, Candle>();
  const asks = await watch(DAY, ({ candle, status }) => {
    if (status === "final") finals.set(candle.timestamp, candle);
  });
  if (asks < DAY || asks > DAY + 10) throw new Error(`ours: ${asks} requests in ${DAY} minutes`);
  const { fetch } = createPairService({ source, clock: () => START + DAY * MINUTE });
  const client = createClient({ baseUrl: "http://localhost", apiKey: KEY, fetch });
  const [from, to] = [START + MINUTE, START + (DAY - 10) * MINUTE];
  let count = 0;
  for await (const { result } of client.ohlcvPages({ ...SERIES, fromDate: from, toDate: to, limit: 1_000 })) {
    for (const candle of result) {
      count += 1;
      const final = JSON.stringify(finals.get(candle.timestamp));
      if (final !== JSON.stringify(candle)) throw new Error(`ours: ${final}, not ${JSON.stringify(candle)}`);
    }
  }
  const found = [...finals.keys()].filter((timestamp) => timestamp >= from && timestamp < to).length;
  if (count === 0 || found !== count) throw new Error(`ours: ${found} final candles, not ${count}`);
  return [];
}

async function measure({ rounds: wished, command }: MeasureOptions): Promise<Report> {
  await check();
  const rounds = Math.min(wished, MOST_ROUNDS);
  const urls: string[] = [];
  await watch(SAMPLE, () => {}, urls);
  const work = (run: (minutes: number) => Promise<unknown>) => ({
    calls: SAMPLE,
    run: () => run(SAMPLE),
    warmUp: () => run(DAY / 24),
  });
  const timed = await sideBySide(
    [
      { name: "pairstream", work: work((minutes) => watch(minutes, () => {})) },
      { name: "timers and the service", work: work((minutes) => askBare(urls, minutes)), isFloor: true },
      {
        name: "the same, and all that no poll can do without",
        work: work((minutes) => pollBare(urls, minutes)),
        isFloor: true,
      },
      { name: "timers alone", work: work(waitBare), isFloor: true },
    ],
    rounds,
  );
  const seconds = (timed[0]!.time.median * YEAR) / 1e9;
  const about = circumstances(["rxjs"], command);
  return {
    goals: [
      ratioGoal(
        "a year of minute polls under virtual time, through client, book and service",
        timed[1]!.ratio,
        { most: MOST },
        "timers and the service alone",
      ),
    ],
    markdown: `## Year

${YEAR.toLocaleString("en-US")} polls, one a minute for a year, of a simulated market behind the local service, all on one \`VirtualClock\`: ${seconds.toFixed(1)} s.

${tableOf(timed, "s a year", inUnitsOf(1e9 / YEAR, 2))}

${aboutRounds(rounds)} It is processor time. Timers alone: as many timers fire one after another on a \`VirtualClock\`. With the service: at each of them it gets a request that a watch has sent, letter by letter, and its answer is parsed. No poll can do without a signal, a timeout, a look at the headers, and rows that are checked and held against the book.

${inWords(about)}`,
    results: { ...about, polls: YEAR, seconds, unit: "ns a poll", timed },
  };
}

function serviceOn(clock: VirtualClock): FetchLike {
  return createPairService({ source, clock: () => clock.now() }).fetch;
}

/** Watches for so many minutes, and says how many requests that took; it adds what it has asked for to `urls`. */
async function watch(minutes: number, take: (event: CandleEvent) => void, urls?: string[]): Promise<number> {
  const clock = new VirtualClock(START);
  const ask = serviceOn(clock);
  let requests = 0;
  const fetch: FetchLike = (url, init) => {
    requests += 1;
    urls?.push(String(url));
    return ask(url, init);
  };
  const client = createClient({ baseUrl: "http://localhost", apiKey: KEY, scheduler: clock, fetch });
  const subscription = watchCandles(client, SERIES).subscribe(take);
  await clock.advanceBy(minutes * MINUTE);
  subscription.unsubscribe();
  return requests;
}

const HEADERS = { accept: "application/json", "X-API-Key": KEY };

/** Asks what a watch has asked. */
async function askBare(urls: readonly string[], minutes: number): Promise<void> {
  const clock = new VirtualClock(START);
  const ask = serviceOn(clock);
  await each(clock, minutes, async (minute) => {
    const answer = await ask(urls[minute]!, { headers: HEADERS });
    JSON.parse(await answer.text());
  });
}

/** The same, with the parts that no poll can do without. */
async function pollBare(urls: readonly string[], minutes: number): Promise<void> {
  const clock = new VirtualClock(START);
  const fetch = serviceOn(clock);
  const least = new LeastPoll({ fetch, clock, headers: HEADERS, series: SERIES, revisionWindow: 2 });
  await each(clock, minutes, (minute) => least.poll(urls[minute]!));
}

async function waitBare(minutes: number): Promise<void> {
  await each(new VirtualClock(START), minutes, () => {});
}

/** Calls `work` once a minute, with how many minutes have been before it. */
async function each(clock: VirtualClock, minutes: number, work: (minute: number) => unknown): Promise<void> {
  let minute = 0;
  const timer = clock.schedule(function () {
    work(minute);
    minute += 1;
    this.schedule(undefined, MINUTE);
  }, MINUTE);
  await clock.advanceBy(minutes * MINUTE);
  timer.unsubscribe();
}
