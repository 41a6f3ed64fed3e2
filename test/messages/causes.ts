import { of } from "rxjs";
import {
  drawCandles,
  drawLine,
  drawMarkers,
  drawSnipers,
} from "../../src/adapters/lightweight-charts/index.js";
import { meterClient } from "../../src/adapters/otel/index.js";
import { createGateway, gatewaySource } from "../../src/adapters/sse/index.js";
import { auditCandles, memoryStore, sqliteStore } from "../../src/adapters/store/index.js";
import { createDatafeed } from "../../src/adapters/tradingview/index.js";
import { backtest, sweep } from "../../src/backtest/index.js";
import {
  bollinger,
  type Candle,
  type Client,
  clientSource,
  closes,
  createClient,
  crosses,
  ema,
  estimateCost,
  fetchCandles,
  finals,
  indicator,
  indicatorColumns,
  intervalOf,
  latest,
  pauseWhileHidden,
  readCandles,
  recordExchanges,
  replayCandles,
  replayExchanges,
  resample,
  sma,
  toAsyncIterable,
  VirtualClock,
  vwap,
  watchCandles,
  watchFeedStatus,
  watchSnipers,
  withIndicators,
  withTimeframe,
} from "../../src/index.js";
import {
  createPairService,
  demoService,
  listen,
  simulatedMarket,
  swapTape,
  withFaults,
} from "../../src/service/index.js";
import {
  answeredWith,
  type Cause,
  candleAt,
  KEY,
  PAIR,
  pageOf,
  type Reply,
  rowAt,
  SERIES,
  START,
  wrong,
} from "./provoke.js";

const NOON = Date.UTC(2024, 0, 5, 12);
const MINUTE = 60_000;
const SECRET = { nothing: "it may hold the key or credentials" };
const OPTIONS = { baseUrl: "https://service.test", apiKey: KEY };
const client: Client = createClient({
  ...OPTIONS,
  fetch: async () => Promise.reject(new Error("no network")),
});
const QUERY = { ...SERIES, fromDate: "2024-01-05", toDate: "2024-01-06" } as const;
const RANGE = { ...SERIES, from: "2024-01-05", to: "2024-01-06" } as const;
const candles: readonly Candle[] = [candleAt(NOON), candleAt(NOON + MINUTE)];
const events = () => replayCandles(candles, SERIES);

const cause = (text: string, shows: Cause["shows"], provoke: () => unknown): Cause => ({
  cause: text,
  shows,
  provoke,
});
const made = (options: object) => () => createClient(wrong({ ...OPTIONS, ...options }));
const watched = (options: object) => () => {
  watchCandles(client, wrong({ ...SERIES, ...options }));
};
const served = (text: string, shows: Cause["shows"], reply: Parameters<typeof answeredWith>[0], use = page) =>
  cause(text, shows, () => answeredWith(reply, use, { retry: false }));
const page = (one: Client): unknown => one.ohlcvPage(QUERY);
const report = (one: Client): unknown => one.sniperReport({ pairAddress: PAIR });
const failing = (status: number, message?: unknown, headers: Record<string, string> = {}): Reply => ({
  status,
  headers,
  ...(message === undefined ? {} : { body: { message } }),
});
const swap = (fields: object) =>
  JSON.stringify({
    blockNumber: 1,
    timestamp: "2024-01-05T12:00:00Z",
    transactionHash: "t",
    walletAddress: "w",
    side: "buy",
    tokenAmount: 1,
    usdAmount: 1,
    nativeAmount: 1,
    ...fields,
  });
const source = simulatedMarket({ seed: 1 });
const TAPE = { pairAddress: PAIR, tokenAddress: null };

