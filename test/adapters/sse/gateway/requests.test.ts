import fc from "fast-check";
import { createClient, InvalidInputError, type Series } from "pairstream";
import { createGateway, type GatewayOptions } from "pairstream/sse";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { KEY, MINUTES } from "../../../world.js";
import { ADDRESS, market, QUERY, refusalIn, SNIPERS, Stage } from "./stage.js";

const CANDLES = `/candles?${QUERY}`;
const ELSEWHERE = "https://elsewhere.example";
const THERE = "https://chart.example";

describe("a path", () => {
  it.each(["/", "/events", "/candles/", "/Candles", "/candles/more", "/candles%2F", "/history.json", ""])(
    "that is none of the four is not found: %s",
    async (path) => {
      const answer = await new Stage().ask(path);
      expect(answer.status).toBe(404);
      expect((await refusalIn(answer)).allowed).toBe("/candles, /history, /snipers, /status");
    },
  );

  it.each([
    ["https://gateway.test/status", undefined, 200],
    ["https://gateway.test/a/b/c/status", undefined, 200],
    ["https://gateway.test/api/pairs/status", "/api/pairs", 200],
    ["https://gateway.test/api/pairs/status", "/api/pairs/", 200],
    ["https://gateway.test/api/status", "/api/pairs", 404],
    ["https://gateway.test/x/api/pairs/status", "/api/pairs", 404],
    ["https://gateway.test/status", "/", 200],
    ["https://gateway.test/a/status", "", 404],
  ])("of %s with the basePath %s: %d", async (url, basePath, status) => {
    const { gateway } = new Stage(basePath === undefined ? {} : { basePath });
    expect((await gateway.fetch(new Request(url))).status).toBe(status);
  });
});

