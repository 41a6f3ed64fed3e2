import {
  combineLatest,
  concatMap,
  defer,
  distinctUntilChanged,
  filter,
  finalize,
  from,
  map,
  mergeMap,
  type Observable,
  Subject,
  Subscription,
  scan,
  startWith,
  tap,
} from "rxjs";
import type { CandleEvent } from "../../candles/event.js";
import { checkHistory } from "../../candles/history.js";
import { type CandleWatch, checkWatch, type WatchOptions } from "../../candles/options.js";
import { checkNumber, LONGEST_DELAY } from "../../contract/input.js";
import type { Candle, Series, SniperQuery } from "../../contract/model.js";
import { checkMethods } from "../../contract/names.js";
import { InvalidInputError } from "../../errors.js";
import { type FeedStatus, isCandleWatch, isSameStatus } from "../../feed-status.js";
import { refuseKnown } from "../../snipers/known.js";
import type { SniperLook } from "../../snipers/look.js";
import { checkSniperWatch, type SniperWatch } from "../../snipers/watch.js";
import type { PairSource } from "../../source.js";
import { PlainNetworkError } from "../wire/error.js";
import { makeStatus } from "../wire/status.js";
import { CandleTable } from "./candle-table.js";
import { type Check, HEARTBEAT, readFeed } from "./feed-reader.js";
import { readCandleMessage, readStatusMessage, readWalletMessage } from "./message.js";
import type { NatsConnection } from "./nats.js";
import { checkConnection, checkNatsOptions, type NatsOptions, type NatsSettings } from "./options.js";
import { readFeedSince, readStoredStatus } from "./snapshot.js";
import { SniperTable } from "./sniper-table.js";
import { heardAfter, heardStatus, nothingHeard } from "./statuses.js";
import { Store, type StoredMessage } from "./store.js";
import {
  candleSubjects,
  type FeedSubjects,
  isCandleToken,
  lastOf,
  sniperSubjects,
  subjectsOf,
} from "./subjects.js";

/** Options of a source over NATS. */
export interface NatsSourceOptions extends NatsOptions {
  /** Where candles are read from that the stream does not hold; default: they are refused. */
  history?: Pick<PairSource, "history">;
  /** Time between two checks that the collector of a feed is alive, in ms, from 250 to 2,147,483,647; default 5,000. */
  heartbeat?: number;
}

/**
 * The streams that collectors publish, as `clientSource` gives those of a client: for bots, operators, `createGateway`,
 * `pauseWhileHidden` and hooks. The program needs no key.
 *
 * ```marbles
 * first publisher                        a-b-x-----
 * second publisher                       ------c-d-
 * natsSource(connection).candles(watch)  p-b---c-d-
 *
 * a: new 12:00 = 5, open         b: updated 12:00 = 6, closed   x: dies
 * c: new 12:01 = 7, open         d: updated 12:00 = 6, final    p: new 12:00 = 5, open
 * ```
 *
 * With `since` the history comes first, and then the live candles, without a hole or a duplicate; without it the stream begins
 * with the newest published interval. Stored wallets come first, with `initial: true`. A reader that is slow or was away gets only
 * the newest version of each candle and wallet: a revision may grow by more than one, and statuses may be skipped.
 *
 * The status is the collector's while that answers. A collector that has ended is noticed after at most 1.25 times
 * `heartbeat`, one that hangs after at most 2.25 times: the status is `stalled` until it answers again or another one has taken over,
 * with a `NetworkError` that names the NATS server if that does not answer, else with the collector's last error, or a
 * `NetworkError` if there is none. Until the collector has answered or published, it is
 * `starting`, and so it is until candles with the same options have told what is stored.
 *
 * What the collector has fixed is refused if it differs: `every`, `settle`, `revisionWindow` and, for weeks, `weekStart` end the
 * stream with an `InvalidInputError` once the collector has told of them. A history of other weeks is refused, too. Left out, they
 * are the collector's. `fillGaps`, `known` and `missingPace` are refused at the call. `history` reads what the stream holds. An older range
 * comes from `options.history`; without it, it is an `InvalidInputError`. Servers that fail for 30 s are a `NetworkError`.
 *
 * Reconnections and failing servers only delay. A stream fails with a `NetworkError` once the connection is closed for good, and
 * with a `ContractError` if another version tells how the feed stands. A message that cannot be read is passed over, with a warning of the
 * process, and so is a feed that nobody publishes. Throws an `InvalidInputError` at the call.
 *
 * ```ts
 * import { connect } from "@nats-io/transport-node";
 * import { closes } from "pairstream";
 * import { natsSource } from "pairstream/nats";
 *
 * const source = natsSource(await connect({ servers: "127.0.0.1:4222", maxReconnectAttempts: -1 }));
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * const minutes = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;
 * source.candles({ ...minutes, since: { candles: 100 } }).pipe(closes()).subscribe(({ candle }) => console.log(candle.close));
 * source.status(minutes).subscribe(({ state }) => console.log(state));
 * ```
 */
