import {
  createPairService,
  type PairServiceOptions,
  type Swap,
  type SwapSource,
  simulatedMarket,
  swapTape,
} from "pairstream/service";
import { describe, expect, it } from "vitest";
import { type AskedCandle, ask, ohlcv, toLine, walk } from "./harness.js";
import { pairAddress, smallTape } from "./small-tape.js";

const now = Date.parse("2024-02-10T12:34:56.789Z");
const query = { timeframe: "1h", currency: "usd", fromDate: "2024-01-31", toDate: "2024-02-10" };
const snipersPath = `/token/mainnet/pairs/${pairAddress}/snipers`;

function tape(network: "mainnet" | "devnet" = "mainnet"): SwapSource {
  return swapTape(smallTape.map(toLine), { pairAddress, tokenAddress: "tokenA", network });
}

function serve(options: Partial<PairServiceOptions> = {}) {
  return createPairService({ source: tape(), clock: () => now, ...options });
}

describe("answers", () => {
  it("has the fields of the contract, in its order, and the headers of the real thing", async () => {
    const { status, headers, body } = await ask(serve(), ohlcv(pairAddress, query));
    expect(status).toBe(200);
    expect(Object.keys(body)).toEqual([
      "cursor",
      "page",
      "pairAddress",
      "tokenAddress",
      "timeframe",
      "currency",
      "result",
    ]);
    expect(body).toMatchObject({
      cursor: null,
      page: 1,
      pairAddress,
      tokenAddress: "tokenA",
      timeframe: "1h",
    });
    expect(Object.keys(body.result[0])).toEqual([
      "timestamp",
      "open",
      "high",
      "low",
      "close",
      "volume",
      "swaps",
    ]);
    expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(headers.get("Date")).toBe("Sat, 10 Feb 2024 12:34:56 GMT");
    expect(headers.get("X-REQUEST-WEIGHT")).toBe("150");
    expect(headers.get("retry-after")).toBeNull();
  });

  it("weighs a sniper report at 50, and a failing call like a good one", async () => {
    expect((await ask(serve(), snipersPath)).headers.get("x-request-weight")).toBe("50");
    expect((await ask(serve(), ohlcv(pairAddress, {}))).headers.get("x-request-weight")).toBe("150");
  });

  it("is the same from a Request as from a URL", async () => {
    const service = serve();
    const url = `http://service.test${ohlcv(pairAddress, query)}`;
    const response = await service.fetch(new Request(url, { headers: { "x-api-key": "key" } }));
    const plain = await service.fetch(url, { headers: { "x-api-key": "key" } });
    expect(response).toBeInstanceOf(Response);
    expect(plain).not.toBeInstanceOf(Response);
    expect(response.status).toBe(plain.status);
    expect(await response.text()).toBe(await plain.text());
    for (const name of ["date", "content-type", "x-request-weight"]) {
      expect(response.headers.get(name)).toBe(plain.headers.get(name));
    }
  });

  it("does not mind the origin or a path before the contract's", async () => {
    const service = serve();
    const headers = { "X-API-Key": "key" };
    for (const base of ["", "https://gateway.test:8443", "https://gateway.test/solana/v2"]) {
      expect((await service.fetch(`${base}${ohlcv(pairAddress, query)}#part`, { headers })).status).toBe(200);
    }
  });

  it("rejects with the signal's reason where that is aborted already", async () => {
    const reason = new Error("left");
    const init = { headers: { "X-API-Key": "key" }, signal: AbortSignal.abort(reason) };
    const url = `http://service.test${ohlcv(pairAddress, query)}`;
    await expect(serve().fetch(url, init)).rejects.toBe(reason);
    await expect(serve().fetch(new Request(url, init))).rejects.toBe(reason);
  });
});

