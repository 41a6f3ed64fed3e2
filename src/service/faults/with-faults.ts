import { InvalidInputError } from "../../errors.js";
import { spreadByOrder } from "../random.js";
import type { FetchLike, PairService } from "../service.js";
import { faultyAnswer } from "./answers.js";
import { AnswerCache } from "./cache.js";
import type { FaultKind } from "./kinds.js";
import { cursorIn, withoutMadeUpCursor } from "./made-up-cursor.js";
import { checkFaultOptions, type FaultOptions, NO_FAULTS } from "./options.js";
import { wait } from "./waiting.js";

/**
 * Wraps a `fetch` and adds the faults that real services have: those of `FAULT_KINDS`.
 *
 * A call can have several faults. Of those that replace the answer or prevent it, the first in the order of
 * `FAULT_KINDS` applies. The seed, the kind and the number of the call decide whether a call has a fault, and how it
 * looks; other kinds have no influence. The service is asked even if its answer is replaced, so headers such as Date
 * are its own. Rejections of the service pass through. For a `Request` it returns a `Response`, as `listen` needs one.
 * Throws an `InvalidInputError` for invalid options.
 *
 * @example
 * ```ts
 * import { createPairService, simulatedMarket, withFaults } from "pairstream/service";
 *
 * const service = createPairService({ source: simulatedMarket({ seed: 1 }) });
 * const fetch = withFaults(service.fetch, {
 *   seed: 3,
 *   rates: { 429: 0.05, cutOff: 0.02, dropped: 0.02 },
 *   onFault: ({ kind, call }) => console.log(`call ${call}: ${kind}`),
 * });
 * ```
 */
export function withFaults(fetch: FetchLike, options: FaultOptions): PairService["fetch"] {
  if (typeof fetch !== "function") {
    throw new InvalidInputError("fetch", "a function like the global fetch", `is of type ${typeof fetch}`);
  }
  const checked = checkFaultOptions(options);
  const { scheduler, onFault, faultsOf, mayBefall, until, longestDelay, furthestDate } = checked;
  const cache = mayBefall("cached") ? new AnswerCache() : undefined;
  let calls = 0;
  /** The error of all Dates since the last jump, ms. */
  let jumped = 0;

  const faulty: FetchLike = async (url, init) => {
    calls += 1;
    const call = calls;
    const isOver = scheduler.now() >= until;
    const faults = isOver ? NO_FAULTS : faultsOf(call);
    const signal = init?.signal;
    const tell = (kind: FaultKind) => onFault?.(Object.freeze({ kind, call, url, at: scheduler.now() }));
    const ask = () => fetch(withoutMadeUpCursor(url), init);

    const jump = faults.get("jumpingDate");
    if (jump !== undefined) tell("jumpingDate");
    jumped = isOver ? 0 : jump === undefined ? jumped : jumpFrom(jumped, jump, furthestDate);
    const offset = jumped;
    signal?.throwIfAborted();

    const delay = faults.get("delay");
    if (delay !== undefined) tell("delay");
    const { wayThere, wayBack } = waysOf(delay, longestDelay);
    if (wayThere > 0) await wait(scheduler, wayThere, signal);

    const hang = faults.get("hang");
    if (hang !== undefined) {
      tell("hang");
      return hangingAnswer(hang, ask, () => wait(scheduler, Infinity, signal));
    }
    const reset = faults.get("reset");
    if (reset !== undefined) {
      tell("reset");
      return resetAnswer(reset, ask, async () => {
        if (wayBack > 0) await wait(scheduler, wayBack, signal);
      });
    }
    const wrong = faults.get("wrongDate");
    const served = await ask();
    const now = scheduler.now();
    const known = cache?.find(url, now);
    const cached = faults.has("cached") ? known : undefined;
    const dates = {
      now,
      jumped: offset,
      wrong: wrong === undefined ? 0 : dateOffset(wrong, furthestDate),
    };
    let answer = await faultyAnswer(served, faults, tell, dates, { cached, cursor: cursorIn(url) });
    // A cached answer is not cached again: it would never expire.
    if (cache !== undefined && cached === undefined && !isOver) answer = cache.keeping(url, now, answer);
    if (wayBack > 0) await wait(scheduler, wayBack, signal);
    return answer;
  };
  const served = (target: string | Request, init?: Parameters<FetchLike>[1]) =>
    typeof target === "string" ? faulty(target, init) : responseOf(faulty, target);
  return served as PairService["fetch"];
}

/** The headers that a service and its faults tell. */
const HEADERS = ["content-type", "date", "retry-after", "x-request-weight"];

/** What a `fetch` answers to a request over HTTP. */
async function responseOf(fetch: FetchLike, { url, method, headers, signal }: Request): Promise<Response> {
  const answer = await fetch(url, { method, headers: Object.fromEntries(headers), signal });
  const told = HEADERS.flatMap((name): [string, string][] => {
    const value = answer.headers.get(name);
    return value === null ? [] : [[name, value]];
  });
  return new Response(await answer.text(), { status: answer.status, headers: told });
}

type Answering = ReturnType<FetchLike>;

/** The delay of a call in each direction, ms. */
function waysOf(delay: (() => number) | undefined, longest: number): { wayThere: number; wayBack: number } {
  if (delay === undefined) return { wayThere: 0, wayBack: 0 };
  // Squared, so most delays are short.
  const length = Math.ceil(longest * (1 - delay()) ** 2);
  const wayThere = Math.floor(length * delay());
  return { wayThere, wayBack: length - wayThere };
}

/** An answer that never comes, or whose body never comes. */
async function hangingAnswer(
  random: () => number,
  ask: () => Answering,
  forEver: () => Promise<void>,
): Answering {
  if (random() < 0.5) await forEver();
  return { ...(await headOf(ask())), text: () => forEver().then(() => "") };
}

/** A connection that is lost before the service gets the request, after that, or within the body. */
async function resetAnswer(
  random: () => number,
  ask: () => Answering,
  comeBack: () => Promise<void>,
): Answering {
  const manner = random();
  if (manner < 1 / 3) throw connectionReset();
  const head = await headOf(ask());
  await comeBack();
  if (manner < 2 / 3) throw connectionReset();
  return { ...head, text: () => Promise.reject(connectionReset()) };
}

/** Status and headers of an answer. The body is read too, because an unread body would hold its connection. */
async function headOf(answering: Answering) {
  const answer = await answering;
  await answer.text();
  return { status: answer.status, headers: answer.headers };
}

/** The rejection of Node's fetch for a reset connection. */
function connectionReset(): TypeError {
  const cause = Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
  return new TypeError("fetch failed", { cause });
}

/**
 * The error of a Date, in ms. It is whole seconds, the resolution of a Date; small and large errors are equally likely.
 */
function dateOffset(random: () => number, furthest: number): number {
  const offset = Math.floor(spreadByOrder(random, 1_000, furthest) / 1_000) * 1_000;
  return random() < 0.5 ? -offset : offset;
}

/** The error of all Dates after a jump. One of three jumps leads back to the truth. */
function jumpFrom(jumped: number, random: () => number, furthest: number): number {
  if (jumped !== 0 && random() < 1 / 3) return 0;
  const offset = dateOffset(random, furthest);
  return offset === jumped ? -offset : offset;
}
