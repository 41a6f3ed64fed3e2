import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import {
  AuthenticationError,
  type ClientOptions,
  createClient,
  type FeedStatus,
  HttpError,
  InvalidInputError,
  NetworkError,
  QuotaExceededError,
  recordExchanges,
  replayExchanges,
  TimeoutError,
  VirtualClock,
  watchCandles,
  watchFeedStatus,
} from "../../../src/index.js";
import { answered, at, MINUTES, World } from "../../world.js";
import { type Call, failure, fakeClient, QUERY, type Reply, settled } from "../fake-service.js";

type Give = Extract<ClientOptions["apiKey"], () => unknown>;

const keysOf = (calls: readonly Call[]) => calls.map(({ headers }) => headers["X-API-Key"]);
const refusedBut =
  (good: string) =>
  (call: Call): Reply =>
    call.headers["X-API-Key"] === good ? {} : { status: 401, body: '{"message":"Invalid key"}' };
const pass = (clock: VirtualClock, ms: number) =>
  new Promise<void>((resolve) => clock.schedule(() => resolve(), ms));

/** A client whose keys are key-1, key-2, … */
function counting(reply: (call: Call, index: number) => Reply, options: Partial<ClientOptions> = {}) {
  let given = 0;
  const world = fakeClient(reply, {
    apiKey: () => {
      given += 1;
      return `key-${given}`;
    },
    ...options,
  });
  return { ...world, given: () => given, page: () => settled(world.clock, world.client.ohlcvPage(QUERY)) };
}

describe("a function as the key", () => {
  it("is called before each request, repetitions included, and not before the first", async () => {
    const { page, calls, given } = counting((_, index) => (index === 1 ? { status: 500 } : {}));
    expect(given()).toBe(0);
    for (let count = 0; count < 3; count += 1) await page();
    expect(keysOf(calls)).toEqual(["key-1", "key-2", "key-3", "key-4"]);
  });

  it("may take its time, within the timeout of the attempt", async () => {
    const clocks: VirtualClock[] = [];
    const apiKey = () => pass(clocks[0]!, 800).then(() => "late");
    const options = { apiKey, timeout: 1_000, retry: false } as const;
    const good = fakeClient(() => ({ after: 150 }), options);
    clocks[0] = good.clock;
    await settled(good.clock, good.client.ohlcvPage(QUERY));
    expect(keysOf(good.calls)).toEqual(["late"]);
    expect(good.activity.find(({ type }) => type === "response")).toMatchObject({ duration: 950 });
    const slow = fakeClient(() => ({ after: 250 }), options);
    clocks[0] = slow.clock;
    const error = await failure(settled(slow.clock, slow.client.ohlcvPage(QUERY)));
    expect(error).toBeInstanceOf(TimeoutError);
    expect((error as Error).message).toContain("was not answered in full within 1000 ms");
  });

  it("that hangs ends with the timeout: nothing is sent, and nothing is when it has woken up", async () => {
    let wake = (_key: string) => {};
    const apiKey = () => new Promise<string>((resolve) => (wake = resolve));
    const { client, clock, calls } = fakeClient(() => ({}), { apiKey, timeout: 1_000, retry: false });
    const error = await failure(settled(clock, client.ohlcvPage(QUERY)));
    expect(error).toBeInstanceOf(TimeoutError);
    expect((error as Error).message).toMatch(/was not sent, as apiKey\(\) gave no key within 1000 ms/);
    wake("too-late");
    await clock.advanceBy(5_000);
    expect(calls).toEqual([]);
  });

  const cause = Object.assign(new TypeError("the vault is sealed"), { code: "SEALED" });
  it.each<[string, Give]>([
    [
      "throws",
      () => {
        throw cause;
      },
    ],
    ["rejects", () => Promise.reject(cause)],
  ])("that %s is told as it is, and is tried again like any request", async (_, apiKey) => {
    let count = 0;
    const counted = () => {
      count += 1;
      return apiKey();
    };
    const { client, clock, calls, activity } = fakeClient(() => ({}), { apiKey: counted });
    const error = await failure(settled(clock, client.ohlcvPage(QUERY)));
    expect(error).toBeInstanceOf(NetworkError);
    expect((error as Error).message).toMatch(
      /^GET \S+ was not sent, as apiKey\(\) gave no key: the vault is sealed$/,
    );
    expect((error as Error).cause).toBe(cause);
    expect([count, calls.length]).toEqual([3, 0]);
    expect(activity.filter(({ type }) => type === "retry")).toHaveLength(2);
  });

  it.each<[string, unknown, string]>([
    ["a space", "key with spaces", "holds a space"],
    ["nothing", "", "is empty"],
    ["undefined", undefined, "is of type undefined"],
    ["a number", 5, "is of type number"],
    ["a line feed", "key\r\nX-Other: 1", "holds a space"],
  ])("is checked when it gives a key: %s", async (_, key, problem) => {
    const apiKey = (() => key) as Give;
    const { client, clock, calls } = fakeClient(() => ({}), { apiKey, retry: false });
    const error = (await failure(settled(clock, client.ohlcvPage(QUERY)))) as Error;
    expect(error).toBeInstanceOf(NetworkError);
    expect(error.message).toContain(`apiKey() ${problem}`);
    expect(error.cause).toBeInstanceOf(InvalidInputError);
    expect(inspect(error)).not.toContain("with spaces");
    expect(calls).toEqual([]);
  });

  it("costs no units where it gave none", async () => {
    const quota = { units: 150, per: 3_600_000 };
    let isBroken = true;
    const apiKey = () => (isBroken ? "" : "good");
    const { client, clock, calls } = fakeClient(() => ({}), { apiKey, quota });
    await failure(settled(clock, client.ohlcvPage(QUERY)));
    isBroken = false;
    await settled(clock, client.ohlcvPage(QUERY));
    expect(calls).toHaveLength(1);
    expect(await failure(settled(clock, client.ohlcvPage(QUERY)))).toBeInstanceOf(QuotaExceededError);
  });

  it("lets nothing out during a pause that began while it was asked", async () => {
    const clocks: VirtualClock[] = [];
    let count = 0;
    const apiKey = async () => {
      count += 1;
      if (count === 2) await pass(clocks[0]!, 300);
      return `key-${count}`;
    };
    const { client, clock, calls } = fakeClient(
      (_, index) => (index === 0 ? { status: 429, headers: { "retry-after": "2" }, after: 100 } : {}),
      { apiKey },
    );
    clocks[0] = clock;
    const both = [client.ohlcvPage(QUERY), client.ohlcvPage(QUERY)];
    await settled(clock, Promise.all(both));
    const [first, ...later] = calls.map((call) => call.at - calls[0]!.at);
    expect(first).toBe(0);
    expect(later).toHaveLength(2);
    for (const sent of later) expect(sent).toBeGreaterThanOrEqual(2_100);
    expect(keysOf(calls)).not.toContain("key-2");
  });
});

