import { latestCandles, latestSniperReport } from "pairstream";
import { gatewaySource } from "pairstream/sse";
import { describe, expect, it } from "vitest";
import { ADDRESS, Stage } from "../adapters/sse/gateway/stage.js";
import { MINUTES, PAIR } from "../world.js";

/** What a promise comes to while the stage's clock goes on. */
async function settled<T>(stage: Stage, promise: Promise<T>): Promise<T> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  promise.then(over, over);
  while (!isOver) await stage.pass(20);
  return promise;
}

describe("an answer of a gateway", () => {
  it("is what its client would say, for one connection that all share and that is left again", async () => {
    const stage = new Stage();
    const source = gatewaySource(ADDRESS, { fetch: stage.fetch, scheduler: stage.clock });
    const query = { ...MINUTES, count: 20 };
    const asks = Array.from({ length: 50 }, () => latestCandles(source, query, { maxAge: 60_000 }));
    const [first, ...others] = await settled(stage, Promise.all(asks));
    expect(stage.addresses).toHaveLength(1);
    expect(others.every(({ candles }) => candles === first!.candles)).toBe(true);
    const own = await settled(stage, latestCandles(stage.world.client, query));
    expect(first!.candles).toEqual(own.candles);
    expect(first!.closed).toBe(own.closed);
    const kept = await settled(stage, latestCandles(source, query, { maxAge: 60_000 }));
    expect(kept.candles).toBe(first!.candles);
    expect(stage.addresses).toHaveLength(1);
  });

  it("has the snipers that its client has", async () => {
    const stage = new Stage();
    const source = gatewaySource(ADDRESS, { fetch: stage.fetch, scheduler: stage.clock });
    const look = await settled(stage, latestSniperReport(source, { pairAddress: PAIR }));
    const own = await settled(stage, latestSniperReport(stage.world.client, { pairAddress: PAIR }));
    expect(look.report).toEqual(own.report);
  });
});
