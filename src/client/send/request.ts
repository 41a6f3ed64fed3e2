import { reasonsOf } from "../../contract/quote.js";
import {
  type AnyPairstreamError,
  ContractError,
  NetworkError,
  QuotaExceededError,
  TimeoutError,
} from "../../errors.js";
import type { ActivityFeed } from "../activity.js";
import { earliestAnswerTime } from "../answer-time.js";
import type { Call, CallResult, Starter } from "../core.js";
import { Budget } from "../limits/budget.js";
import type { CallKind } from "../limits/quota.js";
import { Spending } from "../limits/spending.js";
import type { Settings } from "../options.js";
import {
  boundsOf,
  earliestTime,
  isContradicted,
  latestTime,
  learn,
  type RoundTrip,
  type ServiceClock,
  unanswered,
  unknownClock,
} from "../service-clock.js";
import { sleepUntil } from "../timers.js";
import { CLOCK_SLACK, clockText, overloadText, shortageText } from "../warn.js";
import { type Answer, attempt as attemptOnce, type NoAnswer } from "./attempt.js";
import { backOff, delayAfter, hintOf, httpError } from "./failure.js";
import type { Keys } from "./keys.js";
import type { Redactor } from "./redact.js";
import { MAX_BODY } from "./transport.js";

/** How often to ask until another answer confirms a first `Date` that is far from the scheduler's clock. */
const CLOCK_READS = 3;
/** How often a call is sent again at once: several kept connections can be closed at the same time. */
const MOST_RESENDS = 3;

/** Why an attempt has brought nothing. */
interface Failure {
  readonly route: string;
  readonly error: AnyPairstreamError;
  readonly hint?: number | undefined;
  readonly at: number;
  /** Whether it may be sent again at once. */
  readonly isStale?: boolean | undefined;
  /** The number of its key, where that is a function's. */
  readonly key?: number | undefined;
}

/** Sends all calls of a client, within its budget and with retries, and learns the service's clock from the answers. */
export class Sender {
  readonly #budget: Budget;
  readonly spending: Spending;
  /** Every answer teaches it. */
  clock: ServiceClock = unknownClock;
  /** Answers 429 with no good one between them, and when the last of them came. */
  #refusals = { count: 0, at: -Infinity };