describe("refusals", () => {
  it("lets in any key by default, but not none", async () => {
    for (const headers of [{}, { "X-API-Key": "" }, { Authorization: "Bearer key" }]) {
      const { status, body } = await ask(
        serve(),
        ohlcv(pairAddress, query),
        headers as Record<string, string>,
      );
      expect(status).toBe(401);
      expect(body).toEqual({ message: expect.any(String), statusCode: 401 });
    }
    expect((await ask(serve(), ohlcv(pairAddress, query), { "x-api-KEY": "any" })).status).toBe(200);
  });

  it("lets in known keys only where it is given some", async () => {
    const service = serve({ apiKeys: ["one", "two"] });
    expect((await ask(service, snipersPath, { "X-API-Key": "two" })).status).toBe(200);
    const { status, body } = await ask(service, snipersPath, { "X-API-Key": "three" });
    expect(status).toBe(401);
    expect(JSON.stringify(body)).not.toContain("three");
  });

  it.each([
    ["an unknown pair", ohlcv("unknown", query)],
    ["a pair of the other network", ohlcv(pairAddress, query, "devnet")],
    ["an unknown network", ohlcv(pairAddress, query, "testnet")],
    ["an unknown pair's snipers", "/token/mainnet/pairs/unknown/snipers"],
    ["snipers on devnet", `/token/devnet/pairs/${pairAddress}/snipers`],
    ["an unknown route", "/token/mainnet/pairs"],
    ["a longer route", `${snipersPath}/more`],
    ["an address that is no text", "/token/mainnet/pairs/%E0%A4%A/snipers"],
    ["the root", "/"],
  ])("answers 404 for %s", async (_, path) => {
    const { status, body } = await ask(serve(), path);
    expect(status).toBe(404);
    expect(body).toEqual({ message: expect.any(String), statusCode: 404 });
  });

  it("serves a devnet tape on devnet, candles only", async () => {
    const service = serve({ source: tape("devnet") });
    expect((await ask(service, ohlcv(pairAddress, query, "devnet"))).status).toBe(200);
    expect((await ask(service, ohlcv(pairAddress, query))).status).toBe(404);
    expect((await ask(service, `/token/devnet/pairs/${pairAddress}/snipers`)).status).toBe(404);
  });

  it.each(["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])("answers 405 to %s", async (method) => {
    const answer = await serve().fetch(`http://service.test${snipersPath}`, {
      method,
      headers: { "X-API-Key": "key" },
    });
    expect(answer.status).toBe(405);
    expect(answer.headers.get("Allow")).toBe("GET");
  });

  it.each([
    [{ timeframe: "7min" }, "timeframe"],
    [{ timeframe: "1m" }, "timeframe"],
    [{ currency: "eur" }, "currency"],
    [{ currency: "USD" }, "currency"],
    [{ limit: 0 }, "limit"],
    [{ limit: 1001 }, "limit"],
    [{ limit: "ten" }, "limit"],
    [{ limit: "1.5" }, "limit"],
    [{ limit: "" }, "limit"],
    [{ fromDate: "yesterday" }, "fromDate"],
    [{ fromDate: "2024-02-30" }, "fromDate"],
    [{ fromDate: "-5" }, "fromDate"],
    [{ fromDate: "" }, "fromDate"],
    [{ toDate: "01/02/2024" }, "toDate"],
    [{ toDate: "9999999999999999" }, "toDate"],
    [{ fromDate: "2024-02-10T00:00:01Z" }, "fromDate"],
    [{ cursor: "made-up" }, "cursor"],
  ])("answers 400 to %o", async (change, name) => {
    const { status, body } = await ask(serve(), ohlcv(pairAddress, { ...query, ...change }));
    expect(status).toBe(400);
    expect(body).toEqual({ message: [expect.stringContaining(name)], statusCode: 400 });
  });

  it("names all that is wrong at once", async () => {
    const { body } = await ask(serve(), ohlcv(pairAddress, { currency: "eur", limit: -1 }));
    expect(body.message.map((message: string) => message.split(" ")[0])).toEqual([
      "timeframe",
      "currency",
      "fromDate",
      "toDate",
      "limit",
    ]);
    const twice = await ask(serve(), `${ohlcv(pairAddress, query)}&limit=5&limit=6`);
    expect(twice.body.message).toEqual(["limit must be given once"]);
  });

  it.each(["-1", "1001", "many", "0.5", ""])("answers 400 to blocksAfterCreation=%s", async (blocks) => {
    const { status, body } = await ask(serve(), `${snipersPath}?blocksAfterCreation=${blocks}`);
    expect(status).toBe(400);
    expect(body.message).toEqual([expect.stringContaining("blocksAfterCreation")]);
  });

  it("answers 500 where the source fails", async () => {
    const failing: SwapSource = {
      pair: () => {
        throw new Error("the disk is gone");
      },
    };
    const { status, body } = await ask(serve({ source: failing }), snipersPath);
    expect(status).toBe(500);
    expect(body).toEqual({ message: expect.stringContaining("the disk is gone"), statusCode: 500 });
  });

  it.each([
    ["source", { source: {} }],
    ["source", {}],
    ["clock", { source: tape(), clock: 5 }],
    ["apiKeys", { source: tape(), apiKeys: [] }],
    ["apiKey", { source: tape(), apiKey: "good" }],
    ["apiKeys", { source: tape(), apiKeys: ["good", ""] }],
    ["weekStart", { source: tape(), weekStart: "sunday" }],
    ["options", undefined],
  ])("refuses options with a bad %s at the call", (parameter, options) => {
    expect(() => createPairService(options as never)).toThrow(
      expect.objectContaining({ name: "InvalidInputError", parameter }),
    );
  });

  it("rejects where its clock tells no time", async () => {
    const service = serve({ clock: () => Number.NaN });
    await expect(ask(service, snipersPath)).rejects.toMatchObject({
      name: "InvalidInputError",
      parameter: "clock",
    });
  });
});

