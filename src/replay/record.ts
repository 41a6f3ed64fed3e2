import { asyncScheduler, type SchedulerLike, throwError } from "rxjs";
import { bodyOf } from "../client/send/attempt.js";
import { type Redactor, redactorOf } from "../client/send/redact.js";
import {
  type FetchLike,
  fetchWithKey,
  isStale,
  KEY_HEADER,
  SESSION,
  type SessionRequest,
  sessionOf,
} from "../client/send/transport.js";
import { checkNames, checkScheduler } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";
import { land, SessionClock } from "./session-clock.js";
import {
  DEEPEST_CAUSE,
  KEPT_HEADERS,
  type LateTurn,
  TAPE_VERSION,
  type TapeFailure,
  type TapeLine,
} from "./tape.js";

/** How to record. */
export interface RecordOptions {
  /** The clock of the recorded instants; default: that of the client that gets this `fetch`. */
  scheduler?: SchedulerLike;
}

type Init = Parameters<FetchLike>[1];
type FetchAnswer = Awaited<ReturnType<FetchLike>>;

/**
 * Wraps a `fetch` and writes each exchange to `sink`, as one line of JSON when it ends; for `replayExchanges`.
 *
 * Give it directly to `createClient`: a wrapper around it would be neither recorded nor replayed. A line holds the
 * instants of sending, of the headers and of the end in ms, the request without its origin, the headers that the client
 * reads, and the body. It never holds the API key: the key's header is left out, and `[left out: holds the key]` stands
 * for each word of a body, part of a URL and other text that holds it. A request that is still under way when the
 * recording stops has no line.
 *
 * An error of the sink goes where RxJS reports an observer's error: it is uncaught, or goes to
 * `config.onUnhandledError`. The client goes on, but nothing more is recorded, because a tape with a gap cannot be
 * replayed. Throws an `InvalidInputError` for an invalid fetch, sink or scheduler.
 *
 * ```ts
 * import { createClient, recordExchanges, watchCandles } from "pairstream";
 * import { createWriteStream } from "node:fs";
 *
 * const tape = createWriteStream("session.ndjson");
 * const client = createClient({
 *   baseUrl: "https://api.example.com",
 *   apiKey: "…",
 *   fetch: recordExchanges(fetch, (line) => tape.write(`${line}\n`)),
 * });
 * ```
 */
export function recordExchanges(
  fetch: FetchLike,
  sink: (line: string) => void,
  options: RecordOptions = {},
): FetchLike {
  const recorder = new Recorder(fetch, sink, checkRecording(fetch, sink, options));
  const recorded: FetchLike = (url, init) => recorder.ask(url, init);
  return Object.assign(recorded, {
    [SESSION]: (scheduler: SchedulerLike) => recorder.join(scheduler),
  });
}

function checkRecording(fetch: FetchLike, sink: unknown, options: RecordOptions): SchedulerLike | undefined {
  if (typeof fetch !== "function") {
    throw new InvalidInputError("fetch", "a function like the global fetch", `is of type ${typeof fetch}`);
  }
  if (typeof sink !== "function") {
    throw new InvalidInputError("sink", "a function that takes a line", `is of type ${typeof sink}`);
  }
  checkNames(options, ["scheduler"]);
  const { scheduler } = options;
  checkScheduler(scheduler);
  return scheduler;
}

class Recorder {
  readonly #fetch: FetchLike;
  readonly #sink: (line: string) => void;
  #scheduler: SchedulerLike | undefined;
  #redactor: { readonly key: string; readonly redactor: Redactor } | undefined;
  #requests = 0;
  #ended = 0;
  #late: LateTurn[] = [];
  #hasFailed = false;

  constructor(fetch: FetchLike, sink: (line: string) => void, scheduler: SchedulerLike | undefined) {
    this.#fetch = fetch;
    this.#sink = sink;
    this.#scheduler = scheduler;
  }

  /** The clock of a client whose exchanges are recorded. */
  join(scheduler: SchedulerLike): SchedulerLike {
    this.#scheduler ??= scheduler;
    return new SessionClock(scheduler, {
      tell: (turn) => this.#late.push({ ...turn, ended: this.#ended }),
      until: ({ due }) => due,
    });
  }

