import { describe, expect, it } from "vitest";
import { createClient } from "../../../src/client/client.js";
import { coreOf } from "../../../src/client/core.js";
import type { FetchLike } from "../../../src/client/send/transport.js";
import { walkOf } from "../../../src/client/send/walk.js";
import { boundsOf } from "../../../src/client/service-clock.js";
import { ContractError, NetworkError, TimeoutError } from "../../../src/errors.js";
import { VirtualClock } from "../../../src/replay/virtual-clock.js";
import { failure, fakeClient, PAGE, PAIR, QUERY, type Reply, START, settled } from "../fake-service.js";

const never = Number.POSITIVE_INFINITY;
const httpDate = (instant: number) => new Date(instant).toUTCString();

describe("a timeout", () => {
  it.each<[string, Reply]>([
    ["a fetch that hangs", { after: never }],
    ["a fetch that hangs and ignores its signal", { after: never, isDeaf: true }],
    ["a body that hangs", { bodyAfter: never }],
    ["a body that hangs and ignores the signal", { bodyAfter: never, isDeaf: true }],
    ["a body that comes too late", { after: 600, bodyAfter: 600, isDeaf: true }],
  ])("ends %s", async (_name, reply) => {
    const { client, calls, clock } = fakeClient(() => reply, { timeout: 1_000, retry: false });
    const page = client.ohlcvPage(QUERY);
    page.catch(() => {});
    await clock.advanceBy(999);
    expect(calls[0]!.signal.aborted).toBe(false);
    await clock.advanceBy(1);
    const error = await failure(page);
    expect(error).toBeInstanceOf(TimeoutError);
    expect((error as TimeoutError).timeout).toBe(1_000);
    expect((error as TimeoutError).message).toBe(
      `GET /token/mainnet/pairs/${PAIR}/ohlcv was not answered in full within 1000 ms, the client's timeout`,
    );
    expect(calls[0]!.signal.aborted).toBe(true);
    await clock.advanceBy(10_000);
    expect(clock.pending).toBe(0);
  });

  it("is each attempt's own", async () => {
    const { client, calls, clock } = fakeClient(() => ({ after: never }), { timeout: 1_000 });
    await expect(settled(clock, client.ohlcvPage(QUERY))).rejects.toBeInstanceOf(TimeoutError);
    expect(calls.map(({ at }) => at - START)).toEqual([0, 1_500, 3_500]);
  });

  it("is ten seconds by default, and may be as long as timers go", async () => {
    const { client, clock } = fakeClient(() => ({ after: never }), { retry: false });
    await expect(settled(clock, client.ohlcvPage(QUERY))).rejects.toMatchObject({ timeout: 10_000 });
    expect(clock.now() - START).toBe(10_000);
    const patient = fakeClient(() => ({ after: 2 ** 31 - 2 }), { timeout: 2 ** 31 - 1 });
    const page = patient.client.ohlcvPage(QUERY);
    await patient.clock.advanceBy(2 ** 31);
    expect((await page).result).toHaveLength(1);
  });
});

