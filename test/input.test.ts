import { describe, expect, it } from "vitest";
import { auditCandles, auditCost } from "../src/adapters/store/index.js";
import {
  type Client,
  createClient,
  estimateCost,
  fetchCandles,
  InvalidInputError,
  watchCandles,
  watchFeedStatus,
  watchSnipers,
} from "../src/index.js";
import { MINUTES, PAIR, World } from "./world.js";

/** What a user who writes JavaScript, or casts, can pass. */
// biome-ignore lint/suspicious/noExplicitAny: wrong on purpose
type Anything = any;

const SERIES: [string, object, string, string][] = [
  ["a timeframe that is none", { timeframe: "7min" }, "timeframe", "15min"],
  ["no timeframe", { timeframe: undefined }, "timeframe", "1M"],
  ["a network that is none", { network: "solana" }, "network", "mainnet, devnet"],
  ["a currency that is none", { currency: "eur" }, "currency", "usd, native"],
  ["an empty pair", { pairAddress: "" }, "pairAddress", "letters"],
  ["a pair that leaves its place in the path", { pairAddress: "../x" }, "pairAddress", "letters"],
];
const WATCH: [string, object, string, string][] = [
  ...SERIES,
  ["every below 250", { every: 249 }, "every", "250"],
  ["every negative", { every: -1 }, "every", "250"],
  ["every not a number", { every: Number.NaN }, "every", "250"],
  ["every of another word", { every: "open" }, "every", "close"],
  ["settle negative", { settle: -1 }, "settle", "0"],
  ["a revision window that is no whole number", { revisionWindow: 1.5 }, "revisionWindow", "whole"],
  ["a revision window too long", { revisionWindow: 901 }, "revisionWindow", "900"],
  ["since that is no date", { since: "yesterday" }, "since", "ISO 8601"],
  ["since without a zone", { since: "2024-01-05T12:00:00" }, "since", "zone"],
  ["since on a day that is none", { since: "2023-02-29" }, "since", "YYYY-MM-DD"],
  ["since an invalid Date", { since: new Date(Number.NaN) }, "since", "Date"],
  ["since no candles", { since: { candles: 0 } }, "since.candles", "1"],
  ["since null", { since: null }, "since", "ms"],
  ["a week that starts on Sunday", { weekStart: "sunday" }, "weekStart", "monday, thursday"],
  ["fillGaps that is neither", { fillGaps: "yes" }, "fillGaps", "true or false"],
];
const FETCH: [string, object, string, string][] = [
  ...SERIES,
  ["no from", { from: undefined }, "from", "Date"],
  ["from before 1970", { from: -1 }, "from", "1970"],
  ["a reversed range", { from: "2024-01-02", to: "2024-01-01" }, "to", "after from"],
  ["an empty range", { from: "2024-01-02", to: "2024-01-02" }, "to", "after from"],
  ["to that is no date", { to: "soon" }, "to", "ISO 8601"],
];
const SNIPERS: [string, object, string, string][] = [
  ["an empty pair", { pairAddress: "" }, "pairAddress", "letters"],
  ["blocks below 0", { blocksAfterCreation: -1 }, "blocksAfterCreation", "0 to 1000"],
  ["blocks above 1000", { blocksAfterCreation: 1_001 }, "blocksAfterCreation", "0 to 1000"],
  ["every below 250", { every: 100 }, "every", "250"],
];

function refusal(call: () => unknown): InvalidInputError {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidInputError);
    return error as InvalidInputError;
  }
  throw new Error("nothing was refused");
}

