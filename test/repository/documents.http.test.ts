import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import express from "express";
import type { Hono } from "hono";
import { type Client, type ClientOptions, createClient } from "pairstream";
import { demoService } from "pairstream/service";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { Block } from "../documents/blocks.js";
import { loadExports, programs } from "../documents/recipes.js";

/** What all of them use, and one route each. */
const [statuses, ...blocks] = programs().filter(({ document }) => document === "docs/http.md");
type Ask = (path: string) => Promise<Response>;
type NextRoute = (request: Request, context: { params: Promise<{ pair: string }> }) => Promise<Response>;
/** Asks a route of the guide, of a client. */
const routes = {
  hono: (exports, client) => {
    const app = (exports.routes as (client: Client) => Hono)(client);
    return async (path) => app.request(path);
  },
  express: (exports, client) => {
    const app = express().use(
      (exports.routes as (client: Client) => express.Router)(client),
      exports.failed as express.ErrorRequestHandler,
    );
    const server = createServer(app).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    const listening = once(server, "listening");
    return async (path) => {
      await listening;
      return fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`);
    };
  },
  next: (exports, client) => {
    const get = (exports.candleRoute as (client: Client) => NextRoute)(client);
    return (path) => {
      const pair = decodeURIComponent(/^\/candles\/([^?]*)/.exec(path)![1]!);
      return get(new Request(`http://localhost${path}`), { params: Promise.resolve({ pair }) });
    };
  },
} satisfies Record<string, (exports: Record<string, unknown>, client: Client) => Ask>;

let exported: Record<string, unknown>[];
beforeAll(async () => {
  exported = await Promise.all(
    blocks.map(
      ({ code }) => loadExports({ code: `${statuses!.code}\n${code}` }) as Promise<(typeof exported)[0]>,
    ),
  );
});

const frameworks = Object.keys(routes) as (keyof typeof routes)[];
const lines = ({ code }: Block) =>
  code.split("\n").filter((line) => line !== "" && !/^(import|declare) /.test(line));

/** A route over a demo market, and how many requests it has cost. */
function stage(framework: keyof typeof routes, options: Partial<ClientOptions> = {}) {
  const demo = demoService();
  const client = createClient({ ...demo.clientOptions, retry: false, warn: false, ...options });
  let requests = 0;
  client.activity.subscribe(({ type }) => {
    if (type === "request") requests += 1;
  });
  const ask = routes[framework](exported[frameworks.indexOf(framework)]!, client);
  return { ask, path: `/candles/${demo.pairs[0]}`, requests: () => requests };
}

const failing = (status: number, body: unknown): Partial<ClientOptions> => ({
  fetch: async () => ({ status, headers: { get: () => null }, text: async () => JSON.stringify(body) }),
});

describe("the routes of docs/http.md", () => {
  it("are three, of about twelve lines", () => {
    expect(blocks).toHaveLength(frameworks.length);
    for (const block of blocks) expect(lines(block).length, block.code).toBeLessThanOrEqual(14);
  });
});

describe.each(frameworks)("the route in %s", (framework) => {
  it("answers with candles that may be kept as long as they are young, five hundred visitors for one request", async () => {
    const { ask, path, requests } = stage(framework);
    const responses = await Promise.all(
      Array.from({ length: 500 }, () => ask(`${path}?timeframe=10s&count=20`)),
    );
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200]));
    expect(requests()).toBe(1);
    const age = /^public, max-age=(\d+)$/.exec(responses[0]!.headers.get("cache-control")!)![1];
    expect(Number(age)).toBeLessThanOrEqual(15);
    const { candles, closed, observedAt } = await responses[0]!.json();
    expect(candles).toHaveLength(20);
    expect(closed).toBeGreaterThanOrEqual(18);
    expect(observedAt).toBeGreaterThan(0);
    await Promise.all(responses.slice(1).map((response) => response.text()));
  });

  it("lets nobody keep an answer that a cache before the service has kept for a minute", async () => {
    const { fetch, ...rest } = demoService().clientOptions;
    const { ask, path } = stage(framework, {
      ...rest,
      fetch: async (url, init) => {
        const answer = await fetch(url, init);
        const old: Record<string, string> = { age: "60", date: new Date(Date.now() - 60_000).toUTCString() };
        return { ...answer, headers: { get: (name) => old[name.toLowerCase()] ?? answer.headers.get(name) } };
      },
    });
    const response = await ask(path);
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("public, max-age=0");
  });

  it.each<[number, string, Partial<ClientOptions>]>([
    [400, "?count=0", {}],
    [400, "?timeframe=7min", {}],
    [404, "", failing(404, { message: "no such pair" })],
    [503, "", failing(429, { message: "slow down" })],
    [
      503,
      "",
      failing(401, {
        message: "Validation service blocked: free-plan-daily total included usage has been consumed",
      }),
    ],
    [502, "", failing(401, { message: "bad key" })],
    [502, "", failing(500, { message: "down" })],
    [502, "", failing(200, { what: "is this" })],
    [502, "", { fetch: () => Promise.reject(new TypeError("no network")) }],
    [504, "", { timeout: 20, fetch: () => new Promise(() => {}) }],
  ])("answers with %i, never kept: %s", async (status, query, options) => {
    const { ask, path } = stage(framework, options);
    const response = await ask(path + query);
    expect(response.status).toBe(status);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect((await response.json()).error).toEqual(expect.any(String));
  });
});
