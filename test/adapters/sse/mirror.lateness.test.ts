import { describe, expect, it } from "vitest";
import type { ParsedMessage } from "../../../src/adapters/sse/mirror.js";
import type { CandleEvent } from "../../../src/candles/event.js";
import { isCandleEvent } from "./gateway.js";
import { atOnce, candle, connected, hello, newMirror, ready, snapshot } from "./mirror-messages.js";

describe("what a receiver has missed", () => {
  const MINUTE = 60_000;
  const close = (minute: number, late = 100) => {
    const due = (minute + 1) * MINUTE + 1_000;
    return candle(minute, { status: "closed", live: true, due, received: due + late });
  };
  const hourLater = 70 * MINUTE;

  it.each([
    ["resumed", (now: number, ...missed: ParsedMessage[]) => [hello({ now }), ...missed]],
    ["told afresh", (now: number, ...missed: ParsedMessage[]) => [hello({ now }), snapshot(), ...missed]],
  ])("is late by when it is told, and live no more where that is too late: %s", (_, opening) => {
    for (const [lateBy, isLive] of [
      [12_000, true],
      [30_001, false],
      [hourLater, false],
    ] as const) {
      const mirror = newMirror();
      connected(mirror, hello({ now: 5 * MINUTE }), snapshot(), ready());
      mirror.connect();
      const now = 7 * MINUTE + 1_000 + lateBy;
      // The receiver's own clock is another one.
      const { events } = mirror.take([...opening(now, close(5), close(6)), ready()], 123);
      expect(events.filter(isCandleEvent).map((event) => [event.lateBy, event.live])).toEqual([
        [lateBy + MINUTE, false],
        [lateBy, isLive],
      ]);
    }
  });

  it.each([
    ["resumed", (...missed: ParsedMessage[]) => [...missed, ready()]],
    ["told afresh", (...missed: ParsedMessage[]) => [snapshot(), ...missed, ready()]],
    ["told at once", (...missed: ParsedMessage[]) => [ready(), ...atOnce(...missed)]],
  ])("is live with its newest close alone, and with finals that are in time: %s", (_, told) => {
    const mirror = newMirror();
    connected(mirror, hello({ now: 5 * MINUTE }), snapshot(), close(2), ready());
    mirror.connect();
    const now = 9 * MINUTE;
    const due = { live: true, due: now - 500, received: now };
    const missed = [
      candle(2, { status: "final", revision: 1, ...due }),
      ...[6, 7].map((minute) => candle(minute, { status: "closed", ...due })),
      candle(8, due),
    ];
    const { events } = mirror.take([hello({ now }), ...told(...missed)], 123);
    expect(events.filter(isCandleEvent).map(({ live }) => live)).toEqual([true, false, true, true]);
  });

  it.each([
    ["that was never told", []],
    ["that was open", [candle(5, { received: 6 * MINUTE })]],
    ["that was gone", [candle(5, { received: 6 * MINUTE }), candle(5, { isRemoved: true, revision: 1 })]],
  ])("is a close where a candle %s has become final: it is due when it should have closed", (_, before) => {
    const mirror = newMirror();
    connected(mirror, hello({ now: 6 * MINUTE }), snapshot(0, 100, { settle: 1_000 }), ...before, ready());
    mirror.connect();
    // It has just become final, and a minute that is newer has just closed.
    const now = 9 * MINUTE + 1_500;
    const final = candle(5, { status: "final", live: true, due: now - 500, received: now, revision: 2 });
    const newest = candle(8, { status: "closed", live: true, due: now - 500, received: now });
    const { events } = mirror.take([hello({ now }), final, newest, ready()], 123);
    expect(events.filter(isCandleEvent).map((event) => [event.lateBy, event.live])).toEqual([
      [3 * MINUTE + 500, false],
      [500, true],
    ]);
  });

  it("is late by its last status alone where a candle was told as closed", () => {
    const mirror = newMirror();
    const told = close(5);
    connected(mirror, hello({ now: 6 * MINUTE }), snapshot(0, 100, { settle: 1_000 }), told, ready());
    mirror.connect();
    const now = 9 * MINUTE + 1_500;
    const final = candle(5, { status: "final", live: true, due: now - 500, received: now, revision: 1 });
    const { events } = mirror.take([hello({ now }), final, ready()], 123);
    expect(events.filter(isCandleEvent)).toMatchObject([{ type: "updated", lateBy: 500, live: true }]);
  });

  it("is what lay in a connection while the receiver slept, too", () => {
    const mirror = newMirror();
    mirror.connect();
    mirror.take([hello({ now: 6 * MINUTE }), snapshot(), ready()], 0);
    const [prompt] = mirror.take(atOnce(close(5)), 1_100).events;
    const [slept] = mirror.take(atOnce(close(6)), MINUTE + 1_100 + hourLater).events;
    expect(prompt).toMatchObject({ live: true, lateBy: 100 });
    expect(slept).toMatchObject({ live: false });
    expect((slept as CandleEvent).lateBy).toBeGreaterThan(hourLater - 2_000);
  });
});

describe("a receiver whose own clock is not the service's", () => {
  const MINUTE = 60_000;
  const minutes = (from: number, count: number) => Array.from({ length: count }, (_, at) => from + at);
  /** Reads closes over one connection: how far its own clock is ahead, and for how long they were held up. */
  function read(closes: readonly { minute: number; own?: number; held?: number }[]) {
    const mirror = newMirror();
    const { minute: first, own: ownFirst = 0 } = closes[0]!;
    mirror.connect();
    const now = (first + 1) * MINUTE;
    mirror.take([hello({ now }), snapshot(), ready()], now + ownFirst);
    return closes.flatMap(({ minute, own = 0, held = 0 }) => {
      const due = (minute + 1) * MINUTE + 1_000;
      const close = candle(minute, { status: "closed", live: true, due, received: due });
      return mirror.take(atOnce(close), due + held + own).events.filter(isCandleEvent);
    });
  }

  it("tells events as live again soon after its clock was set forward, and at once after it was set back", () => {
    const told = read([
      ...minutes(0, 10).map((minute) => ({ minute, own: -10 * MINUTE })),
      ...minutes(10, 10).map((minute) => ({ minute })),
      { minute: 20, own: -10 * MINUTE },
    ]);
    expect(told.map(({ live }) => live)).toEqual(minutes(0, 21).map((at) => at < 10 || at >= 15));
    expect(told.slice(15).map(({ lateBy }) => lateBy)).toEqual(Array(6).fill(0));
  });

  it("does not learn of its own clock from what a channel tells afresh", () => {
    const mirror = newMirror();
    mirror.connect();
    const now = 60 * MINUTE;
    const close = (minute: number) => {
      const due = (minute + 1) * MINUTE + 1_000;
      return candle(minute, { status: "closed", live: true, due, received: due });
    };
    mirror.take([hello({ now }), snapshot(), close(49), ready()], now);
    // This one is held up for as long as the last one of the snapshot is old, which proves nothing.
    const late = mirror.take(atOnce(close(79)), 90 * MINUTE).events;
    expect(late).toMatchObject([{ live: false, lateBy: 10 * MINUTE - 1_000 }]);
  });
});
