import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkChoice,
  checkLimit,
  checkNumber,
  checkRange,
  checkSeries,
  checkSniperQuery,
  checkWeekStart,
  toInstant,
} from "../src/contract/input.js";
import { parseIsoInstant } from "../src/contract/iso-instant.js";
import { type Series, TIMEFRAMES } from "../src/contract/model.js";
import { ohlcvRoute, snipersRoute } from "../src/contract/routes.js";
import { InvalidInputError } from "../src/errors.js";

const SERIES: Series = { network: "mainnet", pairAddress: "pair", timeframe: "1h", currency: "usd" };

const LAST = Date.parse("9999-12-31T23:59:59.999Z");

/** What a user of JavaScript may hand over, whatever the types say. */
const any = (value: unknown) => value as never;

function refusal(call: () => unknown): { parameter: string; allowed: string; message: string } {
  try {
    call();
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidInputError);
    const { parameter, allowed, message } = error as InvalidInputError;
    return { parameter, allowed, message };
  }
  throw new Error("nothing was refused");
}

describe("toInstant", () => {
  const leapDay = Date.UTC(2024, 1, 29);

  it.each<[string, Date | number | string, number]>([
    ["a Date", new Date(leapDay), leapDay],
    ["ms", leapDay, leapDay],
    ["the epoch", 0, 0],
    ["the last instant of the year 9999", LAST, LAST],
    ["a calendar date", "2024-02-29", leapDay],
    ["ISO 8601 in UTC", "2024-02-29T00:00:00.000Z", leapDay],
    ["ISO 8601 without seconds", "2024-02-29T00:00Z", leapDay],
    ["ISO 8601 with an offset", "2024-02-29T05:30:00+05:30", leapDay],
    ["ISO 8601 with an offset to the west", "2024-02-28T16:00:00.000-08:00", leapDay],
    ["an offset without its colon", "2024-02-29T05:30:00+0530", leapDay],
    ["one digit of a second", "2024-02-29T00:00:00.5Z", leapDay + 500],
    ["microseconds, cut to ms", "2024-02-29T00:00:00.000999Z", leapDay],
  ])("takes %s", (_, value, ms) => {
    expect(toInstant("fromDate", value)).toBe(ms);
  });

  it.each<[string, unknown, string]>([
    ["no zone", "2024-02-29T00:00:00", '"2024-02-29T00:00:00", which has no zone: add Z for UTC'],
    ["30 February", "2024-02-30", '"2024-02-30"'],
    ["30 February with a time", "2024-02-30T12:00:00Z", '"2024-02-30T12:00:00Z"'],
    ["29 February of a common year", "2023-02-29", '"2023-02-29"'],
    ["29 February of 1900 and the like", "2100-02-29", '"2100-02-29"'],
    ["31 April", "2024-04-31", '"2024-04-31"'],
    ["a thirteenth month", "2024-13-01", '"2024-13-01"'],
    ["day 0", "2024-01-00", '"2024-01-00"'],
    ["hour 25", "2024-01-01T25:00:00Z", '"2024-01-01T25:00:00Z"'],
    ["a month alone", "2024-02", '"2024-02"'],
    ["seconds as a string", "1709164800", '"1709164800", which is a text: give the number'],
    ["another notation", "29 Feb 2024 00:00 UTC", '"29 Feb 2024 00:00 UTC"'],
    ["nothing", "", '""'],
    ["an invalid Date", new Date(Number.NaN), "an invalid Date"],
    ["NaN", Number.NaN, "NaN"],
    ["Infinity", Number.POSITIVE_INFINITY, "Infinity"],
    ["the year 10000", LAST + 1, "253402300800000"],
    ["before 1970", -1, "-1"],
    ["before 1970, as a string", "1969-12-31", '"1969-12-31"'],
    ["undefined", undefined, "undefined"],
    ["null", null, "null"],
    ["an object", {}, "an object"],
    ["a bigint", 0n, "0"],
  ])("refuses %s", (_, value, shown) => {
    const allowed =
      "a Date, ms since the epoch, ISO 8601 with a zone, or YYYY-MM-DD (UTC), from 1970 to 9999";
    expect(refusal(() => toInstant("since", any(value)))).toEqual({
      parameter: "since",
      allowed,
      message: `since is ${shown}; allowed: ${allowed}`,
    });
  });

  it("shows a Date before 1970 as what it is", () => {
    expect(refusal(() => toInstant("to", new Date(-1))).message).toMatch("to is 1969-12-31T23:59:59.999Z;");
  });

  it("cuts short what it shows", () => {
    const { message } = refusal(() => toInstant("to", "x".repeat(500)));
    expect(message).toMatch(`to is "${"x".repeat(60)}"…;`);
  });

  it("reads back every instant that Date writes, and every day only where the calendar has it", () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(0), max: new Date(LAST), noInvalidDate: true }), (date) => {
        expect(toInstant("at", date.toISOString())).toBe(date.getTime());
        expect(parseIsoInstant(date.toISOString())).toBe(date.getTime());
      }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1970, max: 9999 }), fc.nat(13), fc.nat(32), (year, month, day) => {
        const text = `${year}-${String(month).padStart(2, "0")}-${String(day).padStart(2, "0")}`;
        const ms = parseIsoInstant(`${text}T00:00:00Z`);
        // Only a day that exists is written again as it was read.
        const isReal = new Date(Date.UTC(year, month - 1, day)).toISOString().startsWith(text);
        expect(ms).toBe(isReal ? Date.UTC(year, month - 1, day) : undefined);
      }),
    );
  });
});

