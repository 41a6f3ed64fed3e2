import { AuthenticationError, NetworkError } from "pairstream";
import { createEventChannel } from "pairstream/sse";
import { concat, NEVER, Observable, of, Subject, throwError } from "rxjs";
import { describe, expect, it } from "vitest";
import type { CandleEvent } from "../../../src/candles/event.js";
import type { FeedStatus } from "../../../src/feed-status.js";
import { Gateway, messagesIn, Reading } from "./gateway.js";
import { candleOf, eventOf, SERIES } from "./market.js";
import { walletOf } from "./snipers.js";

const request = (lastEventId?: string, init: RequestInit = {}) =>
  new Request("http://gateway.test/events", {
    ...init,
    headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId },
  });
const open = ({ channel }: Gateway, lastEventId?: string) =>
  new Reading(channel.respond(request(lastEventId)));
const names = (messages: readonly { name: string | undefined }[]) => messages.map(({ name }) => name);

describe("a response", () => {
  it("is a stream of events that nobody may store or hold back", () => {
    const { status, headers } = new Gateway().channel.respond(request());
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toEqual({
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    });
  });

  it("opens with what the receiver is to know, and the state, which is empty at first", async () => {
    const reading = open(new Gateway({ heartbeat: 5_000, keep: 7 }));
    const [hello, snapshot, ready] = await reading.until("ready");
    expect(reading.text).toMatch(/^retry: 1000\n\n/);
    expect(hello).toEqual({
      name: "hello",
      data: {
        version: 1,
        channel: expect.any(String),
        heartbeat: 5_000,
        keep: 7,
        hasStatus: true,
        isResumed: false,
      },
    });
    expect(snapshot).toEqual({ name: "snapshot", data: { series: [], pairs: [] } });
    expect(ready).toEqual({ id: `${hello!.data.channel}-0`, name: "ready", data: {} });
  });

  it("holds the state for one who comes late, and then every event as it happens", async () => {
    const gateway = new Gateway();
    const [wallet, status] = [walletOf("a"), { state: "live", failures: 0, coveredUntil: 3 } as const];
    gateway.candles.next(eventOf("new", 2));
    gateway.candles.next(eventOf("new", 1, { status: "closed" }));
    gateway.candles.next(eventOf("updated", 2, { price: 5, revision: 1, previous: candleOf(2) }));
    gateway.snipers.next({ type: "wallet-added", wallet, pairAddress: "pair", initial: true, observedAt: 9 });
    gateway.status.next(status);
    await gateway.settle();
    const reading = open(gateway);
    const state = await reading.until("ready");
    expect(names(state)).toEqual(["hello", "snapshot", "candle", "candle", "wallet", "status", "ready"]);
    expect(state[1]!.data).toEqual({
      series: [{ series: SERIES, after: null, observedAt: 2, isSettled: true }],
      pairs: [{ pairAddress: "pair", observedAt: 9, isSettled: true }],
    });
    const candles = state.filter(({ name }) => name === "candle").map(({ data }) => data);
    expect(candles).toMatchObject([
      { candle: candleOf(1), status: "closed" },
      { candle: candleOf(2, 5), status: "open", revision: 1 },
    ]);
    expect(state[4]!.data).toEqual({ pairAddress: "pair", walletAddress: "a", wallet, observedAt: 9 });
    expect(state[5]!.data).toEqual(status);

    gateway.candles.next(eventOf("updated", 2, { price: 6, revision: 2, previous: candleOf(2, 5) }));
    const next = messagesIn(await reading.next());
    expect(next).toEqual([
      {
        id: expect.any(String),
        name: "candle",
        data: {
          type: "updated",
          life: candles[1]!.life,
          candle: candleOf(2, 6),
          status: "open",
          revision: 2,
          live: true,
          observedAt: 2,
          series: SERIES,
        },
      },
    ]);
  });

  it("goes on after the id that the receiver has, with what it has missed as it now is", async () => {
    const gateway = new Gateway();
    gateway.candles.next(eventOf("new", 2));
    const first = open(gateway);
    const id = (await first.until("ready")).at(-1)!.id!;
    await first.cancel();
    gateway.status.next({ state: "live", failures: 0 });
    gateway.candles.next(eventOf("updated", 2, { price: 2, revision: 1 }));
    gateway.candles.next(eventOf("new", 3));
    gateway.candles.next(eventOf("new", 1, { status: "closed" }));
    gateway.candles.next(eventOf("updated", 2, { price: 3, revision: 2, status: "closed" }));
    const state = await open(gateway, id).until("ready");
    expect(names(state)).toEqual(["hello", "candle", "candle", "candle", "status", "ready"]);
    expect(state[0]!.data.isResumed).toBe(true);
    // The older candle first, whichever changed last.
    expect(state.slice(1, 4).map(({ data }) => data.candle)).toEqual([
      candleOf(1),
      candleOf(2, 3),
      candleOf(3),
    ]);
    expect(state.map(({ id }) => id !== undefined)).toEqual([...Array(5).fill(false), true]);
    const again = await open(gateway, state.at(-1)!.id).until("ready");
    expect(names(again)).toEqual(["hello", "status", "ready"]);
  });

  it.each([
    ["of another channel", (id: string) => `another-${id.split("-").at(-1)}`],
    ["beyond the buffer", (id: string) => id.replace(/\d+$/, "0")],
    ["of the future", (id: string) => id.replace(/\d+$/, "999")],
    ["that is none", () => "nonsense"],
    ["that is no number", (id: string) => id.replace(/\d+$/, "1e1")],
  ])("starts afresh after an id %s", async (_, change) => {
    const gateway = new Gateway({ buffer: 2 });
    for (let minute = 1; minute <= 5; minute += 1) gateway.candles.next(eventOf("new", minute));
    const id = (await open(gateway).until("ready")).at(-1)!.id!;
    const state = await open(gateway, change(id)).until("ready");
    expect(names(state)).toEqual(["hello", "snapshot", ...Array(5).fill("candle"), "ready"]);
    expect(state[0]!.data.isResumed).toBe(false);
  });

  it("is refused for other methods", async () => {
    const response = new Gateway().channel.respond(request(undefined, { method: "POST" }));
    expect([response.status, response.headers.get("allow")]).toEqual([405, "GET"]);
  });

  it("holds the newest candles that are kept, and says where they begin", async () => {
    const gateway = new Gateway({ keep: 2 });
    const reading = open(gateway);
    for (let minute = 1; minute <= 4; minute += 1) gateway.candles.next(eventOf("new", minute));
    // Neither one that is forgotten nor one older than that is heard of again.
    gateway.candles.next(eventOf("updated", 2, { price: 9, revision: 1 }));
    gateway.candles.next(eventOf("removed", 1, { revision: 1 }));
    const state = await open(gateway).until("ready");
    expect(state[1]!.data.series).toMatchObject([{ after: 2 * 60_000 }]);
    expect(state.slice(2, -1).map(({ data }) => data.candle)).toEqual([candleOf(3), candleOf(4)]);
    // Not even where there is room again.
    gateway.candles.next(eventOf("removed", 4, { revision: 1 }));
    gateway.candles.next(eventOf("updated", 2, { price: 10, revision: 2 }));
    const later = await open(gateway).until("ready");
    expect(later.slice(2, -1).map(({ data }) => data.candle)).toEqual([candleOf(3)]);
    // Nor is one that turns up before all that are kept.
    gateway.candles.next(eventOf("new", 6));
    gateway.candles.next(eventOf("new", 2.5));
    gateway.status.next({ state: "live", failures: 0 });
    const minutes = (await reading.until("status"))
      .filter(({ name, data }) => name === "candle" && data.type === "new")
      .map(({ data }) => data.candle.timestamp / 60_000);
    expect(minutes).toEqual([1, 2, 3, 4, 6]);
  });
});

