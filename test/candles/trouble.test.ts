import { retry } from "rxjs";
import { describe, expect, it } from "vitest";
import {
  type CandleEvent,
  type FeedStatus,
  HttpError,
  type PairstreamError,
  watchCandles,
  watchFeedStatus,
} from "../../src/index.js";
import { answered, at, type Interference, KEY, MINUTES, short, time, World, withRows } from "../world.js";

/** A stream and its status, of a pair with a swap at the start of each minute. */
function watched(start = "12:00:10") {
  const world = new World({ start: at(start) });
  world.swapsEvery(60_000, at("11:00:00"), at("14:00:00"));
  const events: CandleEvent[] = [];
  const statuses: FeedStatus[] = [];
  const errors: PairstreamError[] = [];
  watchCandles(world.client, { ...MINUTES, every: "close" }).subscribe({
    next: (event) => events.push(event),
    error: (error) => errors.push(error),
  });
  watchFeedStatus(world.client, { ...MINUTES, every: "close" }).subscribe({
    next: (status) => statuses.push(status),
    error: () => {},
  });
  return { world, events, statuses, errors };
}

const PAGE = {
  cursor: null,
  page: 1,
  pairAddress: MINUTES.pairAddress,
  tokenAddress: "t",
  timeframe: "1min",
  currency: "usd",
};
const never = () => new Promise<never>(() => {});

