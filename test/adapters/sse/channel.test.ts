import { VirtualClock } from "pairstream";
import { createEventChannel } from "pairstream/sse";
import { NEVER, of, Subject } from "rxjs";
import { describe, expect, it } from "vitest";
import type { CandleEvent } from "../../../src/candles/event.js";
import { minuteCandle, SERIES } from "../../candles/minute-candles.js";
import { walletOf } from "../../snipers/wallets.js";
import { Gateway, messagesIn, names, open, Reading, request } from "./gateway.js";
import { eventOf } from "./told-market.js";

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
        version: 2,
        now: null,
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
    gateway.candles.next(eventOf("updated", 2, { price: 5, revision: 1, previous: minuteCandle(2) }));
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
      { candle: minuteCandle(1), status: "closed" },
      { candle: minuteCandle(2, 5), status: "open", revision: 1 },
    ]);
    expect(state[4]!.data).toEqual({ pairAddress: "pair", walletAddress: "a", wallet, observedAt: 9 });
    expect(state[5]!.data).toEqual(status);

    gateway.candles.next(eventOf("updated", 2, { price: 6, revision: 2, previous: minuteCandle(2, 5) }));
    const next = messagesIn(await reading.next());
    expect(next).toEqual([
      {
        id: expect.any(String),
        name: "candle",
        data: {
          type: "updated",
          life: candles[1]!.life,
          candle: minuteCandle(2, 6),
          status: "open",
          revision: 2,
          live: true,
          // The end of its interval, by a clock of which the channel has heard only that it has come to 2.
          due: 180_000,
          received: 2,
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
      minuteCandle(1),
      minuteCandle(2, 3),
      minuteCandle(3),
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
    expect(state.slice(2, -1).map(({ data }) => data.candle)).toEqual([minuteCandle(3), minuteCandle(4)]);
    // Not even where there is room again.
    gateway.candles.next(eventOf("removed", 4, { revision: 1 }));
    gateway.candles.next(eventOf("updated", 2, { price: 10, revision: 2 }));
    const later = await open(gateway).until("ready");
    expect(later.slice(2, -1).map(({ data }) => data.candle)).toEqual([minuteCandle(3)]);
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

describe("heartbeats", () => {
  it("come from one timer, whoever comes and goes, until the channel is closed", async () => {
    const gateway = new Gateway({ heartbeat: 1_000 });
    const [one, other] = [open(gateway), open(gateway)];
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
    abort.abort();
    gateway.candles.next(eventOf("new", 1));
    expect(names(await reading.until("end"))).toEqual([]);
    const late = new Reading(gateway.channel.respond(request(undefined, { signal: abort.signal })));
    expect(names(await late.until("end")).at(-1)).toBe("ready");
  });
});

describe("a channel whose timers do not fire", () => {
  it("answers 503 and says why, until they do, rather than tell what it knew once", async () => {
    const clock = new VirtualClock();
    let ahead = 0;
    const scheduler = { now: () => clock.now() + ahead, schedule: clock.schedule.bind(clock) };
    const channel = createEventChannel({ candles: NEVER, heartbeat: 1_000, scheduler });
    const answer = () => channel.respond(request());
    ahead = 10_000;
    expect(answer().status).toBe(200);
    ahead += 2_500;
    expect(answer().status).toBe(200);
    ahead += 1;
    const refusal = answer();
    expect([refusal.status, refusal.headers.get("retry-after")]).toEqual([503, "1"]);
    expect(await refusal.text()).toMatch(/timers of the channel stand still.*Workers.*Durable Object/);
    await clock.advanceBy(1_000);
    expect(answer().status).toBe(200);
  });

  it("has nothing to fire once its streams have ended", async () => {
    const clock = new VirtualClock();
    const channel = createEventChannel({ candles: of(eventOf("new", 1)), scheduler: clock });
    const read = () => new Reading(channel.respond(request())).until("end");
    expect(names(await read()).at(-1)).toBe("complete");
    expect(clock.pending).toBe(0);
    await clock.advanceBy(1_000_000);
    expect(names(await read()).at(-1)).toBe("complete");
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