export function natsSource(connection: NatsConnection, options: NatsSourceOptions = {}): PairSource {
  checkConnection(connection);
  const { history, heartbeat = HEARTBEAT, ...named } = options;
  if (history !== undefined) {
    checkMethods("history", "a PairSource, or what has its history", history, ["history"]);
  }
  const settings = checkNatsOptions(named, ["scheduler"]);
  checkNumber("heartbeat", heartbeat, { min: 250, max: LONGEST_DELAY, unit: "ms" });
  /** How many streams of candles have not told what is stored, by what they were asked for. */
  const reading = new Map<string, number>();
  const changed = new Subject<string>();
  const count = (key: string, by: 1 | -1) => {
    reading.set(key, (reading.get(key) ?? 0) + by);
    if (reading.get(key) === 0) reading.delete(key);
    changed.next(key);
  };
  const looks = (asked: SniperWatch) => {
    refuseKnown(asked, "over NATS");
    const { query } = checkSniperWatch(asked);
    const allowed = "nothing: the collector chooses it";
    if (asked.missingPace !== undefined) throw new InvalidInputError("missingPace", allowed, "is given");
    return looksOf(connection, settings, query, refuseOther(asked));
  };
  return Object.freeze<PairSource>({
    candles: (asked) => {
      const watch = checkWatch(asked);
      if (watch.fillGaps) throw new InvalidInputError("fillGaps", "false over NATS", "is true");
      return defer(() => {
        const key = keyOf(watch);
        count(key, 1);
        const untilTold = new Subscription(() => count(key, -1));
        const told = () => untilTold.unsubscribe();
        return candlesOf(connection, settings, asked, told).pipe(finalize(told));
      });
    },
    snipers: (asked) => looks(asked).pipe(mergeMap(({ events }) => events)),
    sniperReport: looks,
    status: (asked): Observable<FeedStatus> => {
      const watch = isCandleWatch(asked) ? checkWatch(asked) : checkSniperWatch(asked);
      const [feed, key] = "series" in watch ? [watch.series, keyOf(watch)] : [watch.query];
      const plan = { heartbeat, check: refuseOther(asked) };
      const statuses = statusesOf(connection, settings, subjectsOf(settings.name, feed), plan);
      if (key === undefined) return statuses;
      const ownChanges = changed.pipe(
        filter((other) => other === key),
        startWith(key),
      );
      return combineLatest([statuses, ownChanges]).pipe(
        // What is so now: who is told of a change may have made the next one.
        map(([status]) => (reading.has(key) ? untold(status) : status)),
        distinctUntilChanged(isSameStatus),
      );
    },
    history: async (query, callOptions = {}) => {
      const signal = callOptions.signal ?? new AbortController().signal;
      const stored = await readStored(connection, settings, query, signal);
      if (!("holds" in stored)) return stored;
      if (history !== undefined) return history.history(stored.asked, callOptions);
      const allowed = "what the stream holds, or the option history";
      throw new InvalidInputError("from", allowed, `is older than what is published (${stored.holds})`);
    },
  });
}

/** The published candles of a series, for one subscriber. `told`: called once all that is stored was told. */
function candlesOf(
  connection: NatsConnection,
  settings: NatsSettings,
  asked: Series & WatchOptions,
  told: () => void,
): Observable<CandleEvent> {
  const table = new CandleTable(asked, () => settings.scheduler.now());
  const signals = readFeed(connection, settings, subjectsOf(settings.name, asked), {
    parse: (last, text) => (isCandleToken(last) ? readCandleMessage(text) : undefined),
    since: (status) => table.since(status),
    isShort: () => table.isShort(),
    check: refuseOther(asked),
  });
  return signals.pipe(
    concatMap((signal) => {
      const isFirst = !table.isTold;
      const events = table.take(signal);
      return isFirst && table.isTold ? from(events).pipe(tap({ complete: told })) : events;
    }),
  );
}

/** Each look at the published snipers of a pair that has changed something. */
function looksOf(
  connection: NatsConnection,
  settings: NatsSettings,
  query: SniperQuery,
  check: Check,
): Observable<SniperLook> {
  const feed = sniperSubjects(settings.name, query);
  return defer(() => {
    const table = new SniperTable(query);
    const parse = (_last: string, text: string) => readWalletMessage(text);
    const signals = readFeed(connection, settings, feed, { parse, check });
    return signals.pipe(concatMap((signal) => table.take(signal)));
  });
}

