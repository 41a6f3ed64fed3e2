import { once } from "node:events";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { createAdaptorServer } from "@hono/node-server";
import type * as Sse from "../../src/adapters/sse/index.js";
import type * as Root from "../../src/index.js";
import type * as Service from "../../src/service/index.js";
import type { Shipped } from "./setup.js";

/** The address of a pair with a swap every second, for an hour from a minute ago. */
export const PAIR = "pair-with-a-swap-a-second";
const SERIES = { network: "mainnet", pairAddress: PAIR, timeframe: "1s", currency: "usd" } as const;
const MINUTE = 60_000;

type Opened = Pick<Service.Listening, "url" | "close">;

/** The local service of the package as shipped, with that pair. */
export function openService({ folders }: Shipped): Promise<Opened> {
  const installed = createRequire(join(folders.service, "package.json"));
  const { createPairService, listen, swapTape } = installed("pairstream/service") as typeof Service;
  const start = Math.floor(Date.now() / MINUTE - 1) * MINUTE;
  const lines = Array.from({ length: 3_600 }, (_, second) => swapLine(start + 1_000 * second, second));
  const source = swapTape(lines, { pairAddress: PAIR, tokenAddress: "token" });
  return listen(createPairService({ source }), { port: 0 });
}

function swapLine(timestamp: number, number: number): string {
  return JSON.stringify({
    blockNumber: number,
    timestamp: new Date(timestamp).toISOString(),
    transactionHash: `transaction-${number}`,
    walletAddress: "wallet",
    side: number % 2 === 0 ? "buy" : "sell",
    tokenAmount: 1,
    usdAmount: 100 + (number % 7),
    nativeAmount: 1,
  });
}

/** A gateway of the package as shipped, which relays that pair's candles from a service. */
export async function openGateway({ folders }: Shipped, baseUrl: string): Promise<Opened> {
  const installed = createRequire(join(folders.all, "package.json"));
  const { createClient } = installed("pairstream") as typeof Root;
  const { createGateway } = installed("pairstream/sse") as typeof Sse;
  const client = createClient({ baseUrl, apiKey: "key" });
  const gateway = createGateway(client, { allow: [SERIES] });
  const server = createAdaptorServer({ fetch: gateway.fetch, overrideGlobalObjects: false });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const close = async () => {
    await gateway.close();
    server.close();
    await once(server, "close");
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close };
}
