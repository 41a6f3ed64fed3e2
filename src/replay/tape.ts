import * as z from "zod/mini";
import { LATEST_INSTANT } from "../contract/input.js";
import { parserError, withoutMark } from "../contract/json.js";
import { contractError } from "../contract/schemas.js";
import { InvalidInputError } from "../errors.js";

/** The version of the recorded lines. */
export const TAPE_VERSION = 1;

/** The recorded headers: all that the client reads, and the type of the body. */
export const KEPT_HEADERS = [
  "date",
  "age",
  "retry-after",
  "x-request-weight",
  "location",
  "content-length",
  "content-type",
] as const;

/** How many nested causes of a failure are recorded. */
export const DEEPEST_CAUSE = 3;
/** How many requests may have been under way when a recording ended. They have no line. */
const MOST_WITHOUT_LINE = 10_000;
/** The beginning of every line. A line that was cut off still has it. */
const BEGINNING = `{"v":${TAPE_VERSION},"request":`;

const texts = z.record(z.string(), z.string());
const instant = z.number().check(z.gte(0, "before 1970"), z.lte(LATEST_INSTANT, "after 9999"));
const count = z.int().check(z.nonnegative());

export interface TapeFailure {
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly type?: string | undefined;
  readonly cause?: TapeFailure | undefined;
}

const failure: z.ZodMiniType<TapeFailure> = z.object({
  name: z.string(),
  message: z.string(),
  code: z.optional(z.string()),
  type: z.optional(z.string()),
  get cause() {
    return z.optional(failure);
  },
});

const lateTurn = z.object({
  due: instant,
  at: instant,
  /** Whether its turn was at `at` or only later. `at` is before `due` if the machine's clock was set back. */
  hasTurn: z.boolean(),
  /** How many timers with the same due instant had had their turn, in time or later. */
  taken: count,
  /** For an arrival: its sequence number, in the order in which exchanges ended. */
  arrival: z.optional(count),
  /** How many timers with the same due instant were set before it and were still waiting. */
  ahead: count,
  /** How many exchanges had ended by then. */
  ended: count,
});

/** A timer or an arrival that was due at `due` and late. */
export type LateTurn = Readonly<z.infer<typeof lateTurn>>;

const tapeLine = z.object({
  v: z.literal(TAPE_VERSION),
  /** The number of the request, in the order of sending, from 0. */
  request: count,
  method: z.string(),
  /** Path and query; the origin is left out. */
  url: z.string(),
  requestHeaders: texts,
  /**
   * When the client decided to send it; for a late timer, the instant at which the timer was due. All instants are in
   * ms since the epoch.
   */
  asked: instant,
  sent: instant,
  /** When the headers came. */
  answered: z.optional(instant),
  status: z.optional(z.int().check(z.gte(0, "below 0"), z.lte(999, "above 999"))),
  headers: z.optional(texts),
  ended: instant,
  /** How many requests had been sent when the exchange ended. */
  asks: count,
  /**
   * `whole`: the body came; `failed`: before or after the headers, see `failure`; `timed-out`: the client gave up;
   * `left`: the caller of the client aborted.
   */
  outcome: z.enum(["whole", "failed", "timed-out", "left"]),
  body: z.optional(z.string()),
  failure: z.optional(failure),
  /** Whether the request was not sent, as the client's `apiKey` gave no key. */
  unsent: z.optional(z.boolean()),
  /** Whether a kept-alive connection was closed before the first byte of the answer. */
  stale: z.optional(z.boolean()),
  /** Timers and arrivals since the previous line whose lateness affects the session. */
  late: z.optional(z.array(lateTurn)),
});

/** One recorded exchange. */
export type TapeLine = z.infer<typeof tapeLine>;

/** The contents of a tape. */
export interface ReadTape {
  readonly lines: readonly TapeLine[];
  /**
   * The error about a last line that was cut off. That line is left out, and the replay throws this error at its end.
   */
  readonly cut: InvalidInputError | undefined;
}