describe("a receiver that does not read", () => {
  it("has no more of a large state waiting for it than of anything", async () => {
    const gateway = new Gateway();
    for (let minute = 1; minute <= 5_000; minute += 1) gateway.candles.next(eventOf("new", minute));
    const reading = open(gateway);
    gateway.channel.close();
    await reading.until("end");
    expect(reading.text.length).toBeGreaterThan(64 * 1_024);
    expect(reading.text.length).toBeLessThan(90 * 1_024);
  });

  it("is sent little, and then the state as it is by then", async () => {
    const gateway = new Gateway({ buffer: 10 });
    gateway.candles.next(eventOf("new", 1));
    const reading = open(gateway);
    for (let revision = 1; revision <= 20_000; revision += 1) {
      gateway.candles.next(eventOf("updated", 1, { price: revision + 1, revision }));
    }
    gateway.candles.next(eventOf("new", 2));
    const messages: ReturnType<typeof messagesIn> = [];
    while (messages.at(-1)?.data.candle?.timestamp !== 2 * 60_000 && messages.at(-1)?.name !== "end") {
      messages.push(...messagesIn(await reading.next()));
      if (names(messages).filter((name) => name === "ready").length === 2) break;
    }
    expect(reading.text.length).toBeLessThan(100_000);
    expect(names(messages.slice(-4))).toEqual(["snapshot", "candle", "candle", "ready"]);
    expect(messages.at(-3)!.data.candle).toEqual(candleOf(1, 20_001));
    gateway.candles.next(eventOf("updated", 2, { price: 3, revision: 1 }));
    expect(messagesIn(await reading.next())).toMatchObject([
      { name: "candle", data: { candle: candleOf(2, 3) } },
    ]);
  });

  it("gets one change a candle and a wallet where the log reaches back to what it has", async () => {
    const gateway = new Gateway();
    const reading = open(gateway);
    await reading.until("ready");
    const blob = "x".repeat(70_000);
    gateway.status.next({ state: "stalled", failures: 1, lastError: new NetworkError("lost") });
    // The first fills what may wait; the rest gathers.
    const event = { pairAddress: "pair", initial: false, observedAt: 1 };
    gateway.snipers.next({ ...event, type: "wallet-added", wallet: walletOf(blob) });
    const transaction = { transactionHash: "1", transactionTimestamp: 1, blocksAfterCreation: 0 };
    gateway.snipers.next({ ...event, type: "wallet-added", wallet: walletOf("a") });
    gateway.snipers.next({ ...event, type: "wallet-added", wallet: walletOf("b") });
    gateway.snipers.next({ ...event, type: "sniped", walletAddress: "b", transaction });
    for (let minute = 1; minute <= 3; minute += 1) gateway.candles.next(eventOf("new", minute));
    gateway.candles.next(eventOf("updated", 2, { status: "closed", revision: 1 }));
    gateway.candles.next(eventOf("updated", 2, { status: "final", revision: 2 }));
    gateway.candles.next(eventOf("removed", 3, { revision: 1 }));
    gateway.status.next({ state: "live", failures: 0 });
    await reading.until("sniper");
    const rest = await reading.until("status");
    expect(rest.map(({ name, data }) => [name, data.type ?? data.wallet?.walletAddress ?? ""])).toEqual([
      ["candle", "new"],
      ["candle", "updated"],
      ["candle", "removed"],
      ["sniper", "wallet-added"],
      ["wallet", "b"],
      ["settled", ""],
      ["settled", ""],
      ["status", ""],
    ]);
    expect(rest[1]!.data).toMatchObject({ status: "final", revision: 2 });
    expect(rest[4]!.data.wallet.snipedTransactions).toEqual([transaction]);
    expect(rest.map(({ id }) => id !== undefined)).toEqual([...Array(7).fill(false), true]);
  });

  it("holds up nobody else", async () => {
    const gateway = new Gateway();
    const [idle, busy] = [open(gateway), open(gateway)];
    await busy.until("ready");
    for (let revision = 0; revision < 1_000; revision += 1) {
      gateway.candles.next(eventOf(revision === 0 ? "new" : "updated", 1, { price: revision + 1, revision }));
      const messages = await busy.until("candle");
      expect(messages.find(({ name }) => name === "candle")!.data).toMatchObject({ revision });
    }
    await idle.cancel();
  });
});

