import { type AddressInfo, connect, createServer } from "node:net";
import { createAdaptorServer, type ServerType } from "@hono/node-server";
import { Hono } from "hono";
import { VirtualClock } from "pairstream";
import type { GatewaySourceOptions } from "pairstream/sse";
import { NEVER, Subject, type Subscription } from "rxjs";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { CandleEvent } from "../../../src/candles/event.js";
import { minuteCandle } from "../../candles/minute-candles.js";
import { CheckedFold } from "./checked-fold.js";
import {
  begun,
  type ChannelEvent,
  isCandleEvent,
  isFeedStatus,
  messagesIn,
  OpenChannel,
  received,
  sourceOf,
} from "./gateway.js";
import { eventOf } from "./told-market.js";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));
const until = async (condition: () => boolean) => {
  while (!condition()) await turn();
};

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A gateway as users build one, on a port of its own or on that of the one before it. */
class HttpGateway {
  readonly candles = new Subject<CandleEvent>();
  readonly clock = new VirtualClock();
  readonly channel: OpenChannel;
  readonly #server: ServerType;

  constructor() {
    const source = sourceOf({ candles: this.candles, status: NEVER as never });
    this.channel = begun(new OpenChannel(source, { scheduler: this.clock }));
    const app = new Hono().get("/events", (context) => this.channel.respond(context.req.raw));
    this.#server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false });
    cleanups.push(() => this.kill());
  }

  async listen(port = 0): Promise<number> {
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
    return (this.#server.address() as AddressInfo).port;
  }

  /** Ends it as a crash does: connections break off. */
  async kill(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    if ("closeAllConnections" in this.#server) this.#server.closeAllConnections();
    await closed;
    this.channel.close();
  }
}

class HttpReceiver {
  readonly fold = new CheckedFold();
  readonly events: ChannelEvent[] = [];
  readonly clock = new VirtualClock();
  readonly subscription: Subscription;
  attempts = 0;

  constructor(port: number) {
    const options: GatewaySourceOptions = {
      scheduler: this.clock,
      fetch: (url, init) => {
        this.attempts += 1;
        return fetch(url, init);
      },
    };
    this.subscription = received(options, `http://127.0.0.1:${port}/events`).subscribe((event) => {
      this.events.push(event);
      this.fold.take(event);
    });
    cleanups.push(() => this.subscription.unsubscribe());
  }

  /** Lets virtual time pass until it has tried so often, and no further: the network takes none of it. */
  async tries(attempts: number): Promise<void> {
    while (this.attempts < attempts) await this.clock.advanceBy(100);
  }

  get candles(): CandleEvent[] {
    return this.events.filter(isCandleEvent);
  }

  get states(): string[] {
    return this.events.filter(isFeedStatus).map(({ state }) => state);
  }
}

describe("over HTTP", () => {
  it("events arrive as they happen, and a receiver that leaves is noticed", async () => {
    const gateway = new HttpGateway();
    const receiver = new HttpReceiver(await gateway.listen());
    gateway.candles.next(eventOf("new", 1));
    await until(() => receiver.candles.length === 1);
    const update = eventOf("updated", 1, { price: 2, revision: 1, previous: minuteCandle(1) });
    gateway.candles.next(update);
    await until(() => receiver.candles.length === 2);
    expect(receiver.candles[1]).toEqual(update);
    receiver.subscription.unsubscribe();
    const written = vi.spyOn(TextEncoder.prototype, "encode");
    cleanups.push(() => written.mockRestore());
    let revision = 1;
    await until(() => {
      written.mockClear();
      revision += 1;
      gateway.candles.next(eventOf("updated", 1, { price: revision, revision }));
      return written.mock.calls.length === 0;
    });
    expect(receiver.clock.pending).toBe(0);
  });

  it("a connection that breaks off anywhere is taken up where it was", async () => {
    const gateway = new HttpGateway();
    const port = await gateway.listen();
    const cuts = [1, 150, 400, 700, 1_000, 1_500, 2_000, 3_000, 5_000];
    // Passes on so many bytes of each answer.
    let connections = 0;
    const proxy = createServer((client) => {
      const gatewaySide = connect(port, "127.0.0.1");
      let left = cuts[connections] ?? Number.POSITIVE_INFINITY;
      connections += 1;
      const end = () => {
        client.destroy();
        gatewaySide.destroy();
      };
      gatewaySide.on("data", (bytes) => {
        client.write(left < bytes.length ? bytes.subarray(0, left) : bytes, () => {
          if (left <= 0) end();
        });
        left -= bytes.length;
      });
      client.on("data", (bytes) => gatewaySide.write(bytes));
      for (const socket of [client, gatewaySide]) socket.on("error", end).on("close", end);
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    cleanups.push(() => proxy.close());
    const receiver = new HttpReceiver((proxy.address() as AddressInfo).port);
    const expected = new CheckedFold();
    const tell = (event: CandleEvent) => {
      expected.take(Object.freeze({ ...event, candle: Object.freeze(event.candle) }));
      gateway.candles.next(event);
    };
    let minute = 0;
    for (const [round] of cuts.entries()) {
      await receiver.tries(round + 1);
      while (receiver.states.filter((state) => state === "stalled").length === round) {
        minute += 1;
        tell(eventOf("new", minute));
        tell(eventOf("updated", minute, { price: 2, revision: 1, previous: minuteCandle(minute) }));
        if (minute % 3 === 0) tell(eventOf("removed", minute, { price: 2, revision: 2 }));
        await turn();
      }
    }
    await receiver.tries(cuts.length + 1);
    const last = minute + 1;
    tell(eventOf("new", last));
    await until(() => receiver.fold.candles.has(last * 60_000));
    expect(receiver.states.filter((state) => state === "stalled")).toHaveLength(cuts.length);
    expect(receiver.fold.standing()).toEqual(expected.standing());
  });

  it("a reader that stands still is sent little, and what is when it reads on", async () => {
    const gateway = new HttpGateway();
    const port = await gateway.listen();
    const socket = connect(port, "127.0.0.1");
    cleanups.push(() => socket.destroy());
    socket.write("GET /events HTTP/1.1\r\nHost: gateway.test\r\n\r\n");
    await new Promise<void>((resolve) => socket.once("readable", () => resolve()));
    let pushed = 0;
    for (let revision = 0; revision < 80_000; revision += 1) {
      const event = eventOf(revision === 0 ? "new" : "updated", 1, { price: revision + 1, revision });
      pushed += JSON.stringify(event).length;
      gateway.candles.next(event);
      if (revision % 50 === 0) await turn();
    }
    gateway.candles.next(eventOf("new", 2));
    let text = "";
    socket.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
    // Chunks of the transfer may cut the text anywhere but at its end.
    await until(() => text.includes('"timestamp":120000') && text.endsWith("\n\n\r\n"));
    expect(text.length).toBeLessThan(pushed / 2);
    const whole = text.replace(/\r\n[0-9a-f]+\r\n/g, "").trimEnd();
    const last = messagesIn(whole.slice(whole.lastIndexOf("event: hello"))).filter(
      ({ data }) => data.candle?.timestamp === 60_000,
    );
    expect(last.at(-1)!.data).toMatchObject({ candle: minuteCandle(1, 80_000), revision: 79_999 });
  });
});
