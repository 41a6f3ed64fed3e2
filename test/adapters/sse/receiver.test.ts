import {
  type AnyPairstreamError,
  AuthenticationError,
  ContractError,
  closes,
  HttpError,
  InvalidInputError,
  NetworkError,
  PairstreamError,
  type PairstreamErrorName,
  QuotaExceededError,
  RateLimitError,
  TimeoutError,
  VirtualClock,
} from "pairstream";
import type { GatewayFetch } from "pairstream/sse";
import { gatewaySource } from "pairstream/sse";
import { EMPTY, filter, firstValueFrom, map, of, take, toArray } from "rxjs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { minuteCandle, SERIES } from "../../candles/minute-candles.js";
import {
  type ChannelEvent,
  candles,
  Gateway,
  isCandleEvent,
  isFeedStatus,
  LIVE,
  OpenChannel,
  open,
  received,
  short,
  sourceOf,
  statuses,
  URL_OF_GATEWAY,
} from "./gateway.js";
import { eventOf } from "./told-market.js";

afterEach(() => {
  vi.unstubAllGlobals();
});

describe("one who reads as fast as things happen", () => {
  it("gets the very events of the streams, told apart, and frozen", async () => {
    const gateway = new Gateway();
    const seen = await gateway.receive();
    const told: ChannelEvent[] = [
      eventOf("new", 1),
      eventOf("updated", 1, { price: 2, revision: 1, previous: minuteCandle(1) }),
      eventOf("updated", 1, { price: 2, revision: 2, previous: minuteCandle(1, 2), status: "closed" }),
      eventOf("new", 2),
      eventOf("removed", 1, { price: 2, revision: 3, status: "closed" }),
      eventOf("new", 1, { status: "final" }),
      LIVE,
      { state: "stalled", failures: 1, lastError: new TimeoutError("too late", 50) },
    ];
    for (const event of told) {
      if (isCandleEvent(event)) gateway.candles.next(event);
      else gateway.status.next(event);
    }
    await gateway.settle();
    expect(seen.events).toEqual(told);
    expect(seen.events.every((event) => Object.isFrozen(event))).toBe(true);
    const first = candles(seen)[0]!;
    expect([first.candle, first.series].every((part) => Object.isFrozen(part))).toBe(true);
    expect(candles(seen).every(({ series }) => series === first.series)).toBe(true);
    expect(statuses(seen).at(-1)!.lastError).toBeInstanceOf(TimeoutError);
  });

  it("gets what was there first, not live, and then what is", async () => {
    const gateway = new Gateway();
    for (let minute = 1; minute <= 3; minute += 1) gateway.candles.next(eventOf("new", minute));
    gateway.status.next(LIVE);
    await gateway.settle();
    const seen = await gateway.receive();
    gateway.candles.next(eventOf("new", 4));
    await gateway.settle();
    expect(candles(seen).map((event) => [short(event), event.live])).toEqual([
      ["new 1 #0 1", false],
      ["new 2 #0 1", false],
      ["new 3 #0 1", false],
      ["new 4 #0 1", true],
    ]);
    // After the candles, and before what happens then.
    expect(seen.events.findIndex(isFeedStatus)).toBe(3);
  });

  it("feeds operators", async () => {
    const told = of(
      eventOf("new", 1),
      eventOf("new", 2, { status: "closed" }),
      eventOf("new", 3, { status: "final" }),
    );
    const channel = new OpenChannel(sourceOf({ candles: told, status: EMPTY }));
    const closed = received({ fetch: (url, init) => channel.respond(new Request(url, init)) }).pipe(
      filter(isCandleEvent),
      closes(),
      map(({ candle }) => candle),
      toArray(),
    );
    expect(await firstValueFrom(closed)).toEqual([minuteCandle(2), minuteCandle(3)]);
  });

  it("completes with the streams, and errors as they do, without coming back", async () => {
    const gateway = new Gateway();
    const seen = await gateway.receive();
    gateway.candles.next(eventOf("new", 1));
    gateway.candles.error(new AuthenticationError("“refused”: GET /x", 401, "body"));
    await gateway.settle();
    const late = await gateway.receive();
    for (const { events, error } of [seen, late]) {
      expect(events).toHaveLength(1);
      expect(error).toEqual(new AuthenticationError("The service answered with status 401", 401, ""));
      expect(error).toBeInstanceOf(AuthenticationError);
    }
    const channel = new OpenChannel(sourceOf({ candles: of(eventOf("new", 1)), status: EMPTY }));
    gateway.answer = (request) => channel.respond(request);
    const done = await gateway.receive();
    expect([done.events.length, done.isComplete]).toEqual([1, true]);
    await gateway.pass(100_000);
    expect([gateway.asked.length, gateway.clock.pending]).toEqual([3, 0]);
  });

  it.each<[PairstreamErrorName, PairstreamError]>([
    ["PairstreamError", new PairstreamError("plain")],
    ["HttpError", new HttpError("The service answered with status 500", 500, "")],
    ["AuthenticationError", new AuthenticationError("The service answered with status 403", 403, "")],
    ["QuotaExceededError", new QuotaExceededError("The quota of the gateway is used up")],
    [
      "QuotaExceededError",
      new QuotaExceededError("The quota of the gateway is used up", "", 1_704_456_000_000),
    ],
    ["RateLimitError", new RateLimitError("The service answered with status 429", "", 5_000)],
    ["RateLimitError", new RateLimitError("The service answered with status 429", "")],
    ["TimeoutError", new TimeoutError("late", 1_000)],
    ["NetworkError", new NetworkError("The service could not be reached")],
    ["ContractError", new ContractError(["result", 3, "open"], "no number")],
    ["InvalidInputError", new InvalidInputError("since", "an instant", "is of no use")],
  ])("gets an error of the class %s", async (name, error) => {
    const gateway = new Gateway();
    const seen = await gateway.receive();
    gateway.status.next({ state: "stalled", failures: 1, lastError: error as AnyPairstreamError });
    gateway.candles.error(error);
    await gateway.settle();
    for (const got of [statuses(seen)[0]!.lastError!, seen.error as PairstreamError]) {
      expect(got).toBeInstanceOf(error.constructor);
      expect({ ...got, name: got.name, message: got.message }).toEqual({
        ...error,
        name,
        message: error.message,
      });
      expect(got.cause).toBeUndefined();
    }
  });
});