describe("dates", () => {
  it.each([
    ["1706832000", "unix seconds"],
    ["1706832000.000", "a fraction of a second"],
    ["2024-02-02", "a calendar date"],
    ["2024-02-02T00:00:00Z", "ISO 8601"],
    ["2024-02-02T02:00:00+02:00", "another zone"],
    ["2024-02-02T00:00", "no zone, so UTC"],
  ])("takes %s (%s)", async (toDate) => {
    const starts = async (change: Record<string, string>) =>
      (await ask(serve(), ohlcv(pairAddress, { ...query, timeframe: "1d", ...change }))).body.result.map(
        ({ timestamp }: AskedCandle) => timestamp.slice(0, 10),
      );
    expect(await starts({ toDate })).toEqual(["2024-02-01", "2024-01-31"]);
    expect(await starts({ fromDate: toDate })).toEqual(["2024-02-05", "2024-02-04"]);
  });
});

const priceOf = ({ usdAmount, tokenAmount }: Swap) => usdAmount / tokenAmount;

describe("pages", () => {
  const createdAt = Date.UTC(2024, 0, 1);
  const market = simulatedMarket({ seed: 7, createdAt });
  const address = market.pairs[0]!;
  const live = (clock: () => number) => createPairService({ source: market, clock });
  const hour = {
    timeframe: "10s",
    currency: "usd",
    fromDate: createdAt / 1_000,
    toDate: createdAt / 1_000 + 7_200,
  };

  it("holds 100 candles unless asked otherwise, 1,000 at most", async () => {
    const service = live(() => createdAt + 7_200_000);
    expect((await ask(service, ohlcv(address, hour))).body.result).toHaveLength(100);
    const all = (await ask(service, ohlcv(address, { ...hour, limit: 1_000 }))).body;
    expect(all.result.length).toBeGreaterThan(200);
    expect(all.cursor).toBeNull();
  });

  it("walks to the same candles whatever the page size", async () => {
    const service = live(() => createdAt + 3_605_000);
    const whole = (await walk(service, address, { ...hour, limit: 1_000 })).candles;
    for (const limit of [1, 2, 3, 7, 50, 99, whole.length - 1, whole.length, whole.length + 1]) {
      const { pages, candles } = await walk(service, address, { ...hour, limit });
      expect(candles).toEqual(whole);
      expect(pages.length).toBe(Math.ceil(whole.length / limit));
    }
    const timestamps = whole.map(({ timestamp }) => timestamp);
    expect(timestamps).toEqual([...new Set(timestamps)].sort().reverse());
  });

  it("walks through a snapshot, however many swaps arrive on the way", async () => {
    let clock = createdAt + 3_605_000;
    const still = await walk(
      live(() => createdAt + 3_605_000),
      address,
      { ...hour, limit: 10 },
    );
    const moving = await walk(
      live(() => {
        clock += 60_000;
        return clock - 60_000;
      }),
      address,
      { ...hour, limit: 10 },
    );
    expect(moving).toEqual(still);
  });

  it("sums long candles up to its clock, even where that goes back", async () => {
    let clock = createdAt + 9 * 3_600_000;
    const service = live(() => clock);
    const days = { timeframe: "1d", currency: "usd", fromDate: "2023-12-01", toDate: "2024-02-01" };
    await ask(service, ohlcv(address, days));
    clock = createdAt + 3.5 * 3_600_000;
    const visible: Swap[] = [
      ...market.pair("mainnet", address)!.swaps({ from: 0, to: Infinity, asOf: clock }),
    ];
    const { body } = await ask(service, ohlcv(address, days));
    expect(body.result).toMatchObject([{ swaps: visible.length, close: priceOf(visible.at(-1)!) }]);
  });

  it("takes the page size from the first request", async () => {
    const service = live(() => createdAt + 7_200_000);
    const { cursor } = (await ask(service, ohlcv(address, { ...hour, limit: 20 }))).body;
    expect((await ask(service, ohlcv(address, { ...hour, limit: 500, cursor }))).body.result).toHaveLength(
      20,
    );
    expect((await ask(service, ohlcv(address, { ...hour, cursor: "" }))).body.page).toBe(1);
  });

  it("knows a cursor again in another process, and for its own query only", async () => {
    const pairs = simulatedMarket({ seed: 7, createdAt, pairs: 2 });
    const service = createPairService({ source: pairs, clock: () => createdAt + 7_200_000 });
    const [first, other] = pairs.pairs as [string, string];
    const { cursor } = (await ask(service, ohlcv(first, hour))).body;
    const status = async (pair: string, change: Record<string, string | number>) =>
      (await ask(service, ohlcv(pair, { ...hour, cursor, ...change }))).status;
    expect(await status(first, {})).toBe(200);
    expect(await status(first, { fromDate: new Date(createdAt).toISOString() })).toBe(200);
    const twin = createPairService({ source: pairs, clock: () => createdAt + 9_000_000 });
    expect((await ask(twin, ohlcv(first, { ...hour, cursor }))).status).toBe(200);
    expect(await status(other, {})).toBe(400);
    expect(await status(first, { timeframe: "30s" })).toBe(400);
    expect(await status(first, { currency: "native" })).toBe(400);
    expect(await status(first, { fromDate: createdAt / 1_000 + 1 })).toBe(400);
    expect(await status(first, { toDate: createdAt / 1_000 + 7_199 })).toBe(400);
  });

  it("refuses a cursor with any letter changed", async () => {
    const service = live(() => createdAt + 7_200_000);
    const { cursor } = (await ask(service, ohlcv(address, hour))).body as { cursor: string };
    expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/);
    for (let at = 0; at < cursor.length; at += 1) {
      const changed = cursor.slice(0, at) + (cursor[at] === "A" ? "B" : "A") + cursor.slice(at + 1);
      expect((await ask(service, ohlcv(address, { ...hour, cursor: changed }))).status).toBe(400);
    }
    for (const made of [`${cursor}A`, cursor.slice(0, -1), "bnVsbA", "W10", "WzEsMiwzLDQsInh4Il0"]) {
      expect((await ask(service, ohlcv(address, { ...hour, cursor: made }))).status).toBe(400);
    }
  });
});