describe("heartbeats", () => {
  it("come while somebody is connected, and leave no timer behind", async () => {
    const gateway = new Gateway({ heartbeat: 1_000 });
    expect(gateway.clock.pending).toBe(0);
    const [one, other] = [open(gateway), open(gateway)];
    await one.until("ready");
    const before = one.text.length;
    await gateway.pass(3_500);
    await one.next();
    await one.next();
    await one.next();
    expect(one.text.slice(before)).toBe(":\n\n:\n\n:\n\n");
    await one.cancel();
    expect(gateway.clock.pending).toBe(1);
    await other.cancel();
    expect(gateway.clock.pending).toBe(0);
    open(gateway);
    expect(gateway.clock.pending).toBe(1);
  });

  it("do not gather for one who does not read", async () => {
    const gateway = new Gateway({ heartbeat: 1_000 });
    const reading = open(gateway);
    const wallet = walletOf("x".repeat(70_000));
    const event = { type: "wallet-added", pairAddress: "pair", initial: false, observedAt: 1 } as const;
    gateway.snipers.next({ ...event, wallet });
    await gateway.pass(100_000);
    gateway.channel.close();
    await reading.until("end");
    expect(reading.text).toContain("event: sniper");
    expect(reading.text).not.toContain(":\n\n");
  });
});

