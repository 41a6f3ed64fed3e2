import { cpSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { hasServer, startServer } from "../adapters/nats/servers.js";
import { run } from "./commands.js";
import { compile } from "./compile.js";
import { openService, PAIR } from "./local-service.js";

const shipped = inject("shipped");
const { folders } = shipped;
/** The declarations of the NATS client name what is Node's. */
const NODE = { types: ["node"] };
const FORMATS = ["mjs", "cjs"] as const;

/** What a program says, once as an ES module and once as CommonJS. */
async function said(folder: string, program: string, args: readonly string[] = []): Promise<unknown[]> {
  const results = FORMATS.map(async (format) => {
    const file = join(folder, `${program}.${format}`);
    const { status, stdout, output } = await run(process.execPath, [file, ...args], folder);
    expect({ status, output }, file).toEqual({ status: 0, output: stdout });
    return JSON.parse(stdout) as unknown;
  });
  return Promise.all(results);
}

describe("a door, as an ES module and as CommonJS, with no optional peers but its own", () => {
  /** What needs none. */
  let bare: string;

  beforeAll(() => {
    const programs = ["root", "tradingview", "sweep", "swept"];
    bare = compile({ folder: folders.root, programs, resolution: "node16" });
  });

  it("pairstream streams from a service", async () => {
    const { url, close } = await openService(shipped);
    onTestFinished(close);
    for (const result of await said(bare, "root", [url, PAIR])) {
      const { candles, fast } = result as { candles: Record<string, number>[]; fast: (number | null)[] };
      const first = candles[0]!.timestamp!;
      expect(candles.map(({ timestamp }) => timestamp! - first)).toEqual([0, 1_000, 2_000, 3_000, 4_000]);
      expect(candles.map(({ swaps }) => swaps)).toEqual([1, 1, 1, 1, 1]);
      const mean = (candles[0]!.close! + candles[1]!.close! + candles[2]!.close!) / 3;
      expect(fast.slice(0, 2)).toEqual([null, null]);
      expect(fast[2]).toBeCloseTo(mean, 9);
    }
  });

  it("pairstream/service serves", async () => {
    const folder = compile({ folder: folders.service, programs: ["service"], resolution: "node16" });
    const [module, common] = await said(folder, "service");
    expect(module).toMatchObject({ status: 200, faulty: 429 });
    expect(common).toEqual(module);
  });

  it("pairstream/sse relays", async () => {
    const folder = compile({ folder: folders.sse, programs: ["sse"], resolution: "node16" });
    const closings = [1, 2, 3];
    expect(await said(folder, "sse")).toEqual([closings, closings]);
  });

  it("pairstream/react has its hooks", async () => {
    const folder = compile({ folder: folders.react, programs: ["react"], resolution: "node16" });
    const hooks = { useCandles: "function", useSniperReport: "function", useSnipers: "function" };
    expect(await said(folder, "react")).toEqual([hooks, hooks]);
  });

  it("pairstream/tradingview has a datafeed, with no package but rxjs", async () => {
    expect(await said(bare, "tradingview")).toEqual([
      ["1S", "6M"],
      ["1S", "6M"],
    ]);
  });

  it("pairstream/backtest sweeps in workers, over a module of either kind", async () => {
    const [first, ...others] = [
      ...(await said(bare, "sweep", ["swept.mjs"])),
      ...(await said(bare, "sweep", ["swept.cjs"])),
    ];
    expect(first).toEqual([
      { parameters: { fast: 3, slow: 9 }, orders: expect.any(Number), end: expect.any(Number) },
      { parameters: { fast: 5, slow: 9 }, orders: expect.any(Number), end: expect.any(Number) },
    ]);
    for (const { orders } of first as { orders: number }[]) expect(orders).toBeGreaterThan(10);
    expect(others).toEqual([first, first, first]);
  });

  it("pairstream/otel meters a client, with no package but the API", async () => {
    const folder = compile({ folder: folders.otel, programs: ["otel"], resolution: "node16" });
    expect(await said(folder, "otel")).toEqual([
      [false, true],
      [false, true],
    ]);
  });

  it("pairstream/nats publishes and reads, where there is a server", async () => {
    const folder = compile({
      folder: folders.nats,
      programs: ["nats"],
      resolution: "node16",
      names: NODE,
    });
    if (!hasServer) return;
    const server = await startServer();
    onTestFinished(() => server.remove());
    const closings = [1, 2, 3];
    expect(await said(folder, "nats", [server.url])).toEqual([closings, closings]);
  });
});

describe("the doors together", () => {
  let folder: string;

  beforeAll(() => {
    const programs = ["errors", "missing-peers", "import-only", "await-using", "store-copies"];
    folder = compile({ folder: folders.all, programs, resolution: "node16", names: NODE });
  });

  it("close what await using leaves", async () => {
    const closed = { open: [404, 200], service: "closed", gateway: 503 };
    expect(await said(folder, "await-using")).toEqual([closed, closed]);
  });

  it("throw errors that the classes of the root door catch", async () => {
    for (const caught of await said(folder, "errors")) {
      expect(Object.keys(caught as object).length).toBe(7);
      expect(new Set(Object.values(caught as object))).toEqual(new Set(["caught"]));
    }
  });

  it("take a store of another copy of the package", async () => {
    const served = { candles: true, asked: true, isSame: true, again: 0 };
    const each = { copies: 2, module: served, common: served };
    expect(await said(folder, "store-copies")).toEqual([each, each]);
  });

  it("say which packages they need, where those are missing", async () => {
    const bare = join(folders.root, "missing");
    cpSync(folder, bare, { recursive: true });
    const nats =
      "pairstream/nats needs the NATS client: npm install @nats-io/transport-node @nats-io/jetstream";
    const told = {
      listen: "listen needs the packages hono and @hono/node-server: npm install hono @hono/node-server",
      natsSource: nats,
      indexedDbStore: "indexedDbStore needs the package idb: npm install idb",
    };
    expect(await said(bare, "missing-peers")).toEqual([told, told]);
  });

  it("change nothing in a process that imports them", async () => {
    for (const result of await said(folder, "import-only")) {
      const { names, changed, timers } = result as Record<string, unknown>;
      expect(names).toBeGreaterThan(80);
      // What zod keeps, of which there is to be one however often it is loaded.
      const ofZod = ["__zod_globalConfig", "__zod_globalRegistry"];
      expect({ changed, timers }).toEqual({ changed: ofZod, timers: 0 });
    }
  });
});
