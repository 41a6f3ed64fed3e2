import type { SchedulerLike } from "rxjs";
import { type FetchLike, SESSION, type SessionRequest, STALE, sessionOf } from "../client/send/transport.js";
import { printable } from "../contract/quote.js";
import { InvalidInputError, PairstreamError } from "../errors.js";
import { routeOf } from "./record.js";
import { LATENESS, land, SessionClock, type TurnLateness } from "./session-clock.js";
import { type LateTurn, readTape, type TapeFailure, type TapeLine } from "./tape.js";
import { VirtualClock } from "./virtual-clock.js";

/** A recorded session, ready to run again. */
export interface Tape {
  /** The recorded answers; give it directly to `createClient`. */
  readonly fetch: FetchLike;
  /** The clock, for the `scheduler` of `createClient`. It starts at the instant of the first request. */
  readonly scheduler: VirtualClock;
  /**
   * Plays the tape to its end, once. Resolves after the last recorded exchange is delivered and all its effects have
   * happened. Rejects with a `PairstreamError` at the first request that differs from the recording or is missing; from
   * then on no request is answered.
   *
   * If the last line of the tape is cut off, it replays the lines before and then rejects with an `InvalidInputError`
   * that names that line. Leave the line out to avoid that.
   */
  run(): Promise<void>;
}

type Init = Parameters<FetchLike>[1];
type FetchAnswer = Awaited<ReturnType<FetchLike>>;

/**
 * A time in ms that is smaller than any gap between two recorded instants. Nothing recorded lies between an instant and
 * a moment later.
 */
const MOMENT = 1 / 1_024;

/**
 * Replays a session recorded by `recordExchanges` through the same client, as fast as possible. The streams emit the
 * same events, byte for byte, after the same delays and failures.
 *
 * Create the client with the options of the recording, but with this `fetch` and this `scheduler`; the origin of
 * `baseUrl` and the API key may differ. Subscribe as before, then await `run`. Actions from outside (subscribing later,
 * unsubscribing, a direct call) have to happen at the same instants again. Schedule them on `tape.scheduler`
 * beforehand: they run before an answer in the same ms.
 *
 * After the recording's end no request is answered: `run` resolves, and open subscriptions stay open until you
 * unsubscribe.
 *
 * Throws an `InvalidInputError` that names the line if a line is not of a tape, or of a version that this release does
 * not know.
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
  const join = (scheduler: SchedulerLike) => {
    if (scheduler === player.clock) return player.join();
    throw new InvalidInputError(
      "scheduler",
      "the scheduler of the tape whose fetch is given",
      "is another one",
    );
  };
  return Object.freeze({
    fetch: Object.assign(fetch, { [SESSION]: Object.assign(join, { isReplay: true }) }),
    scheduler: player.clock,
    run: () => player.run(),
  });
}

/** A virtual clock that can also be set to another instant. */
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

/** A repeated request that waits for its recorded end. */
interface PendingRequest {
  readonly session: SessionRequest | undefined;
  readonly signal: AbortSignal | undefined;
  readonly resolve: (answer: FetchAnswer) => void;
  readonly reject: (cause: unknown) => void;
}

class Player {
  readonly clock: TapeClock;
  /** Makes timers as late as they were in the recording. */
  readonly #lateness: TurnLateness;
  /** The clocks of the clients in this replay. */
  readonly #sessions: SessionClock[] = [];
  /** The exchanges in the order in which they ended. */
  readonly #lines: readonly TapeLine[];
  /** Exchanges whose request has not been repeated yet, by request number, in the order of sending. */
  readonly #unasked = new Map<number, TapeLine>();
  readonly #pending = new Map<TapeLine, PendingRequest>();
  /** For late timers: the instants at which they fired, by the instant at which they were due. */
  readonly #turns = new Map<number, number[]>();
  /** By due instant: the last instant at which timers were still waiting, and how many had fired by then. */
  readonly #lateUntil = new Map<number, { readonly at: number; readonly taken: number }>();
  /** By arrival number: the last instant at which that arrival was still waiting. */
  readonly #lateArrivals = new Map<number, number>();
  /** Timers that fired before they were due, because the clock had been set back; those still to come. */
  readonly #passed: LateTurn[];
  /** The number of requests so far. */
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

