import { AuthenticationError, NetworkError, VirtualClock } from "pairstream";
import { concat, EMPTY, NEVER, Observable, of, throwError } from "rxjs";
import { describe, expect, it } from "vitest";
import type { CandleEvent } from "../../../src/candles/event.js";
import type { FeedStatus } from "../../../src/feed-status.js";
import { BentClock } from "../../bent-clock.js";
import { minuteCandle, SERIES } from "../../candles/minute-candles.js";
import { Gateway, messagesIn, names, OpenChannel, open, Reading, request, sourceOf } from "./gateway.js";
import { eventOf } from "./told-market.js";

const ofStreams = (candles: Observable<CandleEvent>, status: Observable<FeedStatus> = NEVER) =>
  sourceOf({ candles, status });

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

  it("opens with what the receiver is to know, and what is known of the state that is still being read", async () => {
    const gateway = new Gateway({ heartbeat: 5_000 });
    gateway.candles.next(eventOf("new", 1, { live: false, status: "final" }));
    gateway.status.next({ state: "starting", failures: 0 });
    const reading = open(gateway);
    const opening = await reading.until("waiting");
    expect(reading.text).toMatch(/^retry: 1000\n\n/);
    expect(opening).toEqual([
      { name: "hello", data: { version: 3, now: 1, heartbeat: 5_000 } },
      { name: "waiting", data: { state: "starting", failures: 0 } },
    ]);
    gateway.status.next({ state: "live", failures: 0 });
    const [snapshot, candle, status, ready] = await reading.until("ready");
    const facts = { from: 0, keep: 1_000, observedAt: 1, now: 1, settle: 1_000, revisionWindow: 2 };
    expect(snapshot).toEqual({ name: "snapshot", data: facts });
    expect(candle!.data).toMatchObject({ candle: minuteCandle(1), status: "final" });
    expect(status).toEqual({ name: "status", data: { state: "live", failures: 0 } });
    expect(ready).toEqual({ id: expect.stringMatching(/^[0-9a-f-]{36}-0-1$/), name: "ready", data: {} });
  });

  it("holds the state for one who comes late, and then every event as it happens", async () => {
    const gateway = new Gateway();
    const status = { state: "live", failures: 0, coveredUntil: 3 } as const;
    gateway.candles.next(eventOf("new", 2));
    gateway.candles.next(eventOf("new", 1, { status: "closed" }));
    gateway.candles.next(eventOf("updated", 2, { price: 5, revision: 1, previous: minuteCandle(2) }));
    gateway.status.next(status);
    const reading = open(gateway);
    const state = await reading.until("ready");
    expect(names(state)).toEqual(["hello", "snapshot", "candle", "candle", "status", "ready"]);
    expect(state[1]!.data).toEqual({
      from: 0,
      keep: 1_000,
      observedAt: 2,
      now: 2,
      settle: 1_000,
      revisionWindow: 2,
    });
    expect(state.slice(2, 4).map(({ data }) => data)).toMatchObject([
      { candle: minuteCandle(1), status: "closed" },
      { candle: minuteCandle(2, 5), status: "open", revision: 1 },
    ]);
    expect(state[4]!.data).toEqual(status);

    gateway.candles.next(eventOf("updated", 2, { price: 6, revision: 2, previous: minuteCandle(2, 5) }));
    expect(messagesIn(await reading.next())).toEqual([
      {
        id: expect.any(String),
        name: "candle",
        data: {
          candle: minuteCandle(2, 6),
          status: "open",
          revision: 2,
          live: true,
          // The end of its interval, by a clock of which the channel has heard only that it has come to 2.
          due: 180_000,
          received: 2,
          observedAt: 2,
        },
      },
    ]);
  });

  it("holds what is asked for and no more, and tells no changes of what is older", async () => {
    const gateway = new Gateway();
    for (let minute = 1; minute <= 5; minute += 1) gateway.candles.next(eventOf("new", minute));
    const reading = new Reading(gateway.channel.respond(request(), 4 * 60_000));
    const state = await reading.until("ready");
    expect(state.slice(2, -1).map(({ data }) => data.candle)).toEqual([minuteCandle(4), minuteCandle(5)]);
    expect(state[1]!.data.from).toBe(4 * 60_000);
    gateway.candles.next(eventOf("updated", 3, { price: 9, revision: 1 }));
    gateway.candles.next(eventOf("removed", 1, { revision: 1 }));
    gateway.candles.next(eventOf("updated", 5, { price: 9, revision: 1 }));
    expect(messagesIn(await reading.next()).map(({ data }) => data.candle)).toEqual([minuteCandle(5, 9)]);
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
    // The older candle first, whichever changed last.
    expect(state.slice(1, 4).map(({ data }) => data.candle)).toEqual([
      minuteCandle(1),
      minuteCandle(2, 3),
      minuteCandle(3),
    ]);
    expect(state.map(({ id }) => id !== undefined)).toEqual([...Array(5).fill(false), true]);
    const again = await open(gateway, state.at(-1)!.id).until("ready");
    expect(names(again)).toEqual(["hello", "status", "ready"]);
  });

  it.each([
    ["of another channel", (id: string) => `another${id.slice(36)}`],
    ["of the future", (id: string) => id.replace(/\d+$/, "999")],
    ["that is none", () => "nonsense"],
    ["that is no number", (id: string) => id.replace(/\d+$/, "1e1")],
  ])("starts afresh after an id %s", async (_, change) => {
    const gateway = new Gateway();
    for (let minute = 1; minute <= 5; minute += 1) gateway.candles.next(eventOf("new", minute));
    const id = (await open(gateway).until("ready")).at(-1)!.id!;
    const state = await open(gateway, change(id)).until("ready");
    expect(names(state)).toEqual(["hello", "snapshot", ...Array(5).fill("candle"), "ready"]);
  });

  it("starts afresh after more removals than are kept", async () => {
    const gateway = new Gateway();
    gateway.candles.next(eventOf("new", 0));
    const id = (await open(gateway).until("ready")).at(-1)!.id!;
    for (let minute = 1; minute <= 1_001; minute += 1) {
      gateway.candles.next(eventOf("new", minute));
      gateway.candles.next(eventOf("removed", minute, { revision: 1 }));
    }
    expect(names(await open(gateway, id).until("ready"))).toEqual(["hello", "snapshot", "candle", "ready"]);
  });

  it("holds the newest candles that are kept, and says where they begin", async () => {
    const gateway = new Gateway();
    const reading = open(gateway);
    gateway.candles.next(eventOf("new", 1));
    const id = (await reading.until("ready")).at(-1)!.id!;
    for (let minute = 2; minute <= 1_002; minute += 1) gateway.candles.next(eventOf("new", minute));
    // Neither one that is forgotten nor one older than that is heard of again.
    gateway.candles.next(eventOf("updated", 2, { price: 9, revision: 1 }));
    gateway.candles.next(eventOf("removed", 1, { revision: 1 }));
    const state = await open(gateway, id.replace(/\d+$/, "99999")).until("ready");
    expect(state[1]!.data.from).toBe(2 * 60_000 + 1);
    expect(state[2]!.data.candle).toEqual(minuteCandle(3));
    expect(state).toHaveLength(1_003);
    gateway.status.next({ state: "live", failures: 0 });
    const told = (await reading.until("status")).filter(({ name }) => name === "candle");
    expect(told[0]!.data.candle).toEqual(minuteCandle(2));
    expect(told).toHaveLength(1_001);
  });

  it("waits for a history where what it asks for was forgotten", async () => {
    const gateway = new Gateway();
    for (let minute = 1; minute <= 1_002; minute += 1) gateway.candles.next(eventOf("new", minute));
    const reading = open(gateway);
    gateway.status.next({ state: "starting", failures: 0 });
    expect(names(await reading.until("waiting"))).toEqual(["hello", "waiting"]);
  });
});

