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

/**
 * The root of the error tree: `catch (error) { if (error instanceof PairstreamError) … }` catches all of it.
 *
 * `cause` holds the error beneath, where there is one. No error holds the API key.
 */
export class PairstreamError extends Error {
  override readonly name: PairstreamErrorName = "PairstreamError";
}

/** The service answered with a status other than 200. */
export class HttpError extends PairstreamError {
  override readonly name: "HttpError" | "AuthenticationError" | "RateLimitError" = "HttpError";

  constructor(
    message: string,
    /** The HTTP status. */
    readonly status: number,
    /** The first 1,000 characters of the body. */
    readonly body: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The service refused the key: status 401, 403 or 424. Retrying cannot mend it. */
export class AuthenticationError extends HttpError {
  override readonly name = "AuthenticationError";
}

/** The units of the period are spent: the plan's, as a 401 of its own wording says, or those of the client's `quota`. */
export class QuotaExceededError extends PairstreamError {
  override readonly name = "QuotaExceededError";

  constructor(
    message: string,
    /** The first 1,000 characters of the service's answer; empty where the client did not ask. */
    readonly body = "",
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The service asked for fewer requests: status 429. */
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

/** No whole answer came within the client's `timeout`. */
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

/** No answer came at all: refused, reset, no route, no name; the transport's error is the `cause`. */
export class NetworkError extends PairstreamError {
  override readonly name = "NetworkError";
}

/** An answer that the contract does not allow: not JSON, a missing field, a value of the wrong kind. */
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

/** A value given to the library that it cannot take; thrown at the call, before any request. */
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
