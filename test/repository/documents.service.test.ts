import { createClient, type FetchLike, fetchCandles, type Series, watchCandles } from "pairstream";
import { createPairService, swapTape, withFaults } from "pairstream/service";
import { firstValueFrom, lastValueFrom, take, toArray } from "rxjs";
import { describe, expect, it } from "vitest";
import { Asker } from "../../examples/check-service/asker.js";
import { askAll, BUDGET } from "../../examples/check-service/questions.js";
import { markdownBlocks } from "../documents/blocks.js";
import { read } from "../documents/files.js";
import { loadExports } from "../documents/recipes.js";

const GUIDE = "docs/service.md";
const blocks = markdownBlocks(GUIDE, read(GUIDE));
const PAIR = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
const NOW = Date.UTC(2025, 0, 3, 12, 3, 50);
const MINUTE = 60_000;

const swaps = blocks.find(({ language }) => language === "json")!.code.split("\n");
const source = swapTape(swaps, {
  pairAddress: PAIR,
  tokenAddress: "7mZpQ2tXJw9RkYv4Bn6sLc8HdFg3Ue5AaTqWxNyKoPr1",
});
const service = createPairService({ source, clock: () => NOW });

/** One request and one answer, as the guide shows them. */
interface Exchange {
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly status: number;
  readonly answered: Record<string, string>;
  readonly body: unknown;
}

function exchangeOf(code: string): Exchange {
  const [request, head, body] = code.split("\n\n") as [string, string, string];
  const [first, ...headers] = request.split("\n") as [string, ...string[]];
  const [status, ...answered] = head.split("\n") as [string, ...string[]];
  const named = (lines: readonly string[]) =>
    Object.fromEntries(lines.map((line) => line.split(/: (.*)/, 2) as [string, string]));
  return {
    path: first.replace(/^GET /, ""),
    headers: named(headers),
    status: Number(status.split(" ")[1]),
    answered: named(answered),
    body: JSON.parse(body),
  };
}

const exchanges = blocks.filter(({ code }) => code.startsWith("GET ")).map(({ code }) => exchangeOf(code));
const series: Series<"1min"> = { network: "mainnet", pairAddress: PAIR, timeframe: "1min", currency: "usd" };

describe("the exchanges of docs/service.md", () => {
  it("are one of each kind", () => {
    expect(exchanges.map(({ status }) => status)).toEqual([200, 200, 200, 400, 401, 404, 429]);
  });

  it.each(exchanges.map((exchange) => [exchange.status, exchange.path, exchange] as const))(
    "are those of the local service: %i, %s",
    async (status, path, { headers, answered, body }) => {
      const limited = withFaults(service.fetch, { seed: 5, schedule: [{ call: 1, kind: "429" }] });
      const fetch: FetchLike = status === 429 ? limited : service.fetch;
      const answer = await fetch(`https://gateway.example/v1${path}`, { headers });
      expect(answer.status).toBe(status);
      expect(JSON.parse(await answer.text())).toEqual(body);
      for (const [name, value] of Object.entries(answered))
        expect(answer.headers.get(name), name).toBe(value);
    },
  );

  it("are what a client sends and reads", async () => {
    const sent: string[] = [];
    const client = createClient({
      baseUrl: "https://gateway.example/v1",
      apiKey: "your key".replace(" ", "-"),
      fetch: async (url, init) => {
        sent.push(url.replace("https://gateway.example/v1", ""));
        const exchange = exchanges.find(({ path, status }) => status === 200 && url.endsWith(path))!;
        expect(Object.keys(init!.headers!).sort()).toEqual(Object.keys(exchange.headers).sort());
        const get = (name: string) => exchange.answered[name.toLowerCase()] ?? null;
        return { status: 200, headers: { get }, text: async () => JSON.stringify(exchange.body) };
      },
    });
    const range = { fromDate: 1_735_905_000_000, toDate: 1_735_905_840_000 };
    const pages = [];
    for await (const page of client.ohlcvPages({ ...series, ...range, limit: 2 })) pages.push(page);
    expect(pages.map(({ result }) => result.length)).toEqual([2, 1]);
    const { result } = await client.sniperReport({ pairAddress: PAIR, blocksAfterCreation: 3 });
    expect(result.map(({ walletAddress }) => walletAddress)).toEqual(["ann"]);
    expect(sent).toEqual(exchanges.slice(0, 3).map(({ path }) => path));
  });
});

