import { merge, type Observable, type SchedulerAction, type SchedulerLike, Subscription } from "rxjs";
import {
  type Client,
  type ClientOptions,
  createClient,
  type FetchLike,
  fetchCandles,
  recordExchanges,
  replayExchanges,
  type Series,
  VirtualClock,
  watchCandles,
  watchFeedStatus,
  watchSniperReport,
  watchSnipers,
} from "../../src/index.js";
import { createPairService, simulatedMarket, unsettled, withFaults } from "../../src/service/index.js";
import { type Arm, ArmedAction } from "../armed-action.js";

export const KEY = "k3y-that-nobody-may-see";
export const START = Date.UTC(2024, 0, 31, 23, 58, 3, 210);
export const PAIR = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";

/** Numbers from 0 to 1 that follow from a seed. */
export function drawing(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state / 2 ** 32;
  };
}

/** What a machine does to its timers and its clock; instants of the world's clock, which nobody sets. */
export interface Trouble {
  /** Timers fire up to so many ms late, each on its own. */
  readonly late?: number;
  /** Nothing runs in between, and nothing arrives. */
  readonly sleep?: { readonly from: number; readonly until: number };
  /** Somebody sets the clock. */
  readonly set?: { readonly at: number; readonly by: number };
}

/** A machine in trouble. */
export class TroubledMachine implements SchedulerLike {
  constructor(
    private readonly clock: VirtualClock,
    private readonly random: () => number,
    private readonly trouble: Trouble,
  ) {}

  now(): number {
    const { at = Number.POSITIVE_INFINITY, by = 0 } = this.trouble.set ?? {};
    return this.clock.now() + (this.clock.now() >= at ? by : 0);
  }

  schedule<T>(work: (this: SchedulerAction<T>, state?: T) => void, delay = 0, state?: T): Subscription {
    const { late = 0, sleep } = this.trouble;
    const lateness = () => Math.floor(this.random() * (late + 1));
    const arm: Arm = (fire, after) => {
      const due = this.clock.now() + Math.max(0, after) + lateness();
      const isAsleep = sleep !== undefined && due >= sleep.from && due < sleep.until;
      return this.clock.schedule(fire, (isAsleep ? sleep.until + lateness() : due) - this.clock.now());
    };
    return new ArmedAction(work, arm).schedule(state, delay);
  }
}

/** What happens outside the exchanges, at an instant. */
export interface Act {
  readonly at: number;
  readonly act: (client: Client, see: (name: string, value: unknown) => void) => Subscription;
  readonly leaves?: number;
}

export interface Session {
  readonly options: Omit<ClientOptions, "baseUrl" | "apiKey" | "fetch" | "scheduler">;
  readonly acts: readonly Act[];
  /** ms. */
  readonly length: number;
}

/** All that a session has shown, in order. */
function watching(client: Client, clock: VirtualClock, { acts, length }: Session) {
  const seen: string[] = [];
  const note = (name: string, value: unknown) => seen.push(`${name} ${textOf(value)}`);
  client.activity.subscribe((activity) => note("activity", activity));
  for (const { at, act, leaves = length } of acts) {
    clock.schedule(
      () => {
        const subscription = act(client, note);
        clock.schedule(() => subscription.unsubscribe(), leaves - at);
      },
      START + at - clock.now(),
    );
  }
  return seen;
}

/** With what `JSON.stringify` leaves out of errors. */
export function textOf(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    part instanceof Error ? { ...part, name: part.name, message: part.message } : part,
  );
}

export const subscribed = (name: string, stream: (client: Client) => Observable<unknown>): Act["act"] => {
  return (client, see) =>
    stream(client).subscribe({
      next: (value: unknown) => see(name, value),
      error: (error: unknown) => see(`${name} error`, error),
      complete: () => see(`${name} complete`, null),
    });
};

export interface Recorded {
  readonly lines: string[];
  readonly seen: string[];
}

/** Lives through a session, with or without being recorded. */
export async function live(
  session: Session,
  fetch: (clock: VirtualClock) => FetchLike,
  scheduler: (clock: VirtualClock) => SchedulerLike = (clock) => clock,
  recorded: (fetch: FetchLike, sink: (line: string) => void) => FetchLike = recordExchanges,
): Promise<Recorded> {
  const clock = new VirtualClock(START);
  const lines: string[] = [];
  const client = createClient({
    ...session.options,
    baseUrl: "https://service.test/v2",
    apiKey: KEY,
    fetch: recorded(fetch(clock), (line) => lines.push(line)),
    scheduler: scheduler(clock),
    // It warns, with timers of its own, and its replay does not.
    warn: () => {},
  });
  const seen = watching(client, clock, session);
  await clock.advanceTo(START + session.length + 5_000);
  return { lines, seen };
}