  constructor(
    private readonly settings: Settings,
    private readonly activity: ActivityFeed,
    private readonly redact: Redactor,
    private readonly keys: Keys | undefined,
    private readonly say: (text: string) => void,
  ) {
    const { scheduler, rateLimit, quota } = settings;
    this.#budget = new Budget(
      scheduler,
      rateLimit,
      (told) => activity.emit(() => ({ type: "throttled", at: scheduler.now(), ...told })),
      (what, waiting) => say(overloadText(rateLimit, what, waiting)),
      // As where an answer asks for a longer wait than the rules allow.
      settings.retry.maxDelay,
    );
    const serviceNow = () => {
      const now = scheduler.now();
      return { earliest: earliestTime(this.clock, now), latest: latestTime(this.clock, now) };
    };
    let isShort = false;
    this.spending = new Spending(quota, serviceNow, (told) => {
      activity.emit(() => ({ type: "quota", at: scheduler.now(), ...told }));
      // Where none is left at all, each stream says so itself.
      if (isShort || told.close === 1 || told.close === Infinity) return;
      isShort = true;
      say(shortageText(told, this.spending.hasDemand("ohlcv")));
    });
  }

  async send<T>(ask: Call<T>): Promise<CallResult<T>> {
    const { scheduler, retry } = this.settings;
    const whole: Starter = (priority, signal, begin) => this.#budget.start(priority, signal, begin);
    const start = ask.within?.within(whole) ?? whole;
    let attempt = 1;
    let resends = 0;
    let isRenewed = false;
    let refused: number | undefined;
    let answer: CallResult<T> | undefined;
    for (let answers = 0; ; ) {
      this.spending.check(callKindOf(ask.route));
      const came = await start(ask.priority, ask.signal, (now, end) =>
        this.#attempt(ask, attempt, now, end, refused),
      );
      refused = undefined;
      if ("value" in came) {
        answers += 1;
        answer = came;
        ask.tell?.({ type: "answer" });
        if (!ask.needsClock || this.clock.isConfirmed || answers >= CLOCK_READS) return came;
        attempt = 1;
        resends = 0;
        continue;
      }
      const { route, error, hint, at, isStale, key } = came;
      // A key may have run out: another one is asked for once.
      if (!isRenewed && isKeyRefused(error)) refused = key;
      isRenewed ||= refused !== undefined;
      const isResent = refused !== undefined || (isStale === true && resends < MOST_RESENDS);
      const delay = isResent ? 0 : delayAfter(attempt, error, hint, retry);
      if (delay === undefined) {
        // Only the clock is not certain.
        if (answer !== undefined) return answer;
        throw error;
      }
      this.activity.emit(() => ({ type: "retry", at, url: route, attempt, delay, error }));
      if (refused !== undefined) continue;
      if (isResent) resends += 1;
      else {
        attempt += 1;
        ask.tell?.({ type: "attempt", error, again: delay });
        await sleepUntil(scheduler, at + delay, ask.signal);
      }
    }
  }

  /** One attempt, from the request to what follows from its end. */
  #attempt<T>(
    ask: Call<T>,
    attempt: number,
    now: number,
    end: (at: number) => void,
    refused: number | undefined,
  ): Promise<CallResult<T> | Failure> {
    const { priority, signal } = ask;
    const kind = callKindOf(ask.route);
    const route = typeof ask.route === "string" ? ask.route : ask.route(now);
    // Others may have spent the rest while this call waited for its turn.
    this.spending.check(kind);
    const settle = this.spending.charge(kind);
    const turn = this.keys?.next(refused, () => this.#budget.pausedFor > 0);
    const { sent, result } = attemptOnce(this.settings, this.redact, route, now, signal, turn?.key);
    const leave = (at: number) => {
      turn?.end();
      end(at);
    };
    this.activity.emit(() => ({ type: "request", at: sent, url: route, attempt, priority }));
    ask.tell?.({ type: "sent" });
    const take = (ended: Answer | NoAnswer) => {
      const { received } = ended;
      const answer = "why" in ended ? undefined : ended;
      // What was not sent costs nothing.
      const told = answer ? weightOf(answer) : (ended as NoAnswer).isUnsent ? 0 : undefined;
      const weight = settle(told, answer?.status === 200);
      const came = answer ? this.#read(ask, route, answer) : this.#failed(route, sent, ended as NoAnswer);
      const error = "error" in came ? { error: came.error } : {};
      if (error.error instanceof QuotaExceededError) this.spending.exhaust();
      this.activity.emit(() => ({
        type: "response",
        at: received,
        url: route,
        attempt,
        duration: received - sent,
        // A tape holds the body without the key, and its replay has to tell the same.
        ...(answer && { status: answer.status, weight, bytes: bytesOf(this.redact.body(answer.text)) }),
        ...error,
      }));
      if (answer) this.#pauseAfter429(answer);
      // Only after the pause, so that after a 429 no other request starts in its place.
      leave(answer?.headAt ?? received);
      return turn && "error" in came ? { ...came, key: turn.number } : came;
    };
    return result.then(take, (reason) => {
      settle(undefined, false);
      leave(this.settings.scheduler.now());
      throw reason;
    });
  }

  /** What an answer means for its call. */
  #read<T>(ask: Call<T>, route: string, answer: Answer): CallResult<T> | Failure {
    const { status, text, received: at } = answer;
    const trip = { ...answer, question: questionOf(route) };
    this.#learn(trip);
    const clock = this.clock;
    if (status !== 200) {
      const now = earliestTime(clock, at);
      const error = httpError(this.#pathOf(route), answer, now, this.redact);
      return { route, error, hint: hintOf(answer, now), at };
    }
    try {
      return {
        value: ask.parse(text, this.redact.quote),
        observedAt: earliestAnswerTime(clock, trip),
        epoch: clock.epoch,
        isInDoubt: isContradicted(clock),
      };
    } catch (thrown) {
      const error =
        thrown instanceof ContractError
          ? this.redact.contractError(thrown)
          : new ContractError([], "cannot be read", { cause: this.redact.cause(thrown) });
      return { route, error, at };
    }
  }

  #failed(
    route: string,
    sent: number,
    { why, cause: thrown, isStale, isUnsent, received: at }: NoAnswer,
  ): Failure {
    const { timeout } = this.settings;
    if (!isStale) this.clock = unanswered(this.clock, sent, questionOf(route));
    const cause = this.redact.cause(thrown);
    const asked = (problem: string) =>
      `GET ${this.#pathOf(route)} ${isUnsent ? "was not sent, as apiKey() gave no key" : problem}`;
    const errors = {
      oversized: () => new ContractError([], `larger than ${MAX_BODY} bytes`),
      timeout: () =>
        new TimeoutError(
          `${asked("was not answered in full")} within ${timeout} ms, the client's timeout`,
          timeout,
        ),
      failure: () => new NetworkError(asked("got no answer") + reasonsOf(cause), { cause }),
    };
    return { route, error: errors[why](), at, isStale };
  }

  #learn(trip: RoundTrip): void {
    const before = this.clock;
    this.clock = learn(before, trip);
    const { answers, epoch, isConfirmed } = this.clock;
    const { low, high } = boundsOf(this.clock);
    const offset = (low + high) / 2;
    const isNews = epoch !== before.epoch;
    // One `Date` alone may be wrong.
    const isSure = isConfirmed && (isNews || !before.isConfirmed);
    if (isSure && Math.abs(offset) > CLOCK_SLACK) this.say(clockText(offset));
    if (isNews) this.spending.moveAlong();
    // The first answer tells by which clock the client goes, even if it has no `Date`.
    if (!isNews && (answers > 0 || before.isConfirmed)) return;
    this.activity.emit(() => ({
      type: "clock",
      at: trip.received,
      source: answers === 0 ? "scheduler" : "date",
      offset,
      uncertainty: (high - low) / 2,
      jumped: isNews && before.answers > 0,
    }));
  }

  /** Stops the whole client after a 429. */
  #pauseAfter429(answer: Answer): void {
    const { status, sent, received: at } = answer;
    // A request from before the last refusal could not heed the pause: neither its refusal nor its success counts.
    const isNews = sent > this.#refusals.at;
    if (status === 200 && isNews) this.#refusals = { count: 0, at: -Infinity };
    if (status !== 429) return;
    if (isNews) {
      this.#refusals = { count: this.#refusals.count + 1, at };
      this.#budget.slowDown();
    }
    const pause =
      hintOf(answer, earliestTime(this.clock, at)) || backOff(this.#refusals.count, this.settings.retry);
    this.#budget.pause(at + pause);
  }

  #pathOf(route: string): string {
    return this.redact.route(route.split("?", 1)[0]!);
  }
}

/** What a route asks for, whichever page of it. */
function questionOf(route: string): string {
  return route.split("&cursor=", 1)[0]!;
}

function isKeyRefused(error: AnyPairstreamError): boolean {
  return error.name === "AuthenticationError" && error.status === 401;
}

/** A route that is made as the request goes out asks for candles. */
function callKindOf(route: Call<unknown>["route"]): CallKind {
  return typeof route === "string" && /\/snipers(\?|$)/.test(route) ? "snipers" : "ohlcv";
}

/** How long a text is in UTF-8; there may be no `TextEncoder`. A surrogate pair is four bytes. */
function bytesOf(text: string): number {
  const padded = text.replace(/[\u0800-\ud7ff\ue000-\uffff]/g, "---").replace(/[^\0-\x7f]/g, "--");
  return padded.length;
}

/** The cost of a call; `undefined` if the answer does not name it. */
function weightOf({ header }: Answer): number | undefined {
  const told = header("x-request-weight")?.trim() ?? "";
  return /^\d+(\.\d+)?$/.test(told) ? Number(told) : undefined;
}
