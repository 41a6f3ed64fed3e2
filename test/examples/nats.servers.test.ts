import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { openStore } from "../../examples/terminal/store-file.js";
import { type BusyService, openBusyService } from "../adapters/nats/busy-service.js";
import { hasServer, type NatsServer, startServer, until } from "../adapters/nats/servers.js";
import { freePort } from "../free-port.js";
import { hasPromtool, promtool } from "../promtool.js";
import { temporaryFolder } from "./files.js";
import { endAll, run } from "./program.js";

const PAIR = "one";
const OTHER = "two";

describe.skipIf(!hasServer)("a collector and a bot over NATS", () => {
  let server: NatsServer;
  let market: BusyService;
  let shared: string[];

  beforeAll(async () => {
    server = await startServer();
    market = await openBusyService([PAIR, OTHER]);
    shared = ["--servers", server.url, "--timeframe", "1s"];
  });
  afterEach(endAll);
  afterAll(async () => {
    await market?.close();
    await server?.remove();
  });

  it("give the bot candles, also after another collector has been handed the work", async () => {
    const elsewhere = [...shared, "--base-url", market.url, "--pair", PAIR];
    const key = { PAIRSTREAM_API_KEY: "test" };
    const store = join(await temporaryFolder(), "candles.db");
    const first = run("examples/collector.ts", [...elsewhere, "--store", store], key);
    await first.line((line) => line.includes(" started pairstream.candles."));
    const bot = run("examples/bot-on-nats.ts", [...shared, "--pair", PAIR, "--lines", "8"]);
    await bot.line((line) => line === "The feed is live");
    await bot.line((line) => /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d closed at \d/.test(line));
    const second = run("examples/collector.ts", [...elsewhere, "--store", store], key);
    await second.line((line) => line.includes(" standing-by"));
    first.child.kill("SIGINT");
    await second.line((line) => line.includes(" started pairstream."));
    expect(await first.ended).toBe(0);
    expect(first.errors()).toBe("");
    expect(await bot.ended).toBe(0);
    expect(bot.errors()).toBe("");
    expect(bot.lines).toHaveLength(8);
    second.child.kill("SIGTERM");
    expect(await second.ended).toBe(0);
    expect(second.errors()).toBe("");
    const kept = await openStore(store);
    const of = { network: "mainnet", pairAddress: PAIR, timeframe: "1s", currency: "usd" } as const;
    const storeKey = { ...of, service: market.url, weekStart: "monday" } as const;
    expect((await kept.read(storeKey, { from: 0, to: Date.now() })).candles.length).toBeGreaterThan(5);
    kept.close();
  });

  it("take up a pair that those that run are asked for, and leave it", async () => {
    const elsewhere = [...shared, "--base-url", market.url, "--pair", PAIR];
    const collector = run("examples/collector.ts", elsewhere, { PAIRSTREAM_API_KEY: "test" });
    await collector.line((line) => line.includes(" leading"));
    const asks = async (...action: string[]) => {
      const asking = run("examples/collector.ts", [...action, ...shared]);
      expect(await asking.ended).toBe(0);
      return asking.lines;
    };
    expect(await asks("add", OTHER)).toEqual(["two is collected"]);
    expect(await asks("add", OTHER)).toEqual(["two was collected already"]);
    await collector.line((line) => line.includes(" started pairstream.candles.mainnet.two."));
    expect(await asks("remove", OTHER)).toEqual(["two is left"]);
    await collector.line((line) => line.includes(" stopped pairstream.candles.mainnet.two."));
    collector.child.kill("SIGINT");
    expect(await collector.ended).toBe(0);
    expect(collector.errors()).toBe("");
  });

  it("serve the collector's metrics and health where a port is named, and end with it", async () => {
    const port = await freePort();
    const collector = run("examples/collector.ts", [...shared, "--metrics", String(port)]);
    await collector.line((line) => line.includes(" started pairstream.candles."));
    const address = `http://127.0.0.1:${port}/metrics`;
    const scraped = async () => (await fetch(address)).text();
    await until("polls", async () => /^pairstream_feeds\{.*kind="candles".*\} \d+$/m.test(await scraped()));
    expect(await scraped()).toMatch(/^pairstream_collector_leading\{.*group="default".*\} 1$/m);
    const { origin } = new URL(address);
    const health = async () => (await fetch(`${origin}/health`)).json();
    await until("is well", async () => (await health()).feeds.starting === 0);
    expect(await health()).toMatchObject({ ok: true, feeds: { starting: 0, stalled: 0 } });
    expect((await fetch(origin)).status).toBe(404);
    if (hasPromtool) await promtool(["check", "metrics"], await scraped());
    collector.child.kill("SIGINT");
    expect(await collector.ended).toBe(0);
    expect(collector.errors()).toBe("");
    await expect(fetch(address)).rejects.toThrow();
  });

  it("bring a market of their own, and go on until Ctrl-C", async () => {
    const programs = [run("examples/collector.ts", shared), run("examples/bot-on-nats.ts", shared)];
    await programs[1]!.line((line) => line === "The feed is live");
    for (const { child } of programs) child.kill("SIGINT");
    expect(await Promise.all(programs.map(({ ended }) => ended))).toEqual([0, 0]);
    expect(programs.map(({ errors }) => errors())).toEqual(["", ""]);
  });

  it("say in one line what they cannot do", async () => {
    const refused = [
      run("examples/collector.ts", [...shared, "--base-url", "https://service.test"]),
      run("examples/collector.ts", [...shared, "--pair", "one"]),
      run("examples/collector.ts", [...shared, "--store", "candles.db"]),
      run("examples/collector.ts", [...shared, "--metrics", "70000"]),
      run("examples/collector.ts", [...shared, "add"]),
      run("examples/collector.ts", [...shared, "drop", "two"]),
      run("examples/bot-on-nats.ts", [...shared, "--pair", ""]),
      run("examples/bot-on-nats.ts", ["--servers", "127.0.0.1:1"]),
    ];
    expect(await Promise.all(refused.map(({ ended }) => ended))).toEqual([2, 2, 2, 2, 2, 2, 2, 1]);
    for (const { errors } of refused) expect(errors()).toMatch(/^error: .+\n$/);
  });
});
