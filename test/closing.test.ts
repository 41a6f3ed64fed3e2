import { demoService, listen } from "pairstream/service";
import { createEventChannel } from "pairstream/sse";
import { NEVER } from "rxjs";
import { afterEach, describe, expect, it, vi } from "vitest";
import { closing } from "../src/closing.js";

afterEach(() => vi.unstubAllGlobals());

const channelOf = () => createEventChannel({ candles: NEVER });
const request = () => new Request("http://localhost/");

describe("await using", () => {
  it("closes a listening service, also where what uses it throws", async () => {
    let url = "";
    const use = async () => {
      await using service = await listen(demoService().clientOptions, { port: 0 });
      url = service.url;
      expect((await fetch(url)).status).toBe(404);
      throw new Error("in use");
    };
    await expect(use()).rejects.toThrow("in use");
    await expect(fetch(url)).rejects.toThrow("fetch failed");
  });

  it("closes a channel", async () => {
    let used: ReturnType<typeof channelOf>;
    {
      await using channel = channelOf();
      used = channel;
      expect(channel.respond(request()).status).toBe(200);
    }
    expect(used.respond(request()).status).toBe(503);
  });
});

describe("what has a close", () => {
  it("is frozen, and shows no more than it says", async () => {
    await using service = await listen(demoService().clientOptions, { port: 0 });
    await using channel = channelOf();
    expect([Object.keys(service), Object.keys(channel)]).toEqual([
      ["url", "close"],
      ["respond", "close"],
    ]);
    expect([service, channel].every(Object.isFrozen)).toBe(true);
  });

  it("waits for the close, and fails with it", async () => {
    const steps: string[] = [];
    const close = async () => {
      await Promise.resolve();
      steps.push("closed");
      throw new Error("half closed");
    };
    await expect(closing({ close })[Symbol.asyncDispose]()).rejects.toThrow("half closed");
    expect(steps).toEqual(["closed"]);
  });

  it("is the same where the platform has no such symbol", () => {
    vi.stubGlobal("Symbol", Object.create(Symbol, { asyncDispose: { value: undefined } }));
    const channel = channelOf();
    expect(Reflect.ownKeys(channel)).toEqual(["respond", "close"]);
    channel.close();
    expect(channel.respond(request()).status).toBe(503);
  });
});
