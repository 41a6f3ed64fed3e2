import type { SchedulerLike, Subscription } from "rxjs";
import {
  type Candle,
  type CandleEvent,
  type Client,
  type ClientActivity,
  type ClientOptions,
  createClient,
  type FetchLike,
  type Series,
  type Timeframe,
  VirtualClock,
  type WeekStart,
} from "../src/index.js";
import { createPairService, type ServiceQuirks, type Swap } from "../src/service/index.js";

export const PAIR = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
export const KEY = "key-that-nobody-may-see";
export const MINUTES: Series<Timeframe> = {
  network: "mainnet",
  pairAddress: PAIR,
  timeframe: "1min",
  currency: "usd",
};

export const at = (text: string) => Date.parse(`2024-01-05T${text}Z`);

/** One request as the world saw it, in order. */
export interface Asked {
  readonly url: URL;
  readonly sent: number;
  readonly signal: AbortSignal | undefined;
  /** How it ended, once it has. */
  outcome?: "answered" | "failed" | "aborted";
}

/** A warning, and when it came. */
export type Warning = { readonly message: string; readonly at: number } & Parameters<
  Exclude<ClientOptions["warn"], false | undefined>
>[1];

export type Answer = Awaited<ReturnType<FetchLike>>;
/** Answers a request in the service's place, may look at what the service says; `undefined` lets that through. */
export type Interference = (
  asked: Asked,
  answer: () => Promise<Answer>,
) => Promise<Answer> | Answer | undefined;

export interface WorldOptions {
  /** The first instant by the machine's clock. */
  start: number;
  /** How far the service's clock is ahead of the machine's, in ms. */
  offset?: number;
  /** ms each way. */
  latency?: number;
  /** When the pair was created, which is when its first swap may come. */
  createdAt?: number;
  /** Whether answers tell the service's time; without it the machine's clock stands in, which is exact. */
  hasDate?: boolean;
  /** Where the service's weeks begin. */
  weekStart?: WeekStart;
  /** In what the service differs from the ordinary. */
  quirks?: ServiceQuirks;
  /** What stands before the service, such as `withFaults`. */
  before?: (fetch: FetchLike, clock: VirtualClock) => FetchLike;
  /** What the client gets as its scheduler; default: the clock itself. */
  schedulerOf?: (clock: VirtualClock) => SchedulerLike;
  client?: Partial<ClientOptions>;
}

/** A clock that goes from timer to timer, and stops at the one by which something has happened. */
class StoppingClock extends VirtualClock {
  stopOnce(hasHappened: () => boolean, latest: number): Promise<void> {
    return this.advanceUnless(hasHappened, latest);
  }
}

/** A machine, a network and a service, all on one virtual clock. */
export class World {
  readonly clock: StoppingClock;
  offset: number;
  readonly asked: Asked[] = [];
  readonly activity: ClientActivity[] = [];
  /** What the client warns of. */
  readonly warnings: Warning[] = [];
  readonly client: Client;
  /** Makes another client of the same service, which knows nothing of what the first one knows. */
  readonly another: () => Client;
  readonly swaps: Swap[] = [];
  latency: number;
  interfere: Interference = () => undefined;
  readonly #service: { fetch: FetchLike };
  readonly #hasDate: boolean;

  constructor({
    start,
    offset = 0,
    latency = 20,
    createdAt = 0,
    hasDate = false,
    weekStart = "monday",
    quirks = {},
    before = (fetch) => fetch,
    schedulerOf = (clock) => clock,
    client = {},
  }: WorldOptions) {
    this.#hasDate = hasDate;
    this.clock = new StoppingClock(start);
    this.offset = offset;
    this.latency = latency;
    const { swaps } = this;
    const service = createPairService({
      weekStart,
      quirks,
      clock: () => this.clock.now() + this.offset,
      source: {
        pair: (_network, address) =>
          address !== PAIR
            ? undefined
            : {
                tokenAddress: "token",
                createdAt,
                swaps: ({ from, to, asOf }) =>
                  swaps
                    .filter(({ timestamp }) => timestamp >= from && timestamp < to && timestamp <= asOf)
                    .sort((a, b) => a.timestamp - b.timestamp),
              },
      },
    });
    this.#service = { fetch: before(service.fetch, this.clock) };
    this.another = () =>
      createClient({
        baseUrl: "http://localhost",
        apiKey: KEY,
        scheduler: schedulerOf(this.clock),
        fetch: (url, init) => this.#fetch(url, init),
        warn: (message, trouble) => this.warnings.push({ message, ...trouble, at: this.clock.now() }),
        ...client,
      });
    this.client = this.another();
    this.client.activity.subscribe((event) => this.activity.push(event));
  }

