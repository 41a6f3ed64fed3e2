import { type CandleEvent, type PairSource, VirtualClock } from "pairstream";
import type { GatewayFetch, GatewaySourceOptions } from "pairstream/sse";
import { NEVER, type Observable, type SchedulerLike, Subject, type Subscription } from "rxjs";
import { CandleFeed } from "../../../src/adapters/sse/candle-feed.js";
import { CandleMirror } from "../../../src/adapters/sse/candle-mirror.js";
import { Channel } from "../../../src/adapters/sse/channel.js";
import { checkReceiverOptions } from "../../../src/adapters/sse/options.js";
import { receiverOf } from "../../../src/adapters/sse/receiver.js";
import type { FeedStatus } from "../../../src/feed-status.js";
import { SERIES } from "../../candles/minute-candles.js";

/** An event of a channel of candles. */
export type ChannelEvent = CandleEvent | FeedStatus;
export const isCandleEvent = (event: ChannelEvent): event is CandleEvent => "series" in event;
export const isFeedStatus = (event: ChannelEvent): event is FeedStatus => "state" in event;

export const URL_OF_GATEWAY = "http://gateway.test/events";

export interface Asked {
  readonly at: number;
  readonly url: string;
  readonly headers: Headers;
  readonly signal: AbortSignal;
}

/** What one subscriber has seen. */
export interface Seen {
  readonly events: ChannelEvent[];
  error?: unknown;
  isComplete: boolean;
  readonly subscription: Subscription;
}

export const LIVE: FeedStatus = { state: "live", failures: 0, coveredFrom: 1, coveredUntil: 2 };

export const statuses = ({ events }: Pick<Seen, "events">) => events.filter(isFeedStatus);
export const candles = ({ events }: Pick<Seen, "events">) => events.filter(isCandleEvent);

/** In short: `new 3 #0 5`: the minute, the revision, the price. */
export function short({ type, candle, revision }: CandleEvent): string {
  return `${type} ${candle.timestamp / 60_000} #${revision} ${candle.close}`;
}

/** The candles and the status of one series, as a source has them. */
export function sourceOf(streams: {
  readonly candles: Observable<CandleEvent>;
  readonly status: Observable<FeedStatus>;
}): PairSource {
  return {
    candles: () => streams.candles,
    status: () => streams.status,
    snipers: () => NEVER,
    sniperReport: () => NEVER,
    history: async () => [],
  };
}

/** A channel of a series, whose viewers all get what there is. */
export class OpenChannel {
  readonly #channel: Channel;
  #isClosed = false;

  constructor(source: PairSource, options: { scheduler?: SchedulerLike; heartbeat?: number } = {}) {
    const { scheduler = new VirtualClock(), heartbeat = 15_000 } = options;
    this.#channel = new Channel({
      heartbeat,
      scheduler,
      feed: (onChange) => new CandleFeed({ source, options: SERIES, most: 5_000, scheduler, onChange }),
      onEnd: () => {},
    });
  }

  respond(request: Request, since: number | undefined = 0, onLeave = () => {}): Response {
    if (this.#isClosed) return new Response("closed", { status: 503, headers: { "retry-after": "1" } });
    return this.#channel.respond(request, { since, retry: 1_000, onLeave });
  }

  close(): void {
    this.#isClosed = true;
    this.#channel.close();
  }
}

/** A channel with its streams, and the network before it, on one virtual clock. */
export class Gateway {
  readonly clock = new VirtualClock();
  readonly asked: Asked[] = [];
  candles = new Subject<CandleEvent>();
  status = new Subject<FeedStatus>();
  channel!: OpenChannel;
  /** Answers in place of the channel; throws what a failed request throws. */
  answer: ((request: Request) => Response | Promise<Response>) | undefined;
  readonly #options: { heartbeat?: number; scheduler?: SchedulerLike };
  readonly #open = new Set<AbortController>();

  constructor(options: { heartbeat?: number; scheduler?: SchedulerLike } = {}) {
    this.#options = options;
    this.start();
  }

