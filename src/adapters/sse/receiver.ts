import { concatAll, defer, filter, finalize, from, type Observable } from "rxjs";
import { sleepUntil } from "../../client/timers.js";
import {
  ContractError,
  HttpError,
  InvalidInputError,
  PairstreamError,
  RateLimitError,
} from "../../errors.js";
import type { ChannelEvent } from "./events.js";
import { type CreateParser, Link } from "./link.js";
import { isChannelEvent, Mirror, type MirrorEvent, type MirrorRules } from "./mirror.js";
import { checkReceiverOptions, type ReceiverOptions, type ServerSentEventsOptions } from "./options.js";

/** The shortest, the first and the longest wait before a connection is tried again, in ms. */
const SHORTEST_WAIT = 100;
const FIRST_WAIT = 1_000;
const LONGEST_WAIT = 30_000;
/** The longest wait that a gateway can ask for, in ms. */
const LONGEST_HINT = 300_000;

/**
 * Receives the events of a channel made by `createEventChannel`, in a browser or on Node: the present state, then the
 * changes. Each event is consistent with those before it, even across lost connections.
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
 * `isCandleEvent`, `isSniperEvent` and `isFeedStatus` tell the events apart. Known candles come first, with `live:
 * false`, and known wallets with `initial: true`. If a connection is refused, closed, or silent for too long, the
 * status is `stalled`, with its own `failures` and `lastError`. It reconnects after 1 s, doubling up to 30 s, and then
 * emits the channel's status again (`live` if the channel has none). Missed changes come as the present state, with a
 * `lateBy` as of then: a revision may grow by more than one, `final` may come without `closed`, and what is gone is
 * `removed`. Candles that the channel no longer reaches back to are removed too, so there is never a gap.
 *
 * Completes when the channel's streams have completed. Errors with the channel's error when one of them has failed;
 * with a `ContractError` for an invalid message, as from a gateway of another version; and with an `HttpError` for a
 * 4xx status, except 404, 408, 425 and 429, or with the `InvalidInputError` that a gateway gives in its place. Until a connection has succeeded, a 404 is an error too, and so is an
 * answer below 400 that is not an event stream, of either kind. Each subscription has a connection of its own: use
 * `share` for several. Needs the package `eventsource-parser`. Throws an `InvalidInputError` at the call.
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
  return receiverOf(checkReceiverOptions(url, options)).pipe(filter(isChannelEvent));
}

/** What `fromServerSentEvents` gives, its input checked, and what `rules` ask for besides. */
export function receiverOf(checked: ReceiverOptions, rules?: MirrorRules): Observable<MirrorEvent> {
  return defer(() => {
    const abort = new AbortController();
    return from(receive(checked, rules, abort.signal)).pipe(
      concatAll(),
      finalize(() => abort.abort()),
    );
  });
}

async function* receive(
  options: ReceiverOptions,
  rules: MirrorRules | undefined,
  signal: AbortSignal,
): AsyncGenerator<readonly MirrorEvent[]> {
  const { scheduler } = options;
  const createParser = await loadParser();
  const mirror = new Mirror(rules);
  let hasOpened = false;
  let firstWait = FIRST_WAIT;
  /** How many connections in a row did not last. */
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
    if (endsReceiver(read, hasOpened)) throw read;
    failures += 1;
    yield [mirror.lose(read, failures)];
    firstWait = Math.max(SHORTEST_WAIT, link.retry ?? firstWait);
    // A gateway that asks for a short wait may hang up each time right after its answer.
    brief = firstWait < FIRST_WAIT && scheduler.now() - begun < FIRST_WAIT ? brief + 1 : 0;
    const wait = waitAfter(read, Math.max(failures, brief), firstWait);
    await sleepUntil(scheduler, scheduler.now() + wait, signal).catch(() => {});
  }
}

/**
 * Whether another attempt cannot help. If an address has answered well once, it is the right one, whatever it answers
 * later.
 */
function endsReceiver(error: PairstreamError, hasOpened: boolean): boolean {
  if (error instanceof InvalidInputError) return true;
  if (!(error instanceof HttpError)) return error instanceof ContractError && !hasOpened;
  const { status } = error;
  if (status >= 500 || [408, 425, 429].includes(status)) return false;
  return !hasOpened || (status >= 400 && status !== 404);
}

/** How long to wait after so many failures in a row, in ms. */
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