interface Server {
  answer(request: Request, apiKey: string, candlesOf: unknown): Response;
}
/** Of a candle a minute, each with its own price; longer ones begin with each hour. */
function candlesOf(wanted: { pairAddress: string; timeframe: string }, from: number, to: number) {
  if (wanted.pairAddress !== PAIR) return undefined;
  if (wanted.timeframe !== "1min") return [];
  const rows = [];
  for (let at = Math.ceil(from / MINUTE) * MINUTE; at < Math.min(to, Date.now()); at += MINUTE) {
    const price = 1 + ((at / MINUTE) % 7);
    rows.push({ timestamp: at, open: price, high: price, low: price, close: price, volume: 1, swaps: 1 });
  }
  return rows.reverse();
}

describe("the server of docs/service.md", () => {
  const [block] = blocks.filter(({ language }) => language === "ts");
  const fetchOf = async (): Promise<FetchLike> => {
    const { answer } = (await loadExports({ code: kept(block!.code) })) as Server;
    return async (url, init) => answer(new Request(url, init as RequestInit), "key", candlesOf);
  };

  it("has about forty lines", () => {
    const lines = block!.code
      .split("export type CandlesOf")[1]!
      .split("\n")
      .filter((line) => line !== "");
    expect(lines.length).toBeLessThanOrEqual(42);
  });

  it("serves a client: a history over several pages, and a stream", async () => {
    const fetch = await fetchOf();
    const client = createClient({ baseUrl: "http://localhost", apiKey: "key", fetch, rateLimit: false });
    const from = Math.floor(Date.now() / MINUTE - 2_500) * MINUTE;
    const past = await lastValueFrom(fetchCandles(client, { ...series, from }).pipe(toArray()));
    expect(past.length).toBeGreaterThanOrEqual(2_498);
    expect(past.map(({ timestamp }) => timestamp)).toEqual(
      past.map((_, at) => past[0]!.timestamp + at * MINUTE),
    );
    const watched = watchCandles(client, { ...series, since: { candles: 20 } });
    const events = await firstValueFrom(watched.pipe(take(20), toArray()));
    expect(events.every(({ type }) => type === "new")).toBe(true);
  });

  it("fits but for what it says that it leaves out", async () => {
    const asker = new Asker(
      { baseUrl: "http://localhost", apiKey: "key", fetch: await fetchOf() },
      BUDGET.requests,
    );
    const notes: string[] = [];
    for await (const { question, notes: told } of askAll(asker, series))
      notes.push(
        ...told.filter(({ verdict }) => verdict !== "fits").map(({ text }) => `${question}: ${text}`),
      );
    expect(notes).toEqual([
      "the newest candles: no X-Request-Weight: candles count as 150 units",
      expect.stringMatching(/^longer candles, .*: there are candles of 1min, and none of the other$/),
      "weeks: none came: they may begin before the pair",
      expect.stringMatching(/^a range that begins long before the pair: /),
      expect.stringMatching(/^snipers: status 404: /),
    ]);
  });

  it("refuses what it does not know", async () => {
    const fetch = await fetchOf();
    const ask = async (query: string, key = "key", pair = PAIR) => {
      const url = `http://localhost/token/mainnet/pairs/${pair}/ohlcv?${query}`;
      return (await fetch(url, { headers: { "X-API-Key": key } })).status;
    };
    const good = "timeframe=1min&currency=usd&fromDate=1735905000&toDate=2025-01-04";
    expect(await ask(good)).toBe(200);
    for (const [more, status] of [
      ["&limit=0", 400],
      ["&limit=1001", 400],
      ["&limit=many", 400],
      ["&cursor=anything", 400],
      ["&limit=1000", 200],
    ] as const)
      expect(await ask(good + more), more).toBe(status);
    for (const name of ["timeframe", "currency", "fromDate", "toDate"])
      expect(await ask(good.replace(new RegExp(`${name}=[^&]*&?`), "")), name).toBe(400);
    expect(await ask(good, "another")).toBe(401);
    expect(await ask(good, "key", "another")).toBe(404);
  });
});

/** All of it, as what it does not export belongs to what it does. */
const kept = (code: string) => code.replace(/^(const \w+)/gm, "export $1");
