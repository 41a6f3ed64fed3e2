import { NetworkError, RateLimitError } from "pairstream";
import { NEVER } from "rxjs";
import { describe, expect, it, vi } from "vitest";
import { minuteCandle } from "../../candles/minute-candles.js";
import { candles, Gateway, LIVE, short, statuses, URL_OF_GATEWAY } from "./gateway.js";
import { eventOf } from "./told-market.js";

describe("a connection that breaks", () => {
  it("reads stalled until it is restored, and loses and repeats nothing", async () => {
    const gateway = new Gateway();
    const seen = await gateway.receive();
    gateway.status.next(LIVE);
    gateway.candles.next(eventOf("new", 1));
    gateway.candles.next(eventOf("new", 2));
    await gateway.settle();
    await gateway.cut();
    expect(statuses(seen).at(-1)).toEqual({
      state: "stalled",
      coveredFrom: 1,
      coveredUntil: 2,
      failures: 1,
      lastError: expect.any(NetworkError),
    });
    gateway.candles.next(eventOf("updated", 1, { price: 2, revision: 1 }));
    gateway.candles.next(eventOf("updated", 1, { price: 3, revision: 2, status: "final" }));
    gateway.candles.next(eventOf("removed", 2, { revision: 1 }));
    gateway.candles.next(eventOf("new", 3));
    await gateway.pass(999);
    expect(gateway.asked).toHaveLength(1);
    await gateway.pass(1);
    expect(candles(seen).map(short)).toEqual([
      "new 1 #0 1",
      "new 2 #0 1",
      "updated 1 #2 3",
      "removed 2 #1 1",
      "new 3 #0 1",
    ]);
    expect(candles(seen)[2]).toMatchObject({ previous: minuteCandle(1) });
    expect(candles(seen).every(({ live }) => live)).toBe(true);
    expect(statuses(seen).map(({ state }) => state)).toEqual(["live", "stalled", "live"]);
    expect(statuses(seen).at(-1)).toEqual(LIVE);
    expect(gateway.asked.at(-1)!.headers.get("last-event-id")).toMatch(/-\d+$/);
    expect(gateway.asked[0]!.signal.aborted).toBe(true);
  });

  it("is tried again after 1 s, doubled each time up to 30 s, and counted", async () => {
    const gateway = new Gateway();
    gateway.answer = () => {
      throw new TypeError("fetch failed");
    };
    const seen = await gateway.receive();
    await gateway.pass(100_000);
    const at = gateway.asked.map((asked) => asked.at);
    expect(at.slice(1).map((instant, before) => instant - at[before]!)).toEqual([
      1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000,
    ]);
    expect(statuses(seen).map(({ state, failures }) => [state, failures])).toEqual(
      at.map((_, failures) => ["stalled", failures + 1]),
    );
    expect(statuses(seen)[0]!.lastError).toMatchObject({
      name: "NetworkError",
      message: `${URL_OF_GATEWAY} could not be reached: fetch failed`,
      cause: expect.any(TypeError),
    });
    gateway.answer = undefined;
    gateway.candles.next(eventOf("new", 1));
    await gateway.pass(30_000);
    expect(candles(seen)).toHaveLength(1);
    await gateway.cut();
    expect(statuses(seen).at(-1)).toMatchObject({ state: "stalled", failures: 1 });
  });

  it("is one that has been silent for two and a half heartbeats of the channel", async () => {
    const gateway = new Gateway({ heartbeat: 10_000 });
    const seen = await gateway.receive();
    await gateway.pass(3_600_000);
    expect(seen.events).toEqual([]);
    // Bytes stop while the connection stands.
    const { readable } = new TransformStream();
    gateway.answer = (request) => {
      const response = gateway.channel.respond(request);
      const { writable, readable: halted } = new TransformStream();
      response.body!.pipeTo(writable).catch(() => {});
      return gateway.asked.length === 2
        ? new Response(readable, { headers: response.headers })
        : new Response(halted, response);
    };
    await gateway.cut();
    await gateway.pass(1_000);
    const since = gateway.clock.now();
    // Before the channel has told of its heartbeat, three quarters of a minute are borne less a little.
    await gateway.pass(37_499);
    expect(statuses(seen)).toHaveLength(1);
    await gateway.pass(1);
    expect(statuses(seen).at(-1)).toMatchObject({
      state: "stalled",
      failures: 2,
      lastError: { name: "TimeoutError", timeout: 37_500 },
    });
    expect(gateway.clock.now() - since).toBe(37_500);
    expect(gateway.asked[1]!.signal.aborted).toBe(true);
  });

  it("is one whose channel has fallen silent", async () => {
    const gateway = new Gateway({ heartbeat: 10_000 });
    const seen = await gateway.receive();
    // Sent are from now on no heartbeats, as from a machine that has been cut off.
    const silent = new Gateway({
      heartbeat: 10_000,
      scheduler: { now: () => 0, schedule: () => NEVER.subscribe() },
    });
    silent.candles.next(eventOf("new", 1));
    gateway.answer = (request) => silent.channel.respond(request);
    await gateway.cut();
    await gateway.pass(1_000);
    expect(statuses(seen).map(({ state }) => state)).toEqual(["stalled", "starting"]);
    await gateway.pass(24_999);
    expect(statuses(seen)).toHaveLength(2);
    await gateway.pass(1);
    expect(statuses(seen).at(-1)).toMatchObject({ state: "stalled", lastError: { timeout: 25_000 } });
  });

  it("is one that has been silent for as long as it is told", async () => {
    const gateway = new Gateway({ heartbeat: 10_000 });
    const seen = await gateway.receive({ silence: 5_000 });
    await gateway.pass(5_000);
    expect(statuses(seen)).toMatchObject([
      { state: "stalled", lastError: { name: "TimeoutError", timeout: 5_000 } },
    ]);
  });

  it("says of a browser that it may hold a request back, where no answer has begun", async () => {
    const messages = async (answer?: () => Promise<Response>) => {
      const gateway = new Gateway({ heartbeat: 10_000 });
      gateway.answer = answer;
      const seen = await gateway.receive({ silence: 5_000 });
      await gateway.pass(5_000);
      return statuses(seen).map(({ lastError }) => lastError?.message);
    };
    const never = () => new Promise<Response>(() => {});
    const plain = `${URL_OF_GATEWAY} has sent nothing for 5000 ms`;
    expect(await messages(never)).toEqual([plain]);
    vi.stubGlobal("document", {});
    try {
      expect(await messages()).toEqual([plain]);
      expect(await messages(never)).toEqual([
        `${plain}; over HTTP/1.1 a browser opens six connections to a host, in all of its tabs`,
      ]);
    } finally {
      vi.unstubAllGlobals();
    }
  });

  it("does not hold a request that never answers, heed its signal or not", async () => {
    const gateway = new Gateway();
    let cancelled = 0;
    let answer: (response: Response) => void = () => {};
    gateway.answer = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    const seen = await gateway.receive();
    await gateway.pass(37_500);
    expect(statuses(seen)).toMatchObject([{ state: "stalled", failures: 1 }]);
    const body = new ReadableStream({
      cancel: () => {
        cancelled += 1;
      },
    });
    answer(new Response(body));
    await gateway.settle();
    expect(cancelled).toBe(1);
  });

  it("is one that has answered and then fallen silent", async () => {
    const gateway = new Gateway();
    let answer: (response: Response) => void = () => {};
    gateway.answer = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    const seen = await gateway.receive();
    await gateway.pass(30_000);
    answer(
      new Response(new TransformStream().readable, { headers: { "content-type": "text/event-stream" } }),
    );
    await gateway.pass(37_499);
    expect(seen.events).toEqual([]);
    await gateway.pass(1);
    expect(statuses(seen)).toMatchObject([{ state: "stalled", lastError: { timeout: 37_500 } }]);
  });

  it("is tried again when a hint of the gateway says so", async () => {
    const gateway = new Gateway();
    gateway.answer = () => new Response("busy", { status: 429, headers: { "retry-after": "7" } });
    const seen = await gateway.receive();
    expect(statuses(seen)[0]!.lastError).toEqual(
      new RateLimitError(
        `${URL_OF_GATEWAY} answered with status 429, and not as a gateway does`,
        "busy",
        7_000,
      ),
    );
    await gateway.pass(6_999);
    expect(gateway.asked).toHaveLength(1);
    await gateway.pass(1);
    expect(gateway.asked).toHaveLength(2);
  });

  it("heeds the channel's retry, within reason", async () => {
    const gateway = new Gateway();
    const answerWith = (retry: number) => () =>
      new Response(`retry: ${retry}\n\n`, { headers: { "content-type": "text/event-stream" } });
    gateway.answer = answerWith(5_000);
    await gateway.receive();
    await gateway.pass(5_000);
    expect(gateway.asked.map(({ at }) => at)).toEqual([0, 5_000]);
    const other = new Gateway();
    other.answer = answerWith(0);
    await other.receive();
    await other.pass(1_000);
    expect(other.asked.map(({ at }) => at)).toEqual([0, 100, 300, 700]);
  });

  it("is answered with 503 while the gateway stops, and comes back to the next", async () => {
    const gateway = new Gateway();
    const seen = await gateway.receive();
    gateway.candles.next(eventOf("new", 1));
    await gateway.settle();
    gateway.channel.close();
    await gateway.pass(1_000);
    expect(statuses(seen).map(({ lastError }) => lastError!.name)).toEqual(["NetworkError", "HttpError"]);
    gateway.start();
    gateway.candles.next(eventOf("new", 1, { live: false }));
    gateway.candles.next(eventOf("new", 2));
    await gateway.pass(2_000);
    expect(candles(seen).map(short)).toEqual(["new 1 #0 1", "new 2 #0 1"]);
    expect(candles(seen)[1]!.live).toBe(true);
  });
});

