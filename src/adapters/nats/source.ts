import { filter, ignoreElements, merge, mergeMap, type Observable, take, tap } from "rxjs";
import { checkHistory } from "../../candles/history.js";
import { checkWatch } from "../../candles/options.js";
import type { Candle } from "../../contract/model.js";
import { InvalidInputError } from "../../errors.js";
import { type FeedStatus, isCandleWatch } from "../../feed-status.js";
import { refuseKnown } from "../../snipers/known.js";
import { checkSniperWatch, type SniperWatch } from "../../snipers/watch.js";
import type { PairSource } from "../../source.js";
import { CLOCKS_APART } from "./gaps.js";
import { readCandleMessage, readStatusMessage, type StatusRecord } from "./message.js";
import type { NatsConnection } from "./nats.js";
import { checkConnection, checkNatsOptions, type NatsOptions, type NatsSettings } from "./options.js";
import { readSnapshot } from "./snapshot.js";
import { persist, Store } from "./store.js";
import { candleSubjects, type FeedSubjects, isCandleToken, lastOf, messagesOf, STATUS } from "./subjects.js";
import {
  looksOf,
  signalsOfStatus,
  subjectsOf,
  watchPublishedCandles,
  watchPublishedFeedStatus,
} from "./watch.js";

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
  if (history !== undefined && typeof history?.history !== "function") {
    throw new InvalidInputError("history", "a PairSource, or what has its history", "is not such a source");
  }
  const settings = checkNatsOptions(named, ["scheduler"]);
  const { name, scheduler } = settings;
  /** The same events; they end once a collector tells that it has fixed an option in another way. */
  const asFixed = <E>(events: Observable<E>, feed: FeedSubjects, asked: object): Observable<E> => {
    const check = signalsOfStatus(connection, settings, feed).pipe(
      filter((signal) => signal.type === "status"),
      take(1),
      tap(({ record }) => refuseOther(asked, record.rules)),
      ignoreElements(),
    );
    return merge(check, events);
  };
  const looks = (asked: SniperWatch) => {
    refuseKnown(asked, "over NATS");
    const { query } = checkSniperWatch(asked);
    if (asked.missingPace !== undefined) {
      throw new InvalidInputError(
        "missingPace",
        "nothing over NATS, as the collector chooses it",
        "is given",
      );
    }
    return asFixed(looksOf(connection, query, settings), subjectsOf(name, query), asked);
  };
  return Object.freeze<PairSource>({
    candles: (asked) => {
      const { series, fillGaps } = checkWatch(asked);
      if (fillGaps) throw new InvalidInputError("fillGaps", "false over NATS", "is true");
      const { since, weekStart } = asked;
      const wanted = {
        ...{ name, scheduler },
        ...(since === undefined ? {} : { since }),
        ...(weekStart === undefined ? {} : { weekStart }),
      };
      const events = watchPublishedCandles(connection, series, wanted);
      return asFixed(events, candleSubjects(name, series), asked);
    },
    snipers: (asked) => looks(asked).pipe(mergeMap(({ events }) => events)),
    sniperReport: looks,
    status: (asked): Observable<FeedStatus> => {
      const feed = isCandleWatch(asked) ? checkWatch(asked).series : checkSniperWatch(asked).query;
      return asFixed(
        watchPublishedFeedStatus(connection, feed, { name, scheduler }),
        subjectsOf(name, feed),
        asked,
      );
    },
    history: async (query, callOptions = {}) => {
      const signal = callOptions.signal ?? new AbortController().signal;
      const stored = await readStored(connection, settings, query, signal);
      if (Array.isArray(stored)) return stored;
      if (history !== undefined) return history.history(query, callOptions);
      throw new InvalidInputError(
        "from",
        `an instant that the stream holds, or the option history of natsSource`,
        `is older than what is published (${stored})`,
      );
    },
  });
}

/** Options that a collector fixes for all who read. */
const FIXED = ["every", "settle", "revisionWindow", "weekStart"] as const;

function refuseOther(asked: Partial<Record<(typeof FIXED)[number], unknown>>, rules: StatusRecord["rules"]) {
  for (const option of FIXED) {
    const fixed = rules[option];
    if (asked[option] === undefined || fixed === undefined || asked[option] === fixed) continue;
    throw new InvalidInputError(option, `${fixed}, as the collector has it`, `is ${String(asked[option])}`);
  }
}

/** The closed candles of a query, if all of them are stored; otherwise what is. */
async function readStored(
  connection: NatsConnection,
  { name, scheduler }: NatsSettings,
  query: Parameters<PairSource["history"]>[0],
  signal: AbortSignal,
): Promise<readonly Candle[] | string> {
  const { series, range, count, intervals } = checkHistory(query, scheduler.now());
  const { key, stream } = candleSubjects(name, series);
  const store = await Store.open(connection);
  const waiting = { scheduler, signal };
  const told = await persist(store, waiting, () => store.last(stream, `${key}.${STATUS}`));
  const { coveredFrom, coveredUntil } = told === undefined ? {} : readStatusMessage(told.text).status;
  if (coveredFrom === undefined || coveredUntil === undefined) return "nothing yet";
  const until = Math.min(range.to, coveredUntil);
  const holds = `from ${new Date(coveredFrom).toISOString()} on`;
  if (Number.isFinite(range.from) && range.from < coveredFrom) return holds;
  for (let reach = count; ; reach *= 2) {
    const from = Math.max(coveredFrom, range.from, intervals.shift(intervals.start(until), -reach));
    const since = from - CLOCKS_APART;
    const rows = await readSnapshot(store, { ...waiting, stream, filter: messagesOf(key), since });
    const candles = candlesIn(rows, from, until);
    if (candles.length >= count) return candles.slice(-count);
    if (from === range.from) return candles;
    // Of a series that is younger than what was asked for, there is no more.
    if (from === coveredFrom) return Number.isFinite(range.from) ? candles : holds;
  }
}

function candlesIn(
  rows: Awaited<ReturnType<typeof readSnapshot>>,
  from: number,
  until: number,
): readonly Candle[] {
  const candles: Candle[] = [];
  for (const { subject, text } of rows.values()) {
    const last = lastOf(subject);
    if (!isCandleToken(last) || !(from <= Number(last) && Number(last) < until)) continue;
    const { candle, removed, status } = readCandleMessage(text);
    if (!removed && status !== "open") candles.push(candle);
  }
  return candles.sort((a, b) => a.timestamp - b.timestamp);
}