describe("a stream outlives", () => {
  const troubles: [string, Interference, string][] = [
    ["a reset", () => Promise.reject(new Error("ECONNRESET")), "NetworkError"],
    ["a silence", never, "TimeoutError"],
    ["408", () => answered(408, ""), "HttpError"],
    ["425", () => answered(425, ""), "HttpError"],
    ["429", () => answered(429, { message: "slow down" }), "RateLimitError"],
    ["500", () => answered(500, { message: "oops" }), "HttpError"],
    ["502 in HTML", () => answered(502, "<html><body>Bad gateway</body></html>"), "HttpError"],
    ["a redirect", () => answered(302, "", { location: "https://elsewhere.example" }), "HttpError"],
    ["418", () => answered(418, ""), "HttpError"],
    ["200 in HTML", () => answered(200, "<html>Welcome</html>"), "ContractError"],
    ["cut-off JSON", () => answered(200, '{"cursor":null,"page":1,"resu'), "ContractError"],
    ["an empty body", () => answered(200, ""), "ContractError"],
    ["the body null", () => answered(200, "null"), "ContractError"],
    [
      "another timeframe's answer",
      () => answered(200, { ...PAGE, timeframe: "1h", result: [] }),
      "ContractError",
    ],
    ["an error with status 200", () => answered(200, { message: "upstream timed out" }), "ContractError"],
    [
      "thousands of rows",
      () => answered(200, { ...PAGE, result: new Array(9_999).fill(0) }),
      "ContractError",
    ],
    ["lists in lists", () => answered(200, "[".repeat(100_000)), "ContractError"],
    [
      "a cursor that fits no URL",
      () => answered(200, { ...PAGE, cursor: "c".repeat(5_000), result: [] }),
      "ContractError",
    ],
    ["no text", async () => ({ ...(await answered(200, "")), text: async () => 5 as never }), "NetworkError"],
    ["404 after it had begun", () => answered(404, { message: "no such pair" }), "HttpError"],
  ];

  it.each(troubles)("%s", async (_name, trouble, errorName) => {
    const { world, events, statuses, errors } = watched();
    await world.clock.advanceTo(at("12:01:10"));
    world.interfere = trouble;
    await world.clock.advanceTo(at("12:05:30"));
    expect(errors).toEqual([]);
    expect(statuses.at(-1)).toMatchObject({ state: "stalled", coveredUntil: at("12:01:00") });
    expect(statuses.at(-1)!.lastError!.name).toBe(errorName);
    expect(statuses.at(-1)!.failures).toBeGreaterThan(0);

    world.interfere = () => undefined;
    await world.clock.advanceTo(at("12:08:30"));
    expect(statuses.at(-1)).toMatchObject({ state: "live", failures: 0, coveredUntil: at("12:08:00") });
    expect(statuses.at(-1)).not.toHaveProperty("lastError");
    const closed = events.filter(({ status }) => status !== "open").map(({ candle }) => candle.timestamp);
    expect([...new Set(closed)]).toEqual(
      Array.from({ length: 8 }, (_, minute) => at("12:00:00") + minute * 60_000),
    );
    expect(JSON.stringify([statuses, errors, world.activity])).not.toContain(KEY);
  });

  it("a 404 for no longer than any other trouble", async () => {
    const { world, statuses } = watched();
    await world.clock.advanceTo(at("12:01:10"));
    world.interfere = () => answered(404, { message: "no such pair" });
    await world.clock.advanceTo(at("12:02:05"));
    expect(statuses.at(-1)).toMatchObject({ state: "stalled", failures: 1 });
    world.interfere = () => undefined;
    await world.clock.advanceTo(at("12:02:15"));
    expect(statuses.at(-1)).toMatchObject({ state: "live", coveredUntil: at("12:02:00") });
  });

  it("a spent quota, with one probe at the start of the next day", async () => {
    const { world, statuses } = watched("23:50:10");
    world.swapsEvery(60_000, at("23:00:00"), at("23:00:00") + 7_200_000);
    await world.clock.advanceTo(at("23:51:10"));
    const requests = world.asked.length;
    world.interfere = () =>
      answered(401, { message: "Your plan: free-plan-daily total included usage has been consumed" });
    await world.clock.advanceTo(at("23:59:50"));
    expect(world.asked.length - requests).toBe(1);
    expect(statuses.at(-1)).toMatchObject({ state: "stalled", lastError: { name: "QuotaExceededError" } });
    world.interfere = () => undefined;
    await world.clock.advanceBy(21_000);
    expect(statuses.at(-1)!.state).toBe("live");
  });

  it("a spent quota, with one probe when the service says that units come back", async () => {
    const { world, statuses } = watched("12:00:10");
    world.swapsEvery(60_000, at("11:00:00"), at("13:00:00"));
    await world.clock.advanceTo(at("12:01:10"));
    const requests = world.asked.length;
    world.interfere = () => answered(401, { message: "usage has been consumed" }, { "retry-after": "1200" });
    await world.clock.advanceTo(at("12:21:00"));
    expect(world.asked.length - requests).toBe(1);
    expect(statuses.at(-1)).toMatchObject({ state: "stalled", lastError: { name: "QuotaExceededError" } });
    world.interfere = () => undefined;
    await world.clock.advanceTo(at("12:23:30"));
    expect(statuses.at(-1)!.state).toBe("live");
  });
});

describe("answers of which nobody knows when they were made", () => {
  /** Lets the Dates of so many answers lie, each by another time. */
  const lying =
    (answers: number): Interference =>
    async (_asked, answer) => {
      if (answers === 0) return answer();
      answers -= 1;
      const { status, headers, text } = await answer();
      const date = new Date(Date.parse(headers.get("date")!) + (2 + answers ** 2) * 600_000).toUTCString();
      return { status, text, headers: { get: (name) => (name === "date" ? date : headers.get(name)) } };
    };

  it.each([
    ["the first slot", "12:00:10", 9],
    ["a closing", "12:05:01", 3],
  ])("are a failure where %s has no other", async (_, due, answers) => {
    const world = new World({ start: at("12:00:10"), hasDate: true });
    world.swapsEvery(60_000, at("11:00:00"), at("14:00:00"));
    const statuses: FeedStatus[] = [];
    const lies = lying(answers);
    world.interfere = (asked, answer) => (asked.sent < at(due) ? undefined : lies(asked, answer));
    watchFeedStatus(world.client, { ...MINUTES, timeframe: "5min", every: "close" }).subscribe((status) =>
      statuses.push(status),
    );
    await world.clock.advanceTo(at(due) + 3_000);
    expect(statuses.at(-1)).toMatchObject({
      failures: 1,
      lastError: { name: "ContractError", path: ["Date"] },
    });
    await world.clock.advanceBy(8_000);
    expect(statuses.at(-1)).toMatchObject({ state: "live", failures: 0 });
  });

  it("are asked for again ever later", async () => {
    const world = new World({ start: at("12:00:10"), hasDate: true });
    world.swapsEvery(60_000, at("11:00:00"), at("14:00:00"));
    watchCandles(world.client, { ...MINUTES, timeframe: "1h", every: "close" }).subscribe();
    await world.clock.advanceTo(at("13:00:00"));
    world.interfere = lying(Infinity);
    await world.clock.advanceTo(at("13:10:00"));
    expect(world.asked.length).toBeLessThanOrEqual(3 * 15);
    world.interfere = () => undefined;
  });
});