/** What a user does wrong at a call. */
const CALLS: readonly Cause[] = [
  cause("createClient without options", "undefined", () => createClient(wrong(undefined))),
  cause("the key in place of the options", "string", () => createClient(wrong(KEY))),
  cause("a misspelt option: apikey", "apiKey", made({ apikey: KEY })),
  cause("an option that is the key", SECRET, made({ [KEY]: true })),
  cause("no key", "undefined", made({ apiKey: undefined })),
  cause("an empty key", "empty", made({ apiKey: "" })),
  cause("a key with a line feed, as from a file", "a space or a line break", made({ apiKey: `${KEY}\n` })),
  cause("a key with a space in it", SECRET, made({ apiKey: "two words" })),
  cause("a base URL without a scheme", SECRET, made({ baseUrl: "service.test/v1" })),
  cause("a base URL of websockets", "neither https: nor http:", made({ baseUrl: "ws://service.test" })),
  cause("plain http: to a remote host", "http:", made({ baseUrl: "http://service.test" })),
  cause("a base URL with credentials", SECRET, made({ baseUrl: "https://me:hidden@service.test" })),
  cause("a base URL with a query", SECRET, made({ baseUrl: `https://service.test?key=${KEY}` })),
  cause("no base URL", "undefined", made({ baseUrl: undefined })),
  cause("insecure: 1", "1", made({ insecure: 1 })),
  cause("fetch: true", "boolean", made({ fetch: true })),
  cause("timeout: 0", "0", made({ timeout: 0 })),
  cause('timeout: "10s"', "string", made({ timeout: "10s" })),
  cause("warn: true", "a function, or false", made({ warn: true })),
  cause("retry: 3", "attempts, baseDelay, maxDelay", made({ retry: 3 })),
  cause("rateLimit: 10", "requests, per, or false", made({ rateLimit: 10 })),
  cause("quota: 10", "units, per", made({ quota: 10 })),
  cause("an apiKey of a variable that is not set", "is its variable set?", made({ apiKey: undefined })),
  cause("what to watch before the client", "the client comes first", () =>
    watchCandles(wrong(SERIES), wrong(client)),
  ),
  cause("retry.attempts: 0", "0", made({ retry: { attempts: 0 } })),
  cause("retry.attemps", "retry.attempts", made({ retry: { attemps: 2 } })),
  cause("rateLimit without per", "undefined", made({ rateLimit: { requests: 40 } })),
  cause("quota: 40000", "40000", made({ quota: 40_000 })),
  cause("quota.per: 60, for seconds", "60", made({ quota: { units: 1_000, per: 60 } })),
  cause("a scheduler without schedule", "schedule", made({ scheduler: {} })),
  cause("a store without forget", "an object", made({ store: { read() {}, write() {} } })),
  cause("a store beside a recording fetch", "a recording", () =>
    createClient({ ...OPTIONS, store: memoryStore(), fetch: recordExchanges(fetch, () => {}) }),
  ),
  cause("a client of another maker", "object", () => watchCandles(wrong({}), SERIES)),
  cause("no client", "null", () => watchCandles(wrong(null), SERIES)),
  cause("no series", "undefined", () => watchCandles(client, wrong(undefined))),
  cause('timeframe: "7min"', '"7min"', watched({ timeframe: "7min" })),
  cause('timeframe: "1m"', "1min", watched({ timeframe: "1m" })),
  cause('network: "solana"', '"solana"', watched({ network: "solana" })),
  cause('currency: "eur"', '"eur"', watched({ currency: "eur" })),
  cause("an address with a space", '"83v8 iPy"', watched({ pairAddress: "83v8 iPy" })),
  cause("an empty address", "empty", watched({ pairAddress: "" })),
  cause("every: 100", "100", watched({ every: 100 })),
  cause('every: "1min"', '"1min"', watched({ every: "1min" })),
  cause("settle: -1", "-1", watched({ settle: -1 })),
  cause("revisionWindow: 1.5", "1.5", watched({ revisionWindow: 1.5 })),
  cause('fillGaps: "yes"', '"yes"', watched({ fillGaps: "yes" })),
  cause('weekStart: "sunday"', '"sunday"', watched({ weekStart: "sunday" })),
  cause('whenMissing: "ignore"', '"ignore"', watched({ whenMissing: "ignore" })),
  cause("since: 500", "500", watched({ since: 500 })),
  cause("since.candles: 0", "0", watched({ since: { candles: 0 } })),
  cause("since.count", "since.candles", watched({ since: { count: 500 } })),
  cause("since in seconds", "1704456000 * 1000", watched({ since: 1_704_456_000 })),
  cause("since without a zone", '"2024-01-05T12:00:00"', watched({ since: "2024-01-05T12:00:00" })),
  cause("since as a number in a text", '"1704456000000"', watched({ since: "1704456000000" })),
  cause("since as a day of a month that it has not", '"2024-02-30"', watched({ since: "2024-02-30" })),
  cause("since as a Date that is none", "an invalid Date", watched({ since: new Date("x") })),
  cause("intervall", "interval", watched({ interval: 5 })),
  cause("the end of a download before its start", "2024-01-06", () =>
    fetchCandles(client, { ...RANGE, to: "2024-01-04", from: "2024-01-06" }),
  ),
  cause("a download without from", "undefined", () => fetchCandles(client, wrong({ ...SERIES }))),
  cause("limit: 5000", "5000", () => client.ohlcvPage({ ...QUERY, limit: 5_000 })),
  cause("an empty cursor", "empty", () => client.ohlcvPage({ ...QUERY, cursor: "" })),
  cause("a signal that is none", "not an AbortSignal", () => client.ohlcvPage(QUERY, wrong({ signal: {} }))),
  cause("snipers of devnet", '"devnet"', () =>
    watchSnipers(client, wrong({ pairAddress: PAIR, network: "devnet" })),
  ),
  cause("snipers without options", "undefined", () => watchSnipers(client, wrong(undefined))),
  cause("blocksAfterCreation: 5000", "5000", () =>
    watchSnipers(client, { pairAddress: PAIR, blocksAfterCreation: 5_000 }),
  ),
  cause("missingPace without waiting", "wait", () =>
    watchSnipers(client, { pairAddress: PAIR, missingPace: 5_000 }),
  ),
  cause("a page that is no source", "clientSource", () => pauseWhileHidden(wrong({}))),
  cause("a status of nothing", "undefined", () => watchFeedStatus(client, wrong(undefined))),
  cause("the cost of one subscription, not of a list", "an object", () => estimateCost(wrong(SERIES))),
  cause("too long a history for a page", "intervals before", () =>
    clientSource(client).history({ ...SERIES, timeframe: "1s", from: "2020-01-01" }),
  ),
  cause("ema(0)", "0", () => ema(0)),
  cause('ema("9")', '"9"', () => ema(wrong("9"))),
  cause("an unknown source of an indicator", '"mid"', () => ema(9, { source: wrong("mid") })),
  cause("bollinger with a factor below 0", "-1", () => bollinger(20, -1)),
  cause("a list of indicators", "an array", () => withIndicators(wrong([ema(9)]))),
  cause("ema in place of ema(9)", "a function", () => withIndicators(wrong({ fast: ema }))),
  cause("a name with a dot", "a.b", () => withIndicators({ "a.b": ema(9) })),
  cause("a name that is used twice", "indicators.fast", () =>
    events().pipe(withIndicators({ fast: ema(9) }), withIndicators({ fast: wrong(ema(5)) })),
  ),
  cause("an own indicator without fork", "indicators.own", () =>
    events().pipe(withIndicators({ own: indicator(wrong(() => ({ push() {}, peek() {} }))) })),
  ),
  cause("a path to a value that there is not", '"slow"', () =>
    events().pipe(withIndicators({ fast: ema(1) }), crosses(wrong("fast"), wrong("slow"))),
  ),
  cause("values that nobody has made", '"fast"', () => events().pipe(wrong(crosses("fast" as never, 1)))),
  cause('crosses on "open"', '"open"', () => crosses("candle.close", 2, { on: wrong("open") })),
  cause("maxAge below 0", "-5", () => closes({ maxAge: -5 })),
  cause("finals with a number", "number", () => finals(wrong(5))),
  cause("latest(0)", "0", () => latest(0)),
  cause("minutes out of hours", '"1min"', () =>
    replayCandles([candleAt(NOON)], { ...SERIES, timeframe: "1h" }).pipe(resample("1min")),
  ),
  cause("an hour's trend of a stream of two timeframes", "timeframe", () => withTimeframe(wrong("7h"), {})),
  cause("a session of seven hours", '"7h"', () => vwap({ session: wrong("7h") })),
  cause("columns of nothing", "undefined", () => indicatorColumns({ fast: ema(9) }, wrong(undefined))),
  cause("columns of different lengths", "1", () =>
    indicatorColumns(
      { fast: sma(2) },
      wrong({
        timestamp: new Float64Array(2),
        open: new Float64Array(1),
        high: new Float64Array(2),
        low: new Float64Array(2),
        close: new Float64Array(2),
        volume: new Float64Array(2),
      }),
    ),
  ),
  cause("the interval of a date without a zone", '"5 January"', () => intervalOf("1h", "5 January")),
  cause("a buffer of 0", "0", () => toAsyncIterable(of(1), { buffer: 0 })),
  cause("candles that are no list", "5", () => replayCandles(wrong(5), SERIES)),
  cause("speed: 0", "0", () => replayCandles(candles, { ...SERIES, speed: 0 })),
  cause("candles that go back", "1704456000000", () => replayCandles([...candles].reverse(), SERIES)),
  cause("a price that is a text", '"1"', () =>
    replayCandles([{ ...candleAt(NOON), open: wrong("1") }], SERIES),
  ),
  cause("a file that is read as one text", "one string", () => readCandles(wrong("timestamp,open"))),
  cause("a line that is no JSON", "half", async () => {
    for await (const _ of readCandles(["{half"]));
  }),
  cause("CSV without a close", "close", async () => {
    for await (const _ of readCandles(["timestamp,open,high,low,volume,swaps", "1,1,1,1,1,1"]));
  }),
  cause("CSV with a time without a zone", '"5 January"', async () => {
    for await (const _ of readCandles([
      "timestamp,open,high,low,close,volume,swaps",
      "5 January,1,1,1,1,1,1",
    ]));
  }),
  cause("a tape of text", "one string", () => replayExchanges(wrong("{}"))),
  cause("a tape of another version", "99", () => replayExchanges(['{"v":99}'])),
  cause("a recorder without a sink", "undefined", () => recordExchanges(fetch, wrong(undefined))),
  cause("a clock that begins at no time", "NaN", () => new VirtualClock(Number.NaN)),
  cause("a clock that goes back", "2024-01-05", () => new VirtualClock(NOON).advanceTo(wrong("2024-01-05"))),
];