  /** Starts it, or starts it anew with streams that have told nothing yet. */
  start(): void {
    this.candles = new Subject();
    this.status = new Subject();
    this.channel = begun(new OpenChannel(sourceOf(this), { scheduler: this.clock, ...this.#options }));
  }

  /** How many timers there are besides that of the channel's heartbeats. */
  get timers(): number {
    return this.clock.pending - 1;
  }

  /** Cuts every connection. */
  cut(): Promise<void> {
    for (const controller of this.#open) controller.abort(new Error("cut"));
    this.#open.clear();
    return this.settle();
  }

  readonly fetch: GatewayFetch = async (url, init) => {
    this.asked.push({ at: this.clock.now(), url, headers: new Headers(init.headers), signal: init.signal });
    const request = new Request(url, init);
    const response = await (this.answer ?? ((one) => this.channel.respond(one)))(request);
    if (response.body === null) return response;
    const controller = new AbortController();
    this.#open.add(controller);
    const { readable, writable } = new TransformStream();
    response.body.pipeTo(writable, { signal: controller.signal }).catch(() => {});
    return new Response(readable, response);
  };

  /** Subscribes, and waits until what there is has come. */
  async receive(options: Partial<GatewaySourceOptions> = {}): Promise<Seen> {
    const requests = this.asked.length + 1;
    const events: ChannelEvent[] = [];
    const seen = { events, isComplete: false } as { -readonly [key in keyof Seen]: Seen[key] };
    const given = { fetch: this.fetch, scheduler: this.clock, ...options };
    seen.subscription = received(given).subscribe({
      next: (event) => events.push(event),
      error: (error) => {
        seen.error = error;
      },
      complete: () => {
        seen.isComplete = true;
      },
    });
    await this.asks(requests);
    return seen;
  }

  /** Waits until so many requests have been made, and answered: the first one waits for a module to load. */
  async asks(requests: number): Promise<void> {
    while (this.asked.length < requests) await this.clock.advanceBy(0);
    await this.settle();
  }

  /** Lets everything happen that needs no time. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < 10; turns += 1) await this.clock.advanceBy(0);
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advanceBy(ms);
    await this.settle();
  }
}

/** What a page receives of the candles at the address. */
export function received(options: GatewaySourceOptions, url: string | URL = URL_OF_GATEWAY) {
  return receiverOf(checkReceiverOptions(url, options), () => new CandleMirror(SERIES));
}

/** A channel that listens to its streams, as somebody has been there. */
export function begun(channel: OpenChannel): OpenChannel {
  void channel.respond(request()).body!.cancel();
  return channel;
}

/** The messages of a text, without heartbeats: name, id and data. */
export function messagesIn(text: string) {
  return text
    .split("\n\n")
    .filter((block) => /^(id|event|data):/m.test(block))
    .map((block) => {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, "m").exec(block)?.[1];
      const id = field("id");
      return { ...(id === undefined ? {} : { id }), name: field("event"), data: JSON.parse(field("data")!) };
    });
}

/** A response that is read by hand. */
export class Reading {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  text = "";
  isDone = false;

  constructor(response: Response) {
    this.#reader = response.body!.getReader();
  }

  /** Reads one piece. */
  async next(): Promise<string> {
    const { done, value } = await this.#reader.read();
    this.isDone = done;
    const piece = done ? "" : this.#decoder.decode(value, { stream: true });
    this.text += piece;
    return piece;
  }

  /** Reads until a message of that name has come, or the end. */
  async until(name: string): Promise<ReturnType<typeof messagesIn>> {
    const start = this.text.length;
    while (!this.isDone && !this.text.slice(start).includes(`event: ${name}\n`)) await this.next();
    return messagesIn(this.text.slice(start));
  }

  cancel(): Promise<void> {
    return this.#reader.cancel();
  }
}

export function request(lastEventId?: string, init: RequestInit = {}): Request {
  const headers: HeadersInit = lastEventId === undefined ? {} : { "last-event-id": lastEventId };
  return new Request(URL_OF_GATEWAY, { ...init, headers });
}

/** A response of a gateway's channel, to be read by hand. */
export function open({ channel }: Gateway, lastEventId?: string): Reading {
  return new Reading(channel.respond(request(lastEventId)));
}

export function names(messages: ReturnType<typeof messagesIn>): (string | undefined)[] {
  return messages.map(({ name }) => name);
}
