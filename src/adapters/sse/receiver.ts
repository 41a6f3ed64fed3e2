import { concatAll, defer, finalize, from, type Observable } from "rxjs";
import { sleepUntil } from "../../client/timers.js";
import { ContractError, HttpError, InvalidInputError, PairstreamError } from "../../errors.js";
import type { FeedStatus } from "../../feed-status.js";
import { waitAfter } from "../../poll/failure.js";
import { Link } from "./link.js";
import { Mirror, type Part } from "./mirror.js";
import type { ReceiverOptions } from "./options.js";

/** The shortest and the first wait before a connection is tried again, in ms. */
const SHORTEST_WAIT = 100;
const FIRST_WAIT = 1_000;
const WAITS = { longest: 30_000, longestHint: 300_000 };

/**
 * What a gateway's channel tells: the present state, then the changes, and its status. Each event is consistent with those
 * before it, even across lost connections. `makePart`: what one subscriber makes of it.
 */
export function receiverOf<E>(checked: ReceiverOptions, makePart: () => Part<E>): Observable<E | FeedStatus> {
  return defer(() => {
    const abort = new AbortController();
    return from(receive(checked, makePart(), abort.signal)).pipe(
      concatAll(),
      finalize(() => {
        abort.abort();
        checked.outage.leave(abort.signal);
      }),
    );
  });
}

async function* receive<E>(
  options: ReceiverOptions,
  part: Part<E>,
  signal: AbortSignal,
): AsyncGenerator<readonly (E | FeedStatus)[]> {
  const { scheduler, outage } = options;
  const mirror = new Mirror(part);
  // Who is left in the same turn asks for nothing, as a status does whose candles are watched right after it.
  await undefined;
  let hasOpened = false;
  let firstWait = FIRST_WAIT;
  /** How many connections in a row did not last. */
  let brief = 0;
  for (let failures = 0; !signal.aborted; ) {
    const begun = scheduler.now();
    const link = new Link(options, mirror.lastEventId, signal);
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
        outage.hear(signal);
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
    const wait = waitAfter(read, Math.max(failures, brief), { first: firstWait, ...WAITS });
    if (!signal.aborted) outage.lose(signal, read, failures, hasOpened, wait);
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
