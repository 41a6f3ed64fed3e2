import { concatAll, defer, finalize, from, type Observable } from "rxjs";
import { sleepUntil } from "../../client/timers.js";
import { ContractError, HttpError, PairstreamError, RateLimitError } from "../../errors.js";
import type { ChannelEvent } from "./events.js";
import { type CreateParser, Link } from "./link.js";
import { Mirror } from "./mirror.js";
import { checkReceiverOptions, type ReceiverOptions, type ServerSentEventsOptions } from "./options.js";

/** Waits before a connection is tried again, in ms. */
const SHORTEST_WAIT = 100;
const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 30_000;
/** The longest wait that a gateway can ask for, in ms. */
const LONGEST_HINT = 300_000;

/**
 * The events of a channel that `createEventChannel` opened elsewhere, in a browser or on Node: what there is, then what
 * changes, each event consistent with those before it, whatever happens to the connection.
 *
 * ```marbles
 * channel                    l-a-b---c-----d-
 * network                    ------x---------
 * fromServerSentEvents(url)  l-a-b-s---(cl)d--
 *
 * -: 250 ms                    l: live until 12:00            x: cut
 * a: new 12:00 = 5, open       b: updated 12:00 = 6, open     c: updated 12:00 = 7, open
 * d: updated 12:00 = 7, closed                                s: stalled, 1 failed
 * ```
 *
 * `isCandleEvent`, `isSniperEvent` and `isFeedStatus` tell the events apart. Candles that were there come first, with
 * `live: false`, and wallets with `initial: true`. A connection that is refused, closed, or silent for too long reads
 * `stalled`, with `failures` and `lastError` of its own; it is tried again after 1 s, doubled each time up to 30 s, and
 * then the channel's status is told again (`live` where the channel has none). What was missed is told as it now is, and is as late as that is then: a
 * revision grows, not by one, `closed` may be skipped for `final`, and what is gone is `removed`. Where the channel
 * does not reach back to what was told before, that is removed too, rather than leave a hole.
 *
 * Completes when the channel's streams have completed. Errors with the channel's error when one of them has failed;
 * with a `ContractError` where a message does not fit, as from a gateway of another version; with an `HttpError` for
 * a status of 4xx but 404, 408, 425 and 429; and, until a connection has succeeded, with either for any other answer
 * below 500 that is no stream of events. Each subscription has a connection of its own: use `share` for several. Needs
 * the package `eventsource-parser`. Throws an `InvalidInputError` at the call.
 *
 * ```ts
 * import { type Candle, applyCandleEvent } from "pairstream";
 * import { fromServerSentEvents, isCandleEvent, isFeedStatus } from "pairstream/sse";
 *
 * const candles = new Map<number, Candle>();
 * fromServerSentEvents("https://example.com/events").subscribe((event) => {
 *   if (isCandleEvent(event)) applyCandleEvent(candles, event);
 *   else if (isFeedStatus(event)) console.log(event.state, event.lastError?.message ?? "");
 *   else console.log(event.type);
 * });
 * ```
 */
export function fromServerSentEvents(
  url: string | URL,
  options: ServerSentEventsOptions = {},
): Observable<ChannelEvent> {
  const checked = checkReceiverOptions(url, options);
  return defer(() => {
    const abort = new AbortController();
    return from(receive(checked, abort.signal)).pipe(
      concatAll(),
      finalize(() => abort.abort()),
    );
  });
}

async function* receive(
  options: ReceiverOptions,
  signal: AbortSignal,
): AsyncGenerator<readonly ChannelEvent[]> {
  const { scheduler } = options;
  const createParser = await loadParser();
  const mirror = new Mirror();
  let hasOpened = false;
  let firstWait = FIRST_WAIT;
  /** Connections in a row that did not last. */
  let brief = 0;
  for (let failures = 0; !signal.aborted; ) {
    const begun = scheduler.now();
    const link = new Link({ ...options, createParser, lastEventId: mirror.lastEventId }, signal);
    mirror.connect();
    let read = await link.read();
    try {
      for (; !(read instanceof PairstreamError); read = await link.read()) {
        const { events, isOver, error } = mirror.take(read, scheduler.now());
        if (events.length > 0) yield events;
        if (error !== undefined) throw error;
        if (isOver) return;
        if (mirror.heartbeat === undefined) continue;
        link.expect(mirror.heartbeat);
        hasOpened = true;
        failures = 0;
      }
    } finally {
      link.close();
    }
    if (isFatal(read, hasOpened)) throw read;
    failures += 1;
    yield [mirror.lose(read, failures)];
    firstWait = Math.max(SHORTEST_WAIT, link.retry ?? firstWait);
    // A gateway that asks for haste may hang up each time as soon as it has answered.
    brief = firstWait < FIRST_WAIT && scheduler.now() - begun < FIRST_WAIT ? brief + 1 : 0;
    const wait = waitAfter(read, Math.max(failures, brief), firstWait);
    await sleepUntil(scheduler, scheduler.now() + wait, signal).catch(() => {});
  }
}

/** Whether another attempt cannot mend it. An address that has answered well once is right, whatever it says later. */
function isFatal(error: PairstreamError, hasOpened: boolean): boolean {
  if (!(error instanceof HttpError)) return error instanceof ContractError && !hasOpened;
  const { status } = error;
  if (status >= 500 || [408, 425, 429].includes(status)) return false;
  return !hasOpened || (status >= 400 && status !== 404);
}

/** How long to wait after the given failure in a row, in ms. */
function waitAfter(error: PairstreamError, failures: number, firstWait: number): number {
  const wait = Math.min(firstWait * 2 ** (failures - 1), LONGEST_WAIT);
  const hint = error instanceof RateLimitError ? (error.retryAfter ?? 0) : 0;
  return Math.max(wait, Math.min(hint, LONGEST_HINT));
}

async function loadParser(): Promise<CreateParser> {
  try {
    return (await import("eventsource-parser")).createParser;
  } catch (cause) {
    const message =
      "fromServerSentEvents needs the package eventsource-parser: npm install eventsource-parser";
    throw new PairstreamError(message, { cause });
  }
}