describe("heartbeats", () => {
  it("come from one timer, whoever comes and goes, until the channel is closed", async () => {
    const gateway = new Gateway({ heartbeat: 1_000 });
    const [one, other] = [open(gateway), open(gateway)];
    gateway.candles.next(eventOf("new", 1));
    await one.until("ready");
    const before = one.text.length;
    await gateway.pass(3_500);
    await one.next();
    await one.next();
    await one.next();
    expect(one.text.slice(before)).toBe(":\n\n:\n\n:\n\n");
    await one.cancel();
    await other.cancel();
    await gateway.pass(3_500);
    expect(gateway.clock.pending).toBe(1);
    gateway.channel.close();
    expect(gateway.clock.pending).toBe(0);
  });

  it("do not gather for one who does not read", async () => {
    const gateway = new Gateway({ heartbeat: 1_000 });
    const reading = open(gateway);
    const lastError = new AuthenticationError("x".repeat(70_000), 0, "");
    gateway.candles.next(eventOf("new", 1));
    gateway.status.next({ state: "stalled", failures: 1, lastError: { ...lastError } as never });
    await gateway.pass(7_000);
    gateway.channel.close();
    await reading.until("end");
    expect(reading.text).toContain("event: candle");
    expect(reading.text.match(/\n:\n\n/g)?.length ?? 0).toBeLessThan(10);
  });
});

