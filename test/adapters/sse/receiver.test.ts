import {
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
} from "pairstream";
import {
  type ChannelEvent,
  createEventChannel,
  fromServerSentEvents,
  isCandleEvent,
  isFeedStatus,
  isSniperEvent,
} from "pairstream/sse";
import { filter, firstValueFrom, NEVER, of, Subject, take, toArray } from "rxjs";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { CandleEvent } from "../../../src/candles/event.js";
import type { FeedStatus } from "../../../src/feed-status.js";
import type { SniperEvent } from "../../../src/snipers/diff.js";
import { Gateway, URL_OF_GATEWAY } from "./gateway.js";
import { candleOf, eventOf, SERIES } from "./market.js";
import { walletOf } from "./snipers.js";

const LIVE: FeedStatus = { state: "live", failures: 0, coveredFrom: 1, coveredUntil: 2 };
const statuses = ({ events }: { events: ChannelEvent[] }) => events.filter(isFeedStatus);
const candles = ({ events }: { events: ChannelEvent[] }) => events.filter(isCandleEvent);
/** In short: `new 3 #0 5`: the minute, the revision, the price. */
const short = ({ type, candle, revision }: CandleEvent) =>
  `${type} ${candle.timestamp / 60_000} #${revision} ${candle.close}`;

const added = (address: string, more: Partial<SniperEvent> = {}) =>
  ({
    type: "wallet-added",
    wallet: walletOf(address),
    pairAddress: "pair",
    initial: true,
    observedAt: 1,
    ...more,
  }) as SniperEvent;

afterEach(() => {
  vi.doUnmock("eventsource-parser");
  vi.unstubAllGlobals();
});

