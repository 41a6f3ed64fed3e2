import { createClient, type FetchLike, VirtualClock } from "pairstream";
import { createPairService } from "pairstream/service";
import { type SqliteDatabase, sqliteStore } from "pairstream/store";
import { quantile } from "../quantile.js";
import { ratioOf, type Spread, spreadOf } from "../rounds.js";
import { watchCrowd } from "../scale/crowd.js";
import { addresses } from "../scale/market.js";
import { inFolder, openDatabase } from "./files.js";
import { pacedMarket } from "./starts.js";

const MINUTE = 60_000;
const START = Date.UTC(2026, 0, 1, 12, 0, 30);
/** By then the books are full, and everything is compiled. */
const FIRST_MINUTES = 8;
/** Within so many ms all answers come, each at its own instant: what one is delayed by is its own. */
const SPREAD = 900;

/** What the closings of one minute took. */
interface Minute {
  /** µs from an answer to its closed candle. */
  readonly median: number;
  readonly worst: number;
  readonly closed: number;
  readonly transactions: number;
  /** ms that the process stood still while it wrote. */
  readonly writing: number;
  /** Every event but for when it was seen. */
  readonly events: readonly string[];
}

export interface Closings {
  readonly rounds: number;
  /** µs. */
  readonly with: Spread;
  readonly without: Spread;
  readonly ratio: Spread;
  /** ms, of the slowest event of a minute. */
  readonly worst: { readonly with: Spread; readonly without: Spread };
  readonly transactions: number;
  /** ms a minute. */
  readonly writing: Spread;
}

/** The delay of an event at the closings of a minute with a store and without, minute by minute, by turns. */
export function timeClosings(series: number, rounds: number): Promise<Closings> {
  return inFolder(async (pathOf) => {
    const crowds = [new Crowd(series, pathOf("closings.db")), new Crowd(series)] as const;
    for (const crowd of crowds)
      for (let minute = 0; minute < FIRST_MINUTES; minute += 1) await crowd.minute();
    const minutes: [Minute[], Minute[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      for (const at of round % 2 === 0 ? [0, 1] : [1, 0]) {
        globalThis.gc?.({ type: "minor", execution: "sync" });
        minutes[at as 0 | 1].push(await crowds[at as 0 | 1].minute());
      }
      const [own, plain] = minutes.map((all) => all.at(-1)!);
      const isSame = own!.events.length > 0 && own!.events.join() === plain!.events.join();
      if (!isSame) throw new Error("with a store the closings give other events than without");
      if (own!.closed !== series) throw new Error(`${own!.closed} of ${series} candles closed`);
    }
    for (const crowd of crowds) crowd.leave();
    const [own, plain] = minutes;
    const medians = minutes.map((all) => all.map(({ median }) => median));
    return {
      rounds,
      with: spreadOf(medians[0]!),
      without: spreadOf(medians[1]!),
      ratio: ratioOf(medians[0]!, medians[1]!),
      worst: {
        with: spreadOf(own.map(({ worst }) => worst / 1e3)),
        without: spreadOf(plain.map(({ worst }) => worst / 1e3)),
      },
      transactions: own.reduce((sum, { transactions }) => sum + transactions, 0) / rounds,
      writing: spreadOf(own.map(({ writing }) => writing)),
    };
  });
}

/** Series of as many pairs, all of one client; their time is virtual, and what they take is real. */
class Crowd {
  readonly leave: () => void;
  readonly #clock = new VirtualClock(START);
  readonly #answeredAt = new Map<string, number>();
  #delays: number[] = [];
  #events: string[] = [];
  #closed = 0;
  #transactions = 0;
  #writing = 0;

  constructor(series: number, path?: string) {
    const source = pacedMarket(START - 60 * MINUTE, 10_000);
    const { fetch: serve } = createPairService({ source, clock: () => this.#clock.now() });
    const places = new Map(addresses(series).map((address, at) => [address, at]));
    const fetch: FetchLike = async (url, init) => {
      const pair = url.split("/")[6]!;
      const answer = await serve(url, init);
      await new Promise<void>((resolve) => {
        this.#clock.schedule(() => resolve(), Math.floor((places.get(pair)! * SPREAD) / series));
      });
      this.#answeredAt.set(pair, performance.now());
      return answer;
    };
    const store = path === undefined ? undefined : sqliteStore(this.#timed(openDatabase(path)));
    const client = createClient({
      ...{ baseUrl: "https://service.test", apiKey: "key", scheduler: this.#clock, fetch, rateLimit: false },
      ...(store && { store }),
    });
    const stop = watchCrowd(
      client,
      { count: series, timeframe: "1min" },
      ({ candle, type, status, series: of }) => {
        const took = performance.now() - this.#answeredAt.get(of.pairAddress)!;
        this.#events.push(`${of.pairAddress} ${type} ${status} ${candle.timestamp} ${candle.close}`);
        if (status !== "closed") return;
        this.#closed += 1;
        this.#delays.push(took * 1e3);
      },
    );
    this.leave = () => {
      stop();
      store?.close();
    };
  }

  /** The closings of the next minute. */
  async minute(): Promise<Minute> {
    this.#delays = [];
    this.#events = [];
    this.#closed = 0;
    this.#transactions = 0;
    this.#writing = 0;
    await this.#clock.advanceBy(MINUTE);
    return {
      median: quantile(this.#delays, 0.5),
      worst: quantile(this.#delays, 1),
      closed: this.#closed,
      transactions: this.#transactions,
      writing: this.#writing,
      events: this.#events,
    };
  }

  /** A database whose writing is counted and timed. */
  #timed(database: SqliteDatabase): SqliteDatabase {
    let began: number | undefined;
    return {
      prepare: (sql) => database.prepare(sql),
      close: () => database.close?.(),
      exec: (sql) => {
        if (sql === "BEGIN IMMEDIATE") began = performance.now();
        const result = database.exec(sql);
        if (sql === "COMMIT" && began !== undefined) {
          this.#transactions += 1;
          this.#writing += performance.now() - began;
          began = undefined;
        }
        return result;
      },
    };
  }
}
