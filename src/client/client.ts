import { onAbort } from "../aborts.js";
import {
  checkLimit,
  checkRange,
  checkSeries,
  checkServed,
  checkSniperQuery,
  toInstant,
} from "../contract/input.js";
import type { OhlcvPage, OhlcvQuery, Series, SniperReport, Timeframe } from "../contract/model.js";
import { checkNames, namesOf, SERIES_NAMES, SNIPER_NAMES } from "../contract/names.js";
import type { Quote } from "../contract/quote.js";
import { ohlcvRoute, snipersRoute } from "../contract/routes.js";
import { LONGEST_CURSOR, type RefusedRow, readSniperBody } from "../contract/wire.js";
import { InvalidInputError } from "../errors.js";
import { intervalsOf } from "../timeframe.js";
import { ActivityFeed } from "./activity.js";
import { SERVE, type StoreMeans } from "./client-store.js";
import { type Call, type CallOptions, type Client, type ClientCore, clientOf, type Paged } from "./core.js";
import { KnownPairs } from "./known-pairs.js";
import { Metering } from "./metering.js";
import { type ClientOptions, checkOptions } from "./options.js";
import { SecretFinder } from "./send/find-secret.js";
import { Keys } from "./send/keys.js";
import { redactorWith } from "./send/redact.js";
import { Sender } from "./send/request.js";
import { readPage, walkOf } from "./send/walk.js";
import { warnerOf } from "./warn.js";

/**
 * Makes a client, which every stream and call uses. It opens no connection and sets no timer before the first call or
 * subscription.
 *
 * Throws an `InvalidInputError` that names the wrong option.
 *
 * ```ts
 * import { createClient } from "pairstream";
 *
 * const client = createClient({ baseUrl: "https://gateway.example/v1", apiKey: "your key" });
 * const page = await client.ohlcvPage({
 *   network: "mainnet",
 *   pairAddress: "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d",
 *   timeframe: "1h",
 *   currency: "usd",
 *   fromDate: "2024-01-01",
 *   toDate: "2024-01-02",
 * });
 * console.log(page.result.length);
 * ```
 */
export function createClient(options: ClientOptions): Client {
  const settings = checkOptions(options);
  const { apiKey } = settings;
  const finder = new SecretFinder();
  if (typeof apiKey === "string") finder.add(apiKey);
  const redact = redactorWith(finder);
  const feed = new ActivityFeed(redact);
  const warner = warnerOf(settings, redact);
  const keys = typeof apiKey === "string" ? undefined : new Keys(apiKey, finder);
  const sender = new Sender(settings, feed, redact, keys, (text) =>
    warner?.warn(text, undefined, undefined, 0),
  );
  const means: StoreMeans & Pick<ClientCore, "report"> = {
    service: settings.baseUrl,
    scheduler: settings.scheduler,
    timeout: settings.timeout,
    report: (activity) => feed.emit(() => activity),
    warn: warner && ((text, error) => warner.warn(text, undefined, error, 1)),
  };
  const core: ClientCore = {
    ...means,
    retry: settings.retry,
    rateLimit: settings.rateLimit,
    serviceClock: () => sender.clock,
    send: (ask) => sender.send(ask),
    spending: sender.spending,
    metering: new Metering(),
    shared: new Map(),
    warner,
    pairs: new KnownPairs(),
    store: settings.store?.[SERVE](means),
  };
  const face: Client = {
    ohlcvPage: async (query, callOptions) => {
      const asked = checkOhlcvQuery(query);
      const { value } = await core.send({
        route: ohlcvRoute(asked),
        priority: "refresh",
        parse: pageReader(asked),
        signal: checkSignal(callOptions),
      });
      return value.page;
    },
    ohlcvPages: (query, callOptions) => {
      const asked = checkOhlcvQuery(query);
      const signal = checkSignal(callOptions);
      return { [Symbol.asyncIterator]: () => pagesOf(core, asked, signal) };
    },
    sniperReport: async (query, callOptions) => {
      const { value } = await core.send({
        route: snipersRoute(checkSniperQuery(query, SNIPER_NAMES)),
        priority: "refresh",
        parse: reportReader,
        signal: checkSignal(callOptions),
      });
      return value;
    },
    activity: feed.stream,
  };
  return clientOf(face, core);
}

