import {
  BehaviorSubject,
  combineLatest,
  defer,
  distinctUntilChanged,
  finalize,
  map,
  mergeMap,
  type Observable,
} from "rxjs";
import { checkHistory } from "../../candles/history.js";
import { type CandleWatch, checkWatch } from "../../candles/options.js";
import type { Candle } from "../../contract/model.js";
import { checkMethods } from "../../contract/names.js";
import { InvalidInputError } from "../../errors.js";
import { type FeedStatus, isCandleWatch, isSameStatus } from "../../feed-status.js";
import { refuseKnown } from "../../snipers/known.js";
import { checkSniperWatch, type SniperWatch } from "../../snipers/watch.js";
import type { PairSource } from "../../source.js";
import { makeStatus } from "../wire/status.js";
import type { Check } from "./feed-reader.js";
import { readCandleMessage, readStatusMessage } from "./message.js";
import type { NatsConnection } from "./nats.js";
import { checkConnection, checkNatsOptions, type NatsOptions, type NatsSettings } from "./options.js";
import { readFeedSince, readStoredStatus } from "./snapshot.js";
import { Store, type StoredMessage } from "./store.js";
import { candleSubjects, isCandleToken, lastOf } from "./subjects.js";
import { candlesOf, looksOf, statusesOf, subjectsOf } from "./watch.js";

/** Options of a source over NATS. */
export interface NatsSourceOptions extends NatsOptions {
  /** Where candles are read from that the stream does not hold; default: they are refused. */
  history?: Pick<PairSource, "history">;
}

/**
 * The streams that collectors publish, as `clientSource` gives those of a client: for `createGateway`, operators, `pauseWhileHidden`
 * and hooks. The program needs no key.
 *
 * What the collector has fixed is refused if it differs: `every`, `settle`, `revisionWindow` and `weekStart` end the stream with an
 * `InvalidInputError` once the collector has told of them. `fillGaps`, `known` and `missingPace` are refused at the call.
 * Until candles have told what is stored, the status with the same options covers nothing, and is not `live`.
 * `history` reads what the stream holds. An older range comes from `options.history`; without it, it is an
 * `InvalidInputError`. Throws an `InvalidInputError` at the call.
 *
 * ```ts
 * import { connect } from "@nats-io/transport-node";
 * import { natsSource } from "pairstream/nats";
 * import { createGateway } from "pairstream/sse";
 *
 * const connection = await connect({ servers: "127.0.0.1:4222", maxReconnectAttempts: -1 });
 * const gateway = createGateway(natsSource(connection), { allow: () => true });
 * console.log(typeof gateway.fetch);
 * ```
 */
export function natsSource(connection: NatsConnection, options: NatsSourceOptions = {}): PairSource {
  checkConnection(connection);
  const { history, ...named } = options;
  if (history !== undefined) {
    checkMethods("history", "a PairSource, or what has its history", history, ["history"]);
  }
  const settings = checkNatsOptions(named, ["scheduler"]);
  /** What the streams of candles were asked for that have not told what is stored. */
  const reading = new BehaviorSubject<readonly { readonly key: string }[]>([]);
  const looks = (asked: SniperWatch) => {
    refuseKnown(asked, "over NATS");
    const { query } = checkSniperWatch(asked);
    const allowed = "nothing over NATS, as the collector chooses it";
    if (asked.missingPace !== undefined) throw new InvalidInputError("missingPace", allowed, "is given");
    return looksOf(connection, query, settings, refuseOther(asked));
  };
  return Object.freeze<PairSource>({
    candles: (asked) => {
      const watch = checkWatch(asked);
      if (watch.fillGaps) throw new InvalidInputError("fillGaps", "false over NATS", "is true");
      return defer(() => {
        const one = { key: keyOf(watch) };
        const told = () => reading.next(reading.value.filter((other) => other !== one));
        reading.next([...reading.value, one]);
        const terms = { told, check: refuseOther(asked) };
        return candlesOf(connection, settings, watch, terms).pipe(finalize(told));
      });
    },
    snipers: (asked) => looks(asked).pipe(mergeMap(({ events }) => events)),
    sniperReport: looks,
    status: (asked): Observable<FeedStatus> => {
      const watch = isCandleWatch(asked) ? checkWatch(asked) : checkSniperWatch(asked);
      const [feed, key] = "series" in watch ? [watch.series, keyOf(watch)] : [watch.query];
      const check = refuseOther(asked);
      const statuses = statusesOf(connection, settings, subjectsOf(settings.name, feed), { check });
      return combineLatest([statuses, reading]).pipe(
        // What is so now: who is told of a change may have made the next one.
        map(([status]) => (reading.value.some((one) => one.key === key) ? untold(status) : status)),
        distinctUntilChanged(isSameStatus),
      );
    },
    history: async (query, callOptions = {}) => {
      const signal = callOptions.signal ?? new AbortController().signal;
      const stored = await readStored(connection, settings, query, signal);
      if (Array.isArray(stored)) return stored;
      if (history !== undefined) return history.history(query, callOptions);
      const allowed = "an instant that the stream holds, or the option history of natsSource";
      throw new InvalidInputError("from", allowed, `is older than what is published (${stored})`);
    },
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
  (asked: Partial<Record<(typeof FIXED)[number], unknown>>): Check =>
  (rules) => {
    for (const option of FIXED) {
      const fixed = rules[option];
      if (asked[option] === undefined || fixed === undefined || asked[option] === fixed) continue;
      throw new InvalidInputError(option, `${fixed}, as the collector has it`, `is ${String(asked[option])}`);
    }
  };

/** The closed candles of a query, if all of them are stored; otherwise what is. */
async function readStored(
  connection: NatsConnection,
  { name, scheduler }: NatsSettings,
  query: Parameters<PairSource["history"]>[0],
  signal: AbortSignal,
): Promise<readonly Candle[] | string> {
  const { series, range, count, intervals } = checkHistory(query, scheduler.now());
  const feed = candleSubjects(name, series);
  const store = await Store.open(connection);
  const waiting = { scheduler, signal };
  const told = await readStoredStatus(store, feed, waiting);
  const { coveredFrom, coveredUntil } = told === undefined ? {} : readStatusMessage(told.text).status;
  if (coveredFrom === undefined || coveredUntil === undefined) return "nothing yet";
  const until = Math.min(range.to, coveredUntil);
  const holds = `from ${new Date(coveredFrom).toISOString()} on`;
  if (Number.isFinite(range.from) && range.from < coveredFrom) return holds;
  for (let reach = count; ; reach *= 2) {
    const from = Math.max(coveredFrom, range.from, intervals.shift(intervals.start(until), -reach));
    const candles = candlesIn(await readFeedSince(store, feed, from, waiting), from, until);
    if (candles.length >= count) return candles.slice(-count);
    if (from === range.from) return candles;
    // Of a series that is younger than what was asked for, there is no more.
    if (from === coveredFrom) return Number.isFinite(range.from) ? candles : holds;
  }
}

function candlesIn(rows: ReadonlyMap<string, StoredMessage>, from: number, until: number): readonly Candle[] {
  const candles: Candle[] = [];
  for (const { subject, text } of rows.values()) {
    const last = lastOf(subject);
    if (!isCandleToken(last) || !(from <= Number(last) && Number(last) < until)) continue;
    const { candle, removed, status } = readCandleMessage(text);
    if (!removed && status !== "open") candles.push(candle);
  }
  return candles.sort((a, b) => a.timestamp - b.timestamp);
}
