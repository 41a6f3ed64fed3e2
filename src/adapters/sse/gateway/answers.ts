import {
  AuthenticationError,
  HttpError,
  InvalidInputError,
  QuotaExceededError,
  RateLimitError,
  TimeoutError,
} from "../../../errors.js";
import { toWireError, type WireError } from "../../wire/error.js";
import { HistoriesSpent } from "./behind.js";

/** Why a request is not answered with what it asks for. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** What would be answered. */
    readonly allowed: string,
    /** After how many ms to ask again; absent where that cannot help. */
    readonly retryAfter?: number,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }
}

/** How long one who finds all places taken has to wait, in ms. */
export const BUSY = 10_000;

const HEADERS = { "content-type": "application/json", "x-content-type-options": "nosniff" };

export function answerOf(json: string, headers: Readonly<Record<string, string>>, status = 200): Response {
  return new Response(json, { status, headers: { ...HEADERS, ...headers } });
}

/** The answer to a request that has failed, as small JSON; it holds no more of an error than may leave the process. */
export function refusalOf(error: unknown): Response {
  const { status, body, retryAfter, headers = {} } = factsOf(error);
  const wait = retryAfter === undefined ? {} : { "retry-after": String(Math.ceil(retryAfter / 1_000)) };
  return answerOf(
    JSON.stringify({ error: body }),
    { "cache-control": "no-store", ...wait, ...headers },
    status,
  );
}

interface RefusalFacts {
  readonly status: number;
  readonly body: WireError;
  readonly retryAfter?: number | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

function factsOf(error: unknown): RefusalFacts {
  if (error instanceof Refusal) {
    const { status, message, allowed, retryAfter, headers } = error;
    const name = status === 403 ? "AuthenticationError" : status === 429 ? "RateLimitError" : "HttpError";
    const wait = retryAfter === undefined ? {} : { retryAfter };
    return { status, body: { name, message, status, allowed, ...wait }, retryAfter, headers };
  }
  const wire = toWireError(error);
  const body = error instanceof HistoriesSpent ? { ...wire, message: error.message } : wire;
  if (error instanceof InvalidInputError) return { status: 400, body };
  if (error instanceof RateLimitError) return { status: 429, body, retryAfter: error.retryAfter ?? BUSY };
  if (error instanceof QuotaExceededError) return { status: 503, body };
  if (error instanceof TimeoutError) return { status: 504, body };
  // The key that the service refuses is the gateway's own.
  if (error instanceof AuthenticationError) return { status: 502, body };
  const isUnknown = error instanceof HttpError && error.status === 404;
  return { status: isUnknown ? 404 : 502, body };
}
