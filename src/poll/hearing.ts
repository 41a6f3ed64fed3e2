import type { CallNews } from "../client/core.js";
import type { PairstreamError } from "../errors.js";

/** How long a part that has begun has to be in trouble before that is said, and good answers that show nothing, in ms. */
const PATIENCE = 60_000;
/** The same of a pair that has shown some before, in ms: many trade now and then. */
const QUIET = 300_000;
/** The time between two messages about rows that were left out, in ms. */
const ROWS_APART = 3_600_000;
/** A longer wait is said as an instant. */
const LONG_WAIT = 120_000;

/** How long a part that has not begun may ask without an answer, in ms, and what is said then. */
const SILENCE = 10_000;
const UNANSWERED = "no answer for 10 s; after the client's timeout it asks again";
/** What the answers of a stream show. */
type Shown = "swaps" | "snipers";
/** Why good answers do not do. */
const BEHIND = { swaps: "no answer shows all that has settled", snipers: "every report is old" };
/** `newest`: the start of the newest candle that an answer has shown; one from before what is wanted is none. */
const blank = (what: Shown, newest: number | undefined) =>
  newest === undefined
    ? `good answers for a minute, but no ${what} seen; is it the pair's address?`
    : `no ${what} for 5 minutes; the last ones are of ${new Date(newest).toISOString()}`;
const ASKS_ON = "it goes on asking";
const MAY_END = "; after a minute of such answers it ends: whenMissing can say to wait";

/** What is heard of a part of a stream: of its poll, or of the history of one who watches it. */
export type Happening =
  | CallNews
  /**
   * All attempts have failed. It asks again after `again` ms, or ends where that is absent. `mayEnd`: whether it ends for
   * somebody once there are more of the kind.
   */
  | {
      readonly type: "failure";
      readonly error: PairstreamError;
      readonly failures: number;
      readonly again?: number;
      readonly mayEnd?: boolean;
    }
  /** There is no answer, and there should be one by now. */
  | { readonly type: "late" }
  /**
   * An answer was taken in. `isLate`: not all that has settled is known yet, maybe because of `error`. `hasShown`: whether
   * a candle has shown, or a sniper; absent where that says nothing.
   */
  | {
      readonly type: "page";
      readonly isLate?: boolean;
      readonly error?: PairstreamError | undefined;
      readonly hasShown?: boolean | undefined;
      /** The start of the newest candle that is known; it may be from before what is wanted. */
      readonly newest?: number | undefined;
    }
  /** Rows were left out for good. */
  | { readonly type: "dropped"; readonly rows: number; readonly error: PairstreamError };

/** Something to say, once an instant has come. */
export interface Due {
  readonly at: number;
  readonly text: string;
  readonly error?: PairstreamError | undefined;
  /** Failures in a row, with what is under way; 0 where there are none. */
  readonly failures: number;
  /** Takes note that it is said. */
  readonly said: (now: number) => void;
}

interface Failure {
  /** When the first one came. */
  readonly since: number;
  readonly error: PairstreamError | undefined;
  readonly failures: number;
  /** What happens next. */
  readonly next: string;
  readonly isLast: boolean;
}

/** A part of a stream. */
export interface Part {
  hasBegun: boolean;
  /** Since when a request is under way, with attempts that have failed. */
  askedAt: number | undefined;
  /** The last failure, until all is well. */
  failure: Failure | undefined;
}

const NOW = -Infinity;
const NEVER = Infinity;

/**
 * What to say of a stream that is in trouble, and when: once a trouble, and once when that is over. A part that has not
 * begun is in trouble with its first attempt that fails, or when no answer comes. Later a minute of trouble counts.
 */
export class Hearing {
  readonly #what: Shown;
  #parts: readonly Part[] = [];
  /** What was said of the present trouble. */
  #told: "silence" | "failure" | undefined;
  /** Since when good answers show nothing; `NEVER` once something has shown, or that was said. */
  #blankSince: number | undefined;
  /** What is to be said of that, and when. */
  #blank: Pick<Due, "at" | "text"> | undefined;
  #dropped = { rows: 0, toldAt: NOW, error: undefined as PairstreamError | undefined };

  /** `what`: of what the stream tells. */
  constructor(what: Shown) {
    this.#what = what;
  }

  join(): Part {
    const part: Part = { hasBegun: false, askedAt: undefined, failure: undefined };
    this.#parts = this.#parts.concat(part);
    return part;
  }

