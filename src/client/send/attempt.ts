import type { Subscription } from "rxjs";
import { onAbort } from "../../aborts.js";
import type { Settings } from "../options.js";
import type { RoundTrip } from "../service-clock.js";
import { callAt } from "../timers.js";
import type { Redactor } from "./redact.js";
import {
  type FetchLike,
  fetchWithKey,
  isStale,
  KEY_HEADER,
  MAX_BODY,
  SESSION,
  type SessionFetch,
  type SessionRequest,
} from "./transport.js";

/** A whole answer, and its way: all instants but its `Date` are the scheduler's. */
export interface Answer extends RoundTrip {
  readonly status: number;
  readonly text: string;
  /** When its head arrived. */
  readonly headAt: number;
  readonly header: (name: string) => string | null;
}

/** Why there is no answer, and when that was clear, by the scheduler. */
export interface NoAnswer {
  readonly why: "timeout" | "oversized" | "failure";
  readonly cause?: unknown;
  /** Whether a kept connection was closed before anything had come, so that it may be sent again at once. */
  readonly isStale?: boolean;
  /** Whether it was not sent, as no key was given. */
  readonly isUnsent?: boolean | undefined;
  readonly received: number;
}

/**
 * Asks once, at once; that is at `now`. `key` gives the key where that is a function's. The attempt ends with the first
 * of these: the whole body, a failure, the timeout (even if `fetch` ignores its signal), or the caller's signal, with
 * whose reason the result rejects.
 */
export function attempt(
  { fetch, baseUrl, apiKey, scheduler, timeout }: Settings,
  redact: Redactor,
  route: string,
  now: number,
  signal: AbortSignal | undefined,
  key: SessionRequest["key"],
): { readonly sent: number; readonly result: Promise<Answer | NoAnswer> } {
  const controller = new AbortController();
  const session: SessionRequest = { scheduler, redact, key, isUnsent: key && true };
  const init = {
    method: "GET",
    // Its own, as a fetch may write to them.
    headers: { accept: "application/json", ...(typeof apiKey === "string" && { [KEY_HEADER]: apiKey }) },
    redirect: "manual",
    signal: controller.signal,
    [SESSION]: session,
  } as const;
  const outcome = ask(fetch, baseUrl + route, init, now);
  const { sent = now } = session;
  const result = new Promise<Answer | NoAnswer>((resolve, reject) => {
    let hasEnded = false;
    let arrival: Subscription | undefined;
    const end = () => {
      hasEnded = true;
      timer.unsubscribe();
      arrival?.unsubscribe();
      stay();
    };
    const leave = () => {
      end();
      reject(signal?.reason);
      controller.abort(signal?.reason);
    };
    const timer = callAt(scheduler, sent + timeout, () => {
      end();
      resolve({ why: "timeout", isUnsent: session.isUnsent, received: scheduler.now() });
      session.hasTimedOut = true;
      controller.abort();
    });
    const stay = onAbort(signal, leave);
    outcome.then((how) => {
      if (hasEnded) return;
      const take = () => {
        end();
        resolve({ ...how, received: session.received ?? scheduler.now() });
        // The rest of a body that is too large is still on its way.
        if ("why" in how && how.why === "oversized") controller.abort();
      };
      if (session.arrive) arrival = session.arrive(take);
      else take();
    });
  });
  return { sent, result };
}

/** The whole answer, or why there is none, but for when that was clear; never rejects. */
async function ask(
  fetch: FetchLike,
  url: string,
  init: Parameters<FetchLike>[1] & { readonly [SESSION]: SessionRequest },
  now: number,
): Promise<Omit<Answer, "received"> | Omit<NoAnswer, "received">> {
  let response: Response | undefined;
  try {
    // One that records or replays asks for the key itself, or has no need of it.
    const isSession = (fetch as SessionFetch)[SESSION] !== undefined;
    response = await (isSession ? fetch(url, init) : fetchWithKey(fetch, url, init));
    const { status, headers } = response;
    const { sent = now, answered, scheduler } = init[SESSION];
    const headAt = answered ?? scheduler.now();
    if (!Number.isInteger(status)) throw new TypeError("the answer has no status");
    const header = (name: string) => {
      const value: unknown = headers.get(name);
      return typeof value === "string" ? value : null;
    };
    const text = Number(header("content-length")) > MAX_BODY ? undefined : await bodyOf(response);
    if (text === undefined) return { why: "oversized" };
    const [age] = /^\d{1,9}$/.exec(header("age") ?? "") ?? [];
    const told = { date: parseHttpDate(header("date")), age: age === undefined ? undefined : Number(age) };
    return { status, text, headAt, header, sent, ...told };
  } catch (cause) {
    const { isUnsent } = init[SESSION];
    return { why: "failure", cause, isStale: response === undefined && isStale(cause), isUnsent };
  }
}

type Response = Awaited<ReturnType<FetchLike>>;

/** The body as a text; `undefined` where it is too large. The caller aborts the request if the body goes on. */
export async function bodyOf(response: Response): Promise<string | undefined> {
  const { body } = response as Response & { body?: Partial<ReadableStream<Uint8Array>> | null };
  if (typeof body?.getReader !== "function") return wholeText(response);
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let bytes = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    if (!ArrayBuffer.isView(value)) throw new TypeError("the body of the answer is not made of bytes");
    bytes += value.byteLength;
    if (bytes > MAX_BODY) return undefined;
    text += decoder.decode(value, { stream: true });
  }
}

async function wholeText(response: Response): Promise<string | undefined> {
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

/** The instant of an HTTP date, always in GMT; `undefined` for anything else. */
export function parseHttpDate(text: string | null): number | undefined {
  if (text === null || !/^[A-Za-z]{3,9},? .*\d GMT$/.test(text)) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
