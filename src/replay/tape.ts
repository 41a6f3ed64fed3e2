import * as z from "zod/mini";
import { printableCause, withoutMark } from "../contract/json.js";
import { contractError } from "../contract/schema-error.js";
import { InvalidInputError } from "../errors.js";

/** The version of the lines that are written here. */
export const TAPE_VERSION = 1;

/** What an answer's headers are kept of: all that the client reads, and the type of the body. */
export const KEPT_HEADERS = [
  "date",
  "age",
  "retry-after",
  "x-request-weight",
  "location",
  "content-length",
  "content-type",
] as const;

/** How deep in a failure its causes are kept. */
export const DEEPEST_CAUSE = 3;
/** The last instant that a tape can tell of, which is the last of a four-digit year. */
const LATEST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);
/** So many requests can have been under way when a recording ended, and have no line. */
const MOST_WITHOUT_LINE = 10_000;
/** What each line begins with: one that was cut off is known by it. */
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
  /** Whether it had its turn at `at` (before `due` where the machine's clock was set back), or only after that. */
  hasTurn: z.boolean(),
  /** How many timers due at the same instant had had theirs, in time or later. */
  taken: count,
  /** Of an arrival: the how-manieth it was, as exchanges ended. */
  arrival: z.optional(count),
  /** How many due at the same instant were set before it, and had not had theirs. */
  ahead: count,
  /** How many exchanges had ended by then. */
  ended: count,
});

/** What was due at `due`, a timer or an arrival, and late. */
export type LateTurn = Readonly<z.infer<typeof lateTurn>>;

const tapeLine = z.object({
  v: z.literal(TAPE_VERSION),
  /** Counts the requests in the order in which they were sent, from 0. */
  request: count,
  method: z.string(),
  /** Path and query, without the origin. */
  url: z.string(),
  requestHeaders: texts,
  /** When the client decided to send it: of a late timer, when that was due. All instants: ms since the epoch. */
  asked: instant,
  sent: instant,
  /** When the headers were there. */
  answered: z.optional(instant),
  status: z.optional(z.int().check(z.gte(0, "below 0"), z.lte(999, "above 999"))),
  headers: z.optional(texts),
  ended: instant,
  /** How many requests had been sent by then. */
  asks: count,
  /**
   * `whole`: with a body; `failed`: as `failure` says, before the headers or after; `timed-out`: the client gave up;
   * `left`: the client's caller did.
   */
  outcome: z.enum(["whole", "failed", "timed-out", "left"]),
  body: z.optional(z.string()),
  failure: z.optional(failure),
  /** Whether the failure was that of a kept connection, closed before a byte of the answer had come. */
  stale: z.optional(z.boolean()),
  /** What was late, in a way that matters, since the line before. */
  late: z.optional(z.array(lateTurn)),
});

/** One exchange. */
export type TapeLine = z.infer<typeof tapeLine>;

/** What is on a tape. */
export interface ReadTape {
  readonly lines: readonly TapeLine[];
  /** What the end of the replay is to say of a last line that was cut off, and is left out. */
  readonly cut: InvalidInputError | undefined;
}

/**
 * The lines of a tape, in order; blank ones are passed over. A recorder that was killed can leave part of a line at the
 * end. Throws an `InvalidInputError` that names the line for anything else.
 */
export function readTape(lines: Iterable<string>): ReadTape {
  if (typeof lines === "string" || typeof lines?.[Symbol.iterator] !== "function") {
    const problem = typeof lines === "string" ? "is one string" : "cannot be iterated";
    throw new InvalidInputError("lines", "the lines that recordExchanges has written", problem);
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
    const line = readLine(text, number);
    if (line instanceof InvalidInputError) {
      cut = { number, cause: line };
      continue;
    }
    if (requests.has(line.request)) throw refusal(number, `is a second one of request ${line.request}`);
    requests.add(line.request);
    read.push(line);
    numbers.push(number);
  }
  const most = read.length + MOST_WITHOUT_LINE;
  const absurd = read.findIndex(({ request, asks }) => request > most || asks > most);
  if (absurd >= 0) throw refusal(numbers[absurd]!, `tells of more requests than ${read.length} lines can`);
  return { lines: read, cut: cut && cutOff(cut.number, cut.cause) };
}

function cutOff(number: number, { cause }: InvalidInputError): InvalidInputError {
  return refusal(number, "was cut off, as by a recorder that was killed: all before it was replayed", cause);
}

/** The exchange of a line; an error where it is the beginning of one. */
function readLine(text: unknown, number: number): TapeLine | InvalidInputError {
  let value: unknown;
  try {
    // No bounds as on what a service says: a tape holds just that, whatever it was.
    value = JSON.parse(typeof text === "string" ? withoutMark(text) : String(text));
  } catch (cause) {
    const error = refusal(number, "is not JSON", printableCause(cause));
    if (isBeginning(text)) return error;
    throw error;
  }
  const version = (value as { v?: unknown } | null)?.v;
  if (typeof version === "number" && version !== TAPE_VERSION) {
    throw refusal(number, `is of version ${version}, which this release cannot read`);
  }
  if (isDeep(value)) throw refusal(number, `is no exchange: failure: causes deeper than ${DEEPEST_CAUSE}`);
  const line = checkLine(value, number);
  if (line.success) return line.data;
  const { path, issue, cause } = contractError(line.error);
  throw refusal(number, `is no exchange: ${path.join(".") || "the whole"}: ${issue}`, cause);
}

/** Whether a text can be what a recorder has written of a line before it was stopped. */
function isBeginning(text: unknown): boolean {
  const start = typeof text === "string" ? withoutMark(text).trimStart() : "";
  return start.startsWith(BEGINNING) || BEGINNING.startsWith(start);
}

/** Whether the causes of a failure lie deeper than a recorder keeps them. */
function isDeep(value: unknown): boolean {
  let failure = (value as { failure?: unknown } | null)?.failure;
  for (let depth = 0; depth <= DEEPEST_CAUSE; depth += 1) {
    if (typeof failure !== "object" || failure === null) return false;
    failure = (failure as { cause?: unknown }).cause;
  }
  return failure !== undefined;
}

function checkLine(value: unknown, number: number) {
  try {
    return tapeLine.safeParse(value);
  } catch (cause) {
    // Causes of causes, thousands deep, overflow the stack.
    throw refusal(number, "is no exchange: it cannot be read", cause);
  }
}

function refusal(number: number, problem: string, cause?: unknown): InvalidInputError {
  const allowed = `the lines that recordExchanges has written, of version ${TAPE_VERSION}`;
  return new InvalidInputError(`line ${number}`, allowed, problem, { cause });
}