/**
 * Reads the lines of a tape, in order; blank lines are skipped. The last line may be cut off, as by a recorder that was
 * killed. Throws an `InvalidInputError` that names the line for any other problem.
 */
export function readTape(lines: Iterable<string>): ReadTape {
  if (typeof lines === "string" || typeof lines?.[Symbol.iterator] !== "function") {
    const problem = typeof lines === "string" ? "is one string" : "is not iterable";
    throw new InvalidInputError("lines", "the lines written by recordExchanges", problem);
  }
  const read: TapeLine[] = [];
  const numbers: number[] = [];
  const requests = new Set<number>();
  let cut: { readonly number: number; readonly cause: InvalidInputError } | undefined;
  let number = 0;
  for (const text of lines) {
    number += 1;
    if (typeof text === "string" && text.trim() === "") continue;
    if (cut !== undefined) throw cut.cause;
    const line = readExchange(text, number);
    if (line instanceof InvalidInputError) {
      cut = { number, cause: line };
      continue;
    }
    if (requests.has(line.request))
      throw lineError(number, `repeats request ${line.request}, as a second session in one file does`);
    requests.add(line.request);
    read.push(line);
    numbers.push(number);
  }
  const most = read.length + MOST_WITHOUT_LINE;
  const absurd = read.findIndex(({ request, asks }) => request > most || asks > most);
  if (absurd >= 0)
    throw lineError(
      numbers[absurd]!,
      `has a request number that is too high for a tape of ${read.length} lines`,
    );
  return { lines: read, cut: cut && cutOff(cut.number, cut.cause) };
}

function cutOff(number: number, { cause }: InvalidInputError): InvalidInputError {
  return lineError(
    number,
    "is cut off, as if the recorder was killed while it wrote; the lines before it were replayed",
    cause,
  );
}

/** The exchange on a line; an error if the line holds only the beginning of one. */
function readExchange(text: unknown, number: number): TapeLine | InvalidInputError {
  let value: unknown;
  try {
    // No limits as for the service's answers: a tape holds those answers, even bad ones.
    value = JSON.parse(typeof text === "string" ? withoutMark(text) : String(text));
  } catch (cause) {
    const error = lineError(number, "is not JSON", parserError(cause));
    if (isBeginning(text)) return error;
    throw error;
  }
  const version = (value as { v?: unknown } | null)?.v;
  if (typeof version === "number" && version !== TAPE_VERSION) {
    throw lineError(number, `is of version ${version}, which this release cannot read`);
  }
  if (hasDeepCauses(value))
    throw lineError(number, `is not an exchange: failure: causes deeper than ${DEEPEST_CAUSE}`);
  const line = checkExchange(value, number);
  if (line.success) return line.data;
  const { path, issue, cause } = contractError(line.error);
  throw lineError(number, `is not an exchange: ${path.join(".") || "the whole"}: ${issue}`, cause);
}

/** Whether the text can be a line that was cut off while it was written. */
function isBeginning(text: unknown): boolean {
  const start = typeof text === "string" ? withoutMark(text).trimStart() : "";
  return start.startsWith(BEGINNING) || BEGINNING.startsWith(start);
}

/** Whether a failure has more nested causes than a recorder writes. */
function hasDeepCauses(value: unknown): boolean {
  let failure = (value as { failure?: unknown } | null)?.failure;
  for (let depth = 0; depth <= DEEPEST_CAUSE; depth += 1) {
    if (typeof failure !== "object" || failure === null) return false;
    failure = (failure as { cause?: unknown }).cause;
  }
  return failure !== undefined;
}

function checkExchange(value: unknown, number: number) {
  try {
    return tapeLine.safeParse(value);
  } catch (cause) {
    // Thousands of nested causes overflow the stack of the schema.
    throw lineError(number, "is not an exchange: it cannot be read", cause);
  }
}

function lineError(number: number, problem: string, cause?: unknown): InvalidInputError {
  const allowed = `the lines written by recordExchanges, of version ${TAPE_VERSION}`;
  return new InvalidInputError(`line ${number}`, allowed, problem, { cause });
}
