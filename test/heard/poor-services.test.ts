import { describe, expect, it } from "vitest";
import {
  type CandleEvent,
  createClient,
  type FetchLike,
  type PairstreamError,
  VirtualClock,
  watchCandles,
} from "../../src/index.js";
import { PAIR, START } from "../client/fake-service.js";
import { read } from "../documents/files.js";
import { POOR_SERVICES, type PoorService } from "./poor-services.js";

/** Lets the README's program ask a service for some time, on a virtual clock. */
async function listen({ answer }: PoorService, every: number, time: number) {
  const clock = new VirtualClock(START + 3_500);
  const asked: number[] = [];
  const words: { at: number; text: string }[] = [];
  const now = () => (clock.now() - START - 3_500) / 1_000;
  const fetch: FetchLike = (url, init) => {
    asked.push(now());
    const given = answer(new URL(url));
    if (given === "refuses") return Promise.reject(new Error("connect ECONNREFUSED 127.0.0.1:1"));
    if (given === "hangs") {
      return new Promise((_, reject) =>
        init?.signal?.addEventListener("abort", () => reject(init.signal?.reason)),
      );
    }
    const { status, body, headers } = given;
    const known = new Headers({ ...headers, date: new Date(clock.now()).toUTCString() });
    return Promise.resolve({ status, headers: known, text: async () => body });
  };
  const client = createClient({
    baseUrl: "https://service.test",
    apiKey: "key",
    fetch,
    scheduler: clock,
    warn: (text) => words.push({ at: now(), text }),
  });
  const series = { network: "mainnet", pairAddress: PAIR, timeframe: "10s", currency: "usd" } as const;
  const heard = {
    words,
    asked,
    events: [] as CandleEvent[],
    endedAt: Number.POSITIVE_INFINITY,
    error: undefined as PairstreamError | undefined,
  };
  const subscription = watchCandles(client, { ...series, since: { candles: 5 }, every }).subscribe({
    next: (event) => heard.events.push(event),
    error: (error) => {
      heard.error = error;
      heard.endedAt = now();
    },
  });
  await clock.advanceBy(time);
  subscription.unsubscribe();
  expect(clock.pending).toBe(0);
  return heard;
}

describe("the program of the README before a service that answers", () => {
  const ENDS = { "at once": [0, 1], "after a minute": [60, 75] } as const;

  /** As the program has it. */
  const every = Number(
    /since: \{ candles: 5 \}, every: ([\d_]+) /.exec(read("README.md"))![1]!.replace("_", ""),
  );

  it.each(Object.entries(POOR_SERVICES))("%s", async (_, service) => {
    const { words, asked, events, endedAt, error } = await listen(service, every, 3 * 60_000);
    expect(events).toEqual([]);
    // The reason, in time, on one line, and once; and that the stream has ended, where it does so later.
    const [first, ...more] = words;
    expect(first?.text).toMatch(service.words);
    expect(first?.text).not.toContain("\n");
    expect(first?.at).toBeLessThanOrEqual(service.within ?? 15);
    const isLater = service.ends === "after a minute";
    expect(more.map(({ text }) => text.endsWith("; the stream ends"))).toEqual(isLater ? [true] : []);
    expect(asked.filter((at) => at < 60).length).toBeLessThanOrEqual(40);
    if (service.ends === "never") expect(error).toBeUndefined();
    else {
      const [from, to] = ENDS[service.ends];
      expect(endedAt).toBeGreaterThanOrEqual(from);
      expect(endedAt).toBeLessThanOrEqual(to);
      expect(error?.message).toMatch(service.words);
    }
  });
});
