import { createClient, type FetchLike, VirtualClock, watchCandles } from "pairstream";
import { createPairService, type SwapSource } from "pairstream/service";
import type { Bench, GoalResult, MeasureOptions, Report } from "./bench.js";
import { row } from "./indicators/figures.js";
import { circumstances, inWords } from "./machine.js";

const MINUTE = 60_000;
/** The client's clock, somewhere within an interval. */
const START = Date.UTC(2026, 0, 1, 12, 0, 17) + 345;
const SETTLE = 1_000;
/** Until then the client learns the service's clock. */
const LEARNING = 10;
const CLOSINGS = 200;
const MOST_LATE = 20;

/** How long a request and its answer take, ms, and how far the service's clock is ahead. */
interface Way {
  readonly there: number;
  readonly back: number;
  readonly offset: number;
}
const WAYS: readonly Way[] = [
  { there: 0, back: 0, offset: 0 },
  { there: 5, back: 5, offset: 437 },
  { there: 20, back: 20, offset: -812 },
  { there: 80, back: 20, offset: 250 },
  { there: 20, back: 80, offset: 750 },
  { there: 150, back: 150, offset: 3_600_990 },
  { there: 400, back: 400, offset: -333 },
];

interface Outcome extends Way {
  readonly requests: number;
  readonly closed: number;
  /** ms after settle and a round trip at which closed candles were there. */
  readonly late: { readonly median: number; readonly worst: number };
}

/** What a closed candle costs in requests and in time, at `every: "close"`: counted under virtual time, not timed. */
export const closes: Bench = {
  async check() {
    for (const way of WAYS) {
      const { closed } = await outcomeOf(way, 20);
      if (closed !== 20) throw new Error(`ours: ${closed} of 20 candles closed, ${nameOf(way)}`);
    }
    return [];
  },
  measure,
};

async function measure({ command }: MeasureOptions): Promise<Report> {
  const outcomes: Outcome[] = [];
  for (const way of WAYS) outcomes.push(await outcomeOf(way, CLOSINGS));
  const lines = outcomes.map((outcome) => {
    const { requests, closed, late } = outcome;
    const cells = [(requests / closed).toFixed(3), signed(late.median), signed(late.worst)];
    return row([nameOf(outcome), ...cells, signed(-outcome.there)]);
  });
  const most = Math.max(...outcomes.map(({ requests, closed }) => requests / closed));
  const worst = Math.max(...outcomes.map(({ late }) => late.worst));
  const goals: GoalResult[] = [
    {
      row: "requests per closed candle, after ten closings",
      goal: '1.0 at `every: "close"`',
      figure: `${most.toFixed(3)} at most`,
      met: most <= 1,
    },
    {
      row: "a closed candle reaches the subscriber",
      goal: `within settle + one round trip + ${MOST_LATE} ms`,
      figure: `within settle + one round trip ${worst < 0 ? "−" : "+"} ${Math.abs(worst)} ms`,
      met: worst <= MOST_LATE,
    },
  ];
  const about = circumstances(["rxjs"], command);
  return {
    goals,
    markdown: `## Closes

\`watchCandles\` of minutes at \`every: "close"\`, with a settle of ${SETTLE} ms, under virtual time: ${CLOSINGS} closings after the first ${LEARNING}, in which the client learns the service's clock from \`Date\`, a whole second.

${[row(["there + back, the service's clock", "requests a closed candle", "later than settle + round trip: median, ms", "worst, ms", "by a perfect clock, ms"]), "|---|---:|---:|---:|---:|", ...lines].join("\n")}

Where there and back take unequally long, no clock tells by how much: a request goes out half of the difference too late, or too early.

${inWords(about)}`,
    results: { ...about, settle: SETTLE, closings: CLOSINGS, outcomes },
  };
}

async function outcomeOf(way: Way, closings: number): Promise<Outcome> {
  const clock = new VirtualClock(START);
  const serviceNow = () => clock.now() + way.offset;
  const { fetch: serve } = createPairService({ source: oneSwapASecond, clock: serviceNow });
  const sent: number[] = [];
  const fetch: FetchLike = async (url, init) => {
    sent.push(serviceNow());
    await pass(clock, way.there);
    const answer = await serve(url, init);
    await pass(clock, way.back);
    return answer;
  };
  const client = createClient({
    baseUrl: "http://localhost",
    apiKey: "key-of-the-bench",
    scheduler: clock,
    fetch,
  });
  const series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" } as const;
  const seen: { readonly end: number; readonly at: number }[] = [];
  const watching = watchCandles(client, { ...series, every: "close", settle: SETTLE }).subscribe((event) => {
    if (event.status === "closed") seen.push({ end: event.candle.timestamp + MINUTE, at: serviceNow() });
  });
  await clock.advanceBy((LEARNING + closings + 1) * MINUTE);
  watching.unsubscribe();
  const counted = seen.slice(LEARNING, LEARNING + closings);
  // From between two closings on, until between two others.
  const from = counted[0]!.end - MINUTE / 2;
  const to = from + counted.length * MINUTE;
  const trip = way.there + way.back;
  const late = counted.map(({ end, at }) => at - end - SETTLE - trip).sort((a, b) => a - b);
  return {
    ...way,
    requests: sent.filter((instant) => instant >= from && instant < to).length,
    closed: counted.length,
    late: { median: late[Math.floor(late.length / 2)]!, worst: late.at(-1)! },
  };
}

/** A price that has changed whenever somebody looks. */
const oneSwapASecond: SwapSource = {
  pair: () => ({
    tokenAddress: "token",
    createdAt: 0,
    *swaps({ from, to, asOf }) {
      for (
        let timestamp = Math.ceil(from / 1_000) * 1_000;
        timestamp < to && timestamp <= asOf;
        timestamp += 1_000
      ) {
        yield {
          blockNumber: timestamp / 1_000,
          timestamp,
          transactionHash: `hash ${timestamp}`,
          walletAddress: "wallet",
          side: "buy",
          tokenAmount: 1,
          usdAmount: 1 + (timestamp % 17_000) / 1_000,
          nativeAmount: 1,
        };
      }
    },
  }),
};

function pass(clock: VirtualClock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.schedule(() => resolve(), ms);
  });
}

function nameOf({ there, back, offset }: Way): string {
  return `${there} + ${back} ms, ${signed(offset)} ms`;
}

function signed(ms: number): string {
  return ms < 0 ? `−${-ms}` : `+${ms}`;
}