describe("a 401", () => {
  it("calls it once more, and the request goes out again at once", async () => {
    const { page, calls, activity } = counting(refusedBut("key-2"));
    await page();
    expect(keysOf(calls)).toEqual(["key-1", "key-2"]);
    expect(calls[1]!.at).toBe(calls[0]!.at);
    expect(activity.filter(({ type }) => type === "retry")).toMatchObject([{ attempt: 1, delay: 0 }]);
  });

  it("twice over is an AuthenticationError, and no more", async () => {
    const { page, calls } = counting(refusedBut("none"));
    expect(await failure(page())).toBeInstanceOf(AuthenticationError);
    expect(keysOf(calls)).toEqual(["key-1", "key-2"]);
    expect(await failure(page())).toBeInstanceOf(AuthenticationError);
    expect(calls).toHaveLength(4);
  });

  it("to many calls at once makes one call of it, whichever answer comes when", async () => {
    const { client, clock, calls, given } = counting((call, index) => ({
      ...(/^key-[1-5]$/.test(call.headers["X-API-Key"]!) ? { status: 401 } : {}),
      after: 10 * index,
    }));
    await settled(clock, Promise.all(Array.from({ length: 5 }, () => client.ohlcvPage(QUERY))));
    expect(given()).toBe(6);
    expect(keysOf(calls).slice(5)).toEqual(["key-6", "key-6", "key-6", "key-6", "key-6"]);
    await settled(clock, client.ohlcvPage(QUERY));
    expect(given()).toBe(7);
  });

  it("of which the new key fails is the failure of all that wait for it", async () => {
    let count = 0;
    const apiKey = () => {
      count += 1;
      if (count > 2) throw new Error("sealed");
      return `key-${count}`;
    };
    const { client, clock } = fakeClient(() => ({ status: 401 }), { apiKey, retry: false });
    const both = [client.ohlcvPage(QUERY), client.ohlcvPage(QUERY)].map(failure);
    const errors = await settled(clock, Promise.all(both));
    expect(errors.map((error) => (error as Error).name)).toEqual(["NetworkError", "NetworkError"]);
    expect(count).toBe(3);
  });

  it.each<[string, Reply, new (...args: never[]) => Error]>([
    [
      "a spent quota",
      { status: 401, body: '{"message":"included usage has been consumed"}' },
      QuotaExceededError,
    ],
    ["403", { status: 403 }, AuthenticationError],
    ["424", { status: 424 }, AuthenticationError],
    ["400", { status: 400 }, HttpError],
  ])("is the only one that does: not %s", async (_, reply, kind) => {
    const { page, calls } = counting(() => reply);
    expect(await failure(page())).toBeInstanceOf(kind);
    expect(calls).toHaveLength(1);
  });

  it("is fatal at once where the key is a text", async () => {
    const { client, clock, calls } = fakeClient(() => ({ status: 401 }));
    expect(await failure(settled(clock, client.ohlcvPage(QUERY)))).toBeInstanceOf(AuthenticationError);
    expect(calls).toHaveLength(1);
  });
});

