import { createClient } from "pairstream";
import { demoService, listen } from "pairstream/service";
import { createGateway } from "pairstream/sse";
import { afterEach, describe, expect, it, vi } from "vitest";
import { closing } from "../src/closing.js";

afterEach(() => vi.unstubAllGlobals());

const gatewayOf = () => createGateway(createClient(demoService().clientOptions), { allow: [] });
const request = () => new Request("http://localhost/status");

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

  it("closes a gateway", async () => {
    let used: ReturnType<typeof gatewayOf>;
    {
      await using gateway = gatewayOf();
      used = gateway;
      expect((await gateway.fetch(request())).status).toBe(403);
    }
    expect((await used.fetch(request())).status).toBe(503);
  });
});

describe("what has a close", () => {
  it("is frozen, and shows no more than it says", async () => {
    await using service = await listen(demoService().clientOptions, { port: 0 });
    await using gateway = gatewayOf();
    expect([Object.keys(service), Object.keys(gateway)]).toEqual([
      ["url", "close"],
      ["fetch", "close"],
    ]);
    expect([service, gateway].every(Object.isFrozen)).toBe(true);
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

  it("is the same where the platform has no such symbol", async () => {
    vi.stubGlobal("Symbol", Object.create(Symbol, { asyncDispose: { value: undefined } }));
    const gateway = gatewayOf();
    expect(Reflect.ownKeys(gateway)).toEqual(["fetch", "close"]);
    await gateway.close();
    expect((await gateway.fetch(request())).status).toBe(503);
  });
});
