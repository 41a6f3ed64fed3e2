import type { FetchLike } from "../../src/index.js";

/** One request as the network saw it; times are of the run's own clock, which nobody sets and which never sleeps. */
export interface Exchange {
  readonly id: number;
  readonly url: string;
  readonly sent: number;
  /** When it reached the service, or a fault before it; the run's clock. */
  arrived: number | undefined;
  readonly signal: AbortSignal | undefined;
  /** When the service answered, by its clock, and when its answer was here. */
  answeredAt: number | undefined;
  /** How old the answer was when a cache gave it, ms; 0 where it was made then. */
  old: number;
  /** How far ahead of the service's clock that of the machine is which made the answer, ms. */
  ahead: number;
  /** How much older than the answer that is which it tells, as the replica that made it lags, ms. */
  lag: number;
  /** Whether it came from a cache that does not tell how old it is, but for its old `Date`. */
  hidesAge: boolean;
  received: number | undefined;
  /** When its whole answer was here, or it failed or was given up; the run's clock. */
  endedAt: number | undefined;
  /** What arrived, faults included. */
  status: number | undefined;
  headers: { readonly date: number | undefined; readonly retryAfter: string | undefined };
  body: string | undefined;
  /** What went wrong with it on the way. */
  faults: readonly string[];
  outcome: "pending" | "answered" | "failed" | "aborted";
  /** As the client's `activity` tells it. */
  priority: string | undefined;
  attempt: number | undefined;
  /** Set where the client has told of its end: how many such it had told of before, and whether it could use the answer. */
  told: { readonly order: number; readonly isGood: boolean; readonly error: unknown } | undefined;
}

/** Whether the answer told another time than its machine's. */
export function hasFalseDate({ faults }: Pick<Exchange, "faults">): boolean {
  return faults.some((fault) => fault.endsWith("Date"));
}

export type Fetch = FetchLike;
export type Answer = Awaited<ReturnType<FetchLike>>;
export type Init = Parameters<FetchLike>[1];

/** An answer of one's own. */
export function answerOf(
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return { status, headers: { get: (name) => headers[name.toLowerCase()] ?? null }, text: async () => body };
}

/** The same answer with some headers said otherwise; `null` takes one away. */
export function withHeaders(answer: Answer, headers: Readonly<Record<string, string | null>>): Answer {
  const get = (name: string) => {
    const own = headers[name.toLowerCase()];
    return own === undefined ? answer.headers.get(name) : own;
  };
  return { status: answer.status, headers: { get }, text: () => answer.text() };
}
