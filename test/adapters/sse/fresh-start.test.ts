import { describe, expect, it } from "vitest";
import { minuteCandle } from "../../candles/minute-candles.js";
import { type ChannelEvent, candles, Gateway, isCandleEvent, LIVE, short } from "./gateway.js";
import { eventOf } from "./told-market.js";

describe("a fresh start", () => {
  /** A receiver that has the minutes 1 to 5, and a gateway that is started anew; then what the new one tells first. */
  async function restarted(tell: (gateway: Gateway) => void) {
    const gateway = new Gateway();
    for (let minute = 1; minute <= 5; minute += 1) {
      gateway.candles.next(eventOf("new", minute, { status: minute < 4 ? "final" : "open" }));
    }
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

  it("tells what differs, ascending: new, updated, and removed where something is gone", async () => {
    const { news } = await restarted(({ candles }) => {
      candles.next(eventOf("new", 1, { status: "final", price: 3, live: false }));
      candles.next(eventOf("new", 2, { status: "final", live: false }));
      candles.next(eventOf("new", 4, { status: "closed", price: 7, live: false }));
      candles.next(eventOf("new", 6, { observedAt: 99 }));
    });
    // A final candle that differs, too.
    expect(told(news())).toEqual([
      "updated 1 #1 3",
      "removed 3 #1 1",
      "updated 4 #1 7",
      "removed 5 #1 1",
      "new 6 #0 1",
    ]);
    expect(news().filter(isCandleEvent)).toMatchObject([
      { previous: minuteCandle(1), status: "final" },
      { observedAt: 99, status: "final" },
      { previous: minuteCandle(4), status: "closed" },
      { candle: minuteCandle(5), live: true },
      { live: true },
    ]);
  });

  it("waits for the history of a gateway that is still reading it", async () => {
    const { gateway, news } = await restarted(({ candles }) => {
      candles.next(eventOf("new", 1, { status: "final", live: false }));
    });
    gateway.candles.next(eventOf("new", 3, { status: "final", live: false }));
    gateway.status.next({ state: "stalled", failures: 7, coveredFrom: 1, coveredUntil: 2 });
    await gateway.settle();
    expect(told(news())).toEqual([]);
    expect(news()).toEqual([{ state: "stalled", failures: 7 }]);
    gateway.candles.next(eventOf("new", 4, { status: "closed", live: false }));
    gateway.status.next(LIVE);
    await gateway.settle();
    expect(told(news())).toEqual(["removed 2 #1 1", "updated 4 #1 1", "removed 5 #1 1"]);
  });

  it("takes back no status: what was closed stays closed until the gateway gets there", async () => {
    const { gateway, seen, news } = await restarted(({ candles }) => {
      for (const minute of [1, 2]) candles.next(eventOf("new", minute, { live: false }));
      candles.next(eventOf("new", 3, { price: 2, live: false }));
      candles.next(eventOf("new", 4, { live: false }));
      candles.next(eventOf("new", 5));
    });
    expect(news().filter(isCandleEvent)).toMatchObject([{ status: "final", candle: minuteCandle(3, 2) }]);
    gateway.candles.next(eventOf("updated", 3, { price: 2, status: "closed", revision: 1 }));
    gateway.candles.next(eventOf("updated", 4, { status: "closed", revision: 1 }));
    await gateway.settle();
    expect(told(news())).toEqual(["updated 3 #1 2", "updated 4 #1 1"]);
    expect(candles(seen).at(-1)!.status).toBe("closed");
  });
});
