import { type ClientOptions, createClient, VirtualClock } from "pairstream";
import { createPairService } from "pairstream/service";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type ChartGateway,
  type ChartOptions,
  createChartGateway,
} from "../../../examples/live-chart/gateway.js";
import { serveChart } from "../../../examples/live-chart/serve.js";
import { HandMadeMarket, PAIR } from "../../browser/hand-made-market.js";

const START = Date.UTC(2026, 0, 5, 12, 0, 2);
const EVENTS = `/candles?network=mainnet&pairAddress=${PAIR}&timeframe=10s&currency=usd&every=2000`;

describe("the gateway of the live chart", () => {
  let clock: VirtualClock;
  let requests: number;
  let gateway: ChartGateway;
  const open: ReadableStreamDefaultReader<Uint8Array>[] = [];

  beforeEach(() => {
    clock = new VirtualClock(START);
    requests = 0;
    gateway = gatewayWith({});
  });
  afterEach(async () => {
    for (const reader of open.splice(0)) await reader.cancel();
    await gateway.close();
    await clock.advanceBy(0);
    expect(clock.pending).toBe(0);
  });

  function gatewayWith(options: { origins?: readonly string[]; linger?: number }): ChartGateway {
    return createChartGateway({ ...relayed(), ...options });
  }

  function relayed(stored: Pick<ClientOptions, "store"> = {}): ChartOptions {
    const market = new HandMadeMarket(START - 60_000);
    for (let at = START - 60_000; at < START; at += 1_000) market.trade(at, 2);
    const { fetch } = createPairService({ source: market, clock: () => clock.now() });
    const counted: typeof fetch = ((url: string, init: object) => {
      if (url.includes("/ohlcv")) requests += 1;
      return fetch(url, init);
    }) as typeof fetch;
    const client = createClient({
      baseUrl: "https://service.test",
      apiKey: "key",
      fetch: counted,
      scheduler: clock,
      ...stored,
    });
    return { client, network: "mainnet", pairs: [PAIR], every: 2_000, linger: 0 };
  }

  const get = async (path: string, headers: Record<string, string> = {}, host = "127.0.0.1:8080") =>
    gateway.app.request(`http://${host}${path}`, { headers: { host, ...headers } });

  /** Connects, and reads until some text has come. */
  async function view(text: string) {
    const { body } = await get(EVENTS);
    const reader = body!.getReader();
    open.push(reader);
    const decoder = new TextDecoder();
    for (let seen = ""; !seen.includes(text); ) {
      const read = reader.read();
      await clock.advanceBy(0);
      seen += decoder.decode((await read).value, { stream: true });
    }
    return reader;
  }

  /** How many watch each of the channels that are open. */
  async function viewers(): Promise<readonly number[]> {
    const { channels } = (await (await get("/status")).json()) as { channels: { viewers: number }[] };
    return channels.map((channel) => channel.viewers);
  }

  /** Waits until so many watch; what is due happens meanwhile. */
  async function until(expected: readonly number[]): Promise<void> {
    while (JSON.stringify(await viewers()) !== JSON.stringify(expected)) await clock.advanceBy(0);
  }

  it("tells what can be chosen", async () => {
    const answer = await get("/choices");
    expect(await answer.json()).toMatchObject({
      network: "mainnet",
      pairs: [PAIR],
      currencies: ["usd", "native"],
      first: { pairAddress: PAIR, timeframe: "10s", currency: "usd" },
    });
  });

  it("tells how its feeds are", async () => {
    const none = { starting: 0, live: 0, stalled: 0 };
    const well = await get("/health");
    expect([well.status, await well.json()]).toEqual([200, { ok: true, feeds: none }]);
    await view("event: ready");
    expect(await (await get("/health")).json()).toEqual({ ok: true, feeds: { ...none, live: 1 } });
    await gateway.close();

    const fetch = () => Promise.reject(new Error("down"));
    const client = createClient({
      baseUrl: "https://service.test",
      apiKey: "key",
      fetch,
      scheduler: clock,
    });
    gateway = createChartGateway({ ...relayed(), client });
    const { body } = await get(EVENTS);
    open.push(body!.getReader());
    await clock.advanceBy(61_000);
    const ill = await get("/health");
    const lastError = expect.stringContaining("down");
    const feeds = { ...none, starting: 1 };
    expect([ill.status, await ill.json()]).toEqual([503, { ok: false, feeds, lastError }]);
    expect((await get("/health", {}, "elsewhere.example")).status).toBe(403);
  });

  it("keeps a channel for a viewer who comes back in time", async () => {
    await gateway.close();
    gateway = gatewayWith({ linger: 600_000 });
    const reader = await view("event: ready");
    await reader.cancel();
    await until([0]);
    const before = requests;
    await view("event: ready");
    expect(await viewers()).toEqual([1]);
    expect(requests).toBe(before);
  });

  it.each([
    ["another pair", EVENTS.replace(PAIR, "other"), 403],
    ["another network", EVENTS.replace("mainnet", "devnet"), 403],
    ["another timeframe", EVENTS.replace("10s", "7min"), 400],
    ["a faster pace", EVENTS.replace("2000", "1000"), 400],
    ["no currency", EVENTS.replace("&currency=usd", ""), 400],
  ])("refuses %s, and opens nothing", async (_, path, status) => {
    const answer = await get(path);
    expect(answer.status).toBe(status);
    expect(await viewers()).toEqual([]);
  });

  it.each([
    ["http://localhost:5173", 200],
    ["http://127.0.0.1:1", 200],
    ["http://[::1]:9000", 200],
    ["https://elsewhere.example", 403],
    ["http://localhost.elsewhere.example", 403],
    ["http://127.0.0.1.elsewhere.example", 403],
    ["null", 403],
  ])("answers a page of origin %s with %d", async (origin, status) => {
    const answer = await get("/choices", { origin });
    expect(answer.status).toBe(status);
    expect(answer.headers.get("access-control-allow-origin")).toBe(status === 200 ? origin : null);
  });

  it("refuses a name that was pointed at this machine", async () => {
    expect((await get("/choices", {}, "elsewhere.example:8080")).status).toBe(403);
    expect((await get(EVENTS, {}, "elsewhere.example")).status).toBe(403);
    expect(await viewers()).toEqual([]);
  });

  const uninvited: [string, RequestInit & { headers?: Record<string, string> }, number][] = [
    ["HEAD", { method: "HEAD" }, 200],
    ["POST", { method: "POST", body: "" }, 405],
    ["another site, as an image", fromSite("cross-site", "no-cors"), 403],
    ["another site, by HEAD", { method: "HEAD", ...fromSite("cross-site", "no-cors") }, 403],
  ];

  function fromSite(site: string, mode: string) {
    return { headers: { "sec-fetch-site": site, "sec-fetch-mode": mode } };
  }

  const ask = async (
    path: string,
    { headers, ...init }: RequestInit & { headers?: Record<string, string> },
  ) =>
    gateway.app.request(`http://127.0.0.1:8080${path}`, {
      headers: { host: "127.0.0.1:8080", ...headers },
      ...init,
    });

  it.each(uninvited)("opens nothing for %s", async (_, init, status) => {
    expect((await ask(EVENTS, init)).status).toBe(status);
    expect(await viewers()).toEqual([]);
    expect(clock.pending).toBe(0);
    expect(requests).toBe(0);
    if (init.method === undefined) expect((await ask("/choices", init)).status).toBe(status);
  });

  it.each([
    ["its own page", "same-origin", undefined],
    ["a browser's address line", "none", undefined],
    ["a page of this machine", "cross-site", "http://localhost:5173"],
  ])("lets in %s", async (_, site, origin) => {
    const { headers } = fromSite(site, "cors");
    const answer = await get(EVENTS, origin === undefined ? headers : { ...headers, origin });
    expect(answer.status).toBe(200);
    expect(await viewers()).toEqual([1]);
    await answer.body!.cancel();
  });

  it("leaves nothing behind on a real connection, either", async () => {
    const served = await serveChart({ ...relayed(), port: 0, files: new Map() });
    const url = new URL(EVENTS, served.url);
    const isWatched = async () => (await (await fetch(new URL("status", url))).json()).channels.length > 0;
    for (let count = 0; count < 50; count += 1) {
      const head = await fetch(url, { method: "HEAD" });
      expect(head.status).toBe(200);
      if (count === 0) expect(await isWatched()).toBe(false);
      const abort = new AbortController();
      const asked = fetch(url, { signal: abort.signal });
      if (count % 2 === 0) await asked;
      abort.abort();
      await asked.catch(() => {});
    }
    while (await isWatched()) await clock.advanceBy(0);
    expect(clock.pending).toBe(0);
    await served.close();
  });

  it("lets in the origins that it is given", async () => {
    await gateway.close();
    gateway = gatewayWith({ origins: ["https://chart.example"] });
    expect((await get("/choices", { origin: "https://chart.example" })).status).toBe(200);
    expect((await get("/choices", {}, "chart.example")).status).toBe(200);
    expect((await get("/choices", { origin: "https://other.example" })).status).toBe(403);
  });
});