  ask(url: string, init: Init): Promise<FetchAnswer> {
    const sent = this.now();
    const session = sessionOf(init);
    const redactor = session?.redact ?? this.#redactorFor(init);
    if (session !== undefined) session.sent = sent;
    const start: Start = {
      v: TAPE_VERSION,
      request: this.#requests++,
      method: init?.method ?? "GET",
      url: redactor.route(routeOf(url)),
      requestHeaders: requestHeaders(init, redactor),
      asked: session?.scheduler.now() ?? sent,
      sent,
    };
    return new RecordedExchange(this, redactor, start, init).follow(() =>
      fetchWithKey(this.#fetch, url, init),
    );
  }

  /** The number of ended exchanges. */
  get ended(): number {
    return this.#ended;
  }

  write(exchange: Omit<TapeLine, "asks" | "late">): void {
    this.#ended += 1;
    if (this.#hasFailed) return;
    const line = { ...exchange, asks: this.#requests };
    const late = this.#late;
    this.#late = [];
    try {
      this.#sink(JSON.stringify(late.length > 0 ? { ...line, late } : line));
    } catch (error) {
      this.#hasFailed = true;
      throwError(() => error).subscribe();
    }
  }

  now(): number {
    return (this.#scheduler ?? asyncScheduler).now();
  }

  #redactorFor(init: Init): Redactor {
    const key = Object.entries(init?.headers ?? {}).find(([name]) => isKey(name))?.[1] ?? "";
    if (this.#redactor?.key !== key) this.#redactor = { key, redactor: redactorOf(key) };
    return this.#redactor.redactor;
  }
}

/** The part of a line that is known when the request is sent. */
type Start = Pick<TapeLine, "v" | "request" | "method" | "url" | "requestHeaders" | "asked" | "sent">;

/** One request under way. Its body, a failure or an abort can end it; the first one counts. */
class RecordedExchange {
  readonly #recorder: Recorder;
  readonly #redactor: Redactor;
  readonly #start: Start;
  readonly #session: SessionRequest | undefined;
  readonly #signal: AbortSignal | undefined;
  #head: Pick<TapeLine, "answered" | "status" | "headers"> = {};
  #hasEnded = false;

  constructor(recorder: Recorder, redactor: Redactor, start: Start, init: Init) {
    this.#recorder = recorder;
    this.#redactor = redactor;
    this.#start = start;
    this.#session = sessionOf(init);
    this.#signal = init?.signal;
    this.#signal?.addEventListener("abort", this.#leave, { once: true });
  }

  /** Sends the request and returns the recorded answer. */
  async follow(ask: () => Promise<FetchAnswer>): Promise<FetchAnswer> {
    try {
      const answer = await ask();
      const { status } = answer;
      const headers = keptHeaders(answer, this.#redactor);
      const answered = this.#recorder.now();
      if (this.#session !== undefined) this.#session.answered = answered;
      // If the headers announce a body that is too large, the client stops here, so the exchange has to count as
      // received.
      land(this.#session, answered, this.#recorder.ended);
      this.#head = { answered, status, headers };
      return { status, headers: answer.headers, text: () => this.#bodyOf(answer) };
    } catch (cause) {
      return this.#fail(cause);
    }
  }

  async #bodyOf(answer: FetchAnswer): Promise<string> {
    const body = await bodyOf(answer).catch((cause) => this.#fail(cause));
    if (body === undefined) return this.#fail(tooLarge());
    this.#end("whole", { body: this.#redactor.body(body) });
    return body;
  }

  #fail(cause: unknown): never {
    const stale = isStale(cause) ? { stale: true } : {};
    this.#end("failed", { failure: recordedFailure(cause, this.#redactor), ...stale });
    throw cause;
  }

  readonly #leave = () => this.#end(this.#session?.hasTimedOut ? "timed-out" : "left");

  #end(outcome: TapeLine["outcome"], rest: Pick<TapeLine, "body" | "failure" | "stale"> = {}): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#signal?.removeEventListener("abort", this.#leave);
    const ended = this.#recorder.now();
    const unsent = this.#session?.isUnsent ? { unsent: true } : {};
    this.#recorder.write({ ...this.#start, ...this.#head, ended, outcome, ...unsent, ...rest });
    if (outcome === "whole" || outcome === "failed") land(this.#session, ended, this.#recorder.ended);
  }
}

/** The path and query of a URL. */
export function routeOf(url: string): string {
  return url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, "");
}

function isKey(header: string): boolean {
  return header.toLowerCase() === KEY_HEADER.toLowerCase();
}

function requestHeaders(init: Init, redactor: Redactor): Record<string, string> {
  const kept = Object.entries(init?.headers ?? {}).filter(([name]) => name.toLowerCase() === "accept");
  return Object.fromEntries(kept.map(([name, value]) => [name.toLowerCase(), redactor.text(value)]));
}

function keptHeaders({ headers }: FetchAnswer, redactor: Redactor): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const name of KEPT_HEADERS) {
    const value = headers.get(name);
    if (value !== null) kept[name] = redactor.text(value);
  }
  return kept;
}

/** The error of node-fetch for this case, which the client knows. */
function tooLarge(): Error {
  return Object.assign(new Error("the body is too large"), { type: "max-size" });
}

function recordedFailure(thrown: unknown, redactor: Redactor, depth = DEEPEST_CAUSE): TapeFailure {
  // `redactor.cause` returns a plain error if the original could hold the key.
  const cause = redactor.cause(thrown);
  if (!(cause instanceof Error)) return { name: "Error", message: String(cause) };
  const { code, type } = cause as { code?: unknown; type?: unknown };
  return {
    name: cause.name,
    message: cause.message,
    ...(typeof code === "string" ? { code } : {}),
    ...(typeof type === "string" ? { type } : {}),
    ...(cause.cause instanceof Error && depth > 0
      ? { cause: recordedFailure(cause.cause, redactor, depth - 1) }
      : {}),
  };
}
