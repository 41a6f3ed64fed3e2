import { once } from "node:events";
import type { RequestListener } from "node:http";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { ClientOptions } from "../../../src/client/options.js";
import { ContractError, HttpError, NetworkError, TimeoutError } from "../../../src/errors.js";
import { VirtualClock } from "../../../src/replay/virtual-clock.js";
import { failure, PAGE, QUERY, START } from "../fake-service.js";
import { clientOf, serve } from "./loopback.js";

describe("over HTTP", () => {
  it("sends the key and what it takes, and nothing in the path", async () => {
    const { url, requests } = await serve();
    const page = await clientOf(`${url}/v1/`).ohlcvPage(QUERY);
    expect(page.result).toMatchObject([{ timestamp: START - 60_000, close: 1.5, swaps: 3 }]);
    const [request] = requests;
    expect(request!.method).toBe("GET");
    expect(request!.url).toMatch(/^\/v1\/token\/mainnet\/pairs\/\w+\/ohlcv\?timeframe=1min&/);
    expect(request!.url).not.toContain("secret");
    expect(request!.headers).toMatchObject({ "x-api-key": "the-secret-key", accept: "application/json" });
  });

  it("keeps one connection for poll after poll", async () => {
    const { url, requests, connections } = await serve();
    const client = clientOf(url);
    for (let poll = 0; poll < 5; poll += 1) await client.ohlcvPage(QUERY);
    expect(requests).toHaveLength(5);
    expect(connections()).toBe(1);
  });

  it("keeps the connection after an error and after a redirect, too", async () => {
    let count = 0;
    const { url, connections } = await serve((_, response) => {
      count += 1;
      const statuses = [404, 302, 500, 200];
      response.writeHead(statuses[count - 1]!, { location: "/elsewhere" }).end(PAGE);
    });
    const client = clientOf(url);
    for (let poll = 0; poll < 3; poll += 1) await expect(client.ohlcvPage(QUERY)).rejects.toThrow(HttpError);
    await client.ohlcvPage(QUERY);
    expect(count).toBe(4);
    expect(connections()).toBe(1);
  });

  it.each([301, 302, 303, 307, 308])(
    "refuses a redirect (%i), and keeps the key from where it leads",
    async (status) => {
      const thief = await serve();
      const { url, requests } = await serve((_, response) => {
        response.writeHead(status, { location: `${thief.url}/token` }).end();
      });
      const fetches = [undefined, globalThis.fetch];
      for (const fetch of fetches) {
        const error = await failure(
          clientOf(url, fetch === undefined ? {} : { fetch, retry: {} }).ohlcvPage(QUERY),
        );
        expect(error).toBeInstanceOf(HttpError);
        expect((error as HttpError).status).toBe(status);
        expect((error as HttpError).message).toContain("not followed");
      }
      expect(requests).toHaveLength(2);
      expect(thief.connections()).toBe(0);
    },
  );

  it("gives a reset connection as a network error, with its cause", async () => {
    const { url } = await serve((request) => request.socket.destroy());
    const error = await failure(clientOf(url).ohlcvPage(QUERY));
    expect(error).toBeInstanceOf(NetworkError);
    expect((error as NetworkError).cause).toMatchObject({ code: "ECONNRESET" });
    expect((error as NetworkError).message).toMatch(
      /^GET \/token\/mainnet\/pairs\/\w+\/ohlcv got no answer: /,
    );
  });

  it("gives a server that is not there as a network error", async () => {
    const { url, server } = await serve();
    server.close();
    await once(server, "close");
    expect(await failure(clientOf(url).ohlcvPage(QUERY))).toMatchObject({
      name: "NetworkError",
      cause: { code: "ECONNREFUSED" },
    });
  });

  it("reads a body that is compressed", async () => {
    const { url } = await serve((_, response) => {
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(PAGE));
    });
    expect((await clientOf(url).ohlcvPage(QUERY)).result).toHaveLength(1);
  });

  it.each<[string, Partial<ClientOptions>]>([
    ["cross-fetch", {}],
    ["the platform's fetch", { fetch: (url, init) => fetch(url, init) }],
  ])("stops reading a body that turns out to be too large, with %s", async (_name, options) => {
    const bomb = gzipSync(Buffer.alloc(33 * 1024 * 1024, " "));
    let isClosed: Promise<unknown> | undefined;
    const { url } = await serve((_, response) => {
      isClosed = once(response, "close");
      // The answer is left open: only the client can end it.
      response.writeHead(200, { "content-encoding": "gzip" }).write(bomb);
    });
    const error = await failure(clientOf(url, options).ohlcvPage(QUERY));
    expect(error).toBeInstanceOf(ContractError);
    expect((error as ContractError).message).toContain("larger than 8388608 bytes");
    await isClosed;
  });

  it("tells a body that is cut off by its sender from one that breaks off", async () => {
    const half = PAGE.slice(0, PAGE.length / 2);
    const whole = await serve((_, response) => response.end(half));
    expect(await failure(clientOf(whole.url).ohlcvPage(QUERY))).toMatchObject({
      name: "ContractError",
      path: [],
    });
    const broken = await serve((_, response) => {
      response.writeHead(200, { "content-length": String(PAGE.length) });
      response.write(half, () => response.destroy());
    });
    expect(await failure(clientOf(broken.url).ohlcvPage(QUERY))).toBeInstanceOf(NetworkError);
    const chunked = await serve((_, response) => {
      response.write(half, () => response.destroy());
    });
    expect(await failure(clientOf(chunked.url).ohlcvPage(QUERY))).toBeInstanceOf(NetworkError);
  });

  it.each<[string, RequestListener]>([
    ["an answer", () => {}],
    ["the rest of a body", (_, response) => response.write("{")],
  ])("ends what waits too long for %s, and hangs up", async (_what, listener) => {
    const clock = new VirtualClock(START);
    let closed: Promise<unknown> | undefined;
    const { url, requests } = await serve((request, response) => {
      closed = once(response, "close");
      listener(request, response);
    });
    const error = failure(clientOf(url, { timeout: 50, scheduler: clock }).ohlcvPage(QUERY));
    while (requests.length === 0) await clock.advanceBy(0);
    await clock.advanceBy(50);
    expect(await error).toBeInstanceOf(TimeoutError);
    await closed;
  });

  it("hangs up when the caller leaves", async () => {
    const controller = new AbortController();
    let closed: Promise<unknown> | undefined;
    const { url } = await serve((_, response) => {
      closed = once(response, "close");
      controller.abort("left");
    });
    await expect(clientOf(url).ohlcvPage(QUERY, { signal: controller.signal })).rejects.toBe("left");
    await closed;
  });
});