describe("what retrying cannot mend ends a stream", () => {
  it.each([
    [400, "HttpError"],
    [401, "AuthenticationError"],
    [403, "AuthenticationError"],
    [424, "AuthenticationError"],
  ])("%i", async (status, name) => {
    const { world, errors } = watched();
    await world.clock.advanceTo(at("12:01:10"));
    world.interfere = () => answered(status, { message: ["no", "and no"] });
    await world.clock.advanceTo(at("12:02:10"));
    expect(errors).toHaveLength(1);
    expect(errors[0]).toBeInstanceOf(HttpError);
    expect(errors[0]).toMatchObject({ name, status });
    expect(world.clock.pending).toBe(0);
  });
});

describe("a row that breaks the contract", () => {
  const broken: [string, Record<string, unknown>][] = [
    ["a word for a price", { open: "one" }],
    ["no close", { close: undefined }],
    ["a null volume", { volume: null }],
    ["neither swaps nor trades", { swaps: undefined }],
    ["a start that is none", { timestamp: "2024-01-05T12:01:07.000Z" }],
  ];

  it.each(broken)("%s is read again, a second apart, and the rest counts at once", async (_name, fields) => {
    const { world, events, statuses } = watched();
    await world.clock.advanceTo(at("12:01:10"));
    const sent: number[] = [];
    const newest: string[] = [];
    world.interfere = (asked, answer) => {
      sent.push(asked.sent);
      newest.push(time(events.at(-1)!.candle.timestamp));
      if (sent.length > 2) return undefined;
      return withRows(answer, (rows) =>
        rows.map((row) => (row.timestamp === "2024-01-05T12:01:00.000Z" ? { ...row, ...fields } : row)),
      );
    };
    await world.clock.advanceTo(at("12:02:10"));
    expect(sent.map((instant) => instant - sent[0]!)).toEqual([0, 1_040, 2_080]);
    expect(newest).toEqual(["12:01:00", "12:02:00", "12:02:00"]);
    expect(world.activity.filter(({ type }) => type === "dropped")).toEqual([]);
    expect(statuses.at(-1)).toMatchObject({ state: "live", coveredUntil: at("12:02:00") });
    expect(events.map(short)).toContain("updated closed 12:01:00 #1 62");
  });

  it("is skipped at the third read, told once, and its interval left uncovered", async () => {
    const { world, events, statuses } = watched();
    await world.clock.advanceTo(at("12:01:10"));
    world.interfere = (_asked, answer) =>
      withRows(answer, (rows) =>
        rows.map((row) => (row.timestamp === "2024-01-05T12:01:00.000Z" ? { ...row, high: null } : row)),
      );
    await world.clock.advanceTo(at("12:02:10"));
    const dropped = () => world.activity.filter(({ type }) => type === "dropped");
    expect(dropped()).toMatchObject([{ what: "row", key: at("12:01:00") }]);
    expect(statuses.at(-1)).toMatchObject({
      state: "stalled",
      coveredUntil: at("12:01:00"),
      lastError: { name: "ContractError", path: ["result", 1, "high"] },
    });
    await world.clock.advanceTo(at("12:06:10"));
    expect(dropped()).toHaveLength(1);
    expect(statuses.at(-1)).toMatchObject({
      state: "live",
      coveredFrom: at("12:02:00"),
      coveredUntil: at("12:06:00"),
    });
    const ofBroken = events.filter(({ candle }) => candle.timestamp === at("12:01:00"));
    expect(ofBroken.map(short)).toEqual(["new open 12:01:00 #0 62"]);
  });
});

