import { asyncScheduler, type SchedulerLike } from "rxjs";
import { checkSignal } from "../client/client.js";
import { type Client, coreOf, isClient } from "../client/core.js";
import { checkNumber } from "../contract/input.js";
import { checkNames, namesOf } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";
import { clientBehind, type PairSource } from "../source.js";
import { type Answer, Answers } from "./answers.js";

/** How old an answer may be, and when to give up. */
export interface LatestOptions {
  /**
   * How old the answer may be, in ms, from 0. Where one is kept that is no older, it costs no request. Default 0: the service is
   * asked each time.
   */
  maxAge?: number;
  /** Ends the call at once. The call then rejects with the signal's `reason`. Default: none. */
  signal?: AbortSignal | undefined;
}

const LATEST_NAMES = namesOf<LatestOptions>({ maxAge: true, signal: true });

export function checkLatestOptions(options: LatestOptions): Required<LatestOptions> {
  checkNames(options, LATEST_NAMES);
  const maxAge = checkNumber("maxAge", options.maxAge ?? 0, { min: 0, unit: "ms" });
  return { maxAge, signal: checkSignal({ signal: options.signal }) };
}

/** Who is asked: a client, that behind a source of the same process included, or a source that has none here. */
export interface Asked {
  readonly client: Client | undefined;
  readonly source: PairSource | undefined;
  readonly scheduler: SchedulerLike;
  readonly answers: Answers<Answer>;
}

/** What is known by those who have asked. */
const KNOWN = /* @__PURE__ */ new WeakMap<object, Answers<Answer>>();

/** Whom to ask. Throws an `InvalidInputError` for what is neither a client nor a source; `method`: what a source needs. */
export function checkAsked(asked: Client | PairSource, method: "candles" | "sniperReport"): Asked {
  const client = isClient(asked) ? asked : clientBehind(asked as PairSource);
  const source = client === undefined ? (asked as PairSource) : undefined;
  const isSource = typeof source?.[method] === "function" && typeof source.status === "function";
  if (client === undefined && !isSource) {
    const problem = asked === null ? "is null" : `is of type ${typeof asked}, without ${method} and status`;
    throw new InvalidInputError("source", "what createClient returns, or a PairSource", problem);
  }
  const scheduler = client === undefined ? asyncScheduler : coreOf(client).scheduler;
  const owner = client ?? source!;
  const answers = KNOWN.get(owner) ?? new Answers<Answer>(scheduler);
  KNOWN.set(owner, answers);
  return { client, source, scheduler, answers };
}