/** What the service does, told by a direct call or a stream. */
const ANSWERS: readonly Cause[] = [
  served("400 with a message", "unknown pair", failing(400, "unknown pair")),
  served("a wrong key", "Invalid key", failing(401, "Invalid key")),
  served("a spent plan", "has been consumed", failing(401, "total included usage has been consumed")),
  served("402 without a message", "402", failing(402)),
  served("a key without the right", "403", failing(403, "forbidden")),
  served("a path that there is not", "404", { status: 404, body: "<html>Not Found</html>" }),
  served("429", "429", failing(429, "slow down", { "retry-after": "30" })),
  served("a redirect", "https://other.test/", failing(302, undefined, { location: "https://other.test/" })),
  served("500", "500", failing(500, "boom")),
  served("HTML in place of JSON", "<html>", { body: "<html>Welcome</html>" }),
  served("an error with status 200", "upstream timed out", { body: { message: "upstream timed out" } }),
  served("null", "object", { body: "null" }),
  served("the pair of somebody else", "other", { body: pageOf([], { pairAddress: "other" }) }),
  served("a row without swaps", "swaps", { body: pageOf([{ ...rowAt(NOON), swaps: undefined }]) }),
  served("a price that is a word", "open", { body: pageOf([{ ...rowAt(NOON), open: "cheap" }]) }),
  served("a row off its interval", "1min", { body: pageOf([rowAt(NOON + 7)]) }),
  served("more rows than were asked for", "30000", { body: pageOf(new Array(30_000).fill(0)) }),
  served("a report of nothing", "blockNumber", { body: {} }, report),
  served("no network", "ECONNREFUSED", { failure: new Error("connect ECONNREFUSED 10.0.0.1:443") }),
  served("no answer in time", "10000 ms", { hangs: true }),
  cause("a quota that is spent", "150", () =>
    answeredWith(
      { body: pageOf([]) },
      async (one) => {
        for (;;) await one.ohlcvPage(QUERY);
      },
      { retry: false, quota: { units: 400, per: 3_600_000 } },
    ),
  ),
  cause("a quota below the cost of one call", "100", () =>
    answeredWith({ body: pageOf([]) }, page, { quota: { units: 100, per: 3_600_000 } }),
  ),
  cause("a function for the key that fails", "vault", () =>
    answeredWith({}, page, { retry: false, apiKey: () => Promise.reject(new Error("the vault is sealed")) }),
  ),
  cause("a function for the key that gives none", "undefined", () =>
    answeredWith({}, page, { retry: false, apiKey: wrong(() => undefined) }),
  ),
  cause("a function for the key that hangs", "10000 ms", () =>
    answeredWith({}, page, { retry: false, apiKey: () => new Promise(() => {}) }),
  ),
  cause("a download with a row that cannot be read", "close", () =>
    answeredWith({ body: pageOf([{ ...rowAt(NOON - MINUTE), close: "five" }]) }, (one) =>
      fetchCandles(one, { ...SERIES, from: NOON - 5 * MINUTE, to: NOON }),
    ),
  ),
  cause("a stream of a pair that there is not", "404", () =>
    answeredWith(failing(404, "Pair not found"), (one) => watchCandles(one, SERIES)),
  ),
  cause("more unread events than fit", "2", () => {
    const all = toAsyncIterable(of(1, 2, 3), { buffer: 2 })[Symbol.asyncIterator]();
    return all
      .next()
      .then(() => all.next())
      .then(() => all.next());
  }),
  cause("a replay of another program", "sent GET", async () => {
    const lines: string[] = [];
    await answeredWith({}, () => undefined).catch(() => {});
    const clock = new VirtualClock(START);
    const recorded = createClient({
      ...OPTIONS,
      scheduler: clock,
      fetch: recordExchanges(
        async () => ({
          status: 200,
          headers: { get: () => null },
          text: async () => JSON.stringify(pageOf([])),
        }),
        (line) => lines.push(line),
      ),
    });
    recorded.ohlcvPage(QUERY).catch(() => {});
    await clock.advanceBy(1_000);
    const tape = replayExchanges(lines);
    const again = createClient({ ...OPTIONS, scheduler: tape.scheduler, fetch: tape.fetch });
    again.sniperReport({ pairAddress: PAIR }).catch(() => {});
    await tape.run();
  }),
];

