import { parseJson } from "../../contract/json.js";
import { beginning, printableLines, shortened } from "../../contract/quote.js";
import {
  AuthenticationError,
  ContractError,
  HttpError,
  NetworkError,
  type PairstreamError,
  QuotaExceededError,
  RateLimitError,
  TimeoutError,
} from "../../errors.js";
import type { RetryRules } from "../core.js";
import { type Answer, parseHttpDate } from "./attempt.js";
import type { Redactor } from "./redact.js";

/** How much of a body an error holds, and how much of the service's message its own message holds. */
const LONGEST_BODY = 1_000;
const LONGEST_MESSAGE = 300;
/** The longest body in which a message is looked for. */
const LONGEST_TOLD = 65_536;
/** The longest wait that a service can ask for, in ms; more counts as a mistake. */
const LONGEST_HINT = 3_600_000;
/** The longest period of a plan, in ms: a year. */
const LONGEST_PERIOD = 366 * 86_400_000;

/** The error for an answer with another status than 200. */
export function httpError(
  path: string,
  answer: Answer,
  now: number,
  redact: Redactor,
): HttpError | QuotaExceededError {
  const { status } = answer;
  const text = redact.body(answer.text.slice(0, LONGEST_TOLD));
  const said = answer.text.length > LONGEST_TOLD ? "" : messageIn(text);
  const body = beginning(
    printableLines(redact.quote(beginning(text, LONGEST_BODY), LONGEST_BODY)),
    LONGEST_BODY,
  );
  const shown = (told: string) => shortened(redact.quote(told, LONGEST_TOLD), LONGEST_MESSAGE);
  const answered = `GET ${path} was answered with status ${status}`;
  // A call for snipers takes no network.
  const isUnplaced = status === 404 && path.endsWith("/snipers");
  const advised = isUnplaced ? "pairAddress and baseUrl" : ADVICE[status];
  const advice = advised === undefined ? "" : `; check ${advised}`;
  // A browser shows a redirect as status 0, and hides the rest.
  if (status === 0 || (status >= 300 && status < 400)) {
    const target = answer.header("location");
    const where = target === null ? "" : ` to ${shown(target)}`;
    return new HttpError(
      `${answered}, a redirect${where}, not followed, as the API key would go there: set baseUrl to it if you trust it`,
      status,
      body,
    );
  }
  const message = said === "" ? `${answered}, without a message` : `“${shown(said)}”: ${answered}`;
  if (status === 429) {
    const hint = hintOf(answer, now);
    const wait = hint === undefined ? "" : `; it asks to wait ${Math.ceil(hint / 1_000)} s`;
    return new RateLimitError(message + advice + wait, body, hint);
  }
  if (status === 401 && SPENT_QUOTA.test(said || body))
    return new QuotaExceededError(`${message}; check ${ADVICE[402]}`, body, resetOf(answer, now));
  if (status === 401 || status === 403 || status === 424)
    return new AuthenticationError(message + advice, status, body);
  return new HttpError(message + advice, status, body);
}

/** What to check, by status. */
const ADVICE: Readonly<Record<number, string>> = {
  401: "apiKey",
  402: "what the plan of the key includes",
  403: "apiKey, and what its plan includes",
  404: "pairAddress, network and baseUrl",
  410: "baseUrl",
  424: "apiKey",
  429: "rateLimit",
};
const SPENT_QUOTA = /usage has been consumed|quota/i;

/** The `message` of an error's body, a text or several, or what a gateway has in its place; empty without one. */
function messageIn(text: string): string {
  try {
    const { message, error, detail } = parseJson(text) as { readonly [name: string]: unknown };
    const parts = [message ?? error ?? detail].flat();
    return parts.filter((part) => typeof part === "string").join("; ");
  } catch {
    return "";
  }
}

/**
 * How long the service asks to wait before the next request, in ms, at most an hour; `undefined` if it does not say.
 * `now`: the service's earliest time.
 */
export function hintOf(answer: Answer, now: number): number | undefined {
  if (answer.status !== 429 && answer.status !== 503) return undefined;
  const wait = waitOf(answer, now);
  return wait === undefined ? undefined : Math.min(wait, LONGEST_HINT);
}

/** When the service says that units come back, by its clock; `undefined` if it does not say, or names a time after years. */
function resetOf(answer: Answer, now: number): number | undefined {
  const wait = waitOf(answer, now);
  return wait === undefined || wait > LONGEST_PERIOD ? undefined : now + wait;
}

/** What `Retry-After` says, in ms, at least 0. */
function waitOf({ header, date = 0 }: Answer, now: number): number | undefined {
  const text = header("retry-after")?.trim() ?? "";
  const wait = /^\d+(\.\d+)?$/.test(text)
    ? Number(text) * 1_000
    : // One `Date` alone may be wrong.
      (parseHttpDate(text) ?? Number.NaN) - Math.max(date, now);
  return Number.isNaN(wait) ? undefined : Math.max(0, wait);
}

/** The wait after the `count`th failure in a row, in ms. */
export function backOff(count: number, { baseDelay, maxDelay }: RetryRules): number {
  return Math.min(baseDelay * 2 ** (count - 1), maxDelay);
}

/**
 * How long to wait before the next attempt, in ms. `undefined`: there is none, because it cannot help, because enough were
 * made, or because the service asks for a longer wait than the rules allow.
 */
export function delayAfter(
  attempt: number,
  error: PairstreamError,
  hint: number | undefined,
  rules: RetryRules,
): number | undefined {
  const isWorthIt = attempt < rules.attempts && (hint ?? 0) <= rules.maxDelay && isTransient(error);
  if (!isWorthIt) return undefined;
  return Math.max(backOff(attempt, rules), hint ?? 0);
}

function isTransient(error: PairstreamError): boolean {
  if (error instanceof HttpError) return error.status >= 500 || TRANSIENT.has(error.status);
  return error instanceof NetworkError || error instanceof TimeoutError || error instanceof ContractError;
}

const TRANSIENT: ReadonlySet<number> = new Set([408, 425, 429]);
