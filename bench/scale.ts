import { type Candle, type CandleEvent, createClient, VirtualClock } from "pairstream";
import { createPairService } from "pairstream/service";
import type { Bench, GoalResult, MeasureOptions, Report } from "./bench.js";
import { circumstances, inWords } from "./machine.js";
import { quantile } from "./quantile.js";
import { watchCrowd } from "./scale/crowd.js";
import type { FloorOptions, FloorTimes } from "./scale/floor.js";
import { steadyMarket } from "./scale/market.js";
import { ask, start } from "./scale/processes.js";
import type { Boundary, Watched, WatcherOptions } from "./scale/watcher.js";

/** The intervals are as short as leaves time for all polls. */
const SIZES = [
  { count: 1, timeframe: "1s", warmUp: 5, boundaries: 15 },
  { count: 10, timeframe: "1s", warmUp: 5, boundaries: 15 },
  { count: 100, timeframe: "1s", warmUp: 5, boundaries: 15 },
  { count: 1_000, timeframe: "10s", warmUp: 2, boundaries: 6 },
  { count: 10_000, timeframe: "30s", warmUp: 1, boundaries: 3 },
] as const;
/** The size that has goals for its lateness. */
const BUSY = 1_000;
/** Fewer series do not stand out from what else is on the heap. */
const FEWEST_WEIGHED = 100;
const BURSTS = 5;

/** `last`: times as late as that of bare calls behind timers; `heap`: kB a series. */
const GOALS = { first: 5, last: 2, heap: 12, growth: 1.1 };

/** Many series in one process, against the service in another one. */
export const scale: Bench = { check, measure };

const CHECKED = 40;
const INTERVAL = 10_000;
/** By then the service's clock is known well enough for one poll a closing to do. */
const LEARNED_INTERVALS = 10;
const CHECKED_INTERVALS = 6;
const CHECK_START = Date.UTC(2026, 0, 1);

/** Every series gets every closed candle once, and right, for one request each. */
async function check(): Promise<readonly string[]> {
  const clock = new VirtualClock(CHECK_START);
  const service = createPairService({ source: steadyMarket, clock: () => clock.now() });
  let requests = 0;
  const client = createClient({
    baseUrl: "https://service.test",
    apiKey: "key",
    rateLimit: false,
    scheduler: clock,
    fetch: (url, init) => {
      requests += 1;
      return service.fetch(url, init);
    },
  });
  const closed: CandleEvent[] = [];
  const leave = watchCrowd(client, { count: CHECKED, timeframe: "10s" }, (event) => {
    if (event.status === "closed") closed.push(event);
  });
  await clock.advanceBy(LEARNED_INTERVALS * INTERVAL + INTERVAL / 2);
  closed.length = 0;
  const before = requests;
  await clock.advanceBy(CHECKED_INTERVALS * INTERVAL);
  leave();

  const begin = CHECK_START + LEARNED_INTERVALS * INTERVAL;
  const end = begin + CHECKED_INTERVALS * INTERVAL;
  const pairs = new Set(closed.map(({ series }) => series.pairAddress));
  const wanted = CHECKED * CHECKED_INTERVALS;
  if (pairs.size !== CHECKED || closed.length !== wanted) {
    throw new Error(`${closed.length} closed candles of ${pairs.size} series, not ${wanted} of ${CHECKED}`);
  }
  if (requests - before !== wanted) throw new Error(`${requests - before} requests for ${wanted} candles`);
  for (const pairAddress of pairs) {
    const query = { network: "mainnet", pairAddress, timeframe: "10s", currency: "usd" } as const;
    const { result } = await client.ohlcvPage({ ...query, fromDate: begin, toDate: end });
    const own = closed.filter(({ series }) => series.pairAddress === pairAddress);
    expectSame(
      pairAddress,
      own.map(({ candle }) => candle),
      result.toReversed(),
    );
  }
  if (clock.pending > 0) throw new Error(`${clock.pending} timers are left`);
  return [];
}

function expectSame(pair: string, candles: readonly Candle[], served: readonly Candle[]): void {
  const [own, other] = [candles, served].map((each) => JSON.stringify(each));
  if (own !== other) throw new Error(`${pair} has ${own}, not ${other}`);
}

/** What came out for one number of series; times in ms. */
interface Figure {
  readonly count: number;
  readonly timeframe: string;
  /** For each closed candle. */
  readonly requests: number;
  readonly failures: number;
  /** Of a poll, from its timer to its events. */
  readonly cpu: number;
  readonly first: Lateness;
  readonly last: Lateness;
  /** Of any poll. */
  readonly any: Lateness;
  /** Until the last subscriber has its closed candle. */
  readonly closed: Lateness;
  /** kB a series, without connections and with them. */
  readonly heap: number | undefined;
  readonly heapConnected: number | undefined;
}

interface Lateness {
  readonly median: number;
  readonly p99: number;
}

