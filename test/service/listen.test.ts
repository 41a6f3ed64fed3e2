import { connect, type Socket } from "node:net";
import { createPairService, listen, simulatedMarket, withFaults } from "pairstream/service";
import { afterEach, describe, expect, it } from "vitest";
import { ohlcv } from "./harness.js";

const createdAt = Date.UTC(2001, 1, 3);
const source = simulatedMarket({ seed: 3, createdAt });
const pairAddress = source.pairs[0]!;
const service = createPairService({ source, clock: () => createdAt + 600_000, apiKeys: ["key"] });
const path = ohlcv(pairAddress, {
  timeframe: "10s",
  currency: "usd",
  fromDate: createdAt / 1_000,
  toDate: createdAt / 1_000 + 600,
});

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()));
});

async function start(options: Parameters<typeof listen>[1] = { port: 0 }) {
  const server = await listen(service, options);
  open.push(server);
  return server;
}

/** A connection that has had one answer and is kept alive. */
async function keptAlive(url: string): Promise<Socket> {
  const { port, hostname } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nX-API-Key: key\r\n\r\n`);
  await new Promise<void>((resolve, reject) => {
    socket.once("data", () => resolve());
    socket.once("error", reject);
  });
  return socket;
}

describe("listen", () => {
  it("serves over HTTP what it serves in the process", async () => {
    const { url } = await start();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const headers = { "X-API-Key": "key" };
    const answer = await fetch(url + path, { headers });
    const inside = await service.fetch(url + path, { headers });
    expect(answer.status).toBe(200);
    expect(await answer.text()).toBe(await inside.text());
    expect(answer.headers.get("content-type")).toBe("application/json; charset=utf-8");
    expect(answer.headers.get("x-request-weight")).toBe("150");
  });

  it.each(["429", "5xx", "html", "emptyPage"] as const)(
    "serves the faults that are put before a service: %s",
    async (kind) => {
      const faulty = withFaults(service.fetch, { seed: 1, rates: { [kind]: 1 } });
      const server = await listen({ fetch: faulty }, { port: 0 });
      open.push(server);
      const [near, far] = await Promise.all([
        withFaults(service.fetch, { seed: 1, rates: { [kind]: 1 } })(path, {
          headers: { "x-api-key": "key" },
        }),
        fetch(server.url + path, { headers: { "x-api-key": "key" } }),
      ]);
      expect(far.status).toBe(near.status);
      for (const name of ["content-type", "retry-after", "x-request-weight", "date"]) {
        expect(far.headers.get(name)).toBe(near.headers.get(name));
      }
      expect(await far.text()).toBe(await near.text());
    },
  );

  it("breaks the connection where a fault resets it, and tells no time where a fault has taken it", async () => {
    const told = { "x-api-key": "key" };
    const served = async (kind: "reset" | "noDate") => {
      const server = await listen(
        { fetch: withFaults(service.fetch, { seed: 1, rates: { [kind]: 1 } }) },
        { port: 0 },
      );
      open.push(server);
      return fetch(server.url + path, { headers: told });
    };
    await expect(served("reset").then((answer) => answer.text())).rejects.toThrow(TypeError);
    expect((await served("noDate")).headers.get("date")).toBeNull();
  });

  it("tells the time of the service's clock, on every answer", async () => {
    const { url } = await start();
    for (const [route, status] of [
      [path, 401],
      ["/nowhere", 404],
    ] as const) {
      const answer = await fetch(url + route);
      expect(answer.status).toBe(status);
      expect(answer.headers.get("date")).toBe("Sat, 03 Feb 2001 00:10:00 GMT");
    }
    const answer = await fetch(url + path, { headers: { "X-API-Key": "key" } });
    expect(answer.headers.get("date")).toBe("Sat, 03 Feb 2001 00:10:00 GMT");
    expect((await fetch(url + path, { method: "POST" })).status).toBe(405);
    const head = await fetch(url + path, { method: "HEAD" });
    expect(head.status).toBe(405);
  });

  it("leaves the process's own Request and Response alone", async () => {
    const before = [globalThis.Request, globalThis.Response];
    await start();
    expect([globalThis.Request, globalThis.Response]).toEqual(before);
  });

  it("closes at once over connections that are kept alive or have sent half a request", async () => {
    const { url, close } = await start();
    const idle = await keptAlive(url);
    const half = await keptAlive(url);
    half.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n`);
    const ended = Promise.all(
      [idle, half].map((socket) => new Promise<void>((resolve) => socket.once("close", () => resolve()))),
    );
    for (const socket of [idle, half]) socket.on("error", () => {}).resume();
    await close();
    await ended;
    await close();
    await expect(fetch(url + path)).rejects.toThrow();
  });

  it("listens again on a port that it has closed, and says so where one is taken", async () => {
    const { url, close } = await start();
    const port = Number(new URL(url).port);
    await expect(listen(service, { port })).rejects.toMatchObject({
      name: "PairstreamError",
      message: expect.stringContaining(`127.0.0.1:${port}`),
      cause: { code: "EADDRINUSE" },
    });
    await close();
    expect((await start({ port })).url).toBe(url);
  });

  it("puts an IPv6 address in brackets, where the machine has one", async () => {
    const server = await listen(service, { port: 0, hostname: "::1" }).catch((error: unknown) => error);
    if (server instanceof Error) expect(server).toMatchObject({ cause: { code: "EADDRNOTAVAIL" } });
    else {
      open.push(server as (typeof open)[number]);
      expect((server as { url: string }).url).toMatch(/^http:\/\/\[::1\]:\d+$/);
    }
  });

  it.each([
    ["port", { port: -1 }],
    ["port", { port: 65_536 }],
    ["port", {}],
    ["port", undefined],
    ["hostname", { port: 0, hostname: "" }],
  ])("refuses a bad %s", async (parameter, options) => {
    await expect(listen(service, options as never)).rejects.toMatchObject({
      name: "InvalidInputError",
      parameter,
    });
  });

  it("refuses what is no service", async () => {
    await expect(listen({} as never, { port: 0 })).rejects.toMatchObject({ parameter: "service" });
  });
});
