import type { SchedulerLike } from "rxjs";
import { type FetchLike, SESSION, type SessionRequest, STALE } from "../client/send/transport.js";
import { printable } from "../contract/quote.js";
import { InvalidInputError, PairstreamError } from "../errors.js";
import { routeOf, sessionOf } from "./record.js";
import { LATENESS, type Lateness, land, SessionClock } from "./session-clock.js";
import { type LateTurn, readTape, type TapeFailure, type TapeLine } from "./tape.js";
import { VirtualClock } from "./virtual-clock.js";

/** A recorded session that can be lived through again. */
export interface Tape {
  /** Answers as recorded; for the `fetch` of `createClient`, as it is. */
  readonly fetch: FetchLike;
  /** For the `scheduler` of `createClient`; it stands at the instant of the first request. */
  readonly scheduler: VirtualClock;
  /**
   * Plays the tape to its end, once: resolves when the last exchange that was recorded has been delivered, and all that
   * follows from it has happened. Rejects with a `PairstreamError` at the first request that differs from the recording,
   * or that is missing; nothing is answered from then on. Where the last line of the tape was cut off, all before it is
   * replayed, and then it rejects with an `InvalidInputError` that names that line: leave it out to replay without.
   */
  run(): Promise<void>;
}

type Init = Parameters<FetchLike>[1];
type Answer = Awaited<ReturnType<FetchLike>>;

/** Less than lies between any two instants of a tape, in ms: what is a moment later has nothing in between. */
const MOMENT = 1 / 1_024;

/**
 * Replays a session that `recordExchanges` has written, through the same client, as fast as it can be computed: the
 * streams give the same events, byte for byte, with the same delays and failures.
 *
 * Make the client with the options of the recording, but this `fetch` and this `scheduler` (the origin of `baseUrl` and
 * the API key may differ), subscribe to what was subscribed to, then await `run`. What comes from outside the exchanges
 * (subscribing later, leaving, a direct call) is to happen at the instant at which it did: schedule it on
 * `tape.scheduler` beforehand, where it comes before what is answered in the same ms. Where the recording ends the
 * service falls silent: later requests are never answered, `run` resolves, and subscriptions that are still open are
 * left to be closed by whoever opened them.
 *
 * Throws an `InvalidInputError` that names the line which is not of a tape, or of a version that this release does not
 * know.
 *
 * ```ts
 * import { createClient, replayExchanges, watchCandles } from "pairstream";
 * import { readFileSync } from "node:fs";
 *
 * const tape = replayExchanges(readFileSync("session.ndjson", "utf8").split("\n"));
 * const client = createClient({
 *   baseUrl: "https://api.example.com",
 *   apiKey: "any",
 *   fetch: tape.fetch,
 *   scheduler: tape.scheduler,
 * });
 * const subscription = watchCandles(client, {
 *   network: "mainnet",
 *   pairAddress: "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d",
 *   timeframe: "1min",
 *   currency: "usd",
 * }).subscribe(({ type, candle }) => console.log(type, candle.close));
 * await tape.run();
 * subscription.unsubscribe();
 * ```
 */
export function replayExchanges(lines: Iterable<string>): Tape {
  const { lines: read, cut } = readTape(lines);
  const player = new Player(read, cut);
  const fetch: FetchLike = (url, init) => player.ask(url, init);
  return Object.freeze({
    fetch: Object.assign(fetch, {
      [SESSION]: (scheduler: SchedulerLike) => {
        if (scheduler === player.clock) return player.join();
        throw new InvalidInputError(
          "scheduler",
          "the scheduler of the tape that fetch is of",
          "is another one",
        );
      },
    }),
    scheduler: player.clock,
    run: () => player.run(),
  });
}

/** A clock that can be set. */
class TapeClock extends VirtualClock {
  override set(instant: number): void {
    super.set(instant);
  }

  override advanceUnless(isOver: () => boolean, instant: number): Promise<void> {
    return super.advanceUnless(isOver, instant);
  }

  override fireNext(): Promise<boolean> {
    return super.fireNext();
  }
}

/** A request that was made again, and waits for its recorded end. */
interface Pending {
  readonly session: SessionRequest | undefined;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (cause: unknown) => void;
}

