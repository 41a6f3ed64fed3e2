import { type Observable, type SchedulerLike, Subscription, tap } from "rxjs";
import { checkWatch } from "../../../candles/options.js";
import { callAt } from "../../../client/timers.js";
import type { SniperLook } from "../../../snipers/look.js";
import type { PairSource } from "../../../source.js";
import { openChannel, type WatchedChannel } from "../channel.js";
import type { EventChannelOptions } from "../options.js";
import { BUSY, Refusal } from "./answers.js";
import type { CheckedGateway, Wanted } from "./options.js";
import { channelKeyOf, historyLength } from "./wanted.js";

/** What a viewer may watch. */
export type WantedStream = Extract<Wanted, { type: "candles" | "snipers" }>;

/** A channel as `/status` shows it. */
export interface ChannelFacts {
  readonly type: WantedStream["type"];
  readonly options: WantedStream["options"];
  readonly viewers: number;
}

interface SharedChannel {
  readonly wanted: WantedStream;
  readonly channel: WatchedChannel;
  viewers: number;
  /** Whether its streams have ended: whoever comes is told how, until its end. */
  hasEnded: boolean;
  end: Subscription;
}

/** After how many heartbeats one who does not read is left. */
const PATIENCE = 8;
/** How many candles a channel keeps: twice its history, and at least and at most so many. */
const KEPT = { least: 1_000, most: 100_000 };

type StreamsOf = Pick<EventChannelOptions, "candles" | "status" | "keep"> & {
  readonly looks?: Observable<SniperLook>;
};

interface ChannelsOptions extends Pick<CheckedGateway, "maxChannels" | "linger" | "heartbeat"> {
  readonly source: PairSource;
  readonly scheduler: SchedulerLike;
  /** The service's clock. */
  now(): number;
}

/** The channels of a gateway: one for all who want the same, from its first viewer until a while after its last. */
export class Channels {
  readonly #options: ChannelsOptions;
  readonly #channels = new Map<string, SharedChannel>();

  constructor(options: ChannelsOptions) {
    this.#options = options;
  }

  facts(): readonly ChannelFacts[] {
    return Array.from(this.#channels.values(), ({ wanted: { type, options }, viewers }) => {
      return { type, options, viewers };
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
    if (!shared.hasEnded) shared.end.unsubscribe();
    return shared.channel.respond(request, () => {
      shared.viewers -= 1;
      if (shared.viewers === 0 && !shared.hasEnded) this.#endLater(key, shared);
      onLeave();
    });
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
    const hasEnded = () => {
      if (shared.hasEnded) return;
      shared.hasEnded = true;
      this.#endLater(key, shared);
    };
    const { looks, ...streams } = this.#streamsOf(wanted, hasEnded);
    const channel = openChannel({ ...streams, heartbeat, scheduler }, PATIENCE, looks);
    const shared: SharedChannel = { wanted, channel, viewers: 0, hasEnded: false, end: Subscription.EMPTY };
    this.#channels.set(key, shared);
    return shared;
  }

  #streamsOf(wanted: WantedStream, hasEnded: () => void): StreamsOf {
    const { source } = this.#options;
    const noting = <T>() => tap<T>({ error: hasEnded, complete: hasEnded });
    if (wanted.type === "snipers") {
      const { options } = wanted;
      return { looks: source.sniperReport(options).pipe(noting()), status: source.status(options) };
    }
    const { options } = wanted;
    const kept = 2 * historyLength(checkWatch(options), this.#options.now());
    return {
      candles: source.candles(options).pipe(noting()),
      status: source.status(options),
      keep: Math.min(Math.max(KEPT.least, kept), KEPT.most),
    };
  }

  #endLater(key: string, shared: SharedChannel): void {
    const { scheduler, linger } = this.#options;
    shared.end.unsubscribe();
    if (this.#channels.get(key) !== shared) return;
    shared.end = callAt(scheduler, scheduler.now() + linger, () => this.#end(key, shared));
  }

  #end(key: string, shared: SharedChannel): void {
    shared.end.unsubscribe();
    if (this.#channels.get(key) === shared) this.#channels.delete(key);
    shared.channel.close();
  }
}
