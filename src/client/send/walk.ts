import type { Series } from "../../contract/model.js";
import type { Quote } from "../../contract/quote.js";
import { mostRows, readOhlcvBody } from "../../contract/wire.js";
import { ContractError } from "../../errors.js";
import type { Span } from "../../spans.js";
import type { Intervals } from "../../timeframe.js";
import type { CallResult, ClientCore, Paged, PageFacts, Walk } from "../core.js";

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

/** Throws a `ContractError` if the cursor of the next page leads nowhere: then the rest of the range is unknown. */
function expectOnward(trail: Trail, { cursor, rows, first, last, mostPages }: PageFacts): void {
  if (cursor === undefined) return;
  const pages = trail.pages + 1;
  const isPlaced = first <= last;
  const goesFurther = first < trail.first || last > trail.last;
  const trouble =
    rows === 0
      ? "leads on from a page without rows"
      : trail.cursors.includes(cursor)
        ? "leads back to a page that was read"
        : isPlaced && !goesFurther
          ? "has led back to rows that were read"
          : pages >= mostPages
            ? `leads on after ${pages} pages, more than the range can hold`
            : undefined;
  if (trouble !== undefined) throw new ContractError(["cursor"], trouble);
}

/** Reads a page of the candles of a range, and what it says of itself to a walk; `isStart` is as in `readOhlcvBody`. */
export function readPage(
  text: string,
  quote: Quote,
  asked: Series,
  intervals: Intervals,
  { from, to }: Span,
  isStart = (instant: number) => intervals.start(instant) === instant,
) {
  const { page, refused } = readOhlcvBody(text, asked, isStart, quote, mostRows(intervals.count(from, to)));
  const { cursor, result } = page;
  let first = Infinity;
  let last = -Infinity;
  const take = (timestamp: number) => {
    first = Math.min(first, timestamp);
    last = Math.max(last, timestamp);
  };
  for (const { timestamp } of result) take(timestamp);
  // Rows beside the starts of intervals lead no further than those.
  for (const { key } of refused) if (key !== undefined) take(intervals.start(key));
  // One for the candle of each interval, the one that `from` cuts included; one if the service counts `to` as part of the range;
  // and one without candles after a full page.
  const mostPages = intervals.count(intervals.start(from), to) + 2;
  const facts: PageFacts = { cursor, rows: result.length + refused.length, first, last, mostPages };
  return { page, refused, facts };
}

/**
 * Asks page by page along the cursors of one range, each when the loop wants it; rejects like `send`. The walk ends at a page
 * without a cursor. A page whose cursor leads nowhere is refused like one that breaks the contract: one without rows, one that
 * leads back, one too many. Only the signal ends a step that is under way.
 */
export async function* walkOf<T extends Paged>(
  send: ClientCore["send"],
  { route, parse, startedAt, ...call }: Walk<T>,
): AsyncGenerator<CallResult<T>, undefined, undefined> {
  let trail: Trail = { pages: 0, first: Infinity, last: -Infinity, cursors: startedAt ? [startedAt] : [] };
  for (let cursor: string | undefined; ; ) {
    call.signal?.throwIfAborted();
    const reached = cursor;
    const result = await send({
      ...call,
      route: (now) => route(reached, now),
      parse: (text, quote) => {
        const page = parse(text, quote);
        expectOnward(trail, page.facts);
        return page;
      },
    });
    yield result;
    const { cursor: next, first, last } = result.value.facts;
    if (next === undefined) return;
    cursor = next;
    trail = {
      pages: trail.pages + 1,
      first: Math.min(trail.first, first),
      last: Math.max(trail.last, last),
      cursors: [...trail.cursors, next].slice(-CURSORS_KEPT),
    };
  }
}