describe("a subscription", () => {
  it("asks with its headers, and with those of the protocol", async () => {
    const gateway = new Gateway();
    await gateway.receive({ headers: { Authorization: "Bearer token", Accept: "*/*" } });
    expect(Object.fromEntries(gateway.asked[0]!.headers)).toEqual({
      authorization: "Bearer token",
      accept: "text/event-stream",
    });
  });

  it("has a connection of its own, and leaves nothing behind", async () => {
    const gateway = new Gateway();
    const stream = received({ fetch: gateway.fetch, scheduler: gateway.clock });
    expect(gateway.asked).toHaveLength(0);
    const subscriptions = [stream.subscribe(), stream.subscribe()];
    await gateway.asks(2);
    expect(gateway.asked).toHaveLength(2);
    for (const subscription of subscriptions) subscription.unsubscribe();
    await gateway.settle();
    expect(gateway.asked.every(({ signal }) => signal.aborted)).toBe(true);
    expect(gateway.timers).toBe(0);
    await gateway.pass(100_000);
    expect(gateway.asked).toHaveLength(2);
  });

  it("can be left between two events of one message, before the answer, and while it waits", async () => {
    const gateway = new Gateway();
    for (let minute = 1; minute <= 5; minute += 1) gateway.candles.next(eventOf("new", minute));
    const some: ChannelEvent[] = [];
    received({ fetch: gateway.fetch, scheduler: gateway.clock })
      .pipe(take(2))
      .subscribe((event) => some.push(event));
    await gateway.asks(1);
    expect(some).toHaveLength(2);
    expect(gateway.asked[0]!.signal.aborted).toBe(true);
    gateway.answer = () => new Promise(() => {});
    (await gateway.receive()).subscription.unsubscribe();
    await gateway.settle();
    gateway.answer = () => new Response("", { status: 500 });
    (await gateway.receive()).subscription.unsubscribe();
    await gateway.settle();
    expect(gateway.timers).toBe(0);
    expect(gateway.asked).toHaveLength(3);
  });

  it("reads a body however it is cut into pieces", async () => {
    const bytes = await bytesFor();
    const pieces = Array.from(bytes, (byte) => Uint8Array.of(byte));
    const { events, subscription } = await readFrom((controller) => {
      for (const piece of pieces) controller.enqueue(piece);
    });
    expect(events).toMatchObject([
      { candle: minuteCandle(1) },
      { lastError: { message: expect.stringContaining("wállet 💱") } },
    ]);
    subscription.unsubscribe();
  });

  it.each<[string, (controller: ReadableStreamDefaultController, reason: unknown) => void, number]>([
    ["does not heed the signal", () => {}, 1],
    ["ends at the signal", (controller) => controller.close(), 0],
    ["fails at the signal", (controller, reason) => controller.error(reason), 0],
  ])("leaves nothing open of a body that %s", async (_, atSignal, times) => {
    const bytes = await bytesFor();
    const reading = await readFrom((controller, signal) => {
      controller.enqueue(bytes);
      signal.addEventListener("abort", () => atSignal(controller, signal.reason));
    });
    reading.subscription.unsubscribe();
    await reading.clock.advanceBy(100_000);
    const { signals, events, errors, cancellations, clock } = reading;
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
    expect(cancellations).toHaveLength(times);
    expect([events.length, errors.length, clock.pending]).toEqual([2, 0, 0]);
  });

  it("uses the global fetch of the moment", async () => {
    const gateway = new Gateway();
    vi.stubGlobal("fetch", gateway.fetch);
    const subscription = received({ scheduler: gateway.clock }).subscribe();
    await gateway.asks(1);
    expect(gateway.asked).toHaveLength(1);
    subscription.unsubscribe();
  });

  it("does not answer for what its subscriber throws", async () => {
    const gateway = new Gateway();
    const errors: unknown[] = [];
    const thrown = new Error("thrown by a callback");
    received({ fetch: gateway.fetch, scheduler: gateway.clock })
      .pipe(
        filter(() => {
          throw thrown;
        }),
      )
      .subscribe({ error: (error) => errors.push(error) });
    await gateway.asks(1);
    gateway.candles.next(eventOf("new", 1));
    await gateway.settle();
    expect(errors).toEqual([thrown]);
    expect(gateway.timers).toBe(0);
  });
});