describe.each<[string, typeof WATCH, (client: Client, wrong: Anything) => unknown]>([
  ["watchCandles", WATCH, (client, wrong) => watchCandles(client, { ...MINUTES, ...wrong })],
  ["watchFeedStatus", WATCH, (client, wrong) => watchFeedStatus(client, { ...MINUTES, ...wrong })],
  ["fetchCandles", FETCH, (client, wrong) => fetchCandles(client, { ...MINUTES, from: 0, ...wrong })],
  ["watchSnipers", SNIPERS, (client, wrong) => watchSnipers(client, { pairAddress: PAIR, ...wrong })],
  [
    "watchFeedStatus of snipers",
    SNIPERS,
    (client, wrong) => watchFeedStatus(client, { pairAddress: PAIR, ...wrong }),
  ],
])("%s refuses, at the call and before any request,", (_name, cases, call) => {
  it.each(cases)("%s", async (_what, wrong, parameter, allowed) => {
    const world = new World({ start: 0 });
    const error = refusal(() => call(world.client, wrong));
    expect(error.parameter).toBe(parameter);
    expect(error.allowed).toContain(allowed);
    expect(error.message).toContain(error.allowed);
    await world.clock.advanceBy(1_000);
    expect(world.asked).toEqual([]);
  });

  it("a client that is none", () => {
    for (const client of [undefined, null, {}, createClient]) {
      expect(refusal(() => call(client as Anything, {})).parameter).toBe("client");
    }
  });
});

describe("a number that can only be unix seconds", () => {
  const PAGE = { ...MINUTES, fromDate: 0, toDate: 2e12 };
  const PLACES: [string, (client: Client, value: number) => unknown][] = [
    ["since", (client, since) => watchCandles(client, { ...MINUTES, since })],
    ["since", (client, since) => watchFeedStatus(client, { ...MINUTES, since })],
    ["since", (_, since) => estimateCost([{ ...MINUTES, since }])],
    ["from", (client, from) => fetchCandles(client, { ...MINUTES, from })],
    ["to", (client, to) => fetchCandles(client, { ...MINUTES, from: 0, to })],
    ["from", (client, from) => auditCandles(client, { ...MINUTES, from, to: 2e12, against: [] })],
    ["to", (_, to) => auditCost({ ...MINUTES, from: 0, to })],
    ["fromDate", (client, fromDate) => client.ohlcvPage({ ...PAGE, fromDate })],
    ["toDate", (client, toDate) => client.ohlcvPage({ ...PAGE, toDate })],
    [
      "fromDate",
      (client, fromDate) =>
        client
          .ohlcvPages({ ...PAGE, fromDate })
          [Symbol.asyncIterator]()
          .next(),
    ],
    [
      "toDate",
      (client, toDate) =>
        client
          .ohlcvPages({ ...PAGE, toDate })
          [Symbol.asyncIterator]()
          .next(),
    ],
  ];
  /** The error of a call, thrown or in the promise that it gives; none where it has asked, or given a stream. */
  async function problem(value: number, call: (client: Client, value: number) => unknown) {
    const world = new World({ start: Date.UTC(2024, 0, 5) });
    try {
      await Promise.race([call(world.client, value), world.clock.advanceBy(1_000)]);
      return undefined;
    } catch (error) {
      expect(world.asked).toEqual([]);
      return error;
    }
  }

  it.each(PLACES)("is refused as %s, with a word about it (%s)", async (parameter, call) => {
    for (const value of [1e9, 1_704_067_200, Date.UTC(2024, 0, 5) / 1_000, 1e11 - 1]) {
      const error = await problem(value, call);
      expect(error).toBeInstanceOf(InvalidInputError);
      expect(error).toMatchObject({ parameter, message: expect.stringContaining("unix seconds") });
      expect((error as InvalidInputError).message).toContain(`${value} * 1000`);
    }
  });

  it.each(PLACES)("is nothing that %s takes, while ms are (%s)", async (parameter, call) => {
    // A range that ends with its beginning is none.
    const least = parameter.startsWith("to") ? [1] : [0, parameter === "since" ? 100_001 : 1];
    for (const value of [...least, 1e9 - 1, 1e11, Date.UTC(2024, 0, 5)]) {
      expect(await problem(value, call), `${value}`).toBeUndefined();
    }
  });

  it("is none as a Date, which says what it is", () => {
    const world = new World({ start: 0 });
    expect(() =>
      fetchCandles(world.client, { ...MINUTES, from: new Date(1e9), to: new Date(2e9) }),
    ).not.toThrow();
  });
});
