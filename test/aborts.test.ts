import { getEventListeners } from "node:events";
import { describe, expect, it } from "vitest";
import { onAbort } from "../src/aborts.js";
import { latestCandles, toAsyncIterable, watchCandles } from "../src/index.js";
import { at, MINUTES, World } from "./world.js";

const listenersOf = (signal: AbortSignal) => getEventListeners(signal, "abort").length;

describe("those who wait for a signal", () => {
  it("share one listener, hear of its abort in order, and leave none", () => {
    const controller = new AbortController();
    const { signal } = controller;
    const heard: number[] = [];
    const stays = [0, 1, 2, 3].map((one) => onAbort(signal, () => heard.push(one)));
    stays[1]!();
    stays[1]!();
    expect(listenersOf(signal)).toBe(1);
    controller.abort();
    expect(heard).toEqual([0, 2, 3]);
    expect(listenersOf(signal)).toBe(0);
    for (const stay of stays) stay();
    const other = new AbortController().signal;
    const leave = [onAbort(other, () => {}), onAbort(other, () => {})];
    for (const each of leave) each();
    expect(listenersOf(other)).toBe(0);
  });

  it("do not hear of it once another one of them has made them leave", () => {
    const controller = new AbortController();
    const heard: string[] = [];
    onAbort(controller.signal, () => {
      heard.push("first");
      stay();
    });
    const stay = onAbort(controller.signal, () => heard.push("second"));
    controller.abort();
    expect(heard).toEqual(["first"]);
  });
});

describe("a signal that thirty calls at once are given", () => {
  it.each(["they end", "it aborts"])("has one listener, and none once %s", async (how) => {
    const world = new World({ start: at("12:00:10"), latency: 50, hasDate: true });
    world.swapsEvery(30_000, at("11:00:00"), at("13:00:00"));
    const controller = new AbortController();
    const { signal } = controller;
    const range = { fromDate: at("11:00:00"), toDate: at("11:30:00") };
    const calls = Array.from({ length: 10 }, (_, count) => [
      latestCandles(world.client, { ...MINUTES, count: count + 1 }, { signal }),
      world.client.ohlcvPage({ ...MINUTES, ...range, limit: count + 1 }, { signal }),
    ]).flat();
    const streams = Array.from({ length: 10 }, () =>
      toAsyncIterable(watchCandles(world.client, MINUTES), { signal })[Symbol.asyncIterator](),
    );
    const read = streams.map((stream) => stream.next());
    const outcome = Promise.allSettled([...calls, ...read]);
    await world.clock.advanceBy(60);
    expect(listenersOf(signal)).toBe(1);
    if (how === "it aborts") controller.abort();
    await world.clock.advanceBy(120_000);
    await outcome;
    for (const stream of streams) void stream.return?.();
    expect(listenersOf(signal)).toBe(0);
    await world.clock.advanceBy(1_000);
    expect(world.clock.pending).toBe(0);
  });
});
