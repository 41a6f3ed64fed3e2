import { onAbort } from "../../aborts.js";
import type { OhlcvPage } from "../../contract/model.js";
import type { RefusedRow } from "../../contract/refused-row.js";
import { ContractError } from "../../errors.js";
import type { Intervals } from "../../timeframe.js";
import type { ClientCore, PageFacts, Walk, WalkStep } from "../core.js";

/** How far a walk has come. */
interface Trail {
  readonly pages: number;
  /** The earliest and the latest row of all pages, in ms. */
  readonly first: number;
  readonly last: number;
  /** The cursors that were followed last. */
  readonly cursors: readonly string[];
}

/** A loop of cursors up to this length is refused before it is followed; a longer one shows in its rows. */
const CURSORS_KEPT = 8;

/**
 * The trail after one more page. Throws a `ContractError` if the page's cursor leads nowhere: then the rest of the range
 * is unknown.
 */
function follow(trail: Trail, page: PageFacts, mostPages: number): Trail {
  const { cursor, rows } = page;
  const { cursors } = trail;
  const pages = trail.pages + 1;
  const first = Math.min(trail.first, page.first);
  const last = Math.max(trail.last, page.last);
  if (cursor === undefined) return { pages, first, last, cursors };
  const isPlaced = page.first <= page.last;
  const goesFurther = first < trail.first || last > trail.last;
  const trouble =
    rows === 0
      ? "leads on from a page without rows"
      : cursors.includes(cursor)
        ? "leads back to a page that was read"
        : isPlaced && !goesFurther
          ? "has led back to rows that were read"
          : pages >= mostPages
            ? `leads on after ${pages} pages, which is more than the range can hold`
            : undefined;
  if (trouble !== undefined) throw new ContractError(["cursor"], trouble);
  return { pages, first, last, cursors: [...cursors, cursor].slice(-CURSORS_KEPT) };
}

/**
 * How many pages `[from, to)` can fill: one for the candle of each interval, the one that `from` cuts included; one if the
 * service counts `to` as part of the range; and one without candles after a full page.
 */
export function mostPagesOf(intervals: Intervals, from: number, to: number): number {
  return intervals.count(intervals.start(from), to) + 2;
}

/** What a page says of itself to a walk. */
export function pageFactsOf(
  { cursor, result }: OhlcvPage,
  refused: readonly Pick<RefusedRow<number>, "key">[],
): PageFacts {
  let first = Infinity;
  let last = -Infinity;
  const take = (timestamp: number) => {
    first = Math.min(first, timestamp);
    last = Math.max(last, timestamp);
  };
  for (const { timestamp } of result) take(timestamp);
  for (const { key } of refused) if (key !== undefined) take(key);
  return { cursor, rows: result.length + refused.length, first, last };
}

/** Follows the cursors of one range; see `ClientCore.walk`. */
export async function* walkOf<T>(
  send: ClientCore["send"],
  { route, parse, next, mostPages, startedAt, ...call }: Walk<T>,
): AsyncGenerator<WalkStep<T>, undefined, undefined> {
  const cursors = startedAt === undefined ? [] : [startedAt];
  let trail: Trail = { pages: 0, first: Infinity, last: -Infinity, cursors };
  let cursor: string | undefined;
  do {
    call.signal?.throwIfAborted();
    const reached = cursor;
    const { value, ...result } = await send({
      ...call,
      route: (now) => route(reached, now),
      parse: (text, quote) => {
        const page = parse(text, quote);
        const told = next(page);
        return { page, cursor: told.cursor, trail: follow(trail, told, mostPages()) };
      },
    });
    ({ trail, cursor } = value);
    yield { ...result, value: value.page, cursor };
  } while (cursor !== undefined);
}

/** What `shown` makes of each page of a walk. `return()` aborts a step that is under way, and ends the walk at once. */
export function walkToLeave<T, Shown>(
  send: ClientCore["send"],
  walk: Walk<T>,
  shown: (value: T) => Shown,
): AsyncIterator<Shown> {
  const { signal } = walk;
  const controller = new AbortController();
  const steps = walkOf(send, { ...walk, signal: controller.signal });
  const forward = () => controller.abort(signal?.reason);
  const end = { done: true, value: undefined } as const;
  return {
    next: async () => {
      if (signal?.aborted) forward();
      const stay = onAbort(signal, forward);
      try {
        const step = await steps.next();
        return step.done ? end : { done: false, value: shown(step.value.value) };
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