/** The status of a published feed. */
function statusesOf(
  connection: NatsConnection,
  settings: NatsSettings,
  feed: FeedSubjects,
  plan: { heartbeat: number; check: Check },
): Observable<FeedStatus> {
  return defer(() => {
    const silence = new PlainNetworkError("The publisher of this feed does not answer");
    const absence = new PlainNetworkError("Nobody publishes this feed");
    return readFeed(connection, settings, feed, plan).pipe(
      scan(heardAfter, nothingHeard),
      startWith(nothingHeard),
      map((known) => heardStatus(known, known.publisher === undefined ? absence : silence)),
      distinctUntilChanged(isSameStatus),
    );
  });
}

/** The same for candles with the same options. */
function keyOf({ pollKey, since }: CandleWatch): string {
  return `${pollKey} ${JSON.stringify(since)}`;
}

/** The status of candles that have not told what is stored: of it nothing is covered. */
function untold({ state, failures, lastError }: FeedStatus): FeedStatus {
  return makeStatus({ state: state === "live" ? "starting" : state, failures, lastError });
}

/** Options that a collector fixes for all who read. */
const FIXED = ["every", "settle", "revisionWindow", "weekStart"] as const;

const refuseOther =
  (asked: Partial<Record<(typeof FIXED)[number] | "timeframe", unknown>>): Check =>
  (rules) => {
    for (const option of FIXED) {
      // Only weeks have one: who reads a history of days may give the default.
      if (option === "weekStart" && !String(asked.timeframe).endsWith("w")) continue;
      const fixed = rules[option];
      if (asked[option] === undefined || fixed === undefined || asked[option] === fixed) continue;
      throw new InvalidInputError(option, `${fixed}, as the collector has it`, `is ${String(asked[option])}`);
    }
  };

type HistoryRequest = Parameters<PairSource["history"]>[0];

/** How long a history asks servers that fail, in ms. */
const HISTORY_PATIENCE = 30_000;

/** The closed candles of a query, if all of them are stored; otherwise what is, and the query with the collector's weeks. */
async function readStored(
  connection: NatsConnection,
  { name, scheduler }: NatsSettings,
  query: HistoryRequest,
  signal: AbortSignal,
): Promise<readonly Candle[] | { holds: string; asked: HistoryRequest }> {
  const { series } = checkHistory(query, scheduler.now());
  const feed = candleSubjects(name, series);
  const store = await Store.open(connection);
  const begun = scheduler.now();
  const onTrouble = (cause: unknown) => {
    if (scheduler.now() - begun < HISTORY_PATIENCE) return;
    throw new PlainNetworkError("The NATS servers give no history: is JetStream on (nats-server -js)?", {
      cause,
    });
  };
  const waiting = { scheduler, signal, onTrouble };
  const told = await readStoredStatus(store, feed, waiting);
  if (told === undefined) return { holds: "nothing yet", asked: query };
  const { rules, status } = readStatusMessage(told.text);
  refuseOther(query)(rules);
  const { weekStart } = rules;
  const asked = weekStart === undefined ? query : { ...query, weekStart };
  const { coveredFrom, coveredUntil } = status;
  if (coveredFrom === undefined || coveredUntil === undefined) return { holds: "nothing yet", asked };
  const {
    range,
    rules: { intervals },
    count,
  } = checkHistory(asked, scheduler.now());
  const until = Math.min(range.to, coveredUntil);
  const older = { holds: `from ${new Date(coveredFrom).toISOString()} on`, asked };
  if (Number.isFinite(range.from) && range.from < coveredFrom) return older;
  for (let reach = count; ; reach *= 2) {
    const from = Math.max(coveredFrom, range.from, intervals.shift(intervals.start(until), -reach));
    const candles = candlesIn(await readFeedSince(store, feed, from, waiting), from, until);
    if (candles.length >= count) return candles.slice(-count);
    if (from === range.from) return candles;
    // Of a series that is younger than what was asked for, or whose beginning is stored, there is no more.
    if (from === coveredFrom) return Number.isFinite(range.from) || coveredFrom <= 0 ? candles : older;
  }
}

function candlesIn(rows: ReadonlyMap<string, StoredMessage>, from: number, until: number): readonly Candle[] {
  const candles: Candle[] = [];
  for (const { subject, text } of rows.values()) {
    const last = lastOf(subject);
    const at = Number(last);
    if (!isCandleToken(last) || at >= until || at < from) continue;
    const { candle, removed, status } = readCandleMessage(text);
    if (!removed && status !== "open") candles.push(candle);
  }
  return candles.sort((a, b) => a.timestamp - b.timestamp);
}