describe("checkSeries", () => {
  it("keeps what belongs to a series, frozen", () => {
    const given = { ...SERIES, since: 1 };
    expect(checkSeries(given)).toStrictEqual(SERIES);
    expect(Object.isFrozen(checkSeries(given))).toBe(true);
    expect(Object.isFrozen(given)).toBe(false);
  });

  it.each(TIMEFRAMES)("takes %s", (timeframe) => {
    expect(checkSeries({ ...SERIES, timeframe }).timeframe).toBe(timeframe);
  });

  const TIMEFRAME_CHOICES =
    "what divides a day in s, min or h (1s, 15min, 2h), 1d to 365d, 1w to 52w, or 1M, 2M, 3M, 4M or 6M";
  it.each([
    ["network", "testnet", "mainnet, devnet", '"testnet"'],
    ["network", undefined, "mainnet, devnet", "undefined"],
    ["timeframe", "7h", TIMEFRAME_CHOICES, '"7h": 7h does not nest in a day'],
    ["timeframe", "1m", TIMEFRAME_CHOICES, '"1m" (did you mean "1min"?)'],
    ["timeframe", "30m", TIMEFRAME_CHOICES, '"30m" (did you mean "30min"?)'],
    ["timeframe", "1D", TIMEFRAME_CHOICES, '"1D" (did you mean "1d"?)'],
    ["timeframe", "1", TIMEFRAME_CHOICES, '"1"'],
    ["timeframe", "", TIMEFRAME_CHOICES, '""'],
    ["network", "main", "mainnet, devnet", '"main" (did you mean "mainnet"?)'],
    ["timeframe", ["1h"], TIMEFRAME_CHOICES, "an object"],
    ["currency", "USD", "usd, native", '"USD" (did you mean "usd"?)'],
    ["currency", null, "usd, native", "null"],
  ])("refuses a %s of %s", (parameter, value, allowed, shown) => {
    expect(refusal(() => checkSeries({ ...SERIES, [parameter]: any(value) }))).toEqual({
      parameter,
      allowed,
      message: `${parameter} is ${shown}; allowed: ${allowed}`,
    });
  });

  it.each([undefined, null, "1h", 3])("refuses %s in place of a series", (value) => {
    expect(refusal(() => checkSeries(any(value)))).toMatchObject({
      parameter: "series",
      allowed: "an object with network, pairAddress, timeframe and currency",
    });
  });
});

describe("a pair address", () => {
  it.each([
    "8sLbNZoA1cfnvMJLPfp98ZLAnFSYCFApfJKMbiXNLwxj",
    "0x88e6A0c2dDD26FEEb64F039a2c41296FcB3f5640",
    "a",
    "a_b.c:d-e",
    "a".repeat(128),
  ])("may be %s", (pairAddress) => {
    expect(checkSeries({ ...SERIES, pairAddress }).pairAddress).toBe(pairAddress);
    expect(checkSniperQuery({ pairAddress })).toEqual({ pairAddress });
  });

  it.each([
    "",
    ".",
    "..",
    "a/b",
    "a?b",
    "a#b",
    "a%2f",
    "a b",
    " a",
    "a\n",
    "-a",
    "é",
    "a".repeat(129),
    undefined,
    7,
  ])("may not be %j", (value) => {
    for (const check of [
      () => checkSeries({ ...SERIES, pairAddress: any(value) }),
      () => checkSniperQuery({ pairAddress: any(value) }),
    ]) {
      expect(refusal(check)).toMatchObject({
        parameter: "pairAddress",
        allowed: "1 to 128 letters, digits, or _ . : -, the first a letter or digit",
      });
    }
  });
});

describe("checkSniperQuery", () => {
  it("keeps what belongs to a sniper query, and no number that was not given", () => {
    expect(checkSniperQuery(any({ pairAddress: "a", every: 1 }))).toStrictEqual({ pairAddress: "a" });
    expect(checkSniperQuery(any({ pairAddress: "a", blocksAfterCreation: undefined }))).toStrictEqual({
      pairAddress: "a",
    });
  });

  it.each([0, 1, 1_000])("takes %s blocks", (blocksAfterCreation) => {
    expect(checkSniperQuery({ pairAddress: "a", blocksAfterCreation })).toEqual({
      pairAddress: "a",
      blocksAfterCreation,
    });
  });

  it.each([-1, 1_001, 1.5, Number.NaN, "3", null])("refuses %s blocks", (value) => {
    expect(
      refusal(() => checkSniperQuery({ pairAddress: "a", blocksAfterCreation: any(value) })),
    ).toMatchObject({
      parameter: "blocksAfterCreation",
      allowed: "a whole number from 0 to 1000",
    });
  });

  it.each([undefined, null, "a"])("refuses %s in place of a query", (value) => {
    expect(refusal(() => checkSniperQuery(any(value)))).toMatchObject({
      parameter: "query",
      allowed: "an object with pairAddress",
    });
  });
});