describe("a stream whose key comes from a function", () => {
  function watched(apiKey: Give, retry: ClientOptions["retry"] = false) {
    const world = new World({ start: at("12:00:10"), client: { apiKey, retry } });
    world.swapsEvery(10_000, at("11:50:00"), at("12:10:00"));
    const statuses: FeedStatus[] = [];
    const errors: unknown[] = [];
    watchCandles(world.client, MINUTES).subscribe({ error: (error) => errors.push(error) });
    watchFeedStatus(world.client, MINUTES).subscribe({
      next: (status) => statuses.push(status),
      error: () => {},
    });
    return { world, statuses, errors };
  }

  it("misses a slot for each failure of it, and goes on", async () => {
    let isSealed = false;
    const { world, statuses, errors } = watched(() => {
      if (isSealed) throw new Error("sealed");
      return "key-1";
    });
    await world.clock.advanceTo(at("12:00:30"));
    isSealed = true;
    await world.clock.advanceTo(at("12:01:30"));
    isSealed = false;
    await world.clock.advanceTo(at("12:03:30"));
    expect(errors).toEqual([]);
    expect(statuses.map(({ state }) => state)).toEqual(
      expect.arrayContaining(["starting", "live", "stalled", "live"]),
    );
    const stalled = statuses.find(({ state }) => state === "stalled");
    expect(stalled?.lastError).toMatchObject({
      name: "NetworkError",
      message: expect.stringContaining("apiKey() gave no key: sealed"),
    });
    expect(statuses.at(-1)?.state).toBe("live");
  });

  it("goes on with a new key, and ends where that is refused, too", async () => {
    let count = 0;
    const { world, errors } = watched(() => {
      count += 1;
      return `key-${count}`;
    });
    let valid = (_key: string) => true;
    world.interfere = () => {
      return valid(`key-${count}`) ? undefined : answered(401, { message: "Invalid key" });
    };
    await world.clock.advanceTo(at("12:00:30"));
    const last = count;
    valid = (key) => key !== `key-${last + 1}`;
    await world.clock.advanceTo(at("12:02:30"));
    expect(errors).toEqual([]);
    valid = () => false;
    await world.clock.advanceTo(at("12:04:30"));
    expect(errors).toMatchObject([{ name: "AuthenticationError", status: 401 }]);
  });
});

