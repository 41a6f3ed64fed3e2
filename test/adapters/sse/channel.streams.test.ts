import { AuthenticationError, NetworkError } from "pairstream";
import { createEventChannel } from "pairstream/sse";
import { concat, NEVER, Observable, of, throwError } from "rxjs";
import { describe, expect, it } from "vitest";
import type { CandleEvent } from "../../../src/candles/event.js";
import type { FeedStatus } from "../../../src/feed-status.js";
import { BentClock } from "../../bent-clock.js";
import { minuteCandle, SERIES } from "../../candles/minute-candles.js";
import { walletOf } from "../../snipers/wallets.js";
import { Gateway, names, open, Reading, request } from "./gateway.js";
import { eventOf } from "./told-market.js";

describe("the streams of a channel", () => {
  /** Counts how often it is subscribed to, and left. */
  function counted() {
    const counts = { subscribed: 0, left: 0 };
    const source = new Observable<CandleEvent>(() => {
      counts.subscribed += 1;
      return () => {
        counts.left += 1;
      };
    });
    return { counts, source };
  }

  it("are subscribed to once, for the first receiver, however many there are, and left at the end", () => {
    const { counts, source } = counted();
    const channel = createEventChannel({ candles: source });
    channel.respond(request(undefined, { method: "HEAD" }));
    expect(counts).toEqual({ subscribed: 0, left: 0 });
    for (let count = 0; count < 5; count += 1) channel.respond(request());
    expect(counts).toEqual({ subscribed: 1, left: 0 });
    channel.close();
    expect(counts).toEqual({ subscribed: 1, left: 1 });
  });

  it("are left alone where the channel is closed before anybody comes", () => {
    const { counts, source } = counted();
    const channel = createEventChannel({ candles: source });
    channel.close();
    expect(channel.respond(request()).status).toBe(503);
    expect(counts).toEqual({ subscribed: 0, left: 0 });
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
      data: { name: "PairstreamError", message: "The source of the stream failed" },
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
    expect(state[2]!.data).toMatchObject({ candle: minuteCandle(60, 2), series: hours });
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
