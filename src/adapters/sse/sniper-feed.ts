import { merge, Subscription, tap } from "rxjs";
import type { FeedStatus } from "../../feed-status.js";
import { SniperFold, type SniperNews } from "../../snipers/fold.js";
import type { SniperLook } from "../../snipers/look.js";
import type { SniperWatch } from "../../snipers/watch.js";
import { Feed, type FeedOptions } from "./feed.js";
import { writeMessage, writeWallet } from "./wire.js";

interface SniperFeedOptions extends FeedOptions {
  readonly options: SniperWatch;
}

/** The looks at the snipers of a pair, for viewers who all get the same. */
export class SniperFeed extends Feed {
  readonly #options: SniperFeedOptions;
  readonly #fold: SniperFold;
  #isFollowed = false;
  #status: FeedStatus | undefined;
  /** When the last report was made; a look tells only of one that has changed something. */
  #reportedAt = -Infinity;

  constructor(options: SniperFeedOptions) {
    super(options);
    this.#options = options;
    this.#fold = new SniperFold({ pairAddress: options.options.pairAddress });
  }

  get version(): number {
    return this.#fold.version;
  }

  want(): void {
    if (this.#isFollowed) return;
    this.#isFollowed = true;
    const { source, options, scheduler } = this.#options;
    const take = (look: SniperLook) => {
      this.clock.hear(look.observedAt, scheduler.now());
      this.#fold.take(look);
    };
    const takeStatus = (status: FeedStatus) => {
      this.#reportedAt = status.coveredUntil ?? this.#reportedAt;
      this.#status = status;
    };
    this.follow(new Subscription(), () =>
      merge(source.sniperReport(options).pipe(tap(take)), source.status(options).pipe(tap(takeStatus))),
    );
  }

  startFor(): number | undefined {
    return this.#fold.version === 0 ? undefined : 0;
  }

  protected statusFor(): FeedStatus | undefined {
    return this.#status;
  }

  snapshot(): readonly string[] {
    const news = this.#fold.snapshot();
    if (news === undefined) return [];
    const observedAt = Math.max(news.observedAt, this.#reportedAt);
    const opening = writeMessage("snapshot", { from: 0, keep: 1, observedAt, now: this.now });
    return [opening, ...this.#textsOf({ ...news, observedAt })];
  }

  since(version: number): readonly string[] | undefined {
    const news = this.#fold.since(version);
    return version === this.version ? [] : news && this.#textsOf(news);
  }

  #textsOf({ wallets, head, observedAt }: SniperNews): readonly string[] {
    const texts = Array.from(wallets, ([address, wallet]) => {
      if (wallet === null) return writeWallet(address, null);
      return this.textOf(wallet, (there) => writeWallet(address, there));
    });
    return [...texts, writeMessage("look", { head, observedAt })];
  }
}
