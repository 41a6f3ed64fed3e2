import { type SchedulerLike, Subscription } from "rxjs";
import { checkWatch } from "../../../candles/options.js";
import { callAt } from "../../../client/timers.js";
import type { PairSource } from "../../../source.js";
import { CandleFeed } from "../candle-feed.js";
import { Channel } from "../channel.js";
import type { Feed } from "../feed.js";
import { SniperFeed } from "../sniper-feed.js";
import { BUSY, Refusal } from "./answers.js";
import type { CheckedGateway, Wanted } from "./options.js";
import { channelKeyOf } from "./wanted.js";

/** What a viewer may watch. */
export type WantedStream = Extract<Wanted, { type: "candles" | "snipers" }>;

/** A channel as `/status` shows it. */
export interface ChannelFacts {
  readonly type: WantedStream["type"];
  /** Those that all its viewers share. */
  readonly options: object;
  readonly viewers: number;
}

interface SharedChannel {
  readonly wanted: WantedStream;
  readonly channel: Channel;
  viewers: number;
  end: Subscription;
}

/** How long a stream that has ended is told to whoever comes, at most, in ms: by then another one may go well. */
const ENDING = 5_000;
/** How long the first viewer waits before it comes back, and how much longer others do at most, in ms. */
const RETRY = { first: 1_000, spread: 4_000 };
/** Its multiples, without their whole parts, lie evenly between 0 and 1, however many there are. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

interface ChannelsOptions
  extends Pick<CheckedGateway, "maxChannels" | "maxCandles" | "linger" | "heartbeat"> {
  readonly source: PairSource;
  readonly scheduler: SchedulerLike;
}

/** The channels of a gateway: one for all who want the same, from its first viewer until a while after its last. */
export class Channels {
  readonly #options: ChannelsOptions;
  readonly #channels = new Map<string, SharedChannel>();
  /** How many viewers have come. */
  #answered = 0;

  constructor(options: ChannelsOptions) {
    this.#options = options;
  }

  facts(): readonly ChannelFacts[] {
    return Array.from(this.#channels.values(), ({ wanted: { type, options }, viewers }) => {
      const { since, ...shared } = options as Partial<Extract<WantedStream, { type: "candles" }>["options"]>;
      return { type, options: shared, viewers };
    });
  }

  /** Throws a `Refusal` where a viewer would need one channel too many. */
  checkRoom(wanted: WantedStream): void {
    if (this.#channels.has(channelKeyOf(wanted)) || this.#channels.size < this.#options.maxChannels) return;
    if ([...this.#channels.values()].some(({ viewers }) => viewers === 0)) return;
    const allowed = `at most ${this.#options.maxChannels} channels at once; try again later`;
    throw new Refusal(503, "All channels of the gateway are taken", allowed, BUSY);
  }

  /** Throws like `checkRoom`. `onLeave` is called once the viewer has left. */
  respond(wanted: WantedStream, request: Request, onLeave: () => void): Response {
    this.checkRoom(wanted);
    const key = channelKeyOf(wanted);
    const known = this.#channels.get(key);
    // After a sleep of the machine, or on a platform that ends timers with their request, a new one tells what is so now.
    if (known?.channel.standsStill) this.#end(key, known);
    const shared = this.#channels.get(key) ?? this.#open(key, wanted);
    shared.viewers += 1;
    if (!shared.channel.hasEnded) shared.end.unsubscribe();
    const since = wanted.type === "candles" ? checkWatch(wanted.options).since : undefined;
    return shared.channel.respond(request, {
      since,
      retry: this.#retry(),
      onLeave: () => {
        shared.viewers -= 1;
        if (shared.viewers === 0 && !shared.channel.hasEnded) this.#endLater(key, shared);
        onLeave();
      },
    });
  }

  /** Each viewer waits for another time, or after a restart all would come back in the same second. */
  #retry(): number {
    const share = (this.#answered * GOLDEN) % 1;
    this.#answered += 1;
    return RETRY.first + Math.floor(share * RETRY.spread);
  }

  close(): void {
    for (const [key, shared] of this.#channels) this.#end(key, shared);
  }

  #open(key: string, wanted: WantedStream): SharedChannel {
    for (const [idleKey, idle] of this.#channels) {
      if (this.#channels.size < this.#options.maxChannels) break;
      if (idle.viewers === 0) this.#end(idleKey, idle);
    }
    const { scheduler, heartbeat } = this.#options;
    const channel = new Channel({
      heartbeat,
      scheduler,
      feed: (onChange) => this.#feedOf(wanted, onChange),
      onEnd: () => this.#endLater(key, shared, ENDING),
    });
    const shared: SharedChannel = { wanted, channel, viewers: 0, end: Subscription.EMPTY };
    this.#channels.set(key, shared);
    return shared;
  }

  #feedOf(wanted: WantedStream, onChange: () => void): Feed {
    const { source, scheduler, maxCandles } = this.#options;
    if (wanted.type === "snipers") {
      return new SniperFeed({ source, options: wanted.options, scheduler, onChange });
    }
    const { since, ...options } = wanted.options;
    return new CandleFeed({ source, options, most: maxCandles, scheduler, onChange });
  }

  #endLater(key: string, shared: SharedChannel, most = Infinity): void {
    const { scheduler, linger } = this.#options;
    shared.end.unsubscribe();
    if (this.#channels.get(key) !== shared) return;
    const wait = Math.min(linger, most);
    shared.end = callAt(scheduler, scheduler.now() + wait, () => this.#end(key, shared));
  }

  #end(key: string, shared: SharedChannel): void {
    shared.end.unsubscribe();
    if (this.#channels.get(key) === shared) this.#channels.delete(key);
    shared.channel.close();
  }
}