describe("a method", () => {
  it.each(["POST", "PUT", "DELETE", "PATCH"])(
    "other than GET is refused, and opens nothing: %s",
    async (method) => {
      const stage = new Stage();
      for (const path of [CANDLES, `/history?${QUERY}`, `/snipers?${SNIPERS}`, "/status"]) {
        const answer = await stage.ask(path, { method });
        expect([answer.status, answer.headers.get("allow")]).toEqual([405, "GET, HEAD, OPTIONS"]);
      }
      expect(stage.clock.pending).toBe(0);
      expect((await stage.status()).channels).toEqual([]);
    },
  );

  it.each([
    [CANDLES, 200, "text/event-stream"],
    [`/snipers?${SNIPERS}`, 200, "text/event-stream"],
    [`/history?${QUERY}`, 200, "application/json"],
    ["/status", 200, "application/json"],
    ["/candles", 400, "application/json"],
    [CANDLES.replace("1min", "5min"), 403, "application/json"],
  ])("HEAD says of %s what GET would, and asks for nothing", async (path, status, type) => {
    const stage = new Stage();
    const answer = await stage.ask(path, { method: "HEAD" });
    expect([answer.status, answer.headers.get("content-type"), answer.body]).toEqual([status, type, null]);
    expect(stage.world.asked).toEqual([]);
    expect(stage.clock.pending).toBe(0);
  });

  it("OPTIONS says which there are", async () => {
    const answer = await new Stage().ask(CANDLES, { method: "OPTIONS" });
    expect([answer.status, answer.headers.get("allow")]).toEqual([204, "GET, HEAD, OPTIONS"]);
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("a page", () => {
  let stage: Stage;
  beforeEach(() => {
    stage = new Stage({ origins: [THERE] });
  });
  const asks = (headers: Record<string, string>, method = "GET", path = "/status") =>
    stage.ask(path, { method, headers });

  it.each<[string, Record<string, string>]>([
    ["of a program", {}],
    ["of the same site", { "sec-fetch-site": "same-origin" }],
    [
      "of the same site behind a proxy",
      { "sec-fetch-site": "same-origin", origin: "https://proxied.example" },
    ],
    ["that an address line asks for", { "sec-fetch-site": "none" }],
    ["of the same host, of a browser without that header", { origin: "https://gateway.test" }],
  ])("%s is let in", async (_, headers) => {
    const answer = await asks(headers);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    expect(answer.headers.get("vary")).toBe("origin, sec-fetch-site");
  });

  it.each<[string, Record<string, string>]>([
    ["of another site", { "sec-fetch-site": "cross-site", origin: ELSEWHERE }],
    ["of a neighbour", { "sec-fetch-site": "same-site", origin: "https://other.gateway.test" }],
    ["of another site, as an image", { "sec-fetch-site": "cross-site" }],
    ["of another site, of an old browser", { origin: ELSEWHERE }],
    ["of another port", { origin: "https://gateway.test:8443" }],
    ["without a name", { origin: "null" }],
    ["with nonsense for one", { origin: "gateway.test" }],
    ["whose name begins alike", { origin: `${THERE}.elsewhere.example` }],
  ])("%s is refused, whatever it does", async (_, headers) => {
    for (const path of ["/status", CANDLES, `/history?${QUERY}`, "/nothing"]) {
      for (const method of ["GET", "HEAD", "OPTIONS", "POST"]) {
        const answer = await asks(headers, method, path);
        expect(answer.status).toBe(403);
        expect(answer.headers.get("access-control-allow-origin")).toBeNull();
      }
    }
    expect(stage.clock.pending).toBe(0);
    expect(stage.world.asked).toEqual([]);
  });

  it.each([
    ["https://a.chart.example", 200],
    ["https://chart.example.elsewhere", 403],
    ["null", 403],
  ])("of an origin that a rule decides about: %s, %d", async (origin, status) => {
    const { gateway } = new Stage({ origins: (one) => one.endsWith(".chart.example") });
    const headers = { origin, "sec-fetch-site": "cross-site" };
    const answer = await gateway.fetch(new Request(`${ADDRESS}/status`, { headers }));
    expect(answer.status).toBe(status);
  });

  it("of an origin that is named may read, with the headers that it asks for", async () => {
    const headers = { origin: THERE, "sec-fetch-site": "cross-site" };
    const answer = await asks(headers);
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([200, THERE]);
    const asked = { ...headers, "access-control-request-headers": "last-event-id, authorization" };
    const preflight = await asks(asked, "OPTIONS", CANDLES);
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      "access-control-allow-origin": THERE,
      "access-control-allow-methods": "GET, HEAD, OPTIONS",
      "access-control-allow-headers": "last-event-id, authorization",
    });
    const refused = await asks(headers, "GET", "/candles");
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([400, THERE]);
    const candles = await asks(headers, "GET", CANDLES);
    expect(candles.headers.get("access-control-allow-origin")).toBe(THERE);
    await candles.body!.cancel();
  });
});

describe("a query", () => {
  it.each([
    ["/candles", "network"],
    [`${CANDLES}&every=59999`, "every"],
    [`${CANDLES}&every=1e9`, "every"],
    [`${CANDLES}&every=-1`, "every"],
    [`${CANDLES}&since=yesterday`, "since"],
    [`${CANDLES}&since=2020-01-01`, "since"],
    [`${CANDLES}&since.candles=5001`, "since"],
    [`${CANDLES}&since.candles=0`, "since.candles"],
    [`${CANDLES}&since.candles=5&since=2024-01-01`, "since"],
    [`${CANDLES}&settle=abc`, "settle"],
    [`${CANDLES}&settle=1001`, "settle"],
    [`${CANDLES}&revisionWindow=3`, "revisionWindow"],
    [`${CANDLES}&fillGaps=1`, "fillGaps"],
    [`${CANDLES}&whenMissing=never`, "whenMissing"],
    [`${CANDLES}&network=mainnet`, "query"],
    [`${CANDLES}&apiKey=x`, "apiKey"],
    [`${CANDLES}&__proto__=x`, "options"],
    [`${CANDLES}&constructor=x`, "constructor"],
    [`${CANDLES}&since=${"9".repeat(201)}`, "query"],
    [CANDLES.replace("1min", "7min"), "timeframe"],
    [CANDLES.replace(/pairAddress=\w+/, "pairAddress=../../etc"), "pairAddress"],
    [`/history?${QUERY}&count=5001`, "count"],
    [`/history?${QUERY}&from=2020-01-01&count=5`, "from"],
    [`/history?${QUERY}&from=2024-01-02&to=2024-01-01`, "to"],
    [`/history?${QUERY}&since=2024-01-01`, "since"],
    [`/snipers?${SNIPERS}&every=59999`, "every"],
    [`/snipers?${SNIPERS}&blocksAfterCreation=1001`, "blocksAfterCreation"],
    [`/snipers?${SNIPERS}&blocksAfterCreation=0`, "blocksAfterCreation"],
    [`/snipers?${SNIPERS}&network=devnet`, "network"],
    ["/status?verbose=1", "verbose"],
  ])(
    "that cannot be taken is refused with what is allowed, and asks for nothing: %s",
    async (path, parameter) => {
      const stage = new Stage();
      const answer = await stage.ask(path);
      expect(answer.status).toBe(400);
      const refusal = await answer.json();
      expect(refusal.error).toMatchObject({
        name: "InvalidInputError",
        parameter,
        allowed: expect.any(String),
      });
      expect(stage.world.asked).toEqual([]);
      expect(stage.clock.pending).toBe(0);
    },
  );

  it.each([
    [`${CANDLES}&every=2000`, { minEvery: 2_000 }, 200],
    [`${CANDLES}&every=1999`, { minEvery: 2_000 }, 400],
    [`${CANDLES}&every=60000`, { minEvery: 600_000 }, 200],
    [`${CANDLES}&every=close`, {}, 200],
    [`${CANDLES}&since.candles=10`, { maxCandles: 10 }, 200],
    [`${CANDLES}&since.candles=11`, { maxCandles: 10 }, 400],
    [`/history?${QUERY}`, { maxCandles: 10 }, 200],
    [`/history?${QUERY}&count=11`, { maxCandles: 10 }, 400],
    [`${CANDLES}&settle=1000&revisionWindow=2`, {}, 200],
    [`${CANDLES}&settle=3000&revisionWindow=5`, { settle: 3_000, revisionWindow: 5 }, 200],
    [`${CANDLES}&settle=1000`, { settle: 3_000 }, 400],
    [`/snipers?${SNIPERS}&blocksAfterCreation=5`, { blocksAfterCreation: 5 }, 200],
    [`/snipers?${SNIPERS}&blocksAfterCreation=4`, { blocksAfterCreation: 5 }, 400],
  ])("is taken within what the gateway's owner says: %s with %o: %d", async (path, options, status) => {
    const stage = new Stage(options);
    expect((await stage.ask(path)).status).toBe(status);
    await stage.gateway.close();
  });

  it("is not even looked at where it is too long", async () => {
    const answer = await new Stage().ask(`${CANDLES}&since=${"x".repeat(1_000_000)}`);
    expect(answer.status).toBe(400);
    expect((await refusalIn(answer)).allowed).toBe("at most 2000 characters");
  });

  it("of any kind is answered, never with a failure of ours, the key, or a poll", async () => {
    const stage = new Stage();
    const names = fc.constantFrom(
      "network",
      "pairAddress",
      "timeframe",
      "since",
      "every",
      "count",
      "__proto__",
    );
    const values = fc.oneof(
      fc.string(),
      fc.string({ unit: "binary" }),
      fc.constantFrom("", "NaN", "%00", "1".repeat(15)),
    );
    const queries = fc.array(fc.tuple(fc.oneof(names, fc.string()), values), { maxLength: 8 });
    const paths = fc.constantFrom("/candles", "/history", "/snipers");
    await fc.assert(
      fc.asyncProperty(paths, queries, async (path, query) => {
        const answer = await stage.ask(`${path}?${new URLSearchParams(query)}`);
        // A pair alone is all that snipers take, and no pair of these is allowed.
        expect(path === "/snipers" ? [400, 403] : [400]).toContain(answer.status);
        expect(await answer.text()).not.toContain(KEY);
      }),
    );
    for (const text of ["?%", "?%FF%FE", "?&&&=", "?a[]=1", `?${"&a=".repeat(600)}`]) {
      expect((await stage.ask(`/candles${text}`)).status).toBe(400);
    }
    expect(stage.world.asked).toEqual([]);
    expect(stage.clock.pending).toBe(0);
  });
});

describe("allow", () => {
  it.each([
    ["another timeframe", CANDLES.replace("1min", "5min")],
    ["another currency", CANDLES.replace("usd", "native")],
    ["another network", CANDLES.replace("mainnet", "devnet")],
    ["another pair", CANDLES.replace(MINUTES.pairAddress, "other")],
    ["the history of another one", `/history?${QUERY}`.replace("1min", "5min")],
    ["the snipers of another pair", "/snipers?pairAddress=other"],
    ["whoever wants to know what others watch", "/status"],
  ])("as a list lets in what is in it, and not %s", async (_, path) => {
    const stage = new Stage({ allow: [MINUTES] });
    const answer = await stage.ask(path);
    expect(answer.status).toBe(403);
    expect(await refusalIn(answer)).toMatchObject({ name: "AuthenticationError" });
    expect(stage.world.asked).toEqual([]);
  });

  it.each([CANDLES, `/snipers?${SNIPERS}`, `/history?${QUERY}`])(
    "as a list lets in what is in it: %s",
    async (path) => {
      const stage = new Stage({ allow: [MINUTES] });
      expect((await stage.ask(path)).status).toBe(200);
      await stage.gateway.close();
    },
  );

  it("as a function is told the request, and what it wants", async () => {
    const told: unknown[] = [];
    const stage = new Stage({
      allow: (request, wanted) => {
        told.push([request.headers.get("authorization"), wanted]);
        return wanted.type !== "status";
      },
    });
    const headers = { authorization: "Bearer me" };
    expect((await stage.ask(`${CANDLES}&since.candles=5`, { headers })).status).toBe(200);
    expect((await stage.ask(`/snipers?${SNIPERS}`)).status).toBe(200);
    expect((await stage.ask(`/history?${QUERY}&count=3`)).status).toBe(200);
    expect((await stage.ask("/status")).status).toBe(403);
    expect(told).toEqual([
      ["Bearer me", { type: "candles", options: { ...MINUTES, since: { candles: 5 } } }],
      [null, { type: "snipers", options: { pairAddress: MINUTES.pairAddress } }],
      [null, { type: "history", options: { ...MINUTES, count: 3 } }],
      [null, { type: "status" }],
    ]);
    await stage.gateway.close();
  });

  const undecided: [string, () => never | Promise<boolean>, string][] = [
    [
      "throws",
      () => {
        throw new TypeError(KEY);
      },
      "TypeError",
    ],
    ["rejects", () => Promise.reject(new Error(KEY)), "Error"],
    ["never answers", () => new Promise(() => {}), "TimeoutError"],
  ];
  it.each(undecided)("that %s lets nobody in, and says no more", async (_, allow, kind) => {
    const emitted = vi.spyOn(process, "emitWarning").mockReturnValue();
    const stage = new Stage({ allow });
    const answering = stage.gateway.fetch(new Request(ADDRESS + CANDLES));
    await stage.pass(10_000);
    const answer = await answering;
    expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "10"]);
    expect(await answer.text()).not.toContain(KEY);
    expect(emitted.mock.calls).toEqual([
      [
        `The option allow of a gateway has failed with ${kind}`,
        { type: "PairstreamWarning", code: "PAIRSTREAM_GATEWAY" },
      ],
    ]);
    emitted.mockRestore();
    expect(stage.clock.pending).toBe(0);
    expect(stage.world.asked).toEqual([]);
  });

  it.each([undefined, null, 1, "yes", {}])("that answers %o lets nobody in", async (answer) => {
    const stage = new Stage({ allow: (() => answer) as never });
    expect((await stage.ask(CANDLES)).status).toBe(403);
  });

  it("takes a place while it decides, so that no crowd waits for it", async () => {
    const stage = new Stage({ allow: () => new Promise(() => {}), maxViewers: 2 });
    const waiting = [1, 2].map(() => stage.gateway.fetch(new Request(ADDRESS + CANDLES)));
    await stage.pass(0);
    expect((await stage.gateway.fetch(new Request(ADDRESS + CANDLES))).status).toBe(503);
    await stage.gateway.close();
    await Promise.all(waiting);
  });
});

