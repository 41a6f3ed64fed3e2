import type { CandleEvent } from "../candles/event.js";
import type { Candle, Series, WeekStart } from "../contract/model.js";
import { isAsyncIterable } from "../replay/read-candles.js";
import { candleReader, checkSource, filledReader } from "../replay/replay-candles.js";
import { intervalsOf } from "../timeframe.js";

interface Feed {
  readonly candles: Iterator<Candle> | AsyncIterator<Candle>;
  readonly isAsync: boolean;
  readonly eventsOf: (candle: Candle) => CandleEvent | Iterator<CandleEvent>;
  /** The rest of the events that the last candle has made, where gaps are filled. */
  waiting: Iterator<CandleEvent> | undefined;
  /** The length of an interval, in ms: of what is known at one instant, shorter candles come first. */
  readonly length: number;
  head: CandleEvent | undefined;
  hasEnded: boolean;
}

/** The events of several series in the order in which they were known, read no more than one ahead. */
export class MergedFeeds {
  readonly #feeds: readonly Feed[];
  /** How many have been asked for their first event. */
  #begun = 0;
  /** The one whose next event is not known. */
  #behind: Feed | undefined;

  constructor(
    feeds: readonly {
      series: Series;
      candles: Iterable<Candle> | AsyncIterable<Candle>;
      fillGaps: boolean;
    }[],
    weekStart: WeekStart,
  ) {
    feeds.forEach(({ candles }, at) => {
      checkSource(candles, `feeds[${at}].candles`);
    });
    const all = feeds.map(({ series, candles, fillGaps }, at): Feed => {
      const reader = fillGaps ? filledReader : candleReader;
      return {
        candles: isAsyncIterable(candles) ? candles[Symbol.asyncIterator]() : candles[Symbol.iterator](),
        isAsync: isAsyncIterable(candles),
        eventsOf: reader(series, weekStart, `feeds[${at}].candles`),
        waiting: undefined,
        length: intervalsOf(series.timeframe, weekStart).longest,
        head: undefined,
        hasEnded: false,
      };
    });
    this.#feeds = all.sort((a, b) => a.length - b.length);
    this.#behind = this.#feeds[0];
  }

  /** The next event, or `undefined` after the last. It waits only where a source does. */
  next(): CandleEvent | undefined | Promise<CandleEvent | undefined> {
    for (let feed = this.#behind; feed !== undefined; feed = this.#behind) {
      const more = feed.waiting?.next();
      if (more !== undefined && !more.done) {
        feed.head = more.value;
        this.#goOn();
        continue;
      }
      const pulled = this.#pull(feed);
      if (pulled instanceof Promise) return this.#resume(feed, pulled);
      this.#settle(feed, pulled);
    }
    return this.#take();
  }

  /** Lets go of all sources that have not ended. */
  async close(): Promise<void> {
    const open = this.#feeds.filter(({ hasEnded }) => !hasEnded);
    // What they throw as they close says less than what has ended the run.
    await Promise.allSettled(open.map(async ({ candles }) => candles.return?.()));
  }

  async #resume(feed: Feed, pulled: Promise<IteratorResult<Candle>>): Promise<CandleEvent | undefined> {
    this.#settle(feed, await pulled);
    return this.next();
  }

  #pull(feed: Feed): IteratorResult<Candle> | Promise<IteratorResult<Candle>> {
    // One that throws has ended.
    feed.hasEnded = true;
    const pulled = feed.candles.next();
    return feed.isAsync ? Promise.resolve(pulled) : pulled;
  }

  #settle(feed: Feed, { done, value }: IteratorResult<Candle>): void {
    feed.hasEnded = done === true;
    const events = done ? undefined : feed.eventsOf(value);
    const isOne = events === undefined || "candle" in events;
    feed.waiting = isOne ? undefined : events;
    feed.head = isOne ? events : events.next().value;
    this.#goOn();
  }

  #goOn(): void {
    if (this.#begun < this.#feeds.length) this.#begun += 1;
    this.#behind = this.#feeds[this.#begun];
  }

  #take(): CandleEvent | undefined {
    let first: Feed | undefined;
    for (let at = 0; at < this.#feeds.length; at += 1) {
      const feed = this.#feeds[at]!;
      if (feed.head === undefined) continue;
      if (first?.head === undefined || feed.head.observedAt < first.head.observedAt) first = feed;
    }
    if (first === undefined) return undefined;
    const event = first.head;
    first.head = undefined;
    this.#behind = first;
    return event;
  }
}