  /** Its trouble is no longer one of the stream. */
  leave(part: Part): void {
    this.#parts = this.#parts.filter((each) => each !== part);
    if (this.#isWell) this.#told = undefined;
  }

  hear(part: Part, what: Happening, now: number): void {
    const { failure, hasBegun } = part;
    const fail = (again?: number, error?: PairstreamError, failures = 1, isLast = false) => {
      const mayEnd = what.type === "failure" && what.mayEnd === true;
      const then = again === undefined ? ASKS_ON : asksAgain(again, now) + (mayEnd ? MAY_END : "");
      const next = isLast ? "the stream ends" : then;
      part.failure = { since: failure?.since ?? now, error, failures, next, isLast };
    };
    if (what.type === "sent") {
      part.askedAt ??= now;
    } else if (what.type === "answer") {
      part.askedAt = undefined;
    } else if (what.type === "dropped") {
      const { rows, toldAt } = this.#dropped;
      this.#dropped = { rows: rows + what.rows, toldAt, error: what.error };
    } else if (what.type === "failure") {
      const { error, failures, again } = what;
      fail(again, error, failures, again === undefined);
    } else if (what.type === "page") {
      part.hasBegun = true;
      const { isLate, error, hasShown, newest } = what;
      if (hasShown) this.#endBlank();
      else if (hasShown === false) {
        // Only good answers in a row say that nothing shows, and that a pair is quiet only one after so long. `NEVER` stays.
        const since = Math.max(this.#blankSince ?? now, failure ? now : NOW);
        const isSaid = newest === undefined || now >= since + QUIET;
        this.#blankSince = since;
        this.#blank = isSaid ? { at: since + PATIENCE, text: blank(this.#what, newest) } : undefined;
      }
      if (!isLate) part.failure = undefined;
      else if (failure === undefined) fail(undefined, error);
    } else if (failure !== undefined) return;
    else if (what.type === "late") {
      if (hasBegun) fail();
    } else if (!hasBegun) fail(what.again, what.error);
  }

  /** The first thing that is to be said, unless something happens before. */
  get next(): Due | undefined {
    let next: Due | undefined;
    const offer = (due: Due | undefined) => {
      if (due !== undefined && !(next !== undefined && next.at <= due.at)) next = due;
    };
    for (const part of this.#parts) {
      offer(part.failure === undefined ? this.#silence(part) : this.#trouble(part, part.failure));
    }
    const { rows, toldAt, error } = this.#dropped;
    if (rows > 0) {
      const text = `${rows} ${rows === 1 ? "row" : "rows"} left out that cannot be read: ${error!.message}`;
      const said = (now: number) => {
        this.#dropped = { rows: 0, toldAt: now, error };
      };
      offer({ at: toldAt + ROWS_APART, text, error, failures: 0, said });
    }
    if (!this.#isWell) return next;
    if (this.#told !== undefined) {
      const said = () => {
        this.#told = undefined;
      };
      offer({ at: NOW, text: "well again", failures: 0, said });
    }
    if (this.#blank !== undefined) offer({ ...this.#blank, failures: 0, said: () => this.#endBlank() });
    return next;
  }

  #endBlank(): void {
    this.#blankSince = NEVER;
    this.#blank = undefined;
  }

  get #isWell(): boolean {
    const isSilent = this.#told === "silence";
    return this.#parts.every(({ failure, hasBegun }) => failure === undefined && (hasBegun || !isSilent));
  }

  #silence({ hasBegun, askedAt }: Part): Due | undefined {
    if (hasBegun || askedAt === undefined || this.#told !== undefined) return undefined;
    const said = () => {
      this.#told = "silence";
    };
    return { at: askedAt + SILENCE, text: UNANSWERED, failures: 1, said };
  }

  #trouble(part: Part, failure: Failure): Due | undefined {
    const { since, error, failures, next, isLast } = failure;
    const isOpen = part.hasBegun || error?.name === "TimeoutError" ? undefined : "silence";
    // That nothing comes may be said already, but not why.
    if (this.#told !== undefined && this.#told !== isOpen && !isLast) return undefined;
    const how = isLast ? "" : part.hasBegun ? "in trouble for a minute: " : "nothing has come yet: ";
    const text = `${how}${error?.message ?? BEHIND[this.#what]}; ${next}`;
    const said = () => {
      this.#told = "failure";
      part.failure = { ...failure, isLast: false };
    };
    return { at: part.hasBegun && !isLast ? since + PATIENCE : NOW, text, error, failures, said };
  }
}

function asksAgain(wait: number, now: number): string {
  if (wait <= 0) return "it asks again at once";
  if (wait > LONG_WAIT) return `it asks again at ${new Date(now + wait).toISOString().slice(0, 19)}Z`;
  return `it asks again in ${wait < 1_000 ? Math.ceil(wait / 100) / 10 : Math.round(wait / 1_000)} s`;
}
