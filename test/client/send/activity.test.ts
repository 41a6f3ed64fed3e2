import { config } from "rxjs";
import { afterEach, describe, expect, it } from "vitest";
import type { ClientActivity } from "../../../src/client/activity.js";
import { coreOf } from "../../../src/client/core.js";
import { ContractError, HttpError } from "../../../src/errors.js";
import { failure, fakeClient, PAGE, PAIR, QUERY, REPORT, START, settled } from "../fake-service.js";

const httpDate = (instant: number) => new Date(instant).toUTCString();

describe("activity", () => {
  afterEach(() => {
    config.onUnhandledError = null;
  });

  it("tells of each request and how it ended", async () => {
    const { client, clock, activity } = fakeClient((_, index) =>
      index === 0
        ? { status: 503, after: 40, headers: { "x-request-weight": "7" } }
        : { after: 20, bodyAfter: 5, headers: { date: httpDate(START) } },
    );
    await settled(clock, client.ohlcvPage(QUERY));
    const [, , first, second] = activity;
    const url = `/token/mainnet/pairs/${PAIR}/ohlcv?timeframe=1min&currency=usd&fromDate=${START / 1_000 - 600}&toDate=${START / 1_000}`;
    const error = expect.any(HttpError);
    const bytes = Buffer.byteLength(PAGE);
    expect(activity).toEqual([
      { type: "request", at: START, url, attempt: 1, priority: "refresh" },
      { type: "clock", at: START + 40, source: "scheduler", offset: 0, uncertainty: 0, jumped: false },
      {
        type: "response",
        at: START + 40,
        url,
        attempt: 1,
        status: 503,
        duration: 40,
        weight: 7,
        bytes,
        error,
      },
      { type: "retry", at: START + 40, url, attempt: 1, delay: 500, error },
      { type: "request", at: START + 540, url, attempt: 2, priority: "refresh" },
      { type: "clock", at: START + 565, source: "date", offset: -52.5, uncertainty: 512.5, jumped: false },
      { type: "response", at: START + 565, url, attempt: 2, status: 200, duration: 25, weight: 150, bytes },
    ]);
    expect((first as { error?: unknown }).error).toBe((second as { error?: unknown }).error);
    expect(activity.every((entry) => Object.isFrozen(entry))).toBe(true);
  });

  it("knows what a call costs, where the answer does not say", async () => {
    const weights = async (headers: Record<string, string>, isReport: boolean) => {
      const { client, clock, activity } = fakeClient(() => ({ headers, body: isReport ? REPORT : PAGE }));
      const call: Promise<unknown> = isReport
        ? client.sniperReport({ pairAddress: PAIR })
        : client.ohlcvPage(QUERY);
      await settled(clock, call);
      return activity.flatMap((entry) => (entry.type === "response" ? [entry.weight] : []));
    };
    expect(await weights({}, false)).toEqual([150]);
    expect(await weights({}, true)).toEqual([50]);
    expect(await weights({ "x-request-weight": "30" }, true)).toEqual([30]);
    expect(await weights({ "x-request-weight": "much" }, false)).toEqual([150]);
  });

  it("has neither status, weight nor bytes where no answer came", async () => {
    const { client, clock, activity } = fakeClient(() => ({ failure: new Error("reset"), after: 3 }), {
      retry: false,
    });
    await failure(settled(clock, client.ohlcvPage(QUERY)));
    expect(Object.keys(activity[1]!)).toEqual(["type", "at", "url", "attempt", "duration", "error"]);
  });

  it("tells of a contract that was broken, with the status", async () => {
    const { client, clock, activity } = fakeClient(() => ({ body: "<html>" }), { retry: false });
    await failure(settled(clock, client.ohlcvPage(QUERY)));
    expect(activity.at(-1)).toMatchObject({
      type: "response",
      status: 200,
      error: expect.any(ContractError),
    });
  });

  it("is hot, does not replay, and passes on what the streams report", async () => {
    const { client, clock } = fakeClient();
    await settled(clock, client.ohlcvPage(QUERY));
    const seen: ClientActivity[] = [];
    const subscription = client.activity.subscribe((entry) => seen.push(entry));
    expect(seen).toEqual([]);
    const dropped = {
      type: "dropped",
      at: START,
      what: "row",
      reading: "poll",
      pairAddress: "pair",
      url: "/x",
      key: null,
      error: new ContractError([], "odd"),
    } as const;
    coreOf(client).report(dropped);
    expect(seen).toEqual([dropped]);
    subscription.unsubscribe();
    coreOf(client).report(dropped);
    expect(seen).toHaveLength(1);
  });

  it("is not disturbed by a listener that throws", async () => {
    const { client, clock, calls } = fakeClient((_, index) => (index === 0 ? { status: 500 } : {}));
    let caught = 0;
    config.onUnhandledError = () => {
      caught += 1;
    };
    client.activity.subscribe(() => {
      throw new Error("a bad listener");
    });
    let heard = 0;
    client.activity.subscribe(() => {
      heard += 1;
    });
    await settled(clock, client.ohlcvPage(QUERY));
    expect(calls).toHaveLength(2);
    expect(heard).toBe(6);
    await new Promise((resolve) => setTimeout(resolve));
    expect(caught).toBe(6);
  });
});