describe("rows that all break the contract", () => {
  it("end the stream after a minute, as weeks that start on another day do, and say what is wrong", async () => {
    const world = new World({ start: at("12:00:10"), weekStart: "thursday" });
    world.swapsEvery(3_600_000, at("00:00:00") - 40 * 86_400_000, at("23:00:00"));
    const statuses: FeedStatus[] = [];
    const weeks = { ...MINUTES, timeframe: "1w" } as const;
    const errors: PairstreamError[] = [];
    watchFeedStatus(world.client, weeks).subscribe({
      next: (status) => statuses.push(status),
      error: (error) => errors.push(error),
    });
    await world.clock.advanceTo(at("12:01:00"));
    expect(statuses.at(-1)).toMatchObject({ state: "starting", lastError: { name: "ContractError" } });
    expect(errors).toEqual([]);
    await world.clock.advanceTo(at("12:01:25"));
    expect(errors).toMatchObject([
      { name: "ContractError", message: expect.stringContaining("see weekStart") },
    ]);
    // Each question has three attempts; none is sent to search further.
    expect(world.asked.length).toBeLessThanOrEqual(15);
    expect(world.clock.pending).toBe(0);
  });
});

describe("a history that fails", () => {
  it("shows in the status, and is read on from where it stopped", async () => {
    const world = new World({ start: at("12:00:10") });
    world.swapsEvery(1_000, at("10:00:00"), at("12:10:00"));
    const options = { ...MINUTES, timeframe: "1s", since: at("11:00:00") } as const;
    const statuses: FeedStatus[] = [];
    const births: number[] = [];
    let isDown = false;
    world.interfere = ({ url }) => {
      const isHistory = Number(url.searchParams.get("toDate")) < at("12:00:00") / 1_000;
      return isHistory && isDown ? answered(500, "down") : undefined;
    };
    watchCandles(world.client, options).subscribe(({ type, candle }) => {
      if (type === "new") births.push(candle.timestamp);
      isDown = births.length > 500;
    });
    watchFeedStatus(world.client, options).subscribe((status) => statuses.push(status));
    await world.clock.advanceTo(at("12:00:40"));
    expect(statuses.at(-1)).toMatchObject({
      state: "starting",
      lastError: { name: "HttpError", status: 500 },
    });
    expect(statuses.at(-1)!.failures).toBeGreaterThan(0);
    world.interfere = () => undefined;
    await world.clock.advanceTo(at("12:03:00"));
    expect(statuses.at(-1)).toMatchObject({ state: "live", failures: 0, coveredFrom: at("11:00:00") });
    expect(births).toEqual(births.map((_, index) => at("11:00:00") + index * 1_000));
  });
});

describe("a subscriber that comes back from within an error", () => {
  it("has the poll that others then share", async () => {
    const { world } = watched();
    const again = watchCandles(world.client, { ...MINUTES, every: "close" }).pipe(retry(1));
    again.subscribe();
    let refusals = 1;
    world.interfere = () => (refusals-- > 0 ? answered(403, "no") : undefined);
    await world.clock.advanceTo(at("12:00:30"));
    watchCandles(world.client, { ...MINUTES, every: "close" }).subscribe();
    const before = world.asked.length;
    await world.clock.advanceTo(at("12:10:30"));
    expect(world.asked.length - before).toBe(10);
  });
});

