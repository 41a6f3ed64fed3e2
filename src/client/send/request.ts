import { requoted, shortened } from "../../contract/quote.js";
import {
  ContractError,
  NetworkError,
  type PairstreamError,
  QuotaExceededError,
  TimeoutError,
} from "../../errors.js";
import type { ActivityFeed } from "../activity.js";
import type { BudgetPart, Call, CallResult, Starter } from "../core.js";
import { Budget } from "../limits/budget.js";
import type { CallKind } from "../limits/quota.js";
import { Spending } from "../limits/spending.js";
import type { Settings } from "../options.js";
import {
  earliestAnswerTime,
  learn,
  type RoundTrip,
  type ServiceClock,
  serviceTimeBounds,
  unknownClock,
} from "../service-clock.js";
import { sleepUntil } from "../timers.js";
import { type Answer, type AttemptContext, type AttemptResult, attempt as attemptOnce } from "./attempt.js";
import { backOff, delayAfter, hintOf, httpError } from "./failure.js";
import type { Redactor } from "./redact.js";
import { MAX_BODY } from "./transport.js";

/** How often to ask until another answer confirms a first `Date` that is far from the scheduler's clock. */
const CLOCK_READS = 3;
/** How often a call is sent again at once: several kept connections can be closed at the same time. */
const MOST_RESENDS = 3;
/** How much of a transport's message an error repeats. */
const LONGEST_REASON = 300;

/** What an attempt means for its call. */
type JudgedAttempt<T> =
  | { readonly exchange: CallResult<T> }
  | {
      readonly route: string;
      readonly error: PairstreamError;
      readonly hint?: number | undefined;
      readonly at: number;
      /** Whether it may be sent again at once. */
      readonly isStale?: boolean;
    };

/** Sends all calls of a client, within its budget and with retries, and learns the service's clock from the answers. */
export class Sender {
  readonly #settings: Settings;
  readonly #activity: ActivityFeed;
  readonly #redact: Redactor;
  readonly #context: AttemptContext;
  readonly #budget: Budget;
  readonly #start: Starter;
  /** Parts of the budget. Each counts every request that goes out. */
  readonly parts = new Set<BudgetPart>();
  readonly spending: Spending;
  #clock = unknownClock;
  #isClockReported = false;
  /** Answers 429 with no good one between them, and when the last of them came. */
  #refusals = { count: 0, at: Number.NEGATIVE_INFINITY };

  constructor(settings: Settings, feed: ActivityFeed, redact: Redactor) {
    this.#settings = settings;
    this.#activity = feed;
    this.#redact = redact;
    const { fetch, scheduler, timeout, apiKey, rateLimit, quota } = settings;
    const headers = { accept: "application/json", "X-API-Key": apiKey };
    this.#context = { fetch, scheduler, timeout, headers };
    this.#budget = new Budget(scheduler, rateLimit, (throttling) =>
      feed.emit(() => ({ type: "throttled", at: scheduler.now(), ...throttling })),
    );
    this.#start = (priority, signal, begin) => this.#budget.start(priority, signal, begin);
    const serviceNow = () => serviceTimeBounds(this.#clock, scheduler.now());
    this.spending = new Spending(quota, serviceNow, (told) =>
      feed.emit(() => ({ type: "quota", at: scheduler.now(), ...told })),
    );
  }

  get clock(): ServiceClock {
    return this.#clock;
  }

  async send<T>(ask: Call<T>): Promise<CallResult<T>> {
    for (let asked = 1; ; asked += 1) {
      const exchange = await this.#sendOnce(ask);
      const { bounds, isConfirmed } = this.#clock;
      const isCertain = bounds === undefined || isConfirmed;
      if (!ask.needsClock || isCertain || asked >= CLOCK_READS) return exchange;
    }
  }

