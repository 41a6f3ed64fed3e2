import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { Agent, get } from "node:http";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type CandleEvent, createClient, VirtualClock, watchCandles } from "pairstream";
import type { SchedulerAction, Subscription } from "rxjs";
import type { CandleBook } from "../src/candles/read/book.js";
import { keepAliveFetch } from "../src/client/send/transport.js";
import { ohlcvRoute } from "../src/contract/routes.js";
import type { Bench, MeasureOptions, Report } from "./bench.js";
import { circumstances, inWords } from "./machine.js";
import { barePath, pageOf, polledPath, SERIES, SIZES, type Size, START, windowOf } from "./poll/exchange.js";
import { LeastPoll } from "./poll/least.js";
import { elapsedTime, processorTime } from "./rounds.js";
import { aboutRounds, inUnitsOf, ratioGoal, sideBySide, type Timed, tableOf } from "./side-by-side.js";

/** Of the processor's time, by the candles of a page. */
const MOST: Readonly<Record<Size, number>> = { 4: 1.6, 100: 1.4 };
const DAY = 86_400_000;
const EVERY = 1_000;
const KEY = "key-of-the-bench";
/** Polls of one run. */
const CALLS = 20;
/** So much takes part in a poll that it is long before all of it is compiled. */
const WARM_UP_CALLS = 3_000;
const FLOOR = "`http.get` and `JSON.parse`";
const BARE_FETCH = "cross-fetch and `JSON.parse`";
const LEAST_REQUEST = "cross-fetch with a signal, a timeout and a look at the headers";
const LEAST_POLL = "the same, with the rows checked and held against the book";

const SERVER = fileURLToPath(new URL("poll/server.ts", import.meta.url));
const TRANSPILE = new URL("transpile.js", import.meta.url).href;

/** A poll over HTTP of what has not changed: ours, and a bare request over a connection that is kept. */
export const poll: Bench = { check, measure };

async function check(): Promise<readonly string[]> {
  await withServer(async (origin) => {
    for (const candles of SIZES) {
      const watch = new Watch(origin, candles);
      for (let count = 0; count < CALLS; count += 1) await watch.poll();
      watch.leave();
      const shown = watch.events.map(({ type }) => type);
      // Who joins is shown the running candle, and nothing older.
      if (shown.join() !== "new") throw new Error(`ours: the events are ${shown.join()}, not one new`);
      if (watch.requests < CALLS) throw new Error(`ours: ${watch.requests} requests of ${CALLS}`);
      const bare = new BareRequests(origin, candles);
      const text = JSON.stringify(await bare.ask());
      const { entries } = await bare.leastPoll();
      bare.close();
      if (text !== pageOf(candles)) throw new Error(`the bare request gives ${text}`);
      if (entries.length !== candles - 1) throw new Error(`the least poll knows ${entries.length} candles`);
    }
  });
  return [];
}

/** What came out for pages of one size. */
interface Figure {
  readonly name: string;
  readonly candles: Size;
  readonly elapsed: readonly Timed[];
  readonly processor: readonly Timed[];
}

async function measure({ rounds, command }: MeasureOptions): Promise<Report> {
  await check();
  const figures = await withServer(async (origin) => {
    const all: Figure[] = [];
    for (const candles of SIZES) all.push(await timed(origin, candles, rounds));
    return all;
  });
  const about = circumstances(["rxjs"], command);
  const tables = figures.map(
    ({ name, elapsed, processor }) => `### ${name}, as time goes by

${tableOf(elapsed, "µs a poll", inUnitsOf(1e3))}

### ${name}, of the processor's time, in this process

${tableOf(processor, "µs a poll", inUnitsOf(1e3))}`,
  );
  return {
    goals: figures.map(({ candles, processor }) =>
      ratioGoal(
        `an unchanged poll of ${candles} candles over HTTP`,
        processor[2]!.ratio,
        { most: MOST[candles] },
        `the processor's time of bare keep-alive ${BARE_FETCH}`,
      ),
    ),
    markdown: `## Poll

A page is asked for again and again over a connection that is kept, from a server in another process, and never changes. A poll asks for ${SIZES[0]} candles by default, and for ${SIZES[1]} with a \`revisionWindow\` of ${windowOf(SIZES[1])}.

${tables.join("\n\n")}

${aboutRounds(rounds)} cross-fetch is what clients ask with where they are given no other \`fetch\`; what it adds to ${FLOOR} a poll cannot do without, nor what the two rows after it add. The turns are how a poll waits for the clock that goes as fast as the answers come: ours has them besides.

${inWords(about)}`,
    results: { ...about, unit: "ns a poll", figures },
  };
}