/** What a user does wrong with the other entry points. */
const ENTRY_POINTS: readonly Cause[] = [
  cause("a service without a source", "source", () => createPairService(wrong({}))),
  cause("a service without options", "missing", () => createPairService(wrong(undefined))),
  cause("one key in place of a list", "list", () => createPairService({ source, apiKeys: wrong("key") })),
  cause("a clock that is a number", "number", () => createPairService({ source, clock: wrong(5) })),
  cause("quirks: true", "boolean", () => createPairService({ source, quirks: wrong(true) })),
  cause('quirks.order: "random"', '"random"', () =>
    createPairService({ source, quirks: { order: wrong("random") } }),
  ),
  cause("a market without a seed", "undefined", () => simulatedMarket(wrong({}))),
  cause("a market of no pairs", "0", () => simulatedMarket({ seed: 1, pairs: 0 })),
  cause("a demo with an unknown option", "pair", () => demoService(wrong({ pair: 5 }))),
  cause("swaps as one text", "string", () => swapTape(wrong("{}"), TAPE)),
  cause("a swap that is no JSON", "line 1", () => swapTape(["{"], TAPE)),
  cause("a swap without a time", "missing", () => swapTape([swap({ timestamp: undefined })], TAPE)),
  cause("swaps that go back", "line 2", () =>
    swapTape([swap({}), swap({ timestamp: "2024-01-04T12:00:00Z" })], TAPE),
  ),
  cause("faults without a seed", "undefined", () => withFaults(fetch, wrong({}))),
  cause("a fault that there is not", "boom", () => withFaults(fetch, { seed: 1, rates: wrong({ boom: 1 }) })),
  cause("a port above 65,535", "70000", () => listen(createPairService({ source }), { port: 70_000 })),
  cause("a gateway without allow", "undefined", () => createGateway(client, wrong({}))),
  cause("a gateway that allows everything by true", "boolean", () =>
    createGateway(client, { allow: wrong(true) }),
  ),
  cause('origins: "*"', '"*"', () => createGateway(client, { allow: [], origins: wrong("*") })),
  cause('basePath: "api"', '"api"', () => createGateway(client, { allow: [], basePath: "api" })),
  cause("a source of a gateway without a URL", "undefined", () => gatewaySource(wrong(undefined))),
  cause("a database that is none", "prepare", () => sqliteStore(wrong({}))),
  cause("an audit without against", "undefined", () => auditCandles(client, wrong(RANGE))),
  cause("a datafeed without symbols", "undefined", () => createDatafeed(clientSource(client), wrong({}))),
  cause("a chart without a series", "timeScale", () => drawCandles(wrong({}), wrong(undefined), events())),
  cause("candles on a series of lines", "Candlestick", () =>
    drawCandles(wrong({ timeScale() {} }), wrong({ setData() {}, seriesType: () => "Line" }), events()),
  ),
  cause("a line without a value to draw", "undefined", () =>
    drawLine(wrong({}), wrong({}), events(), wrong(undefined)),
  ),
  cause("markers that are no stream", "subscribe", () =>
    drawMarkers(wrong({ timeScale() {} }), wrong({ attachPrimitive() {} }), wrong([])),
  ),
  cause("a label of a sniper that is no function", "string", () =>
    drawSnipers(wrong({}), wrong({}), wrong(of()), { label: wrong("ann") }),
  ),
  cause("meters without a meter", "undefined", () => meterClient(client, wrong(undefined))),
  cause("a backtest without a strategy", "undefined", () =>
    backtest(wrong({ feeds: [{ series: SERIES, candles }] })),
  ),
  cause("a backtest without feeds", "empty", () => backtest({ feeds: [], strategy: () => of() })),
  cause("a backtest of no candle", "no candle", () =>
    backtest({ feeds: [{ series: SERIES, candles: [] }], strategy: () => of() }),
  ),
  cause("a strategy that gives no stream", "Observable", () =>
    backtest({ feeds: [{ series: SERIES, candles }], strategy: wrong(() => undefined) }),
  ),
  cause("a sweep of no parameters", "empty", () =>
    sweep(wrong({ feeds: [{ series: SERIES, candles }], strategy: () => () => of(), parameters: [] })),
  ),
];

export const CAUSES: readonly Cause[] = [...CALLS, ...ANSWERS, ...ENTRY_POINTS];