describe("the streams of a channel", () => {
  it("are subscribed to once, at the call, however many receivers there are, and left at the end", () => {
    let [subscribed, left] = [0, 0];
    const source = new Observable<CandleEvent>(() => {
      subscribed += 1;
      return () => (left += 1);
    });
    const channel = createEventChannel({ candles: source });
    for (let count = 0; count < 5; count += 1) channel.respond(request());
    expect([subscribed, left]).toEqual([1, 0]);
    channel.close();
    expect([subscribed, left]).toEqual([1, 1]);
  });

  it("end the responses when they have completed, all of them, after what they have told", async () => {
    const gateway = new Gateway();
    const status = of<FeedStatus>({ state: "starting", failures: 0 });
    const channel = createEventChannel({ candles: gateway.candles, status });
    const reading = new Reading(channel.respond(request()));
    gateway.candles.next(eventOf("new", 1, { live: false }));
    gateway.candles.complete();
    const messages = await reading.until("end");
    expect(names(messages).slice(-3)).toEqual(["candle", "settled", "complete"]);
    const late = await new Reading(channel.respond(request())).until("end");
    expect(names(late)).toEqual(["hello", "snapshot", "candle", "status", "ready", "complete"]);
    expect(late[1]!.data.series).toMatchObject([{ isSettled: true }]);
  });

  it("end the responses with their error", async () => {
    const candles = concat(
      of(eventOf("new", 1)),
      throwError(() => new AuthenticationError("refused", 401, "b")),
    );
    const channel = createEventChannel({ candles, snipers: NEVER });
    const messages = await new Reading(channel.respond(request())).until("end");
    expect(messages.at(-1)).toEqual({
      name: "error",
      data: { name: "AuthenticationError", message: "refused", status: 401 },
    });
  });

  it("end the channel where they give what is no event, and say nothing about it", async () => {
    const channel = createEventChannel({ candles: of<CandleEvent>({ secret: 1 } as never) });
    const messages = await new Reading(channel.respond(request())).until("end");
    expect(messages.at(-1)).toEqual({
      name: "error",
      data: { name: "PairstreamError", message: "The source of the channel failed" },
    });
  });

  it("may be of several series, each with candles of its own", async () => {
    const gateway = new Gateway();
    const hours = { ...SERIES, timeframe: "1h" } as const;
    gateway.candles.next(eventOf("new", 60));
    gateway.candles.next(eventOf("new", 60, { series: hours, price: 2 }));
    gateway.candles.next(eventOf("removed", 60, { revision: 1 }));
    const state = await open(gateway).until("ready");
    expect(state[1]!.data.series).toMatchObject([{ series: SERIES }, { series: hours }]);
    expect(state[2]!.data).toMatchObject({ candle: candleOf(60, 2), series: hours });
    expect(names(state)).toEqual(["hello", "snapshot", "candle", "ready"]);
  });

  it("have told their history once their status is live", async () => {
    const gateway = new Gateway();
    gateway.candles.next(eventOf("new", 1, { live: false }));
    const isSettled = async () => {
      const [, snapshot] = await open(gateway).until("ready");
      return snapshot!.data.series.map((place: { isSettled: boolean }) => place.isSettled);
    };
    expect(await isSettled()).toEqual([false]);
    gateway.status.next({ state: "stalled", failures: 1 });
    expect(await isSettled()).toEqual([false]);
    gateway.status.next({ state: "live", failures: 0 });
    expect(await isSettled()).toEqual([true]);
    gateway.candles.next(eventOf("new", 1, { live: false, series: { ...SERIES, currency: "native" } }));
    expect(await isSettled()).toEqual([true, true]);
  });

  it("are not repeated where they repeat themselves", async () => {
    const gateway = new Gateway();
    const reading = open(gateway);
    await reading.until("ready");
    const wallet = walletOf("a");
    const added = {
      type: "wallet-added",
      wallet,
      pairAddress: "pair",
      initial: true,
      observedAt: 1,
    } as const;
    gateway.candles.next(eventOf("new", 1));
    gateway.candles.next(eventOf("new", 1));
    gateway.candles.next(eventOf("removed", 7));
    gateway.snipers.next(added);
    gateway.snipers.next(added);
    gateway.snipers.next({ ...added, type: "wallet-removed", previous: walletOf("z") });
    gateway.status.next({ state: "starting", failures: 0 });
    expect(names(await reading.until("status"))).toEqual(["candle", "settled", "sniper", "status"]);
  });

  it("let nothing out but their documented fields", async () => {
    const gateway = new Gateway();
    const secret = { apiKey: "hush" };
    const event = eventOf("new", 1, { series: { ...SERIES, ...secret } as never });
    gateway.candles.next({ ...event, ...secret, candle: { ...event.candle, ...secret } } as never);
    gateway.status.next({
      ...secret,
      state: "stalled",
      failures: 2,
      lastError: new NetworkError("hush: no route to internal.example", { cause: new Error("hush") }),
    } as never);
    const wallet = { ...walletOf("a"), ...secret };
    gateway.snipers.next({
      ...secret,
      type: "wallet-added",
      wallet,
      pairAddress: "pair",
      initial: true,
      observedAt: 1,
    } as never);
    const reading = open(gateway);
    await reading.until("ready");
    gateway.snipers.next({
      ...secret,
      type: "wallet-removed",
      previous: wallet,
      pairAddress: "pair",
      initial: false,
      observedAt: 1,
    } as never);
    await reading.until("sniper");
    expect(reading.text).not.toMatch(/hush|apiKey|internal/);
  });
});

