import { type ClientOptions, createClient, type Series, type Timeframe } from "pairstream";
import { createPairService, listen, type PairService, simulatedMarket } from "pairstream/service";
import { onTestFinished } from "vitest";
import { type Program, run } from "./program.js";

export const KEY = "key-0815";
export const FROM = Date.UTC(2025, 0, 2);
export const TO = FROM + 36 * 3_600_000;
export const SERIES: Series<Timeframe> = {
  network: "mainnet",
  pairAddress: "pair1",
  timeframe: "10s",
  currency: "usd",
};

const market = simulatedMarket({ seed: 5, createdAt: "2025-01-01", pairs: ["pair1"] });
const service = createPairService({ source: market, apiKeys: [KEY] });
export const clientOf = (options: Partial<ClientOptions>) =>
  createClient({
    baseUrl: "http://localhost",
    apiKey: KEY,
    fetch: service.fetch,
    rateLimit: false,
    ...options,
  });
export const client = clientOf({});

/** A service that holds its answer to one request until it is let go. */
export async function serve({
  holds = Number.POSITIVE_INFINITY,
  onRequest = () => {},
}: {
  holds?: number;
  onRequest?: () => unknown;
} = {}) {
  let arrive = () => {};
  let release = () => {};
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let requests = 0;
  const fetch = async (request: Request) => {
    requests += 1;
    onRequest();
    if (requests === holds) {
      arrive();
      await released;
    }
    return service.fetch(request);
  };
  const { url, close } = await listen({ fetch } as PairService, { port: 0 });
  onTestFinished(async () => {
    release();
    await close();
  });
  return { url, arrived, release, requests: () => requests };
}

/** Downloads the range of `SERIES` from a service. */
export function history(
  url: string,
  args: readonly string[],
  environment = { PAIRSTREAM_API_KEY: KEY },
): Program {
  const range = ["--from", new Date(FROM).toISOString(), "--to", new Date(TO).toISOString()];
  const place = ["--base-url", url, "--pair", "pair1", "--timeframe", "10s"];
  return run("examples/history.ts", [...place, ...range, ...args], environment);
}
