import { type Call, type Client, type ClientCore, coreOf } from "../client/core.js";
import { checkSniperQuery } from "../contract/input.js";
import type { SniperQuery, SniperReport } from "../contract/model.js";
import { SNIPER_NAMES } from "../contract/names.js";
import { snipersRoute } from "../contract/routes.js";
import { readSniperBody } from "../contract/wire.js";
import { runningStates } from "../poll/shared-poll.js";
import { emptySniperBook, readReport } from "../snipers/diff.js";
import { nextLook, type SniperLook } from "../snipers/look.js";
import { nextView, type SniperState } from "../snipers/view.js";
import { pollPrefixOf } from "../snipers/watch.js";
import type { PairSource } from "../source.js";
import type { Answer } from "./answers.js";
import { sinceAsked, untilLive } from "./from-source.js";
import { sinceObserved } from "./latest-candles.js";
import { checkAsked, checkLatestOptions, type LatestOptions } from "./options.js";

/** A first look at the snipers of a pair, and how old it was when the call was answered; frozen. */
export interface LatestSniperReport extends SniperLook {
  /** How long ago `observedAt` was when the call was answered, in ms; at least 0. */
  readonly age: number;
}

interface LookAnswer extends Answer {
  readonly look: SniperLook;
}

/**
 * The snipers of a pair as they are now: for a route, a command or a job. A program that follows them wants `watchSniperReport`.
 *
 * It gives what is known where that is no older than `maxAge`: an answer that was kept, or the last report of a stream
 * that runs on this client. Else it asks, with one request, which all who ask the same meanwhile share. A failure is
 * told for a second to whoever asks the same. At most 1,000 answers are kept a client, those of `latestCandles` among
 * them. Of a gateway it takes the first look of its stream; `age` counts from the question there.
 *
 * Rejects with an `InvalidInputError` before any request, with another `PairstreamError` when the client's `retry` is exhausted, also
 * for a row that breaks the contract, and with the signal's reason when the signal aborts.
 *
 * ```ts
 * import { createClient, latestSniperReport, summarizeSnipers } from "pairstream";
 *
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * const { report, age } = await latestSniperReport(client, { pairAddress }, { maxAge: 60_000 });
 * console.log(summarizeSnipers(report).holding, `of ${report.result.length} hold, ${age} ms ago`);
 * ```
 */
export async function latestSniperReport(
  source: Client | PairSource,
  query: SniperQuery,
  options: LatestOptions = {},
): Promise<LatestSniperReport> {
  const { client, source: other, scheduler, answers } = checkAsked(source, "sniperReport");
  const wanted = checkSniperQuery(query, SNIPER_NAMES);
  const { maxAge, signal } = checkLatestOptions(options);
  signal?.throwIfAborted();
  const core = client && coreOf(client);
  const key = pollPrefixOf(wanted);
  const fresh = maxAge > 0 ? (answers.get(key, maxAge) as LookAnswer | undefined) : undefined;
  const running =
    fresh === undefined && maxAge > 0 && core !== undefined && runningLook(core, wanted, maxAge);
  const { look, age } =
    fresh ||
    running ||
    ((await answers.ask(key, signal, (abort): Promise<LookAnswer> => {
      if (core !== undefined) return askedLook(core, wanted, abort);
      return streamedLook(other!, wanted, sinceAsked(scheduler), abort);
    })) as LookAnswer);
  return Object.freeze({ ...look, age: Math.max(0, age()) });
}

/** What one request brings. */
async function askedLook(core: ClientCore, query: SniperQuery, signal: AbortSignal): Promise<LookAnswer> {
  const parse: Call<SniperReport>["parse"] = (text, quote) => {
    const { report, refused } = readSniperBody(text, quote);
    if (refused[0] !== undefined) throw refused[0].error;
    return report;
  };
  const route = snipersRoute(query);
  const answer = await core.send({ route, priority: "refresh", parse, signal, needsClock: true });
  const { value: report, observedAt, epoch } = answer;
  const { result, ...head } = report;
  const trouble = { unreadable: new Set<string>(), hasUnidentifiedRow: false };
  const { book, events } = readReport(emptySniperBook(query.pairAddress), { report, observedAt, ...trouble });
  return {
    look: firstLook({ book, events, head, trouble }, query),
    age: sinceObserved(core, observedAt, epoch),
  };
}

/** What a poll that runs knows; `undefined` where it is too old. */
function runningLook(core: ClientCore, query: SniperQuery, maxAge: number): LookAnswer | undefined {
  const { epoch } = core.serviceClock();
  const answers = runningStates<SniperState>(core, pollPrefixOf(query)).flatMap(({ state, isLate }) =>
    isLate ? [] : [{ state: state!, age: sinceObserved(core, state!.book.observedAt!, epoch) }],
  );
  const [newest] = answers.sort((a, b) => a.age() - b.age());
  if (newest === undefined || newest.age() > maxAge) return undefined;
  return { look: firstLook(newest.state, query), age: newest.age };
}

/** A state of the snipers as somebody sees it who knows nothing. */
function firstLook(state: SniperState, query: SniperQuery): SniperLook {
  return nextLook(undefined, nextView(undefined, state, undefined), query, undefined).look;
}

/** The first look of a stream. */
async function streamedLook(
  source: PairSource,
  query: SniperQuery,
  age: () => number,
  signal: AbortSignal,
): Promise<LookAnswer> {
  let look: SniperLook | undefined;
  const take = (one: SniperLook) => {
    look = one;
  };
  const streamed = {
    events: source.sniperReport(query),
    status: source.status(query),
    take,
    isEnough: () => look !== undefined,
  };
  await untilLive(streamed, signal);
  return { look: look!, age };
}
