import { type ChannelEvent, isCandleEvent, isSniperEvent } from "pairstream/sse";
import { describe, expect, it } from "vitest";
import { minuteCandle } from "../../candles/minute-candles.js";
import { walletAddressOf, walletOf } from "../../snipers/wallets.js";
import { candles, Gateway, LIVE, short } from "./gateway.js";
import { added } from "./snipers.js";
import { eventOf } from "./told-market.js";

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
    events.filter(isSniperEvent).map((event) => `${event.type} ${walletAddressOf(event)}`);

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
      { previous: minuteCandle(4), status: "closed" },
      { candle: minuteCandle(5), live: true },
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
    expect(news().filter(isCandleEvent)).toMatchObject([{ status: "final", candle: minuteCandle(3, 2) }]);
    gateway.candles.next(eventOf("updated", 3, { price: 2, status: "closed", revision: 1 }));
    gateway.candles.next(eventOf("updated", 4, { status: "closed", revision: 1 }));
    await gateway.settle();
    expect(told(news())).toEqual(["updated 3 #1 2", "updated 4 #1 1"]);
    expect(candles(seen).at(-1)!.status).toBe("closed");
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
