/** The `name` of every error that the library throws or emits, for a `switch`. */
export type PairstreamErrorName =
  | "PairstreamError"
  | "HttpError"
  | "AuthenticationError"
  | "QuotaExceededError"
  | "RateLimitError"
  | "TimeoutError"
  | "NetworkError"
  | "ContractError"
  | "InvalidInputError";

/** The same in every copy. */
const BRAND = Symbol.for("pairstream.error");

/**
 * The root of the error tree: `catch (error) { if (isPairstreamError(error)) … }` catches all of it.
 *
 * `cause` holds the error beneath, where there is one. No error holds the API key.
 *
 * ```ts
 * import { createClient, isPairstreamError } from "pairstream";
 *
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * try {
 *   await client.sniperReport({ pairAddress: "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d" });
 * } catch (error) {
 *   if (!isPairstreamError(error)) throw error;
 *   console.error(error.name, error.message);
 * }
 * ```
 */
export class PairstreamError extends Error {
  /** The name of its class, which a minified bundle keeps too. */
  override readonly name: PairstreamErrorName = "PairstreamError";

  static {
    Object.defineProperty(PairstreamError.prototype, BRAND, { value: true });
  }
}

/**
 * Whether an error is one of this library, also of another copy of it that is loaded beside this one, as ESM and as
 * CommonJS, where `instanceof` knows only its own.
 *
 * ```ts
 * import { isPairstreamError } from "pairstream";
 *
 * const isPassing = (error: unknown) =>
 *   isPairstreamError(error) && (error.name === "TimeoutError" || error.name === "NetworkError");
 * ```
 */
export function isPairstreamError(error: unknown): error is PairstreamError {
  return typeof error === "object" && error !== null && BRAND in error;
}

/**
 * The service answered with a status other than 200.
 *
 * ```ts
 * import { HttpError } from "pairstream";
 *
 * const isUnknownPair = (error: unknown) => error instanceof HttpError && error.status === 404;
 * ```
 */
export class HttpError extends PairstreamError {
  override readonly name: "HttpError" | "AuthenticationError" | "RateLimitError" = "HttpError";

  constructor(
    message: string,
    /** The HTTP status. */
    readonly status: number,
    /** The first 1,000 characters of the body, those that a terminal would obey escaped. */
    readonly body: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * The service refused the key: status 401, 403 or 424. Retrying cannot mend it.
 *
 * ```ts
 * import { AuthenticationError, type CandleEvent } from "pairstream";
 * import { catchError, NEVER, type Observable, throwError } from "rxjs";
 *
 * const untilRefused = (events: Observable<CandleEvent>, askForKey: () => void) =>
 *   events.pipe(
 *     catchError((error) => {
 *       if (!(error instanceof AuthenticationError)) return throwError(() => error);
 *       askForKey();
 *       return NEVER;
 *     }),
 *   );
 * ```
 */
export class AuthenticationError extends HttpError {
  override readonly name = "AuthenticationError";
}

/**
 * The units of the period are spent: the plan's, as a 401 of its own wording says, or those of the client's `quota`.
 *
 * ```ts
 * import { QuotaExceededError } from "pairstream";
 *
 * const whoseUnits = (error: QuotaExceededError) => (error.body === "" ? "the client's" : "the plan's");
 * ```
 */
export class QuotaExceededError extends PairstreamError {
  override readonly name = "QuotaExceededError";

  constructor(
    message: string,
    /** The first 1,000 characters of the service's answer, as in an `HttpError`; empty where the client did not ask. */
    readonly body = "",
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * The service asked for fewer requests: status 429.
 *
 * ```ts
 * import { RateLimitError } from "pairstream";
 *
 * const pauseAfter = (error: unknown) => (error instanceof RateLimitError ? (error.retryAfter ?? 1_000) : 0);
 * ```
 */
export class RateLimitError extends HttpError {
  override readonly name = "RateLimitError";

  constructor(
    message: string,
    body: string,
    /** How long the service asked to wait, in ms; absent where it gave no hint. */
    readonly retryAfter?: number,
    options?: ErrorOptions,
  ) {
    super(message, 429, body, options);
  }
}

/**
 * No whole answer came within the client's `timeout`.
 *
 * ```ts
 * import { type Client, TimeoutError } from "pairstream";
 * import { filter } from "rxjs";
 *
 * const slowAnswers = (client: Client) =>
 *   client.activity.pipe(
 *     filter((activity) => activity.type === "response" && activity.error instanceof TimeoutError),
 *   );
 * ```
 */
export class TimeoutError extends PairstreamError {
  override readonly name = "TimeoutError";

  constructor(
    message: string,
    /** The time that one attempt had, in ms. */
    readonly timeout: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * No answer came at all: refused, reset, no route, no name, or from a `fetch` of your own none with a text. The
 * transport's error is the `cause`; where it quotes a URL, which may hold a cursor, a plain one with its name, message
 * and code.
 *
 * ```ts
 * import type { NetworkError } from "pairstream";
 *
 * const codeOf = ({ cause }: NetworkError) => (cause as { code?: string } | undefined)?.code;
 * ```
 */
export class NetworkError extends PairstreamError {
  override readonly name = "NetworkError";
}

/**
 * An answer that the contract does not allow: not JSON, a missing field, a value of the wrong kind, more of anything
 * than is read.
 *
 * ```ts
 * import type { ContractError } from "pairstream";
 *
 * const describe = ({ path, issue }: ContractError) => `${path.join(".")}: ${issue}`;
 * ```
 */
export class ContractError extends PairstreamError {
  override readonly name = "ContractError";

  constructor(
    /** Where in the body, such as `["result", 3, "open"]`; empty for the body as a whole. */
    readonly path: (string | number)[],
    /** What is wrong there. */
    readonly issue: string,
    options?: ErrorOptions,
  ) {
    super(`The answer breaks the contract at ${formatPath(path)}: ${issue}`, options);
  }
}

/**
 * A value given to the library that it cannot take; thrown at the call, before any request.
 *
 * ```ts
 * import { ema, InvalidInputError } from "pairstream";
 *
 * try {
 *   ema(0.5);
 * } catch (error) {
 *   if (error instanceof InvalidInputError) console.error(`${error.parameter} is to be ${error.allowed}`);
 * }
 * ```
 */
export class InvalidInputError extends PairstreamError {
  override readonly name = "InvalidInputError";

  constructor(
    /** The parameter, such as `timeframe` or `retry.attempts`. */
    readonly parameter: string,
    /** What is allowed there. */
    readonly allowed: string,
    problem: string,
    options?: ErrorOptions,
  ) {
    super(`${parameter} ${problem}; allowed: ${allowed}`, options);
  }
}

function formatPath(path: readonly (string | number)[]): string {
  if (path.length === 0) return "its root";
  return path.map((key, at) => (typeof key === "number" ? `[${key}]` : at === 0 ? key : `.${key}`)).join("");
}