/** Lives through a recorded session again: to the end of the tape, then in silence to its own where that is later. */
export async function replay(session: Session, lines: readonly string[]) {
  const tape = replayExchanges(lines);
  const client = createClient({
    ...session.options,
    baseUrl: "https://elsewhere.test/v2",
    apiKey: "another-key",
    fetch: tape.fetch,
    scheduler: tape.scheduler,
  });
  const seen = watching(client, tape.scheduler, session);
  await tape.run();
  // Where the tape ends with somebody still there, nothing more comes from the service.
  const end = START + session.length;
  if (tape.scheduler.now() < end) await tape.scheduler.advanceTo(end);
  return { seen, pending: tape.scheduler.pending };
}

/** A service in trouble, some way off; while the machine sleeps nothing arrives. */
export function troubledService(seed: number, clock: VirtualClock, { sleep }: Trouble = {}): FetchLike {
  const random = drawing(seed + 7_000);
  const market = simulatedMarket({ seed, createdAt: START - 1_800_000, pairs: [PAIR] });
  const service = createPairService({
    source: unsettled(market, { seed, settlesAfter: 20_000, late: 0.3, forks: 0.6 }),
    clock: () => clock.now() + 137,
    apiKeys: [KEY],
  });
  const rates = {
    delay: 0.03,
    hang: 0.02,
    reset: 0.05,
    429: 0.04,
    "5xx": 0.04,
    html: 0.01,
    cutOff: 0.02,
    dropped: 0.05,
    broken: 0.03,
    empty: 0.01,
    noDate: 0.02,
    wrongDate: seed % 5 === 0 ? 0.02 : 0,
  };
  const faulty = withFaults(service.fetch, { seed, scheduler: clock, rates, longestDelay: 9_000 });
  return async (url, init) => {
    await pass(clock, 5 + Math.floor(40 * random()), init?.signal);
    const answer = await faulty(url, init);
    const body = answer.text();
    body.catch(() => {});
    const back = 5 + Math.floor(40 * random());
    const due = clock.now() + back;
    const isAsleep = sleep !== undefined && due >= sleep.from && due < sleep.until;
    await pass(clock, isAsleep ? sleep.until - clock.now() : back, init?.signal);
    return { ...answer, text: () => body };
  };
}

function pass(clock: VirtualClock, ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = clock.schedule(() => resolve(), ms);
    signal?.addEventListener("abort", () => {
      timer.unsubscribe();
      reject(signal.reason);
    });
  });
}

const series = (timeframe: Series["timeframe"], currency: Series["currency"] = "usd"): Series => {
  return { network: "mainnet", pairAddress: PAIR, timeframe, currency };
};

/** Several watchers that come and go, and calls in between. */
export function busySession(seed: number): Session {
  const random = drawing(seed + 3_000);
  const within = (from: number, to: number) => from + Math.floor((to - from) * random());
  const length = 40_000;
  const seconds = { ...series("1s"), every: 500 + within(0, 1_500) };
  const tens = { ...series("10s"), settle: within(0, 2_000), every: within(700, 9_000) };
  const minutes = series("1min", "native");
  const acts: Act[] = [
    { at: 0, act: subscribed("tens", (client) => watchCandles(client, tens)) },
    {
      at: 0,
      act: subscribed("filled", (client) =>
        watchCandles(client, { ...tens, since: { candles: 30 }, fillGaps: true }),
      ),
    },
    { at: 0, act: subscribed("status", (client) => watchFeedStatus(client, tens)) },
    {
      at: within(0, 9_000),
      act: subscribed("minutes", (client) => watchCandles(client, { ...minutes, since: START - 3_000_000 })),
    },
    {
      at: within(1_000, 15_000),
      leaves: within(16_000, 35_000),
      act: subscribed("seconds", (client) => watchCandles(client, seconds)),
    },
    { at: within(1_000, 30_000), act: subscribed("late", (client) => watchCandles(client, tens)) },
    {
      at: within(0, 10_000),
      act: subscribed("snipers", (client) => {
        const options = { pairAddress: PAIR, every: 7_000 };
        return merge(watchSnipers(client, options), watchSniperReport(client, options));
      }),
    },
    {
      at: within(5_000, 25_000),
      act: subscribed("fetched", (client) =>
        fetchCandles(client, { ...series("30s"), from: START - 1_500_000, fillGaps: seed % 2 === 0 }),
      ),
    },
    {
      at: within(5_000, 35_000),
      act: (client, see) => {
        client.sniperReport({ pairAddress: PAIR }).then(
          (report) => see("report", report.result.length),
          (error: unknown) => see("report error", error),
        );
        return new Subscription();
      },
    },
  ];
  const options: Session["options"] = {
    timeout: within(1_500, 6_000),
    ...(seed % 3 === 0 ? { rateLimit: { requests: 4, per: 1_000 } } : {}),
    ...(seed % 7 === 0 ? { quota: { units: 15_000, per: 60_000 } } : {}),
  };
  return { options, acts, length };
}