type AskedPages = Series<Timeframe> & {
  from: number;
  to: number;
  limit: number | undefined;
  cursor: string | undefined;
};

const PAGE_NAMES = namesOf<Omit<OhlcvQuery, keyof Series>>({
  fromDate: true,
  toDate: true,
  limit: true,
  cursor: true,
});

function checkOhlcvQuery(query: OhlcvQuery): AskedPages {
  const series = checkServed(checkSeries(query, [...SERIES_NAMES, ...PAGE_NAMES]));
  const from = toInstant("fromDate", query.fromDate);
  const to = toInstant("toDate", query.toDate);
  checkRange(from, to, { from: "fromDate", to: "toDate" });
  const { cursor } = query;
  if (cursor !== undefined) checkCursor(cursor);
  return { ...series, from, to, limit: checkLimit(query.limit), cursor };
}

/** Errors do not show the value, which is of the service's making. */
function checkCursor(cursor: string): void {
  const isText = typeof cursor === "string";
  if (isText && cursor !== "" && cursor.length <= LONGEST_CURSOR) return;
  const problem = !isText
    ? "is not a string"
    : cursor === ""
      ? "is empty"
      : `has ${cursor.length} characters`;
  const allowed = `the cursor of a page, at most ${LONGEST_CURSOR} characters`;
  throw new InvalidInputError("cursor", allowed, problem);
}

export function checkSignal(options: CallOptions | undefined): AbortSignal | undefined {
  if (options !== undefined) checkNames(options, ["signal"]);
  const signal = options?.signal;
  if (signal === undefined || typeof signal?.addEventListener === "function") return signal;
  throw new InvalidInputError("signal", "an AbortSignal", "is not an AbortSignal");
}

/** A page cut to what was asked for, and what it was served with. */
interface CutPage extends Paged {
  readonly page: OhlcvPage;
}

/** Reads the pages of one direct call; a row that breaks the contract breaks the page. */
function pageReader(asked: AskedPages): Call<CutPage>["parse"] {
  const intervals = intervalsOf(asked.timeframe);
  // It does not know where the service's weeks begin.
  const starts = [intervals, intervalsOf(asked.timeframe, "thursday")];
  const isStart = (instant: number) => starts.some(({ start }) => start(instant) === instant);
  return (text, quote) => {
    const { page, refused, facts } = readPage(text, quote, asked, intervals, asked, isStart);
    expectNone(refused);
    const result = page.result.filter(({ timestamp }) => asked.from <= timestamp && timestamp < asked.to);
    return { page: Object.freeze({ ...page, result: Object.freeze(result) }), facts };
  };
}

function reportReader(text: string, quote: Quote): SniperReport {
  const { report, refused } = readSniperBody(text, quote);
  expectNone(refused);
  return report;
}

function expectNone(refused: readonly RefusedRow<unknown>[]): void {
  const first = refused[0];
  if (first !== undefined) throw first.error;
}

/** All pages of one direct call. `return()` aborts a page that is under way, and ends the walk at once. */
function pagesOf(
  core: ClientCore,
  asked: AskedPages,
  signal: AbortSignal | undefined,
): AsyncIterator<OhlcvPage> {
  const controller = new AbortController();
  const steps = walkOf(core.send, {
    // The limit counts for the walk as a whole once it has begun; the rest has to be said again each time.
    route: (cursor) => ohlcvRoute(cursor === undefined ? asked : { ...asked, limit: undefined, cursor }),
    priority: "refresh",
    parse: pageReader(asked),
    startedAt: asked.cursor,
    signal: controller.signal,
  });
  const forward = () => controller.abort(signal?.reason);
  const end = { done: true, value: undefined } as const;
  return {
    next: async () => {
      if (signal?.aborted) forward();
      const stay = onAbort(signal, forward);
      try {
        const step = await steps.next();
        return step.done ? end : { done: false, value: step.value.value.page };
      } catch (error) {
        if (controller.signal.aborted && !signal?.aborted) return end;
        throw error;
      } finally {
        stay();
      }
    },
    return: async () => {
      // Otherwise a step under way would run to its end before the generator ends.
      controller.abort();
      await steps.return(undefined);
      return end;
    },
  };
}