async function timed(origin: string, candles: Size, rounds: number): Promise<Figure> {
  const watch = new Watch(origin, candles);
  const bare = new BareRequests(origin, candles);
  const clock = new SteppedClock(START);
  const turn = async () => {
    clock.schedule(() => {}, EVERY);
    await setImmediate();
    await clock.step();
  };
  const work = (once: () => Promise<unknown>) => {
    const repeat = async (calls: number) => {
      for (let count = 0; count < calls; count += 1) await once();
    };
    return { calls: CALLS, run: () => repeat(CALLS), warmUp: () => repeat(WARM_UP_CALLS) };
  };
  const contestants = [
    { name: "pairstream", work: work(() => watch.poll()) },
    { name: FLOOR, work: work(() => bare.ask()), isFloor: true },
    { name: BARE_FETCH, work: work(() => bare.fetch()), isFloor: true },
    { name: LEAST_REQUEST, work: work(() => bare.leastRequest()), isFloor: true },
    { name: LEAST_POLL, work: work(() => bare.leastPoll()), isFloor: true },
    { name: "turns of the bench's clock", work: work(turn), isFloor: true },
  ];
  const elapsed = await sideBySide(contestants, rounds, elapsedTime);
  const processor = await sideBySide(contestants, rounds, processorTime);
  watch.leave();
  bare.close();
  if (watch.events.length !== 1) throw new Error("ours: what has not changed was told again");
  return { name: `${candles} candles`, candles, elapsed, processor };
}

async function withServer<T>(work: (origin: string) => Promise<T>): Promise<T> {
  const server: ChildProcess = fork(SERVER, { execArgv: ["--import", TRANSPILE] });
  try {
    const [port] = await once(server, "message");
    return await work(`http://127.0.0.1:${port}`);
  } finally {
    server.kill();
  }
}

/** Stands still until it is told to go on to the timer that was set last. */
class SteppedClock extends VirtualClock {
  #due = Number.NEGATIVE_INFINITY;

  override schedule<T>(
    work: (this: SchedulerAction<T>, state?: T) => void,
    delay = 0,
    state?: T,
  ): Subscription {
    this.#due = this.now() + delay;
    return super.schedule(work, delay, state);
  }

  step(): Promise<void> {
    return this.advanceTo(Math.max(this.now(), this.#due));
  }
}

/** A watch on a clock that goes as fast as its polls are answered. */
class Watch {
  readonly events: CandleEvent[] = [];
  requests = 0;
  readonly #clock = new SteppedClock(START + EVERY);
  readonly #watching: Subscription;
  #answered = () => {};
  #answer = this.#nextAnswer();

  constructor(origin: string, candles: Size) {
    const ask = keepAliveFetch();
    const client = createClient({
      baseUrl: origin + polledPath(candles),
      apiKey: KEY,
      scheduler: this.#clock,
      rateLimit: false,
      // The default, with an ear to it: to listen to `activity` would be work for the client.
      fetch: async (url, init) => {
        this.requests += 1;
        const response = await ask(url, init);
        const { status, headers } = response;
        const text = async () => {
          const body = await response.text();
          this.#answered();
          return body;
        };
        return { status, headers, text };
      },
    });
    const options = { ...SERIES, every: EVERY, revisionWindow: windowOf(candles) };
    this.#watching = watchCandles(client, options).subscribe((event) => this.events.push(event));
  }

  /** Waits until the last poll has been answered and taken in, and lets the next one go. */
  async poll(): Promise<void> {
    await this.#answer;
    await setImmediate();
    this.#answer = this.#nextAnswer();
    await this.#clock.step();
  }

  #nextAnswer(): Promise<void> {
    return new Promise((resolve) => {
      this.#answered = resolve;
    });
  }

  leave(): void {
    this.#watching.unsubscribe();
  }
}

class BareRequests {
  readonly #agent = new Agent({ keepAlive: true });
  readonly #fetch = keepAliveFetch();
  readonly #url: string;
  readonly #headers = { accept: "application/json", "X-API-Key": KEY };
  readonly #least: LeastPoll;

  constructor(origin: string, candles: Size) {
    const range = { from: START - candles * DAY, to: START + 2 * DAY, limit: candles + 4 };
    this.#url = origin + barePath(candles) + ohlcvRoute({ ...SERIES, ...range });
    this.#least = new LeastPoll({
      fetch: this.#fetch,
      clock: new VirtualClock(START),
      headers: this.#headers,
      series: SERIES,
      revisionWindow: windowOf(candles),
    });
  }

  ask(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const request = get(this.#url, { agent: this.#agent, headers: this.#headers }, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (piece: string) => {
          text += piece;
        });
        response.on("end", () => resolve(JSON.parse(text)));
        response.on("error", reject);
      });
      request.on("error", reject);
    });
  }

  /** The same by the `fetch` that clients have by default. */
  async fetch(): Promise<unknown> {
    const answer = await this.#fetch(this.#url, { headers: this.#headers });
    return JSON.parse(await answer.text());
  }

  leastRequest(): Promise<unknown> {
    return this.#least.ask(this.#url).then(({ text }) => JSON.parse(text));
  }

  leastPoll(): Promise<CandleBook> {
    return this.#least.poll(this.#url);
  }

  close(): void {
    this.#agent.destroy();
  }
}
