import { AuthenticationError, NetworkError } from "pairstream";
import { createEventChannel } from "pairstream/sse";
import { concat, NEVER, Observable, of, throwError } from "rxjs";
import { describe, expect, it } from "vitest";
import type { CandleEvent } from "../../../src/candles/event.js";
import type { FeedStatus } from "../../../src/feed-status.js";
import { SERIES } from "../../candles/market.js";
import { walletOf } from "../../snipers/wallets.js";
import { Gateway, names, open, Reading, request } from "./gateway.js";
import { candleOf, eventOf } from "./market.js";

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
