import { describe, expect, it } from "vitest";
import { createGateway, gatewaySource } from "../src/adapters/sse/index.js";
import { auditCandles, auditCost } from "../src/adapters/store/index.js";
import {
  assertNoLookahead,
  createClient,
  crosses,
  ema,
  emptyReport,
  estimateCost,
  type FetchCandlesOptions,
  fetchCandles,
  InvalidInputError,
  indicator,
  recordExchanges,
  replayCandles,
  resample,
  type Series,
  sma,
  summarizeSnipers,
  vwap,
  type WatchOptions,
  watchCandles,
  watchFeedStatus,
  watchSniperReport,
  watchSnipers,
} from "../src/index.js";
import {
  createPairService,
  listen,
  simulatedMarket,
  swapTape,
  unsettled,
  withFaults,
} from "../src/service/index.js";

const series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" } as const;
const snipers = { pairAddress: "pair" };
const range = { fromDate: "2024-01-01", toDate: "2024-01-02" };
const fetch = async () => ({ status: 500, headers: { get: () => null }, text: async () => "" });
const client = createClient({ baseUrl: "https://service.test", apiKey: "the-key", fetch });
const market = simulatedMarket({ seed: 1 });

/** What takes options: a call with those it needs and some more. */
type Taker = (more: object) => unknown;
const takers: [string, Taker, misspelt: string, near: string | undefined][] = [
  ["watchCandles", (more) => watchCandles(client, { ...series, ...more }), "settel", "settle"],
  ["watchCandles", (more) => watchCandles(client, { ...series, ...more }), "fillgaps", "fillGaps"],
  [
    "watchCandles",
    (more) => watchCandles(client, { ...series, ...more }),
    "revisionWindows",
    "revisionWindow",
  ],
  ["watchCandles", (more) => watchCandles(client, { ...series, ...more }), "nonsense", undefined],
  [
    "watchCandles without a timeframe",
    ({ ...more }) => {
      const { timeframe, ...rest } = series;
      return watchCandles(client, { ...rest, ...more } as never);
    },
    "timeFrame",
    "timeframe",
  ],
  [
    "since",
    (more) => watchCandles(client, { ...series, since: { candles: 1, ...more } }),
    "candels",
    "since.candles",
  ],
  ["fetchCandles", (more) => fetchCandles(client, { ...series, from: 0, ...more }), "too", "to"],
  [
    "auditCandles",
    (more) => auditCandles(client, { ...series, from: 0, to: 60_000, against: [], ...more }),
    "weekstart",
    "weekStart",
  ],
  ["auditCost", (more) => auditCost({ ...series, from: 0, to: 60_000, ...more }), "form", "from"],
  ["watchSnipers", (more) => watchSnipers(client, { ...snipers, ...more }), "evry", "every"],
  [
    "watchSnipers",
    (more) => watchSnipers(client, { ...snipers, ...more }),
    "blocksAfterCreaton",
    "blocksAfterCreation",
  ],
  ["watchSniperReport", (more) => watchSniperReport(client, { ...snipers, ...more }), "knwon", "known"],
  ["summarizeSnipers", (more) => summarizeSnipers(emptyReport, more), "tops", "top"],
  ["watchFeedStatus of candles", (more) => watchFeedStatus(client, { ...series, ...more }), "sinse", "since"],
  [
    "watchFeedStatus of snipers",
    (more) => watchFeedStatus(client, { ...snipers, ...more }),
    "Every",
    "every",
  ],
  ["estimateCost of candles", (more) => estimateCost([{ ...series, ...more }]), "everyy", "every"],
  ["estimateCost of snipers", (more) => estimateCost([{ ...snipers, ...more }]), "evry", "every"],
  ["estimateCost", (more) => estimateCost([], more), "att", "at"],
  ["ohlcvPage", (more) => client.ohlcvPage({ ...series, ...range, ...more }), "limits", "limit"],
  ["ohlcvPages", (more) => client.ohlcvPages({ ...series, ...range, ...more }), "curser", "cursor"],
  [
    "sniperReport",
    (more) => client.sniperReport({ ...snipers, ...more }),
    "blocksAfterCreations",
    "blocksAfterCreation",
  ],
  ["options of a call", (more) => client.ohlcvPages({ ...series, ...range }, more), "singal", "signal"],
  ["replayCandles", (more) => replayCandles([], { ...series, ...more }), "sped", "speed"],
  ["resample", (more) => resample("5min", more), "weekstart", "weekStart"],
  ["crosses", (more) => crosses("a" as never, "b" as never, more), "om", "on"],
  ["recordExchanges", (more) => recordExchanges(fetch, () => {}, more), "schedular", "scheduler"],
  ["assertNoLookahead", (more) => assertNoLookahead((events) => events, [], more), "prefix", "prefixes"],
  ["an indicator", (more) => ema(9, more), "sorce", undefined],
  ["another indicator", (more) => sma(9, more), "src", undefined],
  ["vwap", (more) => vwap(more), "sesion", "session"],
  ["vwap's session", (more) => vwap({ session: { candles: 5, ...more } }), "candle", "session.candles"],
  ["createPairService", (more) => createPairService({ source: market, ...more }), "clok", "clock"],
  [
    "its quirks",
    (more) => createPairService({ source: market, quirks: more }),
    "pagesize",
    "quirks.pageSize",
  ],
  ["simulatedMarket", (more) => simulatedMarket({ seed: 1, ...more }), "pair", "pairs"],
  [
    "swapTape",
    (more) => swapTape([], { pairAddress: "pair", tokenAddress: null, ...more }),
    "minimumUSD",
    "minimumUsd",
  ],
  [
    "listen",
    (more) => listen(createPairService({ source: market }), { port: 0, ...more }),
    "hostName",
    "hostname",
  ],
  ["unsettled", (more) => unsettled(market, { seed: 1, ...more }), "fork", "forks"],
  ["withFaults", (more) => withFaults(fetch, { seed: 1, ...more }), "rate", "rates"],
  ["createGateway", (more) => createGateway(client, { allow: [], ...more }), "heartBeat", "heartbeat"],
  ["gatewaySource", (more) => gatewaySource("https://a.test", more), "silense", "silence"],
];

