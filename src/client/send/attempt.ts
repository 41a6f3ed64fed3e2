import type { SchedulerLike, Subscription } from "rxjs";
import { callAt } from "../timers.js";
import { type FetchLike, isStale, MAX_BODY, SESSION, type SessionRequest } from "./transport.js";

/** How one attempt ended, and when by the scheduler. */
export type AttemptResult = { readonly at: number } & (FetchResult | { readonly kind: "timeout" });

type FetchResult =
  | { readonly kind: "answer"; readonly answer: Answer }
  | { readonly kind: "oversized" }
  | { readonly kind: "failure"; readonly cause: unknown; readonly isStale: boolean };

/** A whole answer. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  /** When its head arrived, by the scheduler. */
  readonly headAt: number;
  /** Its `Date` in ms; `undefined` without one that can be read. */
  readonly date: number | undefined;
  /** Its `Age` in seconds; `undefined` if no cache tells it. */
  readonly age: number | undefined;
  readonly header: (name: string) => string | null;
}

/** What every attempt of a client has in common. */
export interface AttemptContext {
  readonly fetch: FetchLike;
  readonly headers: Record<string, string>;
  readonly scheduler: SchedulerLike;
  readonly timeout: number;
}

/** An attempt under way: when it was sent, and how it will end. */
export interface Attempt {
  readonly sent: number;
  readonly result: Promise<AttemptResult>;
}

/**
 * Asks once, at once; that is at `now`. The attempt ends with the first of these: the whole body, a failure, the timeout
 * (even if `fetch` ignores its signal), or the caller's signal, with whose reason the result rejects.
 */
export function attempt(
  { fetch, headers, scheduler, timeout }: AttemptContext,
  url: string,
  now: number,
  signal: AbortSignal | undefined,
): Attempt {
  const controller = new AbortController();
  const session: SessionRequest = { scheduler };
  // Headers of its own, as a fetch may write to them.
  const init = {
    method: "GET",
    headers: { ...headers },
    redirect: "manual",
    signal: controller.signal,
    [SESSION]: session,
  } as const;
  const outcome = fetchAnswer(fetch, url, init, session);
  const { sent = now } = session;
  const result = new Promise<AttemptResult>((resolve, reject) => {
    let hasEnded = false;
    let arrival: Subscription | undefined;
    const end = (settle: () => void) => {
      if (hasEnded) return;
      hasEnded = true;
      timer.unsubscribe();
      arrival?.unsubscribe();
      signal?.removeEventListener("abort", leave);
      settle();
    };
    const leave = () =>
      end(() => {
        reject(signal?.reason);
        controller.abort(signal?.reason);
      });
    const timer = callAt(scheduler, sent + timeout, () =>
      end(() => {
        resolve({ kind: "timeout", at: scheduler.now() });
        session.hasTimedOut = true;
        controller.abort();
      }),
    );
    signal?.addEventListener("abort", leave, { once: true });
    outcome.then((how) => {
      const take = () =>
        end(() => {
          resolve({ ...how, at: session.received ?? scheduler.now() });
          // The rest of a body that is too large is still on its way.
          if (how.kind === "oversized") controller.abort();
        });
      if (session.arrive) arrival = session.arrive(take);
      else take();
    });
  });
  return { sent, result };
}

/** The whole answer, or why there is none; never rejects. */
async function fetchAnswer(
  fetch: FetchLike,
  url: string,
  init: Parameters<FetchLike>[1],
  session: SessionRequest,
): Promise<FetchResult> {
  let response: Response | undefined;
  try {
    response = await fetch(url, init);
    const { status, headers } = response;
    const headAt = session.answered ?? session.scheduler.now();
    if (!Number.isInteger(status)) throw new TypeError("the answer has no status");
    const header = (name: string) => {
      const value: unknown = headers.get(name);
      return typeof value === "string" ? value : null;
    };
    const isAnnouncedTooLarge = Number(header("content-length")) > MAX_BODY;
    const text = isAnnouncedTooLarge ? undefined : await bodyOf(response);
    if (text === undefined) return { kind: "oversized" };
    const date = parseHttpDate(header("date"));
    const age = /^\d{1,9}$/.exec(header("age") ?? "");
    return {
      kind: "answer",
      answer: { status, text, headAt, date, age: age ? Number(age[0]) : undefined, header },
    };
  } catch (cause) {
    return { kind: "failure", cause, isStale: response === undefined && isStale(cause) };
  }
}

type Response = Awaited<ReturnType<FetchLike>>;

/** The body as a text; `undefined` where it is too large. */
export async function bodyOf(response: Response): Promise<string | undefined> {
  const { body } = response as Response & { body?: Partial<ReadableStream<Uint8Array>> | null };
  if (typeof body?.getReader === "function") return textWithin(body.getReader());
  try {
    const text: unknown = await response.text();
    if (typeof text !== "string") throw new TypeError("the answer has no text");
    return text.length > MAX_BODY ? undefined : text;
  } catch (cause) {
    // node-fetch's word for a body beyond its option `size`.
    if ((cause as { type?: unknown } | null)?.type === "max-size") return undefined;
    throw cause;
  }
}

/** Reads a stream up to the largest body that is allowed. The caller aborts the request if the stream goes on. */
async function textWithin(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    if (!ArrayBuffer.isView(value)) throw new TypeError("the body of the answer is not made of bytes");
    bytes += value.byteLength;
    if (bytes > MAX_BODY) return undefined;
    text += decoder.decode(value, { stream: true });
  }
}

/** The instant of an HTTP date, always in GMT; `undefined` for anything else. */
export function parseHttpDate(text: string | null): number | undefined {
  if (text === null || !/^[A-Za-z]{3,9},? .*\d GMT$/.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