describe("one who reads as fast as things happen", () => {
  it("gets the very events of the streams, told apart, and frozen", async () => {
    const gateway = new Gateway();
    const seen = await gateway.receive();
    const told: ChannelEvent[] = [
      eventOf("new", 1),
      eventOf("updated", 1, { price: 2, revision: 1, previous: candleOf(1) }),
      eventOf("updated", 1, { price: 2, revision: 2, previous: candleOf(1, 2), status: "closed" }),
      eventOf("new", 2),
      eventOf("removed", 1, { price: 2, revision: 3, status: "closed" }),
      eventOf("new", 1, { status: "final" }),
      LIVE,
      added("a"),
      {
        type: "sold",
        walletAddress: "a",
        transaction: { transactionHash: "1", transactionTimestamp: 5, blocksAfterCreation: null },
        pairAddress: "pair",
        initial: false,
        observedAt: 2,
      },
      {
        type: "wallet-updated",
        wallet: walletOf("a", { currentBalance: 1 }),
        previous: walletOf("a"),
        changed: ["currentBalance"],
        pairAddress: "pair",
        initial: false,
        observedAt: 2,
      },
      { type: "wallet-removed", previous: walletOf("a"), pairAddress: "pair", initial: false, observedAt: 3 },
      { state: "stalled", failures: 1, lastError: new TimeoutError("too late", 50) },
    ];
    for (const event of told) {
      if (isCandleEvent(event)) gateway.candles.next(event);
      else if (isSniperEvent(event)) gateway.snipers.next(event);
      else gateway.status.next(event);
    }
    await gateway.settle();
    expect(seen.events).toEqual(told);
    expect(seen.events.every((event) => Object.isFrozen(event))).toBe(true);
    const first = candles(seen)[0]!;
    expect([first.candle, first.series].every((part) => Object.isFrozen(part))).toBe(true);
    expect(candles(seen).every(({ series }) => series === first.series)).toBe(true);
    const wallet = seen.events.find((event) => isSniperEvent(event) && event.type === "wallet-updated");
    expect(Object.isFrozen((wallet as { wallet: object }).wallet)).toBe(true);
    expect(statuses(seen).at(-1)!.lastError).toBeInstanceOf(TimeoutError);
  });

  it("gets what was there first, not live, and then what is", async () => {
    const gateway = new Gateway();
    for (let minute = 1; minute <= 3; minute += 1) gateway.candles.next(eventOf("new", minute));
    gateway.snipers.next(added("a", { initial: false }));
    gateway.status.next(LIVE);
    await gateway.settle();
    const seen = await gateway.receive();
    gateway.candles.next(eventOf("new", 4));
    gateway.snipers.next(added("b", { initial: false }));
    await gateway.settle();
    expect(candles(seen).map((event) => [short(event), event.live])).toEqual([
      ["new 1 #0 1", false],
      ["new 2 #0 1", false],
      ["new 3 #0 1", false],
      ["new 4 #0 1", true],
    ]);
    expect(seen.events.filter(isSniperEvent).map(({ initial }) => initial)).toEqual([true, false]);
    // After the candles and wallets, and before what happens then.
    expect(seen.events.findIndex(isFeedStatus)).toBe(4);
  });

  it("feeds operators", async () => {
    const channel = createEventChannel({
      candles: of(
        eventOf("new", 1),
        eventOf("new", 2, { status: "closed" }),
        eventOf("new", 3, { status: "final" }),
      ),
    });
    const closed = fromServerSentEvents(URL_OF_GATEWAY, {
      fetch: (url, init) => channel.respond(new Request(url, init)),
    }).pipe(filter(isCandleEvent), closes(), toArray());
    expect(await firstValueFrom(closed)).toEqual([candleOf(2), candleOf(3)]);
  });

  it("completes with the streams, and errors as they do, without coming back", async () => {
    const gateway = new Gateway({ snipers: NEVER, status: NEVER });
    const seen = await gateway.receive();
    gateway.candles.next(eventOf("new", 1));
    gateway.candles.error(new AuthenticationError("refused", 401, "body"));
    await gateway.settle();
    const late = await gateway.receive();
    for (const { events, error } of [seen, late]) {
      expect(events).toHaveLength(1);
      expect(error).toEqual(new AuthenticationError("refused", 401, ""));
      expect(error).toBeInstanceOf(AuthenticationError);
    }
    const channel = createEventChannel({ candles: of(eventOf("new", 1)) });
    gateway.answer = (request) => channel.respond(request);
    const done = await gateway.receive();
    expect([done.events.length, done.isComplete]).toEqual([1, true]);
    await gateway.pass(100_000);
    expect([gateway.asked.length, gateway.clock.pending]).toEqual([3, 0]);
  });

  it.each<[PairstreamErrorName, PairstreamError]>([
    ["PairstreamError", new PairstreamError("plain")],
    ["HttpError", new HttpError("broken", 500, "")],
    ["AuthenticationError", new AuthenticationError("refused", 403, "")],
    ["QuotaExceededError", new QuotaExceededError("spent")],
    ["RateLimitError", new RateLimitError("slower", "", 5_000)],
    ["RateLimitError", new RateLimitError("slower", "")],
    ["TimeoutError", new TimeoutError("late", 1_000)],
    ["NetworkError", new NetworkError("The service could not be reached")],
    ["ContractError", new ContractError(["result", 3, "open"], "no number")],
    ["InvalidInputError", new InvalidInputError("since", "an instant", "is of no use")],
  ])("gets an error of the class %s", async (name, error) => {
    const gateway = new Gateway();
    const seen = await gateway.receive();
    gateway.status.next({ state: "stalled", failures: 1, lastError: error });
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

describe("a connection that breaks", () => {
  it("reads stalled until it is restored, and loses and repeats nothing", async () => {
    const gateway = new Gateway();
    const seen = await gateway.receive();
    gateway.status.next(LIVE);
    gateway.candles.next(eventOf("new", 1));
    gateway.candles.next(eventOf("new", 2));
    await gateway.settle();
    await gateway.cut();
    expect(statuses(seen).at(-1)).toEqual({
      state: "stalled",
      coveredFrom: 1,
      coveredUntil: 2,
      failures: 1,
      lastError: expect.any(NetworkError),
    });
    gateway.candles.next(eventOf("updated", 1, { price: 2, revision: 1 }));
    gateway.candles.next(eventOf("updated", 1, { price: 3, revision: 2, status: "final" }));
    gateway.candles.next(eventOf("removed", 2, { revision: 1 }));
    gateway.candles.next(eventOf("new", 3));
    await gateway.pass(999);
    expect(gateway.asked).toHaveLength(1);
    await gateway.pass(1);
    expect(candles(seen).map(short)).toEqual([
      "new 1 #0 1",
      "new 2 #0 1",
      "updated 1 #2 3",
      "removed 2 #1 1",
      "new 3 #0 1",
    ]);
    expect(candles(seen)[2]!.previous).toEqual(candleOf(1));
    expect(candles(seen).every(({ live }) => live)).toBe(true);
    expect(statuses(seen).map(({ state }) => state)).toEqual(["live", "stalled", "live"]);
    expect(statuses(seen).at(-1)).toEqual(LIVE);
    expect(gateway.asked.at(-1)!.headers.get("last-event-id")).toMatch(/-\d+$/);
    expect(gateway.asked[0]!.signal.aborted).toBe(true);
  });

  it("is tried again after 1 s, doubled each time up to 30 s, and counted", async () => {
    const gateway = new Gateway();
    gateway.answer = () => {
      throw new TypeError("fetch failed");
    };
    const seen = await gateway.receive();
    await gateway.pass(100_000);
    const at = gateway.asked.map((asked) => asked.at);
    expect(at.slice(1).map((instant, before) => instant - at[before]!)).toEqual([
      1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000,
    ]);
    expect(statuses(seen).map(({ state, failures }) => [state, failures])).toEqual(
      at.map((_, failures) => ["stalled", failures + 1]),
    );
    expect(statuses(seen)[0]!.lastError).toMatchObject({
      name: "NetworkError",
      message: `${URL_OF_GATEWAY} could not be reached: fetch failed`,
      cause: expect.any(TypeError),
    });
    gateway.answer = undefined;
    gateway.candles.next(eventOf("new", 1));
    await gateway.pass(30_000);
    expect(candles(seen)).toHaveLength(1);
    await gateway.cut();
    expect(statuses(seen).at(-1)).toMatchObject({ state: "stalled", failures: 1 });
  });

  it("is one that has been silent for two and a half heartbeats of the channel", async () => {
    const gateway = new Gateway({ heartbeat: 10_000 });
    const seen = await gateway.receive();
    await gateway.pass(3_600_000);
    expect(seen.events).toEqual([]);
    // Bytes stop while the connection stands.
    const { readable } = new TransformStream();
    gateway.answer = (request) => {
      const response = gateway.channel.respond(request);
      const { writable, readable: halted } = new TransformStream();
      response.body!.pipeTo(writable).catch(() => {});
      return gateway.asked.length === 2
        ? new Response(readable, { headers: response.headers })
        : new Response(halted, response);
    };
    await gateway.cut();
    await gateway.pass(1_000);
    const since = gateway.clock.now();
    // Before the channel has told of its heartbeat, three quarters of a minute are borne less a little.
    await gateway.pass(37_499);
    expect(statuses(seen)).toHaveLength(1);
    await gateway.pass(1);
    expect(statuses(seen).at(-1)).toMatchObject({
      state: "stalled",
      failures: 2,
      lastError: { name: "TimeoutError", timeout: 37_500 },
    });
    expect(gateway.clock.now() - since).toBe(37_500);
    expect(gateway.asked[1]!.signal.aborted).toBe(true);
  });

  it("is one whose channel has fallen silent", async () => {
    const gateway = new Gateway({ heartbeat: 10_000 });
    const seen = await gateway.receive();
    // Sent are from now on no heartbeats, as from a machine that has been cut off.
    const silent = new Gateway({
      heartbeat: 10_000,
      scheduler: { now: () => 0, schedule: () => NEVER.subscribe() },
    });
    gateway.answer = (request) => silent.channel.respond(request);
    await gateway.cut();
    await gateway.pass(1_000);
    expect(statuses(seen).map(({ state }) => state)).toEqual(["stalled", "starting"]);
    await gateway.pass(24_999);
    expect(statuses(seen)).toHaveLength(2);
    await gateway.pass(1);
    expect(statuses(seen).at(-1)).toMatchObject({ state: "stalled", lastError: { timeout: 25_000 } });
  });

  it("is one that has been silent for as long as it is told", async () => {
    const gateway = new Gateway({ heartbeat: 10_000 });
    const seen = await gateway.receive({ silence: 5_000 });
    await gateway.pass(5_000);
    expect(statuses(seen)).toMatchObject([
      { state: "stalled", lastError: { name: "TimeoutError", timeout: 5_000 } },
    ]);
  });

  it("does not hold a request that never answers, heed its signal or not", async () => {
    const gateway = new Gateway();
    let cancelled = 0;
    let answer: (response: Response) => void = () => {};
    gateway.answer = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    const seen = await gateway.receive();
    await gateway.pass(37_500);
    expect(statuses(seen)).toMatchObject([{ state: "stalled", failures: 1 }]);
    const body = new ReadableStream({
      cancel: () => {
        cancelled += 1;
      },
    });
    answer(new Response(body));
    await gateway.settle();
    expect(cancelled).toBe(1);
  });

  it("is one that has answered and then fallen silent", async () => {
    const gateway = new Gateway();
    let answer: (response: Response) => void = () => {};
    gateway.answer = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    const seen = await gateway.receive();
    await gateway.pass(30_000);
    answer(
      new Response(new TransformStream().readable, { headers: { "content-type": "text/event-stream" } }),
    );
    await gateway.pass(37_499);
    expect(seen.events).toEqual([]);
    await gateway.pass(1);
    expect(statuses(seen)).toMatchObject([{ state: "stalled", lastError: { timeout: 37_500 } }]);
  });

  it("is tried again when a hint of the gateway says so", async () => {
    const gateway = new Gateway();
    gateway.answer = () => new Response("busy", { status: 429, headers: { "retry-after": "7" } });
    const seen = await gateway.receive();
    expect(statuses(seen)[0]!.lastError).toEqual(
      new RateLimitError(`${URL_OF_GATEWAY} answered with status 429`, "busy", 7_000),
    );
    await gateway.pass(6_999);
    expect(gateway.asked).toHaveLength(1);
    await gateway.pass(1);
    expect(gateway.asked).toHaveLength(2);
  });

  it("heeds the channel's retry, within reason", async () => {
    const gateway = new Gateway();
    const answerWith = (retry: number) => () =>
      new Response(`retry: ${retry}\n\n`, { headers: { "content-type": "text/event-stream" } });
    gateway.answer = answerWith(5_000);
    await gateway.receive();
    await gateway.pass(5_000);
    expect(gateway.asked.map(({ at }) => at)).toEqual([0, 5_000]);
    const other = new Gateway();
    other.answer = answerWith(0);
    await other.receive();
    await other.pass(1_000);
    expect(other.asked.map(({ at }) => at)).toEqual([0, 100, 300, 700]);
  });

  it("is announced as restored where the channel has no status", async () => {
    const gateway = new Gateway({ status: undefined as never, snipers: undefined as never });
    const { channel } = gateway;
    const plain = createEventChannel({ candles: gateway.candles, scheduler: gateway.clock });
    channel.close();
    gateway.answer = (request) => plain.respond(request);
    const seen = await gateway.receive();
    expect(seen.events).toEqual([]);
    await gateway.cut();
    await gateway.pass(1_000);
    expect(statuses(seen)).toMatchObject([{ state: "stalled" }, { state: "live", failures: 0 }]);
  });

  it("is answered with 503 while the gateway stops, and comes back to the next", async () => {
    const gateway = new Gateway();
    const seen = await gateway.receive();
    gateway.candles.next(eventOf("new", 1));
    await gateway.settle();
    gateway.channel.close();
    await gateway.pass(1_000);
    expect(statuses(seen).map(({ lastError }) => lastError!.name)).toEqual(["NetworkError", "HttpError"]);
    gateway.start();
    gateway.candles.next(eventOf("new", 1));
    gateway.candles.next(eventOf("new", 2));
    await gateway.pass(2_000);
    expect(candles(seen).map(short)).toEqual(["new 1 #0 1", "new 2 #0 1"]);
    expect(candles(seen)[1]!.live).toBe(true);
  });
});

describe("a fresh start", () => {
  /** A receiver that has the minutes 1 to 5, and a gateway that is started anew; then what the new one tells first. */
  async function restarted(tell: (gateway: Gateway) => void, keep = 5_000) {
    const gateway = new Gateway({ keep });
    for (let minute = 1; minute <= 5; minute += 1) {
      gateway.candles.next(eventOf("new", minute, { status: minute < 4 ? "final" : "open" }));
    }
    gateway.snipers.next(added("a"));
    gateway.snipers.next(added("b"));
    gateway.status.next(LIVE);
    await gateway.settle();
    const seen = await gateway.receive();
    await gateway.cut();
    gateway.start();
    tell(gateway);
    await gateway.settle();
    const before = seen.events.length;
    await gateway.pass(1_000);
    return { gateway, seen, news: () => seen.events.slice(before) };
  }
  const told = (events: ChannelEvent[]) => events.filter(isCandleEvent).map(short);
  const snipersTold = (events: ChannelEvent[]) =>
    events
      .filter(isSniperEvent)
      .map(
        (event) =>
          `${event.type} ${"previous" in event ? event.previous.walletAddress : "wallet" in event ? event.wallet.walletAddress : event.walletAddress}`,
      );

  it("tells what differs, ascending: new, updated, and removed where something is gone", async () => {
    const { news } = await restarted(({ candles, snipers }) => {
      candles.next(eventOf("new", 2, { status: "final" }));
      candles.next(eventOf("new", 4, { status: "closed", price: 7 }));
      candles.next(eventOf("new", 6, { observedAt: 99 }));
      snipers.next(added("b", { wallet: walletOf("b", { currentBalance: 5 }) }));
      snipers.next(added("c"));
    });
    expect(told(news())).toEqual(["removed 3 #1 1", "updated 4 #1 7", "removed 5 #1 1", "new 6 #0 1"]);
    expect(news().filter(isCandleEvent)).toMatchObject([
      { observedAt: 99, status: "final" },
      { previous: candleOf(4), status: "closed" },
      { candle: candleOf(5), live: true },
      { live: true },
    ]);
    expect(snipersTold(news())).toEqual(["wallet-updated b", "wallet-added c", "wallet-removed a"]);
    expect(
      news()
        .filter(isSniperEvent)
        .every(({ initial }) => !initial),
    ).toBe(true);
  });

  it("waits for the history of a gateway that is still reading it", async () => {
    const { gateway, news } = await restarted(({ candles }) => {
      candles.next(eventOf("new", 1, { status: "final", live: false }));
    });
    expect(told(news())).toEqual([]);
    expect(snipersTold(news())).toEqual([]);
    gateway.candles.next(eventOf("new", 3, { status: "final", live: false }));
    await gateway.settle();
    expect(told(news())).toEqual(["removed 2 #1 1"]);
    gateway.candles.next(eventOf("new", 4, { status: "closed", live: false }));
    await gateway.settle();
    expect(told(news())).toEqual(["removed 2 #1 1", "updated 4 #1 1"]);
    gateway.status.next(LIVE);
    gateway.snipers.next(added("a"));
    await gateway.settle();
    expect(told(news())).toEqual(["removed 2 #1 1", "updated 4 #1 1", "removed 5 #1 1"]);
    expect(snipersTold(news())).toEqual(["wallet-removed b"]);
  });

  it("waits for a gateway that knows nothing yet", async () => {
    const { gateway, news } = await restarted(() => {});
    expect(news()).toMatchObject([{ state: "starting" }]);
    gateway.status.next(LIVE);
    gateway.candles.next(eventOf("new", 4, { price: 2 }));
    await gateway.settle();
    expect(told(news())).toEqual(["updated 4 #1 2", "removed 5 #1 1"]);
  });

  it("leaves no hole: what the new candles do not reach is removed", async () => {
    const { news } = await restarted(({ candles }) => candles.next(eventOf("new", 6)));
    expect(told(news())).toEqual(
      [1, 2, 3, 4, 5].map((minute) => `removed ${minute} #1 1`).concat("new 6 #0 1"),
    );
  });

  it("keeps what is older where the candles of the gateway meet it", async () => {
    const { news } = await restarted(({ candles }) => candles.next(eventOf("new", 5)));
    expect(told(news())).toEqual([]);
  });

  it("takes back no status: what was closed stays closed until the gateway gets there", async () => {
    const { gateway, seen, news } = await restarted(({ candles }) => {
      candles.next(eventOf("new", 3, { price: 2 }));
      candles.next(eventOf("new", 4));
      candles.next(eventOf("new", 5));
    });
    expect(news().filter(isCandleEvent)).toMatchObject([{ status: "final", candle: candleOf(3, 2) }]);
    gateway.candles.next(eventOf("updated", 3, { price: 2, status: "closed", revision: 1 }));
    gateway.candles.next(eventOf("updated", 4, { status: "closed", revision: 1 }));
    await gateway.settle();
    expect(told(news())).toEqual(["updated 3 #1 2", "updated 4 #1 1"]);
    expect(candles(seen).at(-1)!.status).toBe("closed");
  });

  it("says a new life of the same channel's candle as removed and new", async () => {
    const gateway = new Gateway({ buffer: 0 });
    const seen = await gateway.receive();
    gateway.candles.next(eventOf("new", 1, { status: "closed" }));
    await gateway.settle();
    await gateway.cut();
    gateway.candles.next(eventOf("removed", 1, { status: "closed", revision: 1 }));
    gateway.candles.next(eventOf("new", 1));
    await gateway.pass(1_000);
    expect(candles(seen).map((event) => `${short(event)} ${event.status}`)).toEqual([
      "new 1 #0 1 closed",
      "removed 1 #1 1 closed",
      "new 1 #0 1 open",
    ]);
  });

  it("removes what the same channel has no more, the oldest and the last one included", async () => {
    const gateway = new Gateway({ buffer: 0 });
    const seen = await gateway.receive();
    for (let minute = 1; minute <= 3; minute += 1) gateway.candles.next(eventOf("new", minute));
    await gateway.settle();
    await gateway.cut();
    gateway.candles.next(eventOf("removed", 1, { revision: 1 }));
    await gateway.pass(1_000);
    expect(candles(seen).map(short).slice(3)).toEqual(["removed 1 #1 1"]);
    await gateway.cut();
    gateway.candles.next(eventOf("removed", 3, { revision: 1 }));
    gateway.candles.next(eventOf("removed", 2, { revision: 1 }));
    await gateway.pass(1_000);
    expect(candles(seen).map(short).slice(4)).toEqual(["removed 2 #1 1", "removed 3 #1 1"]);
  });

  it("keeps what the channel has forgotten, as long as the two meet", async () => {
    const gateway = new Gateway({ buffer: 0, keep: 3 });
    const seen = await gateway.receive();
    const next = async (...minutes: number[]) => {
      for (const minute of minutes) gateway.candles.next(eventOf("new", minute));
      await gateway.settle();
    };
    await next(1, 2, 3);
    await gateway.cut();
    await next(4, 5, 6);
    await gateway.pass(1_000);
    // The channel has forgotten 3 and all before it, which the receiver has.
    expect(candles(seen).map(short).slice(3)).toEqual(["new 4 #0 1", "new 5 #0 1", "new 6 #0 1"]);
    await gateway.cut();
    await next(7, 8, 9, 10);
    await gateway.pass(1_000);
    // Nobody has 7 any more.
    expect(candles(seen).map(short).slice(6)).toEqual([
      ...[4, 5, 6].map((minute) => `removed ${minute} #1 1`),
      ...[8, 9, 10].map((minute) => `new ${minute} #0 1`),
    ]);
  });
});

describe("what another attempt cannot mend", () => {
  const eventStream = { "content-type": "text/event-stream" };
  const hello =
    'event: hello\ndata: {"version":1,"channel":"c","heartbeat":1000,"keep":5,"hasStatus":false,"isResumed":false}\n\n';

  it.each([
    [400, HttpError],
    [401, AuthenticationError],
    [403, AuthenticationError],
    [404, HttpError],
    [204, HttpError],
    [302, HttpError],
  ])("is a status %i at the first connection", async (status, type) => {
    const gateway = new Gateway();
    gateway.answer = () => new Response(status === 204 ? null : "x".repeat(5_000), { status });
    const { events, error } = await gateway.receive();
    expect(events).toEqual([]);
    expect(error).toBeInstanceOf(type);
    expect(error).toMatchObject({ status, body: status === 204 ? "" : "x".repeat(1_000) });
    expect(gateway.clock.pending).toBe(0);
  });

  it.each([[401], [403], [400], [410]])("is a status %i later", async (status) => {
    const gateway = new Gateway();
    const seen = await gateway.receive();
    gateway.answer = () => new Response("no", { status });
    await gateway.cut();
    await gateway.pass(1_000);
    expect(seen.error).toMatchObject({ status });
  });

  it.each([[404], [500], [502], [408], [425], [429]])("is not a status %i later", async (status) => {
    const gateway = new Gateway();
    const seen = await gateway.receive();
    gateway.answer = () => new Response("no", { status });
    await gateway.cut();
    await gateway.pass(1_000);
    expect(seen.error).toBeUndefined();
    gateway.answer = undefined;
    gateway.candles.next(eventOf("new", 1));
    await gateway.pass(2_000);
    expect(candles(seen)).toHaveLength(1);
  });

  it("is an answer of another type at the first connection, and not later", async () => {
    const gateway = new Gateway();
    const html = () => new Response("<html>", { headers: { "content-type": "text/html" } });
    gateway.answer = html;
    const first = await gateway.receive();
    expect(first.error).toMatchObject({ name: "ContractError", issue: expect.stringContaining("text/html") });
    gateway.answer = undefined;
    const seen = await gateway.receive();
    gateway.answer = html;
    await gateway.cut();
    await gateway.pass(1_000);
    expect(seen.error).toBeUndefined();
    expect(statuses(seen).at(-1)!.lastError).toBeInstanceOf(ContractError);
  });

  it.each([
    ["another version", hello.replace('"version":1', '"version":2'), ["hello", "version"]],
    ["a message before hello", "event: ready\ndata: {}\n\n", []],
    ["a second hello", hello + hello, ["hello"]],
    ["a message without a name", "data: 1\n\n", []],
    ["a message of another name", `${hello}event: toString\ndata: {}\n\n`, []],
    ["no JSON", `${hello}event: ready\ndata: {\n\n`, ["ready"]],
    ["a missing field", `${hello}event: candle\ndata: {"type":"new"}\n\n`, ["candle", "life"]],
    [
      "a value of the wrong kind",
      `${hello}event: status\ndata: {"state":"live","failures":"0"}\n\n`,
      ["status", "failures"],
    ],
  ])("is %s", async (_, text, path) => {
    const gateway = new Gateway();
    gateway.answer = () => new Response(text, { headers: eventStream });
    const { error } = await gateway.receive();
    expect(error).toBeInstanceOf(ContractError);
    expect(error).toMatchObject({ path });
    expect(gateway.clock.pending).toBe(0);
  });

  it("comes after what is good before it", async () => {
    const gateway = new Gateway();
    gateway.answer = async (request) => {
      const response = gateway.channel.respond(request);
      gateway.candles.next(eventOf("new", 1));
      gateway.channel.close();
      return new Response(`${await response.text()}event: odd\ndata: {}\n\n`, { headers: eventStream });
    };
    const { events, error } = await gateway.receive();
    expect(events).toHaveLength(1);
    expect(error).toBeInstanceOf(ContractError);
  });

  it("is a missing parser, which is named", async () => {
    vi.doMock("eventsource-parser", () => {
      throw new Error("Cannot find package 'eventsource-parser'");
    });
    const failing = firstValueFrom(fromServerSentEvents(URL_OF_GATEWAY));
    await expect(failing).rejects.toMatchObject({
      name: "PairstreamError",
      message: expect.stringContaining("npm install eventsource-parser"),
      cause: expect.any(Error),
    });
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
    const stream = fromServerSentEvents(URL_OF_GATEWAY, { fetch: gateway.fetch, scheduler: gateway.clock });
    expect(gateway.asked).toHaveLength(0);
    const subscriptions = [stream.subscribe(), stream.subscribe()];
    await gateway.asks(2);
    expect(gateway.asked).toHaveLength(2);
    for (const subscription of subscriptions) subscription.unsubscribe();
    await gateway.settle();
    expect(gateway.asked.every(({ signal }) => signal.aborted)).toBe(true);
    expect(gateway.clock.pending).toBe(0);
    await gateway.pass(100_000);
    expect(gateway.asked).toHaveLength(2);
  });

  it("can be left between two events of one message, before the answer, and while it waits", async () => {
    const gateway = new Gateway();
    for (let minute = 1; minute <= 5; minute += 1) gateway.candles.next(eventOf("new", minute));
    const some: ChannelEvent[] = [];
    fromServerSentEvents(URL_OF_GATEWAY, { fetch: gateway.fetch, scheduler: gateway.clock })
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
    expect(gateway.clock.pending).toBe(0);
    expect(gateway.asked).toHaveLength(3);
  });

  it("reads a body however it is cut into pieces, and leaves it when it is left", async () => {
    const gateway = new Gateway();
    gateway.snipers.next(added("wállet 💱"));
    await gateway.settle();
    let cancelled = 0;
    gateway.answer = (request) => {
      const reader = gateway.channel.respond(request).body!.getReader();
      const bytes: number[] = [];
      const body = new ReadableStream<Uint8Array>({
        async pull(controller) {
          if (bytes.length === 0) bytes.push(...(await reader.read()).value!);
          controller.enqueue(new Uint8Array([bytes.shift()!]));
        },
        cancel() {
          cancelled += 1;
        },
      });
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    };
    const events: ChannelEvent[] = [];
    const subscription = fromServerSentEvents(URL_OF_GATEWAY, {
      fetch: (url, init) => gateway.answer!(new Request(url, init)),
      scheduler: gateway.clock,
    }).subscribe((event) => events.push(event));
    while (events.length === 0) await gateway.settle();
    expect(events).toMatchObject([{ wallet: { walletAddress: "wállet 💱" } }]);
    subscription.unsubscribe();
    await gateway.settle();
    expect(cancelled).toBe(1);
  });

  it("uses the global fetch of the moment", async () => {
    const gateway = new Gateway();
    vi.stubGlobal("fetch", gateway.fetch);
    const subscription = fromServerSentEvents(URL_OF_GATEWAY, { scheduler: gateway.clock }).subscribe();
    await gateway.asks(1);
    expect(gateway.asked).toHaveLength(1);
    subscription.unsubscribe();
  });

  it("does not answer for what its subscriber throws", async () => {
    const gateway = new Gateway();
    const errors: unknown[] = [];
    const thrown = new Error("thrown by a callback");
    fromServerSentEvents(URL_OF_GATEWAY, { fetch: gateway.fetch, scheduler: gateway.clock })
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
    expect(gateway.clock.pending).toBe(0);
  });
});

describe("fromServerSentEvents", () => {
  it.each([
    ["url", ["/events"]],
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
    const call = () => fromServerSentEvents(...(args as [string]));
    expect(call).toThrow(expect.objectContaining({ name: "InvalidInputError", parameter }));
    expect(call).not.toThrow(/password/);
  });

  it("takes what a page takes for an address", async () => {
    vi.stubGlobal("location", { href: "https://page.example/chart/index.html?x" });
    const gateway = new Gateway();
    const urls = ["/events", "events", new URL("http://other.example/e?token=1")];
    for (const url of urls)
      fromServerSentEvents(url, { fetch: gateway.fetch, scheduler: gateway.clock }).subscribe();
    await gateway.asks(3);
    expect(gateway.asked.map(({ url }) => url)).toEqual([
      "https://page.example/events",
      "https://page.example/chart/events",
      "http://other.example/e?token=1",
    ]);
  });

  it("names the address in its errors without the query", async () => {
    const gateway = new Gateway();
    gateway.answer = () => new Response("", { status: 500 });
    const events: ChannelEvent[] = [];
    fromServerSentEvents(`${URL_OF_GATEWAY}?token=hush`, {
      fetch: gateway.fetch,
      scheduler: gateway.clock,
    }).subscribe((event) => events.push(event));
    await gateway.asks(1);
    expect(events).toMatchObject([{ lastError: { message: `${URL_OF_GATEWAY} answered with status 500` } }]);
  });
});

describe("the guards", () => {
  it("tell every kind from the others", () => {
    const kinds: ChannelEvent[] = [eventOf("new", 1), added("a"), LIVE];
    expect(kinds.map((event) => [isCandleEvent(event), isSniperEvent(event), isFeedStatus(event)])).toEqual([
      [true, false, false],
      [false, true, false],
      [false, false, true],
    ]);
    const stream = new Subject<ChannelEvent>();
    const narrowed: CandleEvent[] = [];
    stream.pipe(filter(isCandleEvent)).subscribe((event) => narrowed.push(event));
    for (const event of kinds) stream.next(event);
    expect(narrowed).toEqual([kinds[0]]);
    expect(narrowed[0]!.series).toEqual(SERIES);
  });
});
