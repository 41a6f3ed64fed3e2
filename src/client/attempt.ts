import type { SchedulerLike, Subscription } from "rxjs";
import { callAt } from "./schedule.js";
import { type ArrivalScheduler, type FetchLike, MAX_BODY, TRIP_TIMES, type TripTimes } from "./transport.js";

/** How one attempt ended, and when by the scheduler. */
export type Ending = { readonly at: number } & (
  | { readonly kind: "answer"; readonly answer: Answer }
  | { readonly kind: "timeout" }
  | { readonly kind: "oversized" }
  | { readonly kind: "failure"; readonly cause: unknown }
);

/** A whole answer. */
export interface Answer {
  readonly status: number;
  readonly text: string;
  /** In ms; `undefined` where there is none that can be read. */
  readonly date: number | undefined;
  readonly header: (name: string) => string | null;
}

/** What every attempt of a client has in common. */
export interface Means {
  readonly fetch: FetchLike;
  readonly headers: Record<string, string>;
  readonly scheduler: SchedulerLike | ArrivalScheduler;
  readonly timeout: number;
}

/** An attempt under way: when it was sent, and how it will end. */
export interface Attempt {
  readonly sent: number;
  readonly ending: Promise<Ending>;
}

/**
 * Asks once, at once, which is at `now`. The first of these decides how it ends: the whole body, a failure, the
 * timeout (which does not rely on `fetch` heeding its signal), or the caller's signal, with whose reason it rejects.
 */
export function attempt(
  { fetch, headers, scheduler, timeout }: Means,
  url: string,
  now: number,
  signal: AbortSignal | undefined,
): Attempt {
  const controller = new AbortController();
  const times: TripTimes = {};
  // Headers of its own, as a fetch may write to them.
  const init = {
    method: "GET",
    headers: { ...headers },
    redirect: "manual",
    signal: controller.signal,
    [TRIP_TIMES]: times,
  } as const;
  const answering = exchange(fetch, url, init);
  const sent = times.sent ?? now;
  const ending = new Promise<Ending>((resolve, reject) => {
    let hasEnded = false;
    let arrival: Subscription | undefined;
    const end = (): boolean => {
      if (hasEnded) return false;
      hasEnded = true;
      timer.unsubscribe();
      arrival?.unsubscribe();
      signal?.removeEventListener("abort", leave);
      return true;
    };
    const leave = () => {
      if (!end()) return;
      reject(signal?.reason);
      controller.abort(signal?.reason);
    };
    const timer = callAt(scheduler, sent + timeout, () => {
      if (!end()) return;
      resolve({ kind: "timeout", at: scheduler.now() });
      times.hasTimedOut = true;
      controller.abort();
    });
    signal?.addEventListener("abort", leave, { once: true });
    const arrive = (work: (at: number) => void) => {
      if (hasEnded) return;
      const at = times.received ?? scheduler.now();
      const take = () => {
        if (end()) work(at);
      };
      if ("arrive" in scheduler) arrival = scheduler.arrive(at, take);
      else take();
    };
    answering.then(
      (answer) =>
        arrive((at) => {
          if (answer !== undefined) {
            resolve({ kind: "answer", at, answer });
            return;
          }
          resolve({ kind: "oversized", at });
          // What is left of the body is still on its way.
          controller.abort();
        }),
      (cause: unknown) => arrive((at) => resolve({ kind: "failure", at, cause })),
    );
  });
  return { sent, ending };
}

/** The whole answer; `undefined` where its body is too large. */
async function exchange(
  fetch: FetchLike,
  url: string,
  init: Parameters<FetchLike>[1],
): Promise<Answer | undefined> {
  const response = await fetch(url, init);
  const { status, headers } = response;
  const header = (name: string) => headers.get(name);
  if (Number(header("content-length")) > MAX_BODY) return undefined;
  const text = await bodyOf(response);
  if (text === undefined) return undefined;
  return { status, text, date: parseHttpDate(header("date")), header };
}

type Response = Awaited<ReturnType<FetchLike>>;

/** The body as a text; `undefined` where it is too large. */
export async function bodyOf(response: Response): Promise<string | undefined> {
  const { body } = response as Response & { body?: Partial<ReadableStream<Uint8Array>> | null };
  if (typeof body?.getReader === "function") return textWithin(body.getReader());
  try {
    const text = await response.text();
    return text.length > MAX_BODY ? undefined : text;
  } catch (cause) {
    // node-fetch's word for a body beyond its option `size`.
    if ((cause as { type?: unknown } | null)?.type === "max-size") return undefined;
    throw cause;
  }
}

/** Reads a stream no further than a body may be large; who ends early aborts the request. */
async function textWithin(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
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