describe("an abort", () => {
  const reason = { why: "the user left" };

  it("before the call", async () => {
    const { client, calls } = fakeClient();
    const signal = AbortSignal.abort(reason);
    await expect(client.ohlcvPage(QUERY, { signal })).rejects.toBe(reason);
    await expect(client.sniperReport({ pairAddress: PAIR }, { signal })).rejects.toBe(reason);
    expect(calls).toEqual([]);
  });

  it("in the queue", async () => {
    const { client, calls, clock, activity } = fakeClient(undefined, {
      rateLimit: { requests: 1, per: 1_000 },
    });
    await client.ohlcvPage(QUERY);
    const controller = new AbortController();
    const waiting = client.ohlcvPage(QUERY, { signal: controller.signal });
    expect(clock.pending).toBe(1);
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    expect(clock.pending).toBe(0);
    expect(calls).toHaveLength(1);
    expect(activity.filter(({ type }) => type === "request")).toHaveLength(1);
  });

  it.each<[string, Reply]>([
    ["in flight", { after: 500 }],
    ["in flight, with a fetch that does not listen", { after: 500, isDeaf: true }],
    ["while the body comes", { bodyAfter: 500 }],
  ])("%s", async (_name, reply) => {
    const { client, calls, clock, activity } = fakeClient(() => reply);
    const controller = new AbortController();
    const page = client.ohlcvPage(QUERY, { signal: controller.signal });
    await clock.advanceBy(100);
    controller.abort(reason);
    await expect(page).rejects.toBe(reason);
    expect(calls[0]!.signal.aborted).toBe(true);
    await clock.advanceBy(1_000);
    expect(clock.pending).toBe(0);
    expect(calls).toHaveLength(1);
    expect(activity.map(({ type }) => type)).toEqual(["request"]);
  });

  it("between two attempts", async () => {
    const { client, calls, clock } = fakeClient(() => ({ status: 500 }));
    const controller = new AbortController();
    const page = client.ohlcvPage(QUERY, { signal: controller.signal });
    await clock.advanceBy(100);
    expect(clock.pending).toBe(1);
    controller.abort(reason);
    await expect(page).rejects.toBe(reason);
    expect(clock.pending).toBe(0);
    expect(calls).toHaveLength(1);
    expect(calls[0]!.signal.aborted).toBe(false);
  });

  it("after the end: the request that has ended is left alone", async () => {
    const { client, calls, clock } = fakeClient((_, index) =>
      index === 0 ? { failure: new Error("reset") } : {},
    );
    const controller = new AbortController();
    await settled(clock, client.ohlcvPage(QUERY, { signal: controller.signal }));
    controller.abort(reason);
    await clock.advanceBy(60_000);
    expect(calls.map(({ signal }) => signal.aborted)).toEqual([false, false]);
  });

  it("leaves no listener behind", async () => {
    const signal = new AbortController().signal;
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners += 1;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners -= 1;
      remove(...args);
    };
    const { client, clock } = fakeClient((_, index) => (index % 2 === 0 ? { status: 500 } : {}), {
      rateLimit: { requests: 1, per: 100 },
    });
    const calls = [client.ohlcvPage(QUERY, { signal }), client.ohlcvPage(QUERY, { signal })];
    await settled(clock, Promise.all(calls));
    const pages = client.ohlcvPages(QUERY, { signal })[Symbol.asyncIterator]();
    await settled(clock, pages.next());
    await settled(clock, pages.next());
    expect(listeners).toBe(0);
  });
});

describe("a body", () => {
  const MAX = 8 * 1024 * 1024;

  it("is not read where its length says that it is too large", async () => {
    let wasRead = false;
    let signal: AbortSignal | undefined;
    const fetch: FetchLike = async (_, init) => {
      signal = init?.signal;
      const text = async () => {
        wasRead = true;
        return PAGE;
      };
      return { status: 200, headers: new Headers({ "content-length": String(MAX + 1) }), text };
    };
    const { client } = fakeClient(undefined, { fetch, retry: false });
    const error = await failure(client.ohlcvPage(QUERY));
    expect(error).toBeInstanceOf(ContractError);
    expect((error as ContractError).path).toEqual([]);
    expect(wasRead).toBe(false);
    expect(signal?.aborted).toBe(true);
  });

  it("is refused where it is too large all the same", async () => {
    const { client } = fakeClient(() => ({ body: " ".repeat(MAX + 1) }), { retry: false });
    expect(await failure(client.ohlcvPage(QUERY))).toMatchObject({ name: "ContractError", path: [] });
    const failing = fakeClient(() => ({ failure: null }), { retry: false });
    expect(await failure(failing.client.ohlcvPage(QUERY))).toBeInstanceOf(NetworkError);
  });
});

