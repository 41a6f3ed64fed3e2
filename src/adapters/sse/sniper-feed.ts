import { merge, type SchedulerLike, Subscription, tap } from "rxjs";
import type { Sniper } from "../../contract/model.js";
import type { FeedStatus } from "../../feed-status.js";
import { SniperFold, type SniperNews } from "../../snipers/fold.js";
import type { SniperWatch } from "../../snipers/watch.js";
import type { PairSource } from "../../source.js";
import { toWireError } from "../wire/error.js";
import { HeardClock } from "../wire/heard-clock.js";
import type { Feed, Viewer } from "./feed.js";
import { StatusTexts } from "./status-texts.js";
import { writeMessage, writeWallet } from "./wire.js";

export interface SniperFeedOptions {
  readonly source: PairSource;
  readonly options: SniperWatch;
  readonly scheduler: SchedulerLike;
  /** Called after every change. */
  onChange(): void;
}

/** The looks at the snipers of a pair, for viewers who all get the same. */
export class SniperFeed implements Feed {
  readonly #options: SniperFeedOptions;
  readonly #fold: SniperFold;
  readonly #clock = new HeardClock();
  readonly #texts = new WeakMap<Sniper, string>();
  #streams: Subscription | undefined;
  readonly #statuses = new StatusTexts();
  #status: FeedStatus | undefined;
  /** When the last report was made; a look tells only of one that has changed something. */
  #reportedAt = -Infinity;
  #ending: string | undefined;

  constructor(options: SniperFeedOptions) {
    const { pairAddress } = options.options;
    this.#options = options;
    this.#fold = new SniperFold({ pairAddress });
  }

  get version(): number {
    return this.#fold.version;
  }

  get now(): number | null {
    return this.#clock.told(this.#options.scheduler.now());
  }

  get ending(): string | undefined {
    return this.#ending;
  }

  want(): void {
    if (this.#streams !== undefined) return;
    const { source, options, scheduler, onChange } = this.#options;
    const streams = new Subscription();
    this.#streams = streams;
    const looks = source.sniperReport(options).pipe(
      tap((look) => {
        this.#clock.hear(look.observedAt, scheduler.now());
        this.#fold.take(look);
      }),
    );
    const statuses = source.status(options).pipe(
      tap((status) => {
        this.#reportedAt = status.coveredUntil ?? this.#reportedAt;
        this.#status = status;
      }),
    );
    const end = (text: string) => {
      this.#ending = text;
      streams.unsubscribe();
      onChange();
    };
    streams.add(
      merge(looks, statuses).subscribe({
        next: onChange,
        error: (error: unknown) => end(writeMessage("error", toWireError(error))),
        complete: () => end(writeMessage("complete", {})),
      }),
    );
  }

  startFor(): number | undefined {
    return this.#fold.version === 0 ? undefined : 0;
  }

  status(_: Viewer, start: number | undefined): string | undefined {
    return this.#status && this.#statuses.of(start === undefined ? "waiting" : "status", this.#status);
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

  close(): void {
    this.#streams?.unsubscribe();
  }

  #textsOf({ wallets, head, observedAt }: SniperNews): readonly string[] {
    const texts = Array.from(wallets, ([address, wallet]) => this.#textOf(address, wallet));
    return [...texts, writeMessage("look", { head, observedAt })];
  }

  #textOf(address: string, wallet: Sniper | null): string {
    const known = wallet && this.#texts.get(wallet);
    if (known) return known;
    const text = writeWallet(address, wallet);
    if (wallet !== null) this.#texts.set(wallet, text);
    return text;
  }
}