  /** A swap of one token at a price, by the service's clock. */
  swap(timestamp: number, price: number, more: Partial<Swap> = {}): Swap {
    const swap: Swap = {
      blockNumber: Math.floor(timestamp / 400),
      timestamp,
      transactionHash: `hash-${this.swaps.length}`,
      walletAddress: "wallet",
      side: "buy",
      tokenAmount: 1,
      usdAmount: price,
      nativeAmount: price / 100,
      ...more,
    };
    this.swaps.push(swap);
    return swap;
  }

  /** One swap at the start of every interval of `every` ms in a range, at prices 1, 2, 3, … */
  swapsEvery(every: number, from: number, to: number): void {
    for (let timestamp = from, price = 1; timestamp < to; timestamp += every, price++)
      this.swap(timestamp, price);
  }

  /** Sets the service's clock. */
  jump(by: number): void {
    this.offset += by;
  }

  candleRequests(): Asked[] {
    return this.asked.filter(({ url }) => url.pathname.endsWith("/ohlcv"));
  }

  async #fetch(url: string, init: Parameters<FetchLike>[1]): Promise<Answer> {
    const asked: Asked = { url: new URL(url), sent: this.clock.now(), signal: init?.signal };
    this.asked.push(asked);
    try {
      await this.#travel(init?.signal);
      const answer = async (): Promise<Answer> => {
        const served = await this.#service.fetch(url, init);
        if (this.#hasDate) return served;
        const get = (name: string) => (name.toLowerCase() === "date" ? null : served.headers.get(name));
        return { status: served.status, headers: { get }, text: () => served.text() };
      };
      const result = await (this.interfere(asked, answer) ?? answer());
      await this.#travel(init?.signal);
      asked.outcome = "answered";
      return result;
    } catch (error) {
      asked.outcome = init?.signal?.aborted ? "aborted" : "failed";
      throw error;
    }
  }

  #travel(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        timer.unsubscribe();
        reject(signal?.reason);
      };
      const timer: Subscription = this.clock.schedule(() => {
        signal?.removeEventListener("abort", leave);
        resolve();
      }, this.latency);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }
}

/** An answer of one's own; `date` as the header has it. */
export function answered(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { status, headers: { get: (name) => headers[name.toLowerCase()] ?? null }, text: async () => text };
}

/** What the service answers, its rows changed. */
export async function withRows(
  answer: () => Promise<Answer>,
  change: (rows: Record<string, unknown>[]) => unknown[],
): Promise<Answer> {
  const { status, headers, text } = await answer();
  const body = JSON.parse(await text());
  const changed = JSON.stringify({ ...body, result: change(body.result) });
  return { status, headers, text: async () => changed };
}

/** An event in short: `new open 12:00:00 #0 5` (close). */
export function short({ type, status, candle, revision }: CandleEvent): string {
  return `${type} ${status} ${time(candle.timestamp)} #${revision} ${candle.close}`;
}

export function time(instant: number): string {
  return new Date(instant).toISOString().slice(11, 19);
}

/** The candle that some prices of single tokens make. */
export function tradedCandle(timestamp: number, ...prices: number[]): Candle {
  return {
    timestamp,
    open: prices[0]!,
    high: Math.max(...prices),
    low: Math.min(...prices),
    close: prices.at(-1)!,
    volume: prices.reduce((sum, price) => sum + price, 0),
    swaps: prices.length,
  };
}