describe("gatewaySource", () => {
  it.each([
    ["url", [""]],
    ["url", ["http://"]],
    ["url", ["//user:password@host/events"]],
    ["url", ["/events?token=password"]],
    ["url", ["/events#password"]],
    ["url", ["ftp://host/events"]],
    ["url", ["http://user:password@host/"]],
    ["url", [7]],
    ["options", [URL_OF_GATEWAY, null]],
    ["fetch", [URL_OF_GATEWAY, { fetch: 1 }]],
    ["headers", [URL_OF_GATEWAY, { headers: { "not a name": "x" } }]],
    ["headers", [URL_OF_GATEWAY, { headers: null }]],
    ["headers", [URL_OF_GATEWAY, { headers: 7 }]],
    ["silence", [URL_OF_GATEWAY, { silence: 0 }]],
    ["scheduler", [URL_OF_GATEWAY, { scheduler: {} }]],
  ])("refuses a bad %s: %j", (parameter, args) => {
    const call = () => gatewaySource(...(args as [string]));
    expect(call).toThrow(expect.objectContaining({ name: "InvalidInputError", parameter }));
    expect(call).not.toThrow(/password/);
  });

  it("takes what a page takes for an address", async () => {
    vi.stubGlobal("location", { href: "https://page.example/chart/index.html?x" });
    const gateway = new Gateway();
    for (const url of ["/pairs", "pairs", new URL("http://other.example/e")]) {
      const source = gatewaySource(url, { fetch: gateway.fetch, scheduler: gateway.clock });
      source.candles(SERIES).subscribe();
    }
    await gateway.asks(3);
    expect(gateway.asked.map(({ url }) => url.split("?")[0])).toEqual([
      "https://page.example/pairs/candles",
      "https://page.example/chart/pairs/candles",
      "http://other.example/e/candles",
    ]);
  });

  it.each(["/pairs", "pairs", "./pairs/"])(
    "may be made with %s outside of a page, and asks nothing",
    async (url) => {
      const gateway = new Gateway();
      const source = gatewaySource(url, { fetch: gateway.fetch, scheduler: gateway.clock });
      await gateway.pass(3_600_000);
      const refusal = { name: "InvalidInputError", parameter: "url" };
      const errors: unknown[] = [];
      const error = (thrown: unknown) => errors.push(thrown);
      source.candles(SERIES).subscribe({ error });
      source.candles({ ...SERIES, timeframe: "3min" }).subscribe({ error });
      source.status({ ...SERIES, timeframe: "5min" }).subscribe({ error });
      source.snipers({ pairAddress: SERIES.pairAddress }).subscribe({ error });
      source.history({ ...SERIES, count: 3 }).catch(error);
      source.history({ ...SERIES, timeframe: "3min", count: 3 }).catch(error);
      expect(errors).toEqual([]);
      await gateway.settle();
      expect(errors).toMatchObject(Array(6).fill(refusal));
      expect(gateway.asked).toEqual([]);
      expect(gateway.timers).toBe(0);
    },
  );

  it("names the address in its errors without the query", async () => {
    const gateway = new Gateway();
    gateway.answer = () => new Response("", { status: 500 });
    const events: ChannelEvent[] = [];
    const options = { fetch: gateway.fetch, scheduler: gateway.clock };
    received(options, `${URL_OF_GATEWAY}?token=hush`).subscribe((event) => events.push(event));
    await gateway.asks(1);
    const message = `${URL_OF_GATEWAY} answered with status 500, and not as a gateway does`;
    expect(events).toMatchObject([{ lastError: { message } }]);
  });
});