describe("closing", () => {
  it("ends all responses once what waits has been read, and answers no more", async () => {
    const gateway = new Gateway();
    gateway.candles.next(eventOf("new", 1));
    const reading = open(gateway);
    gateway.channel.close();
    gateway.candles.next(eventOf("new", 2));
    expect(names(await reading.until("end")).at(-1)).toBe("ready");
    expect(reading.isDone).toBe(true);
    expect(gateway.clock.pending).toBe(0);
    const response = gateway.channel.respond(request());
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    gateway.channel.close();
  });

  it("follows the signal of the request", async () => {
    const gateway = new Gateway();
    const abort = new AbortController();
    const reading = new Reading(gateway.channel.respond(request(undefined, { signal: abort.signal })));
    await reading.until("ready");
    expect(gateway.clock.pending).toBe(1);
    abort.abort();
    expect(gateway.clock.pending).toBe(0);
    await reading.until("end");
    gateway.channel.respond(request(undefined, { signal: abort.signal }));
    expect(gateway.clock.pending).toBe(0);
  });
});

describe("createEventChannel", () => {
  const candles = new Subject<CandleEvent>();
  it.each([
    ["options", undefined],
    ["options", {}],
    ["candles", { candles: [] }],
    ["snipers", { candles, snipers: null }],
    ["status", { candles, status: {} }],
    ["buffer", { candles, buffer: -1 }],
    ["buffer", { candles, buffer: 1.5 }],
    ["keep", { candles, keep: 0 }],
    ["heartbeat", { candles, heartbeat: 0 }],
    ["scheduler", { candles, scheduler: {} }],
  ])("refuses a bad %s: %j", (parameter, options) => {
    expect(() => createEventChannel(options as never)).toThrow(
      expect.objectContaining({ name: "InvalidInputError", parameter }),
    );
    expect(candles.observed).toBe(false);
  });
});