describe("checkLimit", () => {
  it.each([undefined, 1, 100, 1_000])("takes %s", (limit) => {
    expect(checkLimit(limit)).toBe(limit);
  });

  it.each([0, -1, 1_001, 1.5, Number.NaN, Number.POSITIVE_INFINITY, "100", null])("refuses %s", (limit) => {
    expect(refusal(() => checkLimit(any(limit)))).toMatchObject({
      parameter: "limit",
      allowed: "a whole number from 1 to 1000",
    });
  });
});

describe("checkNumber", () => {
  it("takes the ends of its range, and fractions where whole numbers are not asked for", () => {
    for (const value of [0.5, 1, 2]) expect(checkNumber("every", value, { min: 0.5, max: 2 })).toBe(value);
    expect(checkNumber("every", 1e300, { min: 0 })).toBe(1e300);
  });

  it.each([
    [0.4, { min: 0.5, max: 2 }, "a number from 0.5 to 2"],
    [2.1, { min: 0.5, max: 2 }, "a number from 0.5 to 2"],
    [-1, { min: 0 }, "a number of at least 0"],
    [Number.POSITIVE_INFINITY, { min: 0 }, "a number of at least 0"],
    [Number.NaN, { min: 0 }, "a number of at least 0"],
    [1.5, { min: 1, integer: true }, "a whole number of at least 1"],
    [1.5, { min: 1, max: 3, integer: true }, "a whole number from 1 to 3"],
    ["1", { min: 1 }, "a number of at least 1"],
    [1n, { min: 1 }, "a number of at least 1"],
    [undefined, { min: 1 }, "a number of at least 1"],
  ])("refuses %s", (value, range, allowed) => {
    expect(refusal(() => checkNumber("retry.attempts", any(value), range))).toMatchObject({
      parameter: "retry.attempts",
      allowed,
    });
  });
});

describe("the other checks", () => {
  it("take Monday where no weekStart is given", () => {
    expect([undefined, "monday", "thursday"].map((value) => checkWeekStart(any(value)))).toEqual([
      "monday",
      "monday",
      "thursday",
    ]);
    expect(refusal(() => checkWeekStart(any("sunday")))).toMatchObject({
      parameter: "weekStart",
      allowed: "monday, thursday",
    });
  });

  it("refuse a choice that is not among the given ones", () => {
    expect(checkChoice<string>("on", "closed", ["closed", "final"])).toBe("closed");
    expect(refusal(() => checkChoice<string>("on", "open", ["closed", "final"]))).toEqual({
      parameter: "on",
      allowed: "closed, final",
      message: 'on is "open"; allowed: closed, final',
    });
  });

  it("refuse a range that is empty or runs backwards", () => {
    const names = { from: "fromDate", to: "toDate" };
    expect(checkRange(0, 1, names)).toBeUndefined();
    for (const to of [5, 4]) {
      expect(refusal(() => checkRange(5, to, names))).toMatchObject({
        parameter: "toDate",
        allowed: "an instant after fromDate",
      });
    }
  });
});

describe("a route", () => {
  it("asks for candles in whole seconds, the range widened", () => {
    expect(ohlcvRoute({ ...SERIES, network: "devnet", from: 1_999, to: 3_001 })).toBe(
      "/token/devnet/pairs/pair/ohlcv?timeframe=1h&currency=usd&fromDate=1&toDate=4",
    );
    expect(ohlcvRoute({ ...SERIES, from: 0, to: 2_000 })).toMatch(/&fromDate=0&toDate=2$/);
  });

  it("carries limit and cursor, the cursor escaped", () => {
    const route = ohlcvRoute({ ...SERIES, from: 0, to: 1_000, limit: 7, cursor: "a+b/c=&d ü" });
    expect(route).toMatch(/&limit=7&cursor=/);
    const url = new URL(route, "https://service.example");
    expect(url.searchParams.get("cursor")).toBe("a+b/c=&d ü");
    expect([...url.searchParams.keys()]).toEqual([
      "timeframe",
      "currency",
      "fromDate",
      "toDate",
      "limit",
      "cursor",
    ]);
  });

  it("asks for snipers of mainnet, with the blocks only where they are given", () => {
    expect(snipersRoute({ pairAddress: "pair" })).toBe("/token/mainnet/pairs/pair/snipers");
    expect(snipersRoute({ pairAddress: "pair", blocksAfterCreation: 0 })).toBe(
      "/token/mainnet/pairs/pair/snipers?blocksAfterCreation=0",
    );
  });
});