class Player {
  readonly clock: TapeClock;
  /** Timers that were late are late again. */
  readonly #lateness: Lateness;
  /** The times of the clients that play. */
  readonly #sessions: SessionClock[] = [];
  /** In the order in which they ended. */
  readonly #lines: readonly TapeLine[];
  /** Those that were not asked for yet, by request, in the order in which they were sent. */
  readonly #unasked = new Map<number, TapeLine>();
  readonly #pending = new Map<TapeLine, Pending>();
  /** When late timers had their turns, by when they were due. */
  readonly #turns = new Map<number, number[]>();
  /** By when they were due: the last instant at which timers had not had their turns, and how many had by then. */
  readonly #lateUntil = new Map<number, { readonly at: number; readonly taken: number }>();
  /** The last instant at which an arrival had not had its turn, by its number. */
  readonly #lateArrivals = new Map<number, number>();
  /** Timers that are still to fire as they did: before they were due, by a clock that had been set back. */
  readonly #passed: LateTurn[];
  /** How many requests were made. */
  #asked = 0;
  #ended = 0;
  #failure: PairstreamError | undefined;
  #run: Promise<void> | undefined;

  readonly #cut: InvalidInputError | undefined;

  constructor(lines: readonly TapeLine[], cut: InvalidInputError | undefined) {
    this.#lines = lines;
    this.#cut = cut;
    const sent = [...lines].sort((a, b) => a.request - b.request);
    for (const line of sent) this.#unasked.set(line.request, line);
    const late = lines.flatMap((line) => line.late ?? []);
    this.#passed = late.filter(({ due, at }) => at < due);
    for (const { due, at, hasTurn, taken, arrival } of late) {
      if (at < due) continue;
      if (arrival !== undefined) this.#lateArrivals.set(arrival, at);
      else if (!hasTurn) this.#lateUntil.set(due, { at, taken });
      else this.#turns.set(due, [...(this.#turns.get(due) ?? []), at]);
    }
    this.#lateness = {
      tell: ({ due, hasTurn }) => {
        if (hasTurn) this.#turns.get(due)?.shift();
      },
      until: (turn) => this.#untilTurn(turn),
    };
    this.clock = new TapeClock(sent[0]?.asked ?? 0);
  }

  join(): SessionClock {
    const session = new SessionClock(this.clock, this.#lateness);
    this.#sessions.push(session);
    return session;
  }

  ask(url: string, init: Init): Promise<Answer> {
    const method = init?.method ?? "GET";
    const line = this.#failure === undefined ? this.#find(method, routeOf(url)) : undefined;
    this.#asked += 1;
    this.#expectNoMore(method, url);
    const signal = init?.signal;
    return new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
      if (line === undefined) return;
      this.#unasked.delete(line.request);
      const session = sessionOf(init);
      if (session !== undefined) session.sent = line.sent;
      this.#pending.set(line, { session, signal, resolve, reject });
    });
  }

  run(): Promise<void> {
    this.#run ??= this.#play();
    return this.#run;
  }

  async #play(): Promise<void> {
    const passed = this.#passed;
    let before = Number.NEGATIVE_INFINITY;
    for (const [at, line] of this.#lines.entries()) {
      while (passed[0] !== undefined && passed[0].ended <= at) await this.#pass(passed[0]);
      await this.#advance(line.ended);
      // Whoever acts from outside goes before what is due then.
      if (!this.#pending.has(line)) await this.#advance(line.ended + MOMENT);
      if (line.ended < before) await this.#setBack(line);
      before = line.ended;
      this.#deliver(line);
    }
    await this.#advance(this.clock.now());
    if (this.#cut !== undefined) throw this.#cut;
  }

  /** Lets time pass until the clock was set back; what was asked until then tells how far it had come. */
  async #setBack({ ended, asks }: TapeLine): Promise<void> {
    while (this.#asked < asks && this.#failure === undefined && (await this.clock.fireNext()));
    this.clock.set(ended);
  }

  async #advance(instant: number): Promise<void> {
    const hasFailed = () => this.#failure !== undefined;
    await this.clock.advanceUnless(hasFailed, Math.max(this.clock.now(), instant));
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** A timer fires by the clock that was set back; what is due by then comes first. */
  async #pass(turn: LateTurn): Promise<void> {
    const now = this.clock.now();
    const isSetHere = turn.at < now;
    const until = isSetHere ? turn.due - MOMENT : turn.at;
    if (until > now) await this.#advance(until);
    if (isSetHere) this.clock.set(turn.at);
    this.#passed.shift();
    this.#sessions.some((session) => session.takePassed(turn));
    await this.#advance(turn.at);
  }

  #untilTurn({ due, taken, arrival }: Pick<LateTurn, "due" | "taken" | "arrival">): number {
    // What has only let somebody from outside go first has its turn right after.
    if (arrival !== undefined) {
      const at = this.#lateArrivals.get(arrival);
      return at === undefined ? due : at + MOMENT;
    }
    const [turn] = this.#turns.get(due) ?? [];
    if (turn !== undefined) return turn;
    const hasPassed = this.#passed.some((one) => one.due === due && one.taken <= taken);
    if (hasPassed) return Number.POSITIVE_INFINITY;
    const late = this.#lateUntil.get(due);
    return late === undefined || taken < late.taken ? due : late.at + MOMENT;
  }

  #deliver(line: TapeLine): void {
    this.#ended += 1;
    const pending = this.#pending.get(line);
    if (pending === undefined) throw this.#fail(`did not make ${described(line)}`);
    this.#pending.delete(line);
    const { session, signal, resolve, reject } = pending;
    if (signal?.aborted) return;
    const { status, headers, outcome, body, answered, ended } = line;
    const wasRead = outcome === "whole" || outcome === "failed";
    if (session !== undefined && answered !== undefined) session.answered = answered;
    land(session, wasRead ? ended : (answered ?? ended), this.#ended);
    if (status === undefined) {
      if (outcome === "failed") reject(failureOf(line));
      return;
    }
    const text = async () => {
      if (outcome === "whole") return body ?? "";
      if (outcome === "failed") throw failureOf(line);
      return new Promise<never>(() => {});
    };
    resolve({ status, headers: { get: (name) => headers?.[name.toLowerCase()] ?? null }, text });
  }

  /** The recorded request that this one is; `undefined` where that had not ended when the recording did. */
  #find(method: string, url: string): TapeLine | undefined {
    const [next] = this.#unasked.values();
    // A request without a line was under way when the recording ended.
    const hasNoLine = next === undefined || next.request > this.#asked;
    const latest = (hasNoLine ? this.clock.now() : next.sent) + LATENESS;
    for (const line of this.#unasked.values()) {
      if (line.sent > latest) break;
      if (line.method === method && line.url === url) return line;
    }
    if (!hasNoLine)
      this.#fail(`made ${method} ${printable(url)}, where the recording has ${described(next)}`);
    return undefined;
  }

  /** Where a tape lets much time pass, requests that are not on it would be made without end. */
  #expectNoMore(method: string, url: string): void {
    const next = this.#lines[this.#ended];
    if (next === undefined || this.#asked <= next.asks || this.clock.now() + LATENESS >= next.ended) return;
    this.#fail(`made ${method} ${printable(routeOf(url))}, where the recording has asked ${next.asks} times`);
  }

  #fail(problem: string): PairstreamError {
    const instant = new Date(this.clock.now()).toISOString();
    this.#failure ??= new PairstreamError(
      `The replay differs from the recording: at ${instant} it ${problem}`,
    );
    return this.#failure;
  }
}

function described({ request, method, url, sent }: TapeLine): string {
  return `${printable(`${method} ${url}`)} (request ${request}, sent at ${new Date(sent).toISOString()})`;
}

function failureOf({ failure, stale }: TapeLine): Error {
  return Object.assign(errorOf(failure), stale ? { [STALE]: true } : {});
}

function errorOf(failure: TapeFailure | undefined): Error {
  const { name = "Error", message = "", code, type, cause } = failure ?? {};
  const error = new Error(message, cause === undefined ? {} : { cause: errorOf(cause) });
  if (name !== error.name) Object.defineProperty(error, "name", { value: name, configurable: true });
  return Object.assign(error, code === undefined ? {} : { code }, type === undefined ? {} : { type });
}
