import {
  type CandleEvent,
  clientSource,
  createClient,
  type PairSource,
  type Series,
  VirtualClock,
  type WatchOptions,
} from "pairstream";
import { demoService } from "pairstream/service";
import { defer, finalize, type Observable } from "rxjs";

/** Two seconds into a minute. */
const START = Date.UTC(2026, 0, 5, 12, 0, 2);

/** A service in the page, a client of it, and a source that counts; time passes when told. */
export class PageWorld {
  readonly clock = new VirtualClock(START);
  /** Requests of the client, and subscriptions to candles, in all. */
  requests = 0;
  subscriptions = 0;
  /** Subscriptions of any kind that have not been left. */
  open = 0;
  /** What the service answers instead; a status. */
  refuses: number | undefined;
  readonly source: PairSource;
  readonly pairs: readonly string[];

  constructor() {
    const demo = demoService({ createdAt: START - 7_200_000, clock: () => this.clock.now() });
    this.pairs = demo.pairs;
    const client = createClient({
      ...demo.clientOptions,
      scheduler: this.clock,
      fetch: (url, init) => {
        this.requests += 1;
        if (this.refuses === undefined) return demo.clientOptions.fetch(url, init);
        const text = async () => '{"message":"refused"}';
        return Promise.resolve({ status: this.refuses, headers: { get: () => null }, text });
      },
    });
    const inner = clientSource(client);
    this.source = {
      ...inner,
      candles: (options) => this.#count(inner.candles(options), 1),
      status: (options) => this.#count(inner.status(options), 0),
      snipers: (options) => this.#count(inner.snipers(options), 0),
      sniperReport: (options) => this.#count(inner.sniperReport(options), 0),
    };
  }

  /** The candles of a pair by the second, with a history of so many. */
  seconds(candles: number, pair = 0): Series & WatchOptions {
    const pairAddress = this.pairs[pair]!;
    return { network: "mainnet", pairAddress, timeframe: "1s", currency: "usd", since: { candles } };
  }

  /** What the newest candles are, by a subscription of its own. */
  async truth(options: Series & WatchOptions, count: number): Promise<CandleEvent["candle"][]> {
    const known = new Map<number, CandleEvent["candle"]>();
    const { source } = this;
    const following = source.candles(options).subscribe(({ type, candle }) => {
      if (type === "removed") known.delete(candle.timestamp);
      else known.set(candle.timestamp, candle);
    });
    await this.clock.advanceBy(0);
    following.unsubscribe();
    return [...known.values()].slice(-count);
  }

  #count<T>(stream: Observable<T>, candles: number): Observable<T> {
    return defer(() => {
      this.subscriptions += candles;
      this.open += 1;
      return stream.pipe(
        finalize(() => {
          this.open -= 1;
        }),
      );
    });
  }
}

const frame = window.requestAnimationFrame.bind(window);
const held: FrameRequestCallback[] = [];
let isHidden = false;
// What a hidden tab does: frames that are asked for come when it is seen again.
window.requestAnimationFrame = (callback) => (isHidden ? held.push(callback) : frame(callback));

export function setHidden(hidden: boolean): void {
  isHidden = hidden;
  if (!hidden) for (const callback of held.splice(0)) frame(callback);
}

/** Waits until what was asked of React has been rendered, and of a frame drawn. */
export async function settle(): Promise<void> {
  // What is drawn with a frame was asked for before this.
  await new Promise(frame);
  await new Promise((resolve) => setTimeout(resolve));
}

/** Waits until something holds; the page of the caller has a deadline. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await settle();
}