describe("createGateway", () => {
  const series: Series = MINUTES;
  it.each<[string, unknown]>([
    ["options", undefined],
    ["options", null],
    ["allow", {}],
    ["allow", { allow: "all" }],
    ["network", { allow: [{}] }],
    ["timeframe", { allow: [{ ...series, timeframe: "7min" }] }],
    ["maxViewers", { allow: [series], maxViewers: 0 }],
    ["maxChannels", { allow: [series], maxChannels: 1.5 }],
    ["maxCandles", { allow: [series], maxCandles: 50_001 }],
    ["linger", { allow: [series], linger: -1 }],
    ["minEvery", { allow: [series], minEvery: 249 }],
    ["settle", { allow: [series], settle: -1 }],
    ["settle", { allow: () => true, settle: 3_600_001 }],
    ["settle", { allow: [{ ...series, timeframe: "1s" }], settle: 60_001 }],
    ["revisionWindow", { allow: [series], revisionWindow: 1.5 }],
    ["blocksAfterCreation", { allow: [series], blocksAfterCreation: 1_001 }],
    ["historyRequests", { allow: [series], historyRequests: 0 }],
    ["heartbeat", { allow: [series], heartbeat: 1 }],
    ["origins", { allow: [series], origins: "https://chart.example" }],
    ["origins", { allow: [series], origins: ["https://chart.example/"] }],
    ["origins", { allow: [series], origins: ["*"] }],
    ["origins", { allow: [series], origins: {} }],
    ["origins", { allow: [series], origins: ["null"] }],
    ["basePath", { allow: [series], basePath: "api" }],
    ["basePath", { allow: [series], basePath: "/a?b" }],
    ["maxViewer", { allow: [series], maxViewer: 5 }],
  ])("refuses a bad %s: %j", (parameter, options) => {
    const { client } = market();
    expect(() => createGateway(client, options as GatewayOptions)).toThrow(
      expect.objectContaining({ name: "InvalidInputError", parameter }),
    );
  });

  it("refuses what is no client", () => {
    expect(() => createGateway({} as never, { allow: [] })).toThrow(InvalidInputError);
  });

  it("does nothing before the first request", () => {
    const fetch = () => Promise.reject(new Error("asked"));
    const client = createClient({ baseUrl: "https://service.test", apiKey: KEY, fetch });
    const { fetch: answer } = createGateway(client, { allow: [series] });
    expect(answer).toBeInstanceOf(Function);
  });
});