describe("the core", () => {
  const ask = { route: "/x", priority: "close", parse: (text: string) => text } as const;

  it("learns the service's clock from every answer, errors included", async () => {
    const dates = [START + 5_000, START + 6_000, START + 3_605_000, START + 3_606_000];
    const { client, clock, activity } = fakeClient((_, index) => ({
      status: index % 2 === 0 ? 404 : 200,
      headers: { date: httpDate(dates[index]!) },
      after: 10,
    }));
    const core = coreOf(client);
    expect(core.serviceClock().answers).toBe(0);
    await expect(settled(clock, core.send(ask))).rejects.toMatchObject({ status: 404 });
    expect(boundsOf(core.serviceClock())).toEqual({ low: 4_990, high: 6_000 });
    await clock.advanceTo(START + 1_000);
    const exchange = await settled(clock, core.send(ask));
    expect(exchange).toEqual({
      ...{ value: PAGE, epoch: 1, isInDoubt: false },
      observedAt: START + 6_000,
    });
    await settled(clock, core.send(ask)).catch(() => {});
    const jumped = await settled(clock, core.send(ask));
    expect(jumped.epoch).toBe(2);
    expect(
      activity.filter(({ type }) => type === "clock").map((entry) => (entry as { jumped: boolean }).jumped),
    ).toEqual([false, true]);
  });

  it("says of an answer whose Date contradicts the clock that it is in doubt, until another agrees", async () => {
    const ahead = [0, 3_600, 0, 3_600, 3_600];
    const { client, clock } = fakeClient((_, index) => ({
      headers: { date: httpDate(clock.now() + ahead[index]! * 1_000) },
    }));
    const core = coreOf(client);
    const doubts: boolean[] = [];
    for (const _ of ahead) doubts.push((await settled(clock, core.send(ask))).isInDoubt);
    expect(doubts).toEqual([false, true, false, true, false]);
    const steps = walkOf(core.send, {
      route: () => "/x",
      priority: "refresh",
      parse: (text) => ({ text, facts: { cursor: undefined, rows: 0, first: 0, last: 0, mostPages: 1 } }),
    });
    ahead.push(7_200);
    const { value } = await settled(clock, steps.next());
    expect(value).toMatchObject({ value: { text: PAGE }, isInDoubt: true });
  });

  it("tells once that there is no Date, and when one comes after all", async () => {
    const { client, clock, activity } = fakeClient((_, index) => ({
      headers: index < 2 ? { date: index === 1 ? "yesterday" : "" } : { date: httpDate(START) },
    }));
    for (let call = 0; call < 4; call += 1) await settled(clock, client.ohlcvPage(QUERY));
    const sources = activity.flatMap((entry) => (entry.type === "clock" ? [entry.source] : []));
    expect(sources).toEqual(["scheduler", "date"]);
  });

  it("takes whatever a reader throws for an answer that cannot be read", async () => {
    const { client, clock, calls } = fakeClient();
    const overflow = new RangeError("Maximum call stack size exceeded");
    const parse = () => {
      throw overflow;
    };
    const error = await failure(settled(clock, coreOf(client).send({ ...ask, parse })));
    expect(error).toBeInstanceOf(ContractError);
    expect(error).toMatchObject({ path: [], issue: "cannot be read", cause: overflow });
    expect(calls).toHaveLength(3);
  });

  it("takes its instants from right before the request to right after the text", async () => {
    const clock = new VirtualClock(START);
    let fetchedAt = -1;
    const fetch: FetchLike = async () => {
      fetchedAt = clock.now();
      return { status: 200, headers: new Headers({ date: httpDate(START) }), text: async () => "" };
    };
    const options = { baseUrl: "https://service.test", apiKey: "key", fetch, scheduler: clock };
    const core = coreOf(createClient(options));
    await clock.advanceBy(77);
    const sent = core.send({ ...ask, parse: () => 1 });
    expect(fetchedAt).toBe(START + 77);
    await sent;
    // Each bound follows from one of the two.
    expect(boundsOf(core.serviceClock())).toEqual({ low: -77, high: 1_000 - 77 });
  });

  it("takes a fetch that throws, and one that writes to its headers", async () => {
    const headers: Record<string, string>[] = [];
    const fetch: FetchLike = (_, init) => {
      headers.push({ ...init?.headers });
      Object.assign(init?.headers ?? {}, { traced: "yes" });
      throw new TypeError("not like this");
    };
    const { client, clock } = fakeClient(undefined, { fetch });
    await expect(settled(clock, client.ohlcvPage(QUERY))).rejects.toThrow(NetworkError);
    expect(headers).toHaveLength(3);
    expect(headers.some((held) => "traced" in held)).toBe(false);
  });

  it("walks with a reader and a priority of the caller's", async () => {
    const { client, clock, activity } = fakeClient((_, index) => ({ body: String(index) }));
    const pages: [number, string | undefined][] = [];
    const walk = async () => {
      const steps = walkOf(coreOf(client).send, {
        route: (cursor) => `/x?cursor=${cursor ?? ""}`,
        priority: "history",
        parse: (text) => {
          const at = Number(text);
          const cursor = at < 2 ? `c${at}` : undefined;
          return { at, facts: { cursor, rows: 1, first: at, last: at, mostPages: 3 } };
        },
      });
      for await (const { value, observedAt } of steps) {
        expect(observedAt).toBe(START);
        pages.push([value.at, value.facts.cursor]);
      }
    };
    await settled(clock, walk());
    expect(pages).toEqual([
      [0, "c0"],
      [1, "c1"],
      [2, undefined],
    ]);
    const requests = activity.flatMap((entry) => (entry.type === "request" ? [entry] : []));
    expect(requests.map(({ url, priority }) => [url, priority])).toEqual([
      ["/x?cursor=", "history"],
      ["/x?cursor=c0", "history"],
      ["/x?cursor=c1", "history"],
    ]);
  });
});
