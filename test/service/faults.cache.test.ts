import { VirtualClock } from "pairstream";
import { type Fault, type FaultOptions, type FetchLike, withFaults } from "pairstream/service";
import { describe, expect, it } from "vitest";
import { start, times } from "./fault-bench.js";

/** A service whose every answer is another one: it counts them. */
class Counter {
  readonly clock = new VirtualClock(start);
  readonly faults: Fault[] = [];
  readonly fetch: FetchLike;
  status = 200;
  served = 0;

  constructor(options: Partial<FaultOptions> = { rates: { cached: 1 } }) {
    const count: FetchLike = async () => {
      this.served += 1;
      const { status } = this;
      const body = `{"result":[${this.served}],"page":1}`;
      const headers: Record<string, string> = {
        date: new Date(this.clock.now()).toUTCString(),
        "content-type": "application/json",
        "x-served": String(this.served),
      };
      return { status, headers: { get: (name) => headers[name] ?? null }, text: async () => body };
    };
    this.fetch = withFaults(count, {
      seed: 1,
      scheduler: this.clock,
      onFault: (fault) => this.faults.push(fault),
      ...options,
    });
  }

  /** What is given after some ms. */
  async ask(url = "/a", after = 0) {
    await this.clock.advanceBy(after);
    const answer = await this.fetch(url);
    return { status: answer.status, text: await answer.text(), header: answer.headers.get };
  }

  async texts(...waits: number[]) {
    const texts: unknown[] = [];
    for (const after of waits) texts.push(JSON.parse((await this.ask("/a", after)).text).result[0]);
    return texts;
  }
}

describe("cached", () => {
  it("gives the body of the last answer for a second, and does not make it younger", async () => {
    const counter = new Counter();
    expect(await counter.texts(0, 400, 400, 200, 1, 1_000, 1_001)).toEqual([1, 1, 1, 1, 5, 5, 7]);
    expect(counter.faults.map(({ kind, call }) => `${call} ${kind}`)).toEqual([
      "2 cached",
      "3 cached",
      "4 cached",
      "6 cached",
    ]);
  });

  it("befalls about as many calls as the rate says, and is told where it is no first call", async () => {
    const counter = new Counter({ rates: { cached: 0.2 } });
    await counter.texts(...times(500).map(() => 0));
    expect(counter.faults.length).toBeGreaterThan(65);
    expect(counter.faults.length).toBeLessThan(135);
  });

  it("keeps to the same URL, cursor and all", async () => {
    const counter = new Counter();
    const urls = ["/a", "/b", "/a?cursor=x", "/a?cursor=withFaults.1", "/a?cursor=withFaults.2"];
    const asked = async () => {
      const texts: string[] = [];
      for (const url of urls) texts.push((await counter.ask(url)).text);
      return texts;
    };
    const first = await asked();
    expect(new Set(first).size).toBe(urls.length);
    expect(await asked()).toEqual(first);
  });

  it("asks the service all the same: all headers but those of the body are its own", async () => {
    const counter = new Counter();
    await counter.ask();
    const { status, header } = await counter.ask("/a", 900);
    expect(status).toBe(200);
    expect(header("x-served")).toBe("2");
    expect(header("date")).toBe(new Date(start + 900).toUTCString());
    expect(header("content-type")).toBe("application/json");
  });

  it("gives the answer as it was given, faults included", async () => {
    const counter = new Counter({
      schedule: [
        { call: 1, kind: "html" },
        { call: 2, kind: "cached" },
        { call: 3, kind: "empty" },
        { call: 4, kind: "cached" },
      ],
    });
    const page = await counter.ask();
    const cachedPage = await counter.ask();
    expect(cachedPage.text).toBe(page.text);
    expect(cachedPage.header("content-type")).toContain("text/html");
    const empty = await counter.ask();
    expect(JSON.parse(empty.text).result).toEqual([]);
    expect((await counter.ask()).text).toBe(empty.text);
    expect(counter.faults.map(({ kind }) => kind)).toEqual(["html", "cached", "empty", "cached"]);
  });

  it("keeps good answers only, and gives them where the service refuses", async () => {
    const counter = new Counter();
    counter.status = 503;
    expect(await counter.ask()).toMatchObject({ status: 503, text: expect.stringContaining("[1]") });
    expect(await counter.ask()).toMatchObject({ status: 503, text: expect.stringContaining("[2]") });
    counter.status = 200;
    await counter.ask();
    counter.status = 503;
    expect(await counter.ask()).toMatchObject({ status: 200, text: expect.stringContaining("[3]") });
  });

  it("is not told where the service would have said the same", async () => {
    const text = async () => '{"result":[]}';
    const told: Fault[] = [];
    const fetch = withFaults(async () => ({ status: 200, headers: { get: () => null }, text }), {
      seed: 1,
      rates: { cached: 1 },
      onFault: (fault) => told.push(fault),
    });
    for (const _ of times(5)) expect(await (await fetch("/a")).text()).toBe(await text());
    expect(told).toEqual([]);
  });

  it("keeps a hundred answers at most, the newest", async () => {
    const counter = new Counter();
    for (const at of times(101)) await counter.ask(`/${at}`);
    expect((await counter.ask("/100")).text).toContain("[101]");
    expect((await counter.ask("/1")).text).toContain("[2]");
    expect((await counter.ask("/0")).text).toContain("[104]");
  });

  it("reads no body that nobody reads, and keeps nothing where it can befall no call", async () => {
    let read = 0;
    const text = async () => {
      read += 1;
      return `{"result":[${read}]}`;
    };
    const served = { status: 200, headers: { get: () => null }, text };
    const unread = withFaults(async () => served, { seed: 1, rates: { cached: 1 } });
    await unread("/a");
    expect(read).toBe(0);
    const idle = withFaults(async () => served, { seed: 1, rates: { cached: 0 } });
    expect(await idle("/a")).toBe(served);
  });
});
