import type { AddressInfo } from "node:net";
import { createAdaptorServer } from "@hono/node-server";
import { applyCandleEvent, type Candle, type CandleEvent, createClient, type PairSource } from "pairstream";
import { demoService } from "pairstream/service";
import { createGateway, type Gateway, gatewaySource } from "pairstream/sse";
import { afterEach, describe, expect, it } from "vitest";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A gateway over HTTP, and what a page gets from it. */
async function served(gateway: Gateway): Promise<PairSource> {
  cleanups.push(() => gateway.close());
  const server = createAdaptorServer({ fetch: gateway.fetch, overrideGlobalObjects: false });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => new Promise((resolve) => server.close(resolve)));
  return gatewaySource(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

/** Resolves once a stream has shown so many closed candles. */
function closed(source: PairSource, options: Parameters<PairSource["candles"]>[0], count: number) {
  const candles = new Map<number, Candle>();
  const statuses = new Map<number, CandleEvent["status"]>();
  return new Promise<readonly Candle[]>((resolve, reject) => {
    const subscription = source.candles(options).subscribe({
      next: (event) => {
        applyCandleEvent(candles, event);
        statuses.set(event.candle.timestamp, event.status);
        const over = [...candles.values()].filter(({ timestamp }) => statuses.get(timestamp) !== "open");
        if (over.length >= count && event.live) resolve(over);
      },
      error: reject,
    });
    cleanups.push(() => subscription.unsubscribe());
  });
}

describe("a gateway behind a gateway, over HTTP", () => {
  it("gives the candles, in any timeframe, and the history that the service has", async () => {
    const demo = demoService();
    const client = createClient(demo.clientOptions);
    const [pairAddress] = demo.pairs;
    const series = { network: "mainnet", pairAddress, timeframe: "1s", currency: "usd" } as const;
    const inner = await served(createGateway(client, { allow: [series], linger: 0 }));
    const outer = await served(createGateway(inner, { allow: [series], linger: 0 }));
    const seconds = await closed(outer, { ...series, since: { candles: 20 }, every: 1_000 }, 21);
    const longer = await closed(
      outer,
      { ...series, timeframe: "2s", since: { candles: 20 }, every: 1_000 },
      21,
    );
    const from = longer[0]!.timestamp;
    const to = from + 10_000;
    const history = await outer.history({ ...series, from, to });
    const same = await client.ohlcvPage({ ...series, fromDate: from, toDate: to });
    expect(history).toEqual([...same.result].reverse());
    expect(await outer.history({ ...series, timeframe: "2s", from, to })).toEqual(
      longer.filter(({ timestamp }) => timestamp < to),
    );
    expect(seconds.length).toBeGreaterThan(20);
  });
});
