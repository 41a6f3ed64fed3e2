import { describe, expect, it } from "vitest";
import { type CandleStatus, frozenEvent } from "../../src/candles/event.js";
import { checkWatch } from "../../src/candles/options.js";
import { VirtualClock } from "../../src/index.js";
import { ToldCandles } from "../../src/pause/told-candles.js";
import { at, MINUTES } from "../world.js";

const NOON = at("12:00:00");
const MINUTE = 60_000;

function event(what: "new" | "removed", minute: number, status: CandleStatus, close = 1, lateBy = 0) {
  const candle = { timestamp: NOON + minute * MINUTE, open: 1, high: 9, low: 1, close, volume: 1, swaps: 1 };
  // An open candle was true within its interval.
  const observedAt = status === "open" ? candle.timestamp : NOON + 10 * MINUTE;
  return frozenEvent(what, candle, status, 0, false, lateBy, observedAt, MINUTES);
}

function paused(...events: ReturnType<typeof event>[]): ToldCandles {
  const told = new ToldCandles(checkWatch(MINUTES), new VirtualClock(NOON + 10 * MINUTE));
  for (const each of events) expect(told.take(each)).toEqual([each]);
  told.begin();
  return told;
}

describe("what was told before a pause", () => {
  it("stays closed where the stream is not yet sure of it", () => {
    expect(paused(event("new", 1, "closed")).take(event("new", 1, "open"))).toEqual([]);
    const [change] = paused(event("new", 1, "closed")).take(event("new", 1, "open", 2));
    expect(change).toMatchObject({ type: "updated", status: "closed", revision: 1, candle: { close: 2 } });
  });

  it("is due as final where it was told as closed", () => {
    // As a first close it was due at 12:02:01, as a final one at 12:05:01.
    const lateBy = 5 * MINUTE;
    const [change] = paused(event("new", 1, "closed")).take(event("new", 1, "final", 1, lateBy));
    expect(change).toMatchObject({ type: "updated", status: "final", lateBy: lateBy - 2 * MINUTE });
    const [first] = paused(event("new", 1, "open")).take(event("new", 1, "final", 1, lateBy));
    expect(first).toMatchObject({ type: "updated", status: "final", lateBy });
  });

  it("goes before a final candle that follows, and is followed on where it comes again", () => {
    const told = paused(event("new", 1, "closed"), event("new", 2, "closed"));
    const events = told.take(event("new", 2, "final"));
    expect(events.map(({ type, revision }) => [type, revision])).toEqual([
      ["removed", 1],
      ["updated", 1],
    ]);
    expect(told.since).toBe(NOON + 2 * MINUTE);
  });

  it("is passed on as it comes where nothing was told", () => {
    const told = paused();
    expect(told.since).toBeUndefined();
    const first = event("new", 1, "open");
    expect(told.take(first)).toEqual([first]);
  });

  it("is corrected where it was final, and differs now", () => {
    const [change] = paused(event("new", 1, "final"), event("new", 2, "final")).take(
      event("new", 2, "final", 7),
    );
    expect(change).toMatchObject({ type: "updated", status: "final", revision: 1, previous: { close: 1 } });
  });

  it("goes where it was final, and two looks have not shown it again", () => {
    const told = paused(event("new", 1, "final"), event("new", 2, "final"));
    expect(told.settle(NOON + 3 * MINUTE)).toMatchObject([
      { type: "removed", status: "final", live: false, candle: { timestamp: NOON + 2 * MINUTE } },
    ]);
    expect(told.since).toBe(NOON + MINUTE);
  });
});