/** What a channel says at first that knows of one candle, and of trouble. */
async function bytesFor(): Promise<Uint8Array> {
  const gateway = new Gateway();
  gateway.candles.next(eventOf("new", 1));
  const lastError = new ContractError([], "no wállet 💱");
  gateway.status.next({ state: "stalled", failures: 1, lastError });
  const reading = open(gateway);
  await reading.until("ready");
  await reading.cancel();
  return new TextEncoder().encode(reading.text);
}

/** Subscribes to a body that comes as it is and does not end of itself, until its first event. */
async function readFrom(
  write: (controller: ReadableStreamDefaultController<Uint8Array>, signal: AbortSignal) => void,
) {
  const clock = new VirtualClock();
  const signals: AbortSignal[] = [];
  const cancellations: unknown[] = [];
  const fetch: GatewayFetch = async (_, { signal }) => {
    signals.push(signal);
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => write(controller, signal),
      cancel: (reason) => {
        cancellations.push(reason);
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
  const events: ChannelEvent[] = [];
  const errors: unknown[] = [];
  const subscription = received({ fetch, scheduler: clock }).subscribe({
    next: (event) => events.push(event),
    error: (error) => errors.push(error),
  });
  while (events.length < 2 && errors.length === 0) await clock.advanceBy(0);
  return { clock, signals, cancellations, events, errors, subscription };
}