describe("an outage", () => {
  it("is caught up page by page from the last covered instant, oldest first", async () => {
    const world = new World({ start: at("00:00:10") });
    world.swapsEvery(10_000, at("00:00:00"), at("23:00:00"));
    const events: CandleEvent[] = [];
    const statuses: FeedStatus[] = [];
    const series = { ...MINUTES, timeframe: "10s" } as const;
    watchCandles(world.client, series).subscribe((event) => events.push(event));
    watchFeedStatus(world.client, series).subscribe((status) => statuses.push(status));
    await world.clock.advanceTo(at("00:10:05"));
    world.interfere = () => Promise.reject(new Error("down"));
    await world.clock.advanceTo(at("04:00:05"));
    expect(statuses.at(-1)).toMatchObject({ state: "stalled", coveredUntil: at("00:10:00") });
    const before = events.length;
    world.interfere = () => undefined;
    await world.clock.advanceTo(at("04:01:05"));
    expect(statuses.at(-1)).toMatchObject({ state: "live", coveredFrom: at("00:00:10") - 20_000 });
    const births = events.filter(({ type }) => type === "new").map(({ candle }) => candle.timestamp);
    expect(births).toEqual(births.map((_, index) => at("00:00:10") + index * 10_000));
    expect(events.slice(before).every(({ revision }) => revision <= 2)).toBe(true);
  });

  it.each(["newest-first", "oldest-first"] as const)(
    "keeps what its pages have told where a later one fails: %s",
    async (order) => {
      const read = async (failsEach: number) => {
        const world = new World({
          start: at("00:00:01"),
          quirks: { order, pageSize: 100 },
          client: { retry: false, timeout: 2_000_000 },
        });
        world.swapsEvery(1_000, at("00:00:00"), at("01:00:00"));
        const closed = new Set<number>();
        const series = { ...MINUTES, timeframe: "1s" } as const;
        watchCandles(world.client, series).subscribe(({ candle, status }) => {
          if (status !== "open") closed.add(candle.timestamp);
        });
        await world.clock.advanceTo(at("00:00:10"));
        world.interfere = never;
        await world.clock.advanceTo(at("00:33:00"));
        const before = world.asked.length;
        let failures = 0;
        world.interfere = () => {
          if ((world.asked.length - before) % failsEach !== 0) return undefined;
          failures += 1;
          return Promise.reject(new Error("down"));
        };
        await world.clock.stopOnce(() => closed.size >= 2_100, at("00:50:00"));
        return { closed: [...closed], failures, requests: world.asked.length - before };
      };
      const even = await read(Infinity);
      const uneven = await read(8);
      expect(uneven.failures).toBeGreaterThan(3);
      expect(uneven.closed.length).toBeGreaterThanOrEqual(2_100);
      expect(uneven.closed.every((start, index) => start === uneven.closed[0]! + index * 1_000)).toBe(true);
      expect(uneven.requests).toBeLessThanOrEqual(even.requests + 3 * uneven.failures);
    },
  );

  it("that began before the subscription leaves no hole after it", async () => {
    const world = new World({ start: at("00:00:10"), hasDate: true });
    world.swapsEvery(10_000, at("00:00:00"), at("23:00:00"));
    const page = world.client.ohlcvPage({ ...MINUTES, fromDate: at("00:00:00"), toDate: at("00:00:10") });
    await world.clock.advanceTo(at("00:00:30"));
    await page;
    world.interfere = () => Promise.reject(new Error("down"));
    const events: CandleEvent[] = [];
    watchCandles(world.client, MINUTES).subscribe((event) => events.push(event));
    await world.clock.advanceTo(at("02:00:05"));
    world.interfere = () => undefined;
    await world.clock.advanceTo(at("02:03:05"));
    const births = events.filter(({ type }) => type === "new").map(({ candle }) => candle.timestamp);
    expect(births).toEqual(births.map((_, index) => at("00:00:00") + index * 60_000));
    expect(births.at(-1)).toBe(at("02:03:00"));
  });
});
