/** The `name` of every error that the library throws or emits; for a `switch`. */
export type PairstreamErrorName =
  | "PairstreamError"
  | "HttpError"
  | "AuthenticationError"
  | "QuotaExceededError"
  | "RateLimitError"
  | "TimeoutError"
  | "NetworkError"
  | "ContractError"
  | "InvalidInputError"
  | "SweepError";

/** The same in every copy. */
const BRAND = Symbol.for("pairstream.error");

/**
 * The base class of all errors of the library: `catch (error) { if (isPairstreamError(error)) … }`.
 *
 * `cause` holds the underlying error, if there is one. No error holds the API key.
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
  /** The name of the class. It survives minification. */
  override readonly name: PairstreamErrorName = "PairstreamError";

  static {
    // biome-ignore lint/complexity/noThisInStatic: by its name the class would be built as `_PairstreamError`, as Node prints it.
    Object.defineProperty(this.prototype, BRAND, { value: true });
  }

  /** Its name, its message and its fields, for `JSON.stringify`. */
  toJSON(): object {
    return { ...this, message: this.message };
  }
}

/**
 * Whether an error is one of this library, also of another copy of it that is loaded beside this one, as ESM and as
 * CommonJS, where `instanceof` knows only its own. The `name` then tells which fields the error has.
 *
 * ```ts
 * import { isPairstreamError } from "pairstream";
 *
 * const waitAfter = (error: unknown): number => {
 *   if (!isPairstreamError(error)) return 0;
 *   if (error.name === "RateLimitError") return error.retryAfter ?? 1_000;
 *   return error.name === "TimeoutError" ? error.timeout : 0;
 * };
 * ```
 */
export function isPairstreamError(error: unknown): error is AnyPairstreamError {
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
    /** The first 1,000 characters of the body. Characters that a terminal would obey are escaped. */
    readonly body: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * The service refused the key: status 401, 403 or 424. A retry cannot help.
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
 * No units are left in this period: either the plan's (the service says so with a 401) or those of the client's
 * `quota`. Or a single call costs more than all of the `quota`.
 *
 * ```ts
 * import { QuotaExceededError } from "pairstream";
 *
 * const describe = ({ body, resetsAt }: QuotaExceededError) =>
 *   `${body === "" ? "the client's" : "the plan's"} units are back ${resetsAt === undefined ? "some day" : new Date(resetsAt).toISOString()}`;
 * ```
 */
export class QuotaExceededError extends PairstreamError {
  override readonly name = "QuotaExceededError";

  constructor(
    message: string,
    /**
     * The first 1,000 characters of the service's answer, as in an `HttpError`; empty if the client sent no request.
     */
    readonly body = "",
    /**
     * When units come back, by the service's clock, in ms since the epoch: of the plan as its `Retry-After` says, of the
     * client's `quota` at the next period. Absent if nobody knows.
     */
    readonly resetsAt?: number,
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
    /** How long the service asked to wait, in ms; absent if it did not say. */
    readonly retryAfter?: number,
    options?: ErrorOptions,
  ) {
    super(message, 429, body, options);
  }
}

/**
 * The answer was not complete within the client's `timeout`.
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
    /** The time limit of one attempt, in ms. */
    readonly timeout: number,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * The request got no answer: connection refused or reset, no route, unknown host. A custom `fetch` whose answer has no
 * text counts too.
 *
 * `cause` is the transport's error. If that quotes a URL, which may hold a cursor, `cause` is a plain error with the
 * same name, message and code, without the URL's query.
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
 * The answer breaks the contract: it is not JSON, a field is missing, a value is of the wrong kind, or there is too
 * much of something.
 *
 * ```ts
 * import type { ContractError } from "pairstream";
 *
 * const describe = ({ path, issue }: ContractError) => `${path.join(".")}: ${issue}`;
 * ```
 */
export class ContractError extends PairstreamError {
  override readonly name = "ContractError";

  /** The message in the answer, shortened, where it has one. */
  declare readonly said?: string;

  constructor(
    /** The path in the body, such as `["result", 3, "open"]`; empty for the body as a whole. `["Date"]` is the header's. */
    readonly path: (string | number)[],
    /** What is wrong with the value at that path. */
    readonly issue: string,
    options: ErrorOptions & { readonly said?: string | undefined } = {},
  ) {
    const { said } = options;
    const flaw = `answer breaks the contract at ${formatPath(path)}: ${issue}`;
    super(said === undefined ? `The ${flaw}` : `“${said}”: the ${flaw}`, options);
    if (said !== undefined) this.said = said;
  }
}

/**
 * An argument or option is not valid. It is thrown at the call, before any request.
 *
 * ```ts
 * import { ema, InvalidInputError } from "pairstream";
 *
 * try {
 *   ema(0.5);
 * } catch (error) {
 *   if (error instanceof InvalidInputError) console.error(`${error.parameter} must be ${error.allowed}`);
 * }
 * ```
 */
export class InvalidInputError extends PairstreamError {
  override readonly name = "InvalidInputError";

  constructor(
    /** The parameter, such as `timeframe` or `retry.attempts`. */
    readonly parameter: string,
    /** The allowed values. */
    readonly allowed: string,
    problem: string,
    options?: ErrorOptions,
  ) {
    super(`${parameter} ${problem}; allowed: ${allowed}`, options);
  }
}

/** Each error of the library under its own `name`, so that a check of the name narrows the type. */
export type AnyPairstreamError =
  | (PairstreamError & { readonly name: "PairstreamError" | "SweepError" })
  | (HttpError & { readonly name: "HttpError" })
  | AuthenticationError
  | QuotaExceededError
  | RateLimitError
  | TimeoutError
  | NetworkError
  | ContractError
  | InvalidInputError;

function formatPath(path: readonly (string | number)[]): string {
  if (path.length === 0) return "its root";
  return path.map((key, at) => (typeof key === "number" ? `[${key}]` : at === 0 ? key : `.${key}`)).join("");
}
