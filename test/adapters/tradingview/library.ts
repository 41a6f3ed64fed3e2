import type { Bar, Datafeed } from "pairstream/tradingview";

const MINUTE = 60;

/** How the library behaves where its documents leave that open. */
export interface Manners {
  /** Whether it subscribes before its first bars have come. */
  readonly subscribesEarly: boolean;
  /** Whether it takes a subscription of its own after a reset, before it leaves the old one. */
  readonly renews: boolean;
  /** How many bars it asks for at first. */
  readonly countBack: number;
  /** Shows when it is told to reset; the page does it at once or later. */
  onReset(reset: () => void): void;
}

/** What the chart has of one symbol in one resolution. */
interface Cache {
  bars: Bar[];
  /** Which request may still fill it. */
  request: number;
  isLoaded: boolean;
  isComplete: boolean;
  guid: string | undefined;
}

/** Calls a datafeed as the Charting Library does, and notes whatever that would not forgive. */
export class Library {
  readonly problems: string[] = [];
  /** How often it was told to reset. */
  resets = 0;
  ticks = 0;
  readonly #datafeed: Datafeed;
  readonly #manners: Manners;
  readonly #now: () => number;
  readonly #caches = new Map<string, Cache>();
  #made = 0;
  #isCalling = false;

  constructor(datafeed: Datafeed, now: () => number, manners: Manners) {
    this.#datafeed = datafeed;
    this.#now = now;
    this.#manners = manners;
  }

  barsOf(name: string, resolution = "1"): readonly Bar[] {
    return this.#caches.get(`${name} ${resolution}`)?.bars ?? [];
  }

  /** Whether bars have come. */
  isLoaded(name: string, resolution = "1"): boolean {
    return this.#caches.get(`${name} ${resolution}`)?.isLoaded ?? false;
  }

  /** Whether there is nothing older. */
  isComplete(name: string, resolution = "1"): boolean {
    return this.#caches.get(`${name} ${resolution}`)?.isComplete ?? false;
  }

  /** Shows a symbol: with the bars that are there, or with new ones. Gives the id of what follows it. */
  show(name: string, resolution = "1"): void {
    const key = `${name} ${resolution}`;
    const known = this.#caches.get(key);
    const cache = known ?? { bars: [], request: 0, isLoaded: false, isComplete: false, guid: undefined };
    this.#caches.set(key, cache);
    if (cache.guid !== undefined) return;
    if (cache.isLoaded || this.#manners.subscribesEarly) this.#follow(cache, name, resolution);
    if (!cache.isLoaded) this.#begin(cache, name, resolution);
  }

  /** Leaves a symbol; the bars stay for a while. */
  leave(name: string, resolution = "1", { forgets = false } = {}): void {
    const key = `${name} ${resolution}`;
    const cache = this.#caches.get(key);
    if (cache === undefined) return;
    if (forgets || !cache.isLoaded) this.#caches.delete(key);
    this.#unfollow(cache);
  }

  /** Asks for older bars. */
  scroll(name: string, count: number, resolution = "1"): void {
    const cache = this.#caches.get(`${name} ${resolution}`);
    const [oldest] = cache?.bars ?? [];
    if (cache === undefined || oldest === undefined || cache.isComplete) return;
    const { request } = cache;
    const to = oldest.time / 1_000;
    this.#request(name, resolution, { to, count, isFirst: false }, (bars, noData) => {
      if (cache.request !== request || cache.bars[0]?.time !== oldest.time) return;
      cache.isComplete = noData;
      if (!noData && bars.at(-1)!.time >= oldest.time) this.problems.push("older bars that are not older");
      cache.bars = [...bars, ...cache.bars];
    });
  }

  #begin(cache: Cache, name: string, resolution: string): void {
    cache.request = ++this.#made;
    const { request } = cache;
    const to = Math.ceil(this.#now() / 1_000) + MINUTE;
    this.#request(name, resolution, { to, count: this.#manners.countBack, isFirst: true }, (bars, noData) => {
      if (cache.request !== request) return;
      cache.bars = bars;
      cache.isLoaded = true;
      cache.isComplete = noData;
      const isShown = this.#caches.get(`${name} ${resolution}`) === cache;
      if (isShown && cache.guid === undefined) this.#follow(cache, name, resolution);
    });
  }

  #request(
    name: string,
    resolution: string,
    { to, count, isFirst }: { to: number; count: number; isFirst: boolean },
    take: (bars: Bar[], noData: boolean) => void,
  ): void {
    let answers = 0;
    const period = { from: to - count * MINUTE, to, countBack: count, firstDataRequest: isFirst };
    const once = () => {
      answers += 1;
      if (answers > 1) this.problems.push("a request that is answered twice");
      if (this.#isCalling) this.problems.push("an answer from inside the request");
    };
    this.#call(() =>
      this.#datafeed.getBars(
        { name },
        resolution,
        period,
        (bars, { noData }) => {
          once();
          if (noData !== (bars.length === 0)) this.problems.push("noData beside bars");
          if (bars.some(({ time }, at) => at > 0 && time <= bars[at - 1]!.time))
            this.problems.push("bars that do not ascend");
          if (bars.some(({ time }) => time >= to * 1_000)) this.problems.push("bars after the range");
          take(bars, noData);
        },
        (reason) => {
          once();
          this.problems.push(reason);
        },
      ),
    );
  }

  #follow(cache: Cache, name: string, resolution: string): void {
    this.#made += 1;
    const guid = `${name}_#_${resolution}_#_${this.#made}`;
    cache.guid = guid;
    this.#call(() =>
      this.#datafeed.subscribeBars(
        { name },
        resolution,
        (bar) => {
          this.ticks += 1;
          if (this.#isCalling) this.problems.push("a tick from inside a call");
          if (cache.guid !== guid) {
            if (!this.#manners.renews) this.problems.push("a tick after the end");
            return;
          }
          const last = cache.bars.at(-1);
          if (last !== undefined && bar.time < last.time) this.problems.push("time violation");
          else if (bar.time === last?.time) cache.bars[cache.bars.length - 1] = bar;
          else cache.bars.push(bar);
          // The library writes into what it has.
          Object.assign(bar, { isShown: true });
        },
        guid,
        () => {
          this.resets += 1;
          if (this.#isCalling) this.problems.push("a reset from inside a call");
          if (cache.guid !== guid) return;
          this.#manners.onReset(() => this.#reset(cache, name, resolution));
        },
      ),
    );
  }

  #reset(cache: Cache, name: string, resolution: string): void {
    if (this.#caches.get(`${name} ${resolution}`) !== cache) return;
    if (cache.guid === undefined) {
      this.#caches.delete(`${name} ${resolution}`);
      return;
    }
    if (this.#manners.renews) {
      const old = cache.guid;
      this.#follow(cache, name, resolution);
      this.#call(() => this.#datafeed.unsubscribeBars(old));
    }
    this.#begin(cache, name, resolution);
  }

  #unfollow(cache: Cache): void {
    const { guid } = cache;
    cache.guid = undefined;
    if (guid !== undefined) this.#call(() => this.#datafeed.unsubscribeBars(guid));
  }

  #call(call: () => void): void {
    const before = this.#isCalling;
    this.#isCalling = true;
    call();
    this.#isCalling = before;
  }
}