  ask(url: string, init: Init): Promise<FetchAnswer> {
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
      if (session !== undefined) {
        session.sent = line.sent;
        session.isUnsent = line.unsent;
      }
      this.#pending.set(line, { session, signal, resolve, reject });
    });
  }

  run(): Promise<void> {
    this.#run ??= this.#play();
    return this.#run;
  }

  async #play(): Promise<void> {
    const passed = this.#passed;
    let before = -Infinity;
    for (const [at, line] of this.#lines.entries()) {
      while (passed[0] !== undefined && passed[0].ended <= at) await this.#pass(passed[0]);
      await this.#advance(line.ended);
      // If the request is missing, an action from outside has yet to make it. Such an action runs before anything else
      // that is due then.
      if (!this.#pending.has(line)) await this.#advance(line.ended + MOMENT);
      if (line.ended < before || this.#isSentLater(line)) await this.#setBack(line);
      before = line.ended;
      this.#deliver(line);
    }
    await this.#advance(this.clock.now());
    if (this.#cut !== undefined) throw this.#cut;
  }

  /** Whether a request before the line's end went out later than that: the clock was set back in between. */
  #isSentLater({ ended, asks }: TapeLine): boolean {
    for (const { request, sent } of this.#unasked.values()) {
      if (request >= asks) return false;
      if (sent > ended) return true;
    }
    return false;
  }

  /** Lets time pass until the clock was set back. The number of requests by then shows when that was. */
  async #setBack({ ended, asks }: TapeLine): Promise<void> {
    while (this.#asked < asks && this.#failure === undefined && (await this.clock.fireNext()));
    this.clock.set(ended);
  }

  async #advance(instant: number): Promise<void> {
    const hasFailed = () => this.#failure !== undefined;
    await this.clock.advanceUnless(hasFailed, Math.max(this.clock.now(), instant));
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Fires a timer by the clock that was set back, after everything that was due before. */
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
    // If it only waited for an action from outside, its turn comes right after that.
    if (arrival !== undefined) {
      const at = this.#lateArrivals.get(arrival);
      return at === undefined ? due : at + MOMENT;
    }
    const [turn] = this.#turns.get(due) ?? [];
    if (turn !== undefined) return turn;
    const hasPassed = this.#passed.some((one) => one.due === due && one.taken <= taken);
    if (hasPassed) return Infinity;
    const late = this.#lateUntil.get(due);
    return late === undefined || taken < late.taken ? due : late.at + MOMENT;
  }

  #deliver(line: TapeLine): void {
    this.#ended += 1;
    const pending = this.#pending.get(line);
    if (pending === undefined) throw this.#fail(`has not sent ${described(line)}`);
    this.#pending.delete(line);
    const { session, signal, resolve, reject } = pending;
    if (signal?.aborted) return;
    const { status, headers, outcome, body, answered, ended } = line;
    const wasRead = outcome === "whole" || outcome === "failed";
    if (session !== undefined && answered !== undefined) session.answered = answered;
    land(session, wasRead ? ended : (answered ?? ended), this.#ended);
    if (status === undefined) {
      if (outcome === "failed") reject(replayedFailure(line));
      return;
    }
    const text = async () => {
      if (outcome === "whole") return body ?? "";
      if (outcome === "failed") throw replayedFailure(line);
      return new Promise<never>(() => {});
    };
    resolve({ status, headers: { get: (name) => headers?.[name.toLowerCase()] ?? null }, text });
  }

  /** The recorded exchange of this request; `undefined` if it had not ended when the recording did. */
  #find(method: string, url: string): TapeLine | undefined {
    const [next] = this.#unasked.values();
    // A request without a line was under way at the end of the recording.
    const hasNoLine = next === undefined || next.request > this.#asked;
    const latest = (hasNoLine ? this.clock.now() : next.sent) + LATENESS;
    for (const line of this.#unasked.values()) {
      if (line.sent > latest) break;
      if (line.method === method && line.url === url) return line;
    }
    if (!hasNoLine) this.#fail(`sent ${method} ${printable(url)}, but the recording has ${described(next)}`);
    return undefined;
  }

  /**
   * Fails a replay with too many requests. On a long stretch of the tape such a client would otherwise send requests
   * without end.
   */
  #expectNoMore(method: string, url: string): void {
    const next = this.#lines[this.#ended];
    if (next === undefined || this.#asked <= next.asks || this.clock.now() + LATENESS >= next.ended) return;
    this.#fail(
      `sent ${method} ${printable(routeOf(url))}, but the recording has only ${next.asks} requests by then`,
    );
  }

  #fail(problem: string): PairstreamError {
    const instant = new Date(this.clock.now()).toISOString();
    this.#failure ??= new PairstreamError(
      `The replay differs from the recording: at ${instant} the program ${problem}`,
    );
    return this.#failure;
  }
}

function described({ request, method, url, sent }: TapeLine): string {
  return `${printable(`${method} ${url}`)} (request ${request}, sent at ${new Date(sent).toISOString()})`;
}

function replayedFailure({ failure, stale }: TapeLine): Error {
  return Object.assign(errorOf(failure), stale ? { [STALE]: true } : {});
}

function errorOf(failure: TapeFailure | undefined): Error {
  const { name = "Error", message = "", code, type, cause } = failure ?? {};
  const error = new Error(message, cause === undefined ? {} : { cause: errorOf(cause) });
  if (name !== error.name) Object.defineProperty(error, "name", { value: name, configurable: true });
  return Object.assign(error, code === undefined ? {} : { code }, type === undefined ? {} : { type });
}