describe("what a function has given as a key", () => {
  /** A service that quotes the key of a request, and the ones before it. */
  const quotes = (count: number) => {
    const seen: string[] = [];
    return ({ headers }: Call): Reply => {
      seen.push(headers["X-API-Key"]!);
      return { status: 400, body: JSON.stringify({ message: `not ${seen.slice(-count).join(" ")}` }) };
    };
  };

  it("is in no error and no activity: that of the request, and the 15 before it", async () => {
    let count = 0;
    const apiKey = () => {
      count += 1;
      return `secret-${String(count).padStart(4, "0")}`;
    };
    const { client, clock, activity } = fakeClient(quotes(16), { apiKey });
    const errors: unknown[] = [];
    for (let call = 0; call < 40; call += 1)
      errors.push(await failure(settled(clock, client.ohlcvPage(QUERY))));
    const everything = inspect([errors, activity], { depth: 20, showHidden: true });
    expect(everything).toContain("[left out: holds the key]");
    expect(everything).not.toMatch(/secret-\d/);
  });

  it("is looked for as long as a request with it is under way, however many keys come after it", async () => {
    let count = 0;
    const apiKey = () => {
      count += 1;
      return `secret-${String(count).padStart(4, "0")}`;
    };
    const { client, clock } = fakeClient(
      ({ headers }, index) => ({
        status: 400,
        body: `no ${headers["X-API-Key"]}`,
        after: index === 0 ? 9_000 : 0,
      }),
      { apiKey },
    );
    const first = failure(client.ohlcvPage(QUERY));
    for (let call = 0; call < 40; call += 1) await failure(settled(clock, client.ohlcvPage(QUERY)));
    const error = await settled(clock, first);
    expect(inspect(error)).toContain("[left out: holds the key]");
    expect(inspect(error)).not.toContain("secret-0001");
  });

  it("is not told by the function's own failure", async () => {
    let count = 0;
    const apiKey = () => {
      count += 1;
      if (count > 1) throw new Error("cannot renew secret-token-1");
      return "secret-token-1";
    };
    const { client, clock } = fakeClient(() => ({}), { apiKey, retry: false });
    await settled(clock, client.ohlcvPage(QUERY));
    const error = await failure(settled(clock, client.ohlcvPage(QUERY)));
    expect(inspect(error)).not.toContain("secret-token-1");
  });
});

describe("a tape of a client whose key comes from a function", () => {
  /** A session in which the key is slow, fails, hangs and runs out, and what was seen in it. */
  async function session() {
    const clock = new VirtualClock(at("12:00:10"));
    const lines: string[] = [];
    let count = 0;
    const apiKey = async () => {
      count += 1;
      await pass(clock, 40);
      if (count === 3) throw new Error("sealed secret-2");
      if (count === 5) await new Promise(() => {});
      return `secret-${count}`;
    };
    let answers = 0;
    const fetch = async () => {
      await pass(clock, 20);
      answers += 1;
      const now = clock.now();
      if (answers === 4) return answered(401, { message: `who is secret-${count}?` });
      const row = {
        timestamp: Math.floor(now / 60_000) * 60_000,
        open: 1,
        high: answers,
        low: 1,
        close: answers,
        volume: 1,
        swaps: answers,
      };
      const head = { cursor: null, page: 1, tokenAddress: null, ...MINUTES };
      return answered(200, { ...head, result: [row] });
    };
    const run = (client: ReturnType<typeof createClient>) => {
      const seen: unknown[] = [];
      watchCandles(client, { ...MINUTES, revisionWindow: 0 }).subscribe((event) => seen.push(event));
      watchFeedStatus(client, { ...MINUTES, revisionWindow: 0 }).subscribe(({ lastError, ...status }) =>
        seen.push({ ...status, trouble: lastError && [lastError.name, lastError.message] }),
      );
      return seen;
    };
    const common = { baseUrl: "https://service.test", retry: false, timeout: 5_000 } as const;
    const live = run(
      createClient({
        ...common,
        apiKey,
        scheduler: clock,
        fetch: recordExchanges(fetch, (line) => lines.push(line)),
      }),
    );
    await clock.advanceBy(600_000);
    return { lines, live, run, common };
  }

  it("holds none of its keys, and gives the same events and failures again, without the function", async () => {
    const { lines, live, run, common } = await session();
    expect(lines.join("\n")).not.toMatch(/secret-\d/);
    expect(lines.filter((line) => JSON.parse(line).unsent)).toHaveLength(2);
    const troubles = JSON.stringify(live);
    expect(troubles).toContain("gave no key: [left out: holds the key]");
    expect(troubles).toContain("gave no key within 5000 ms");
    const tape = replayExchanges(lines);
    let calls = 0;
    const apiKey = () => {
      calls += 1;
      return "any";
    };
    const again = run(createClient({ ...common, apiKey, scheduler: tape.scheduler, fetch: tape.fetch }));
    await tape.run();
    expect(again).toEqual(live.slice(0, again.length));
    expect(live.length - again.length).toBeLessThan(3);
    expect(calls).toBe(0);
  });
});