  async #sendOnce<T>(ask: Call<T>): Promise<CallResult<T>> {
    const { scheduler, retry } = this.#settings;
    let resends = 0;
    for (let attempt = 1; ; ) {
      this.spending.check(callKindOf(ask.route));
      const start = ask.within?.within(this.#start) ?? this.#start;
      const verdict = await start(ask.priority, ask.signal, (now, end) =>
        this.#attempt(ask, attempt, now, end),
      );
      if ("exchange" in verdict) return verdict.exchange;
      const { route, error, hint, at, isStale } = verdict;
      const isResent = isStale === true && resends < MOST_RESENDS;
      const delay = isResent ? 0 : delayAfter(attempt, error, hint, retry);
      if (delay === undefined) throw error;
      this.#activity.emit(() => ({
        type: "retry",
        at,
        url: route,
        attempt,
        delay,
        error,
      }));
      if (isResent) resends += 1;
      else {
        attempt += 1;
        await sleepUntil(scheduler, at + delay, ask.signal);
      }
    }
  }

  /** One attempt, from the request to what follows from its end. */
  async #attempt<T>(
    ask: Call<T>,
    attempt: number,
    now: number,
    end: (at: number) => void,
  ): Promise<JudgedAttempt<T>> {
    const { priority, signal, within } = ask;
    const kind = callKindOf(ask.route);
    const route = typeof ask.route === "string" ? ask.route : ask.route(now);
    // Others may have spent the rest while this call waited for its turn.
    this.spending.check(kind);
    const settle = this.spending.charge(kind);
    const { sent, result } = attemptOnce(this.#context, this.#settings.baseUrl + route, now, signal);
    const counts = [...this.parts].filter((part) => part !== within).map((part) => part.count());
    const leave = (at: number) => {
      for (const count of [end, ...counts]) count(at);
    };
    this.#activity.emit(() => ({
      type: "request",
      at: sent,
      url: route,
      attempt,
      priority,
    }));
    const ended = await result.catch((reason: unknown) => {
      settle(undefined, false);
      leave(this.#settings.scheduler.now());
      throw reason;
    });
    const answer = ended.kind === "answer" ? ended.answer : undefined;
    const weight = settle(answer && weightOf(answer), answer?.status === 200);
    const verdict = this.#judge(ask, route, sent, ended);
    if ("error" in verdict && verdict.error instanceof QuotaExceededError) this.spending.exhaust();
    this.#activity.emit(() => ({
      type: "response",
      at: ended.at,
      url: route,
      attempt,
      duration: ended.at - sent,
      // A tape holds the body without the key, and its replay has to tell the same.
      ...(answer === undefined
        ? {}
        : { status: answer.status, weight, bytes: bytesOf(this.#redact.body(answer.text)) }),
      ...("error" in verdict ? { error: verdict.error } : {}),
    }));
    if (answer !== undefined) this.#pauseAfter429(answer, sent, ended.at);
    // Only after the pause, so that after a 429 no other request starts in its place.
    leave(answer?.headAt ?? ended.at);
    return verdict;
  }

  #judge<T>(ask: Call<T>, route: string, started: number, ended: AttemptResult): JudgedAttempt<T> {
    const { at } = ended;
    if (ended.kind !== "answer") {
      const isStale = ended.kind === "failure" && ended.isStale;
      return { route, error: this.#errorWithoutAnswer(route, ended), at, isStale };
    }
    const { answer } = ended;
    const trip = { sent: started, received: at, date: answer.date, age: answer.age };
    this.#learn(trip);
    if (answer.status !== 200) {
      const now = serviceTimeBounds(this.#clock, at).earliest;
      const error = httpError(this.#pathOf(route), answer, now, this.#redact);
      return { route, error, hint: hintOf(answer, now), at };
    }
    try {
      const value = ask.parse(answer.text);
      return {
        exchange: {
          value,
          // If the scheduler's clock was set back meanwhile, the start lies in its future.
          sentAt: Math.min(started, at),
          observedAt: earliestAnswerTime(this.#clock, trip),
          epoch: this.#clock.epoch,
          isInDoubt: this.#clock.isContradicted,
        },
      };
    } catch (error) {
      return { route, error: this.#unreadable(error), at };
    }
  }

  /** The error of an attempt without an answer. */
  #errorWithoutAnswer(route: string, ended: Exclude<AttemptResult, { kind: "answer" }>): PairstreamError {
    const path = this.#pathOf(route);
    if (ended.kind === "timeout") {
      const { timeout } = this.#settings;
      return new TimeoutError(`GET ${path} was not answered in full within ${timeout} ms`, timeout);
    }
    if (ended.kind === "oversized") return new ContractError([], `larger than ${MAX_BODY} bytes`);
    const cause = this.#redact.cause(ended.cause);
    const reason = cause instanceof Error ? `: ${shortened(cause.message, LONGEST_REASON)}` : "";
    return new NetworkError(`GET ${path} got no answer${reason}`, { cause });
  }

  /** The error of an answer that cannot be read. What it quotes may hold the key. */
  #unreadable(error: unknown): ContractError {
    if (error instanceof ContractError)
      return this.#redact.contractError(requoted(error, this.#redact.quote));
    return new ContractError([], "cannot be read", { cause: this.#redact.cause(error) });
  }

  #learn(trip: RoundTrip): void {
    const before = this.#clock;
    this.#clock = learn(before, trip);
    const { bounds, epoch } = this.#clock;
    const jumped = epoch !== before.epoch && before.bounds !== undefined;
    const isFirstDate = bounds !== undefined && before.bounds === undefined;
    if (isFirstDate || jumped) this.spending.moveAlong();
    if (this.#isClockReported && !jumped && !isFirstDate) return;
    this.#isClockReported = true;
    this.#activity.emit(() => ({
      type: "clock",
      at: trip.received,
      source: bounds === undefined ? "scheduler" : "date",
      offset: bounds === undefined ? 0 : (bounds.low + bounds.high) / 2,
      uncertainty: bounds === undefined ? 0 : (bounds.high - bounds.low) / 2,
      jumped,
    }));
  }

  /** Stops the whole client after a 429. */
  #pauseAfter429(answer: Answer, sent: number, at: number): void {
    // A request from before the last refusal could not heed the pause: neither its refusal nor its success counts.
    const isNews = sent > this.#refusals.at;
    if (answer.status === 200 && isNews) this.#refusals = { count: 0, at: Number.NEGATIVE_INFINITY };
    if (answer.status !== 429) return;
    if (isNews) this.#refusals = { count: this.#refusals.count + 1, at };
    const pause =
      hintOf(answer, serviceTimeBounds(this.#clock, at).earliest) ||
      backOff(this.#refusals.count, this.#settings.retry);
    this.#budget.pause(at + pause);
  }

  #pathOf(route: string): string {
    return this.#redact.route(route.split("?", 1)[0]!);
  }
}

/** A route that is made as the request goes out asks for candles. */
function callKindOf(route: Call<unknown>["route"]): CallKind {
  return typeof route === "string" && /\/snipers(\?|$)/.test(route) ? "snipers" : "ohlcv";
}

/** How long a text is in UTF-8; there may be no `TextEncoder`. */
function bytesOf(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    // Two units of a surrogate pair are four bytes.
    if (unit >= 0x80) bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
  }
  return bytes;
}

/** The cost of a call; `undefined` if the answer does not name it. */
function weightOf({ header }: Answer): number | undefined {
  const told = header("x-request-weight")?.trim() ?? "";
  return /^\d+(\.\d+)?$/.test(told) ? Number(told) : undefined;
}