/** What it throws, or rejects with. */
async function refusalOf(take: () => unknown): Promise<unknown> {
  try {
    await take();
  } catch (error) {
    return error;
  }
  return undefined;
}

describe("options", () => {
  it.each(takers)("of %s are refused where a name is misspelt", async (_, take, misspelt, near) => {
    const error = await refusalOf(() => take({ [misspelt]: undefined }));
    expect(error).toBeInstanceOf(InvalidInputError);
    const { parameter, message } = error as InvalidInputError;
    expect(parameter.endsWith(misspelt)).toBe(true);
    const hint = near === undefined ? "is not an option;" : `is not an option (did you mean ${near}?);`;
    expect(message).toContain(hint);
  });

  it.each(takers.filter(([name]) => !name.endsWith("indicator")))(
    "of %s are refused where they hold something else",
    async (_, take) => {
      const error = await refusalOf(() => take({ "no name": 1 }));
      expect(error).toBeInstanceOf(InvalidInputError);
      expect((error as InvalidInputError).message).toContain("has an unknown option");
    },
  );

  it.each([
    ["resample", () => resample("5min", "monday" as never)],
    ["crosses", () => crosses("a" as never, "b" as never, "final" as never)],
    ["estimateCost", () => estimateCost([], 5 as never)],
    ["recordExchanges", () => recordExchanges(fetch, () => {}, null as never)],
    ["listen", () => listen(createPairService({ source: market }), 80 as never)],
    ["a call", () => client.ohlcvPages({ ...series, ...range }, "signal" as never)],
  ])("of %s are an object", async (_, take) => {
    expect(await refusalOf(take)).toBeInstanceOf(InvalidInputError);
  });

  it("of snipers name no network, wherever they are taken, as their type has none", () => {
    for (const network of ["mainnet", "devnet"]) {
      const watch = { network, pairAddress: "pair", every: 60_000 };
      for (const take of [
        () => watchSnipers(client, watch),
        () => watchSniperReport(client, watch),
        () => watchFeedStatus(client, watch),
        () => estimateCost([watch]),
      ]) {
        expect(take).toThrow(`network is "${network}"; allowed: none: sniper reports exist on mainnet only`);
      }
    }
    expect(estimateCost([{ pairAddress: "pair", every: 60_000 }]).units).toBe(1_440 * 50);
    for (const alone of [{ since: 0 }, { settle: 5 }, { currency: "usd" }]) {
      expect(() => watchFeedStatus(client, { pairAddress: "pair", ...alone } as never)).toThrow(
        "network is undefined",
      );
    }
  });

  it("are taken from a variable of their type, without a cast", () => {
    const watch: Series & WatchOptions = { ...series, since: { candles: 5 }, every: "close" };
    const watches: readonly (Series & WatchOptions)[] = [watch, { ...watch, pairAddress: "other" }];
    expect(() => {
      for (const each of watches) {
        watchCandles(client, each);
        watchFeedStatus(client, each);
      }
      fetchCandles(client, { ...series, from: 0, to: 60_000 } satisfies Series & FetchCandlesOptions);
    }).not.toThrow();
    expect(estimateCost(watches).requests).toBe(2 * estimateCost([watch]).requests);
  });

  it("are taken where they are all known", () => {
    expect(() =>
      watchCandles(client, {
        ...series,
        since: { candles: 5 },
        every: "close",
        settle: 1,
        revisionWindow: 1,
        fillGaps: true,
        weekStart: "monday",
      }),
    ).not.toThrow();
    expect(() => vwap({ session: "1w", weekStart: "thursday", source: indicator(ema(5)) })).not.toThrow();
    expect(() => vwap({ session: { candles: 5 } })).not.toThrow();
  });
});