async function measure({ command }: MeasureOptions): Promise<Report> {
  const [{ url }, service] = await start<{ url: string }>("./service.ts");
  const figures: Figure[] = [];
  for (const size of SIZES) {
    const isWeighed = size.count >= FEWEST_WEIGHED;
    const { bytes } = isWeighed ? await ask<{ bytes: number }>("./heap.ts", size) : { bytes: undefined };
    const watched = await ask<Watched>("./watcher.ts", { url, ...size } satisfies WatcherOptions);
    figures.push(figureOf(size, watched, bytes));
  }
  const floor: FloorOptions = { url, count: BUSY, bursts: BURSTS };
  const { last, lastByTimers } = await ask<FloorTimes>("./floor.ts", floor);
  const [inARow, byTimers] = [latenessOf(last), latenessOf(lastByTimers)];
  service.disconnect();

  const about = circumstances(["rxjs", "@hono/node-server"], command);
  return {
    markdown: `${pageOf(figures, inARow, byTimers)}\n\n${inWords(about)}`,
    goals: goalsOf(figures, byTimers),
    results: { ...about, unit: "ms, kB", figures, floor: last, floorByTimers: lastByTimers },
  };
}

function figureOf(
  { count, timeframe }: (typeof SIZES)[number],
  { boundaries, heap }: Watched,
  bytes: number | undefined,
): Figure {
  const total = (of: (boundary: Boundary) => number) =>
    boundaries.reduce((sum, boundary) => sum + of(boundary), 0);
  const sent = total((boundary) => boundary.sent.length);
  const present = (instants: readonly (number | undefined)[]) =>
    instants.filter((instant) => instant !== undefined);
  return {
    count,
    timeframe,
    requests: sent / total(({ closed }) => closed.length),
    failures: total(({ failures }) => failures),
    cpu: total(({ cpu }) => cpu) / sent,
    first: latenessOf(present(boundaries.map((boundary) => boundary.sent[0]))),
    last: latenessOf(present(boundaries.map((boundary) => boundary.sent.at(-1)))),
    any: latenessOf(boundaries.flatMap((boundary) => boundary.sent)),
    closed: latenessOf(present(boundaries.map(({ closed }) => closed.at(-1)))),
    heap: bytes === undefined ? undefined : bytes / 1_000,
    heapConnected: bytes === undefined ? undefined : heap / 1_000,
  };
}

function latenessOf(instants: readonly number[]): Lateness {
  return { median: quantile(instants, 0.5), p99: quantile(instants, 0.99) };
}

function goalsOf(figures: readonly Figure[], floor: Lateness): GoalResult[] {
  const busy = figures.find(({ count }) => count === BUSY)!;
  const most = figures.at(-1)!;
  const series = (count: number) => `${count.toLocaleString("en-US")} series in one process`;
  const longer = busy.last.median / floor.median;
  const growth = most.heap! / busy.heap!;
  return [
    {
      row: series(most.count),
      goal: `at most ${GOALS.heap} kB of heap a series`,
      figure: `${most.heap!.toFixed(1)} kB`,
      met: most.heap! <= GOALS.heap,
    },
    {
      row: series(most.count),
      goal: `the heap a series is flat: at most ${GOALS.growth} times that of ${series(BUSY)}`,
      figure: `${growth.toFixed(2)} times`,
      met: growth <= GOALS.growth,
    },
    {
      row: series(BUSY),
      goal: `the first request of a boundary at most ${GOALS.first} ms late`,
      figure: `${inTime(busy.first)} ms`,
      met: busy.first.median <= GOALS.first,
    },
    {
      row: series(BUSY),
      goal: `the last request of a boundary at most ${GOALS.last} times as late as bare cross-fetch calls, each behind a timer`,
      figure: longer.toFixed(2),
      met: longer <= GOALS.last,
    },
  ];
}

function pageOf(figures: readonly Figure[], inARow: Lateness, byTimers: Lateness): string {
  const lines = figures.map((each) => {
    const cells = [
      each.count.toLocaleString("en-US"),
      each.timeframe,
      each.requests.toFixed(2),
      each.cpu.toFixed(2),
      inTime(each.first),
      inTime(each.last),
      inTime(each.any),
      inTime(each.closed),
      each.heap?.toFixed(1) ?? "",
      each.heapConnected?.toFixed(1) ?? "",
    ];
    return `| ${cells.join(" | ")} |`;
  });
  const failures = figures.reduce((sum, each) => sum + each.failures, 0);
  return `## Many series

Each series is one of \`watchCandles\`, of a pair of its own, all through one client without \`rateLimit\`; the service is
in another process of the same machine, reached over loopback. All polls are due at the same instant, a second after the
end of an interval, and every one is a request with a connection of its own while the ones before it are unanswered.

| series | timeframe | requests a closed candle | CPU a poll, ms | first sent | last sent | any sent | last candle there | heap, kB | with connections, kB |
|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|
${lines.join("\n")}

Times are ms after the polls were due, the median and the 99th percentile of the boundaries (of the requests, for any of
them); a few ms too early is meant: the request is to arrive when it is due. CPU is all of the process's, from timer to
event. ${failures === 0 ? "No request failed." : `${failures} requests failed.`} The heap is that between two polls,
collected: first without connections, as virtual time gives it, then in the process that was timed.

The last of ${BUSY.toLocaleString("en-US")} polls cannot be sent before those ahead of it are: bare calls of cross-fetch in a
row, with nothing around them, take ${inTime(inARow)} ms until the last one is sent, and ${inTime(byTimers)} ms where each has a
timer of its own that is due at the same instant, and one for its timeout. Node opens the connections of calls in a row
after the last of them, and those of timers one by one, each before the next timer.`;
}

function inTime({ median, p99 }: Lateness): string {
  return `${Math.round(median)} (${Math.round(p99)})`;
}