describe("closing", () => {
  it("ends all responses once what waits has been read", async () => {
    const gateway = new Gateway();
    gateway.candles.next(eventOf("new", 1));
    const reading = open(gateway);
    gateway.channel.close();
    gateway.candles.next(eventOf("new", 2));
    expect(names(await reading.until("end")).at(-1)).toBe("ready");
    expect(reading.isDone).toBe(true);
    expect(gateway.clock.pending).toBe(0);
    gateway.channel.close();
  });

  it("follows the signal of the request", async () => {
    const gateway = new Gateway();
    const abort = new AbortController();
    gateway.candles.next(eventOf("new", 0));
    const reading = new Reading(gateway.channel.respond(request(undefined, { signal: abort.signal })));
    await reading.until("ready");
    abort.abort();
    gateway.candles.next(eventOf("new", 1));
    expect(names(await reading.until("end"))).toEqual([]);
    const late = new Reading(gateway.channel.respond(request(undefined, { signal: abort.signal })));
    expect(names(await late.until("end")).at(-1)).toBe("ready");
  });
});

describe("a channel", () => {
  it("has nothing to fire once its streams have ended", async () => {
    const clock = new VirtualClock();
    const channel = new OpenChannel(ofStreams(of(eventOf("new", 1)), EMPTY), { scheduler: clock });
    const read = () => new Reading(channel.respond(request())).until("end");
    expect(names(await read()).at(-1)).toBe("complete");
    expect(clock.pending).toBe(0);
    await clock.advanceBy(1_000_000);
    expect(names(await read()).at(-1)).toBe("complete");
  });
});

describe("the streams of a channel", () => {
  it("are subscribed to once, for the first viewer, however many there are, and left at the end", () => {
    const counts = { subscribed: 0, left: 0 };
    const candles = new Observable<CandleEvent>(() => {
      counts.subscribed += 1;
      return () => {
        counts.left += 1;
      };
    });
    const channel = new OpenChannel(ofStreams(candles));
    expect(counts).toEqual({ subscribed: 0, left: 0 });
    for (let count = 0; count < 5; count += 1) channel.respond(request());
    expect(counts).toEqual({ subscribed: 1, left: 0 });
    channel.close();
    expect(counts).toEqual({ subscribed: 1, left: 1 });
  });

  it("end the responses when they have completed, all of them, after what they have told", async () => {
    const gateway = new Gateway();
    const status = of<FeedStatus>({ state: "starting", failures: 0 });
    const channel = new OpenChannel(ofStreams(gateway.candles, status));
    const reading = new Reading(channel.respond(request()));
    gateway.candles.next(eventOf("new", 1, { live: false }));
    gateway.candles.complete();
    const state = ["snapshot", "candle", "status", "ready", "complete"];
    expect(names(await reading.until("end"))).toEqual(["hello", "waiting", ...state]);
    const late = await new Reading(channel.respond(request())).until("end");
    expect(names(late)).toEqual(["hello", ...state]);
  });

  it("are told with the service's clock, also after the channel's own clock was set forward", async () => {
    const clock = new BentClock();
    const gateway = new Gateway({ scheduler: clock });
    const told: number[] = [];
    for (let minute = 0; minute < 20; minute += 1) {
      // Not just before a receiver comes: until its next heartbeat the channel's timers seem to have ended.
      if (minute === 10) clock.back = -600_000;
      await clock.advanceBy(60_000);
      const observedAt = minute * 60_000;
      gateway.candles.next(eventOf("new", minute, { observedAt, status: "final" }));
      const state = await open(gateway).until("ready");
      told.push(state.at(-2)!.data.received - observedAt);
    }
    expect(told.slice(0, 10)).toEqual(Array(10).fill(0));
    expect(told.slice(15)).toEqual(Array(5).fill(0));
  });

  it("end the responses with their error", async () => {
    const candles = concat(
      of(eventOf("new", 1)),
      throwError(() => new AuthenticationError("refused", 401, "b")),
    );
    const channel = new OpenChannel(ofStreams(candles));
    const messages = await new Reading(channel.respond(request())).until("end");
    expect(messages.at(-1)).toMatchObject({
      name: "error",
      data: { name: "AuthenticationError", status: 401 },
    });
  });

  it("end the channel where they give what is no event, and say nothing about it", async () => {
    const channel = new OpenChannel(ofStreams(of<CandleEvent>({ secret: 1 } as never)));
    const messages = await new Reading(channel.respond(request())).until("end");
    expect(messages.at(-1)).toEqual({
      name: "error",
      data: { name: "PairstreamError", message: "The source of the stream failed" },
    });
  });

  it("are not repeated where they repeat themselves", async () => {
    const gateway = new Gateway();
    gateway.candles.next(eventOf("new", 0));
    const reading = open(gateway);
    await reading.until("ready");
    gateway.candles.next(eventOf("new", 1));
    gateway.candles.next(eventOf("new", 1));
    gateway.candles.next(eventOf("removed", 7));
    gateway.status.next({ state: "starting", failures: 0 });
    expect(names(await reading.until("status"))).toEqual(["candle", "status"]);
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
    const reading = open(gateway);
    await reading.until("ready");
    expect(reading.text).not.toMatch(/hush|apiKey|internal/);
  });
});
