import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createAdaptorServer, getRequestListener, type ServerType } from "@hono/node-server";
import express from "express";
import { Hono } from "hono";
import { type CandleEvent, createClient, type Series } from "pairstream";
import { createPairService, type Swap } from "pairstream/service";
import { createGateway, type Gateway, gatewaySource } from "pairstream/sse";
import { afterEach, describe, expect, it } from "vitest";

const PAIR = "pair1";
const SERIES: Series = { network: "mainnet", pairAddress: PAIR, timeframe: "1s", currency: "usd" };
const OPTIONS = { ...SERIES, since: { candles: 20 }, every: 1_000 };

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
}

/** A swap a second, every other one a sale. */
function* swaps({ from, to, asOf }: { from: number; to: number; asOf: number }): Iterable<Swap> {
  const start = Math.ceil(Math.max(from, asOf - 600_000) / 1_000) * 1_000;
  for (let timestamp = start; timestamp < to && timestamp <= asOf; timestamp += 1_000) {
    const price = 100 + ((timestamp / 1_000) % 7);
    yield {
      ...{
        timestamp,
        blockNumber: timestamp / 400,
        transactionHash: `swap-${timestamp}`,
        walletAddress: "ann",
      },
      ...{
        side: timestamp % 2_000 === 0 ? "buy" : "sell",
        tokenAmount: 1,
        usdAmount: price,
        nativeAmount: price,
      },
    };
  }
}

/** A gateway in real time, before a service of this process. */
function openGateway(): Gateway {
  const createdAt = Math.floor(Date.now() / 1_000) * 1_000 - 600_000;
  const { fetch } = createPairService({ source: { pair: () => ({ tokenAddress: null, createdAt, swaps }) } });
  const client = createClient({ baseUrl: "https://service.test", apiKey: "key", fetch });
  const gateway = createGateway(client, {
    allow: (_, wanted) => wanted.type === "status" || wanted.options.pairAddress === PAIR,
    linger: 0,
  });
  cleanups.push(() => gateway.close());
  return gateway;
}

async function listen(server: Server | ServerType): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    if ("closeAllConnections" in server) server.closeAllConnections();
    await closed;
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Where the gateway is mounted, on each of the servers. */
const SERVERS: [string, (gateway: Gateway) => Promise<string>][] = [
  [
    "Hono",
    async (gateway) => {
      const app = new Hono().all("/api/pairs/*", ({ req }) => gateway.fetch(req.raw));
      const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false });
      return `${await listen(server)}/api/pairs`;
    },
  ],
  [
    "Express",
    async (gateway) => {
      const app = express().use(
        "/api/pairs",
        getRequestListener(gateway.fetch, { overrideGlobalObjects: false }),
      );
      return `${await listen(createServer(app))}/api/pairs`;
    },
  ],
  [
    "Node's own server",
    async ({ fetch }) => listen(createServer(getRequestListener(fetch, { overrideGlobalObjects: false }))),
  ],
];

describe("a gateway", () => {
  it.each(SERVERS)(
    "serves candles, snipers, history and status by %s, and notes who leaves",
    async (_, mount) => {
      const url = await mount(openGateway());
      const source = gatewaySource(url);
      const events: CandleEvent[] = [];
      const states: string[] = [];
      const wallets: string[] = [];
      const subscriptions = [
        source.candles(OPTIONS).subscribe((event) => events.push(event)),
        source.status(OPTIONS).subscribe(({ state }) => states.push(state)),
        source.snipers({ pairAddress: PAIR }).subscribe(({ type }) => wallets.push(type)),
      ];
      await until(() => events.some(({ live, status }) => live && status === "closed"));
      await until(() => states.at(-1) === "live" && wallets.length > 0);
      const newest = events.findLast(({ status }) => status !== "open")!.candle.timestamp;
      const history = await source.history({ ...SERIES, to: newest - 60_000, count: 10 });
      expect(history).toHaveLength(10);

      const status = async () => (await fetch(`${url}/status`)).json();
      expect(await status()).toMatchObject({ viewers: 2 });
      for (const subscription of subscriptions) subscription.unsubscribe();
      await until(async () => {
        const { viewers, channels } = await status();
        return viewers === 0 && channels.length === 0;
      });
    },
  );

  it.each(SERVERS)("refuses by %s what it refuses", async (_, mount) => {
    const url = await mount(openGateway());
    const statusOf = async (path: string, init?: RequestInit) => (await fetch(url + path, init)).status;
    const query = new URLSearchParams({ ...SERIES });
    expect(await statusOf("/nothing")).toBe(404);
    expect(await statusOf(`/candles?${query}&x=1`)).toBe(400);
    expect(await statusOf(`/candles?${query}`, { headers: { origin: "https://elsewhere.example" } })).toBe(
      403,
    );
    expect(await statusOf(`/candles?${query}`, { method: "POST", body: "x" })).toBe(405);
    expect(await statusOf(`/candles?${query}`, { method: "HEAD" })).toBe(200);
    expect(await statusOf("/candles", { method: "OPTIONS" })).toBe(204);
    expect(await (await fetch(`${url}/status`)).json()).toMatchObject({ viewers: 0, channels: [] });
  });

  it("serves as a route handler of Next does, which is its function alone", async () => {
    const { fetch: GET } = openGateway();
    const source = gatewaySource("https://site.test/api/pairs", {
      fetch: (url, init) => GET(new Request(url, init)),
    });
    const events: CandleEvent[] = [];
    const subscription = source.candles(OPTIONS).subscribe((event) => events.push(event));
    await until(() => events.some(({ live }) => live));
    expect(await source.history({ ...SERIES, count: 5 })).toHaveLength(5);
    subscription.unsubscribe();
    const status = await GET(new Request("https://site.test/api/pairs/status"));
    expect(await status.json()).toMatchObject({ viewers: 0 });
  });
});