describe("warn", () => {
  const down = () => {
    throw new TypeError("fetch failed");
  };

  it("says at once that a gateway was never reached, and once that it is", async () => {
    const gateway = new Gateway();
    gateway.answer = down;
    const said: string[] = [];
    const seen = await gateway.receive({ warn: (message) => said.push(message) });
    await gateway.pass(60_000);
    expect(said).toEqual([
      `${URL_OF_GATEWAY} could not be reached: fetch failed; it tries again in 1 s, and then ever later`,
    ]);
    gateway.answer = undefined;
    await gateway.pass(60_000);
    expect(said.slice(1)).toEqual([`${URL_OF_GATEWAY} is reached again`]);
    seen.subscription.unsubscribe();
  });

  it("says nothing of a gateway that starts anew, and of one that stays away with the third attempt", async () => {
    const gateway = new Gateway();
    const said: string[] = [];
    const seen = await gateway.receive({ warn: (message) => said.push(message) });
    await gateway.cut();
    await gateway.pass(2_000);
    expect(said).toEqual([]);
    gateway.answer = down;
    await gateway.cut();
    await gateway.pass(2_000);
    expect(said).toEqual([]);
    await gateway.pass(5_000);
    expect(said).toHaveLength(1);
    seen.subscription.unsubscribe();
  });

  it("is refused where it is neither a function nor false, and false says nothing", async () => {
    const gateway = new Gateway();
    gateway.answer = down;
    await expect(gateway.receive({ warn: "console" as never })).rejects.toThrow(/^warn is of type string/);
    const seen = await gateway.receive({ warn: false });
    await gateway.pass(60_000);
    expect(statuses(seen).at(-1)).toMatchObject({ state: "stalled" });
  });
});
