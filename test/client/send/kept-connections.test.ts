import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { ClientActivity } from "../../../src/client/activity.js";
import { createClient } from "../../../src/client/client.js";
import type { ClientOptions } from "../../../src/client/options.js";
import { type FetchLike, STALE } from "../../../src/client/send/transport.js";
import { NetworkError } from "../../../src/errors.js";
import { recordExchanges } from "../../../src/replay/record.js";
import { replayExchanges } from "../../../src/replay/replay.js";
import { VirtualClock } from "../../../src/replay/virtual-clock.js";
import { failure, fakeClient, PAGE, QUERY, settled } from "../fake-service.js";

/** A failure as the own transport marks it, and one as the platform's fetch gives it on Node. */
const marked = () => Object.assign(new Error("socket hang up"), { code: "ECONNRESET", [STALE]: true });
const closedAfter = (bytesRead: number) => {
  const about = { code: "UND_ERR_SOCKET", socket: { bytesRead, bytesWritten: 400 } };
  return new TypeError("fetch failed", { cause: Object.assign(new Error("other side closed"), about) });
};
const unreadable = () =>
  Object.defineProperty(new Error("unreadable"), "cause", {
    get: () => {
      throw new Error("no");
    },
  });
const turns = (activity: readonly ClientActivity[]) =>
  activity.flatMap((entry) => (entry.type === "retry" ? [[entry.attempt, entry.delay]] : []));

describe("a request that was lost with its kept connection", () => {
  it.each<[string, () => unknown]>([
    ["as it is marked", marked],
    ["as the platform's fetch tells it", () => closedAfter(900)],
  ])("is sent again at once, and is no attempt: %s", async (_name, lost) => {
    const options = [{}, { retry: false }, { retry: { attempts: 1 } }] as const;
    for (const option of options) {
      const { clock, calls, client, activity } = fakeClient(
        (_, index) => (index < 3 ? { failure: lost(), after: 10 } : {}),
        option,
      );
      await settled(clock, client.ohlcvPage(QUERY));
      const [first] = calls;
      expect(calls.map(({ at }) => at - first!.at)).toEqual([0, 10, 20, 30]);
      expect(turns(activity)).toEqual([
        [1, 0],
        [1, 0],
        [1, 0],
      ]);
      const requests = activity.filter((entry) => entry.type === "request");
      expect(requests.map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1]);
      const responses = activity.filter((entry) => entry.type === "response");
      expect(responses[0]!.error).toBeInstanceOf(NetworkError);
    }
  });

  it("is sent again three times at most, then as any other", async () => {
    const always = () => ({ failure: marked() });
    const patient = fakeClient(always, { retry: { attempts: 2, baseDelay: 700 } });
    expect(await failure(settled(patient.clock, patient.client.ohlcvPage(QUERY)))).toBeInstanceOf(
      NetworkError,
    );
    expect(turns(patient.activity)).toEqual([
      [1, 0],
      [1, 0],
      [1, 0],
      [1, 700],
    ]);
    const hasty = fakeClient(always, { retry: false });
    expect(await failure(settled(hasty.clock, hasty.client.ohlcvPage(QUERY)))).toBeInstanceOf(NetworkError);
    expect(hasty.calls).toHaveLength(4);
  });

  it("takes a place of its own under the rate limit", async () => {
    const { clock, calls, client } = fakeClient(
      (_, index) => (index === 0 ? { failure: marked(), after: 30 } : {}),
      { rateLimit: { requests: 1, per: 1_000 } },
    );
    await settled(clock, client.ohlcvPage(QUERY));
    expect(calls[1]!.at - calls[0]!.at).toBe(1_030);
  });

  it("is not sent again for a caller who leaves", async () => {
    const { clock, calls, client } = fakeClient(() => ({ failure: marked() }));
    const controller = new AbortController();
    client.activity.subscribe((entry) => entry.type === "response" && controller.abort("left"));
    const call = client.ohlcvPage(QUERY, { signal: controller.signal });
    expect(await failure(settled(clock, call))).toBe("left");
    expect(calls).toHaveLength(1);
  });

  it.each<[string, unknown]>([
    ["a connection that had never told anything", closedAfter(0)],
    ["a reset that tells of no connection", Object.assign(new Error("reset"), { code: "ECONNRESET" })],
    ["a failure that cannot be read", unreadable()],
    ["a failure that is no error", undefined],
    ["a cause without a socket", new TypeError("failed", { cause: { code: "UND_ERR_SOCKET" } })],
  ])("is not taken for lost so: %s", async (_name, reason) => {
    const { clock, calls, client } = fakeClient(() => ({ failure: reason }), { retry: false });
    expect(await failure(settled(clock, client.ohlcvPage(QUERY)))).toBeInstanceOf(NetworkError);
    expect(calls).toHaveLength(1);
  });

  it("is not taken for lost so where the head of the answer was there", async () => {
    const clock = new VirtualClock(0);
    let calls = 0;
    const client = createClient({
      baseUrl: "https://service.test",
      apiKey: "the-secret-key",
      retry: false,
      scheduler: clock,
      fetch: async () => {
        calls += 1;
        return { status: 200, headers: new Headers(), text: () => Promise.reject(closedAfter(900)) };
      },
    });
    expect(await failure(settled(clock, client.ohlcvPage(QUERY)))).toBeInstanceOf(NetworkError);
    expect(calls).toBe(1);
  });

  it.each<[string, () => unknown]>([
    ["marked", marked],
    ["the platform's", () => closedAfter(900)],
  ])("is sent again in a replay as it was when it was recorded: %s", async (_name, lost) => {
    const tape: string[] = [];
    const live = fakeClient((_, index) => (index < 2 ? { failure: lost(), after: 7 } : { after: 5 }));
    const client = (fetch: FetchLike, scheduler: VirtualClock) => {
      const made = createClient({
        baseUrl: "https://service.test",
        apiKey: "the-secret-key",
        fetch,
        scheduler,
      });
      const seen: unknown[] = [];
      made.activity.subscribe(({ ...entry }) => seen.push("error" in entry ? { ...entry, error: 0 } : entry));
      return { made, seen };
    };
    const recorded = client(
      recordExchanges(live.fetch, (line) => tape.push(line)),
      live.clock,
    );
    const page = await settled(live.clock, recorded.made.ohlcvPage(QUERY));
    expect(tape.map((line) => JSON.parse(line).stale)).toEqual([true, true, undefined]);
    const played = replayExchanges(tape);
    const again = client(played.fetch, played.scheduler);
    const call = again.made.ohlcvPage(QUERY);
    await played.run();
    expect(await call).toEqual(page);
    expect(again.seen).toEqual(recorded.seen);
  });
});

const servers: Server[] = [];

afterEach(async () => {
  vi.restoreAllMocks();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }
});

/** A server on loopback that closes no idle connection; `listener` is told the how-manieth of its connection it is. */
async function serve(listener: (nth: number, ...of: Parameters<RequestListener>) => void) {
  const nths = new WeakMap<Socket, number>();
  const requests: IncomingMessage[] = [];
  const connections: Socket[] = [];
  const server = createServer((request, response) => {
    const nth = (nths.get(request.socket) ?? 0) + 1;
    nths.set(request.socket, nth);
    requests.push(request);
    listener(nth, request, response);
  });
  server.keepAliveTimeout = 0;
  server.on("connection", (socket) => connections.push(socket));
  servers.push(server);
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  return { requests, connections, url: `http://127.0.0.1:${port}` };
}

function clientOf(baseUrl: string, options: Partial<ClientOptions> = {}) {
  const client = createClient({ baseUrl, apiKey: "the-secret-key", retry: false, ...options });
  const activity: ClientActivity[] = [];
  client.activity.subscribe((entry) => activity.push(entry));
  return { client, activity };
}

describe.each<[string, Partial<ClientOptions>]>([
  ["the client's own connections", {}],
  ["the platform's fetch", { fetch: globalThis.fetch }],
])("over HTTP, with %s", (_name, options) => {
  it("sends again what a kept connection has lost", async () => {
    let closed = 0;
    const { url, requests } = await serve((nth, request, response) => {
      if (nth === 1) return response.end(PAGE);
      closed += 1;
      return request.socket.destroy();
    });
    const { client, activity } = clientOf(url, options);
    let polls = 0;
    for (; closed < 3; polls += 1) await client.ohlcvPage(QUERY);
    expect(requests).toHaveLength(polls + closed);
    expect(turns(activity)).toEqual(Array.from({ length: closed }, () => [1, 0]));
  });

  it("sends nothing again that a new connection has lost", async () => {
    const { url, requests } = await serve((_nth, request) => request.socket.destroy());
    const { client } = clientOf(url, options);
    expect(await failure(client.ohlcvPage(QUERY))).toBeInstanceOf(NetworkError);
    expect(requests).toHaveLength(1);
  });
});

it("sends nothing again whose body has broken off, with the platform's fetch", async () => {
  let breakOff = () => {};
  const { url, requests } = await serve((nth, _request, response) => {
    if (nth === 1) return response.end(PAGE);
    breakOff = () => response.destroy();
    return response.writeHead(200, { "content-length": 900 }).write(PAGE.slice(0, 9));
  });
  const { client, activity } = clientOf(url, {
    // Of a close that comes with the head it does not tell that anything had come.
    fetch: (...of) => fetch(...of).finally(() => breakOff()),
  });
  // Which connection a request takes is the platform's choice.
  const polls = async () => {
    for (;;) await client.ohlcvPage(QUERY);
  };
  expect(await failure(polls())).toBeInstanceOf(NetworkError);
  expect(activity.filter(({ type }) => type === "request")).toHaveLength(requests.length);
  expect(turns(activity)).toEqual([]);
});

describe("the client's own connections", () => {
  it.each(["H", `HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n${PAGE.slice(0, 9)}`])(
    "send nothing again where a byte had come: %j",
    async (beginning) => {
      const { url, requests } = await serve((nth, request, response) => {
        if (nth === 1) response.end(PAGE);
        else request.socket.end(beginning);
      });
      const { client } = clientOf(url);
      await client.ohlcvPage(QUERY);
      expect(await failure(client.ohlcvPage(QUERY))).toBeInstanceOf(NetworkError);
      expect(requests).toHaveLength(2);
    },
  );

  it("send again what a reset has lost as well", async () => {
    const { url, connections } = await serve((nth, request, response) => {
      if (nth === 2) request.socket.resetAndDestroy();
      else response.end(PAGE);
    });
    const { client } = clientOf(url);
    for (let poll = 0; poll < 3; poll += 1) await client.ohlcvPage(QUERY);
    expect(connections).toHaveLength(3);
  });

  it("are all let go when one of them was closed, and the next is a new one", async () => {
    const opening: (() => void)[] = [];
    const { url, requests, connections } = await serve((nth, request, response) => {
      if (nth === 2) request.socket.destroy();
      else if (opening.length === 8) response.end(PAGE);
      else if (opening.push(() => response.end(PAGE)) === 8) for (const open of opening) open();
    });
    const { client, activity } = clientOf(url);
    await Promise.all(Array.from({ length: 8 }, () => client.ohlcvPage(QUERY)));
    expect(connections).toHaveLength(8);
    const old = Promise.all(connections.map((socket) => once(socket, "close")));
    await client.ohlcvPage(QUERY);
    await old;
    expect(requests).toHaveLength(10);
    expect(connections).toHaveLength(9);
    expect(turns(activity)).toEqual([[1, 0]]);
  });

  it("that were all closed at once lose nothing", async () => {
    let isOver = false;
    const held: (() => void)[] = [];
    const { url, requests } = await serve((nth, request, response) => {
      if (nth === 2) {
        held.push(() => request.socket.destroy());
        if (held.length === 8) for (const close of held) close();
      } else if (isOver) response.end(PAGE);
      else if (held.push(() => response.end(PAGE)) === 8) for (const answer of held.splice(0)) answer();
    });
    const { client } = clientOf(url);
    await Promise.all(Array.from({ length: 8 }, () => client.ohlcvPage(QUERY)));
    isOver = true;
    await Promise.all(Array.from({ length: 8 }, () => client.ohlcvPage(QUERY)));
    expect(requests).toHaveLength(24);
  });

  it.each<[string | undefined, number]>([
    ["timeout=2", 1_000],
    ["timeout=5", 4_000],
    ["timeout=5, max=100", 4_000],
    ["timeout=600", 55_000],
    [undefined, 55_000],
  ])("are idle for no longer than a second below %s", async (hint, longest) => {
    const { url } = await serve((_nth, _request, response) => {
      if (hint !== undefined) response.setHeader("keep-alive", hint);
      response.end(PAGE);
    });
    const limits = vi.spyOn(Socket.prototype, "setTimeout");
    const { client } = clientOf(url);
    await client.ohlcvPage(QUERY);
    await client.ohlcvPage(QUERY);
    const own = limits.mock.calls.filter((_, at) => {
      const socket = limits.mock.contexts[at] as Socket;
      return socket.remotePort === Number(new URL(url).port);
    });
    expect(own.at(-1)?.[0]).toBe(longest);
  });

  it("are let go by the client, before a server that says how long it keeps them", async () => {
    const { url, connections } = await serve((_nth, _request, response) =>
      response.setHeader("keep-alive", "timeout=2").end(PAGE),
    );
    const { client } = clientOf(url);
    await client.ohlcvPage(QUERY);
    await once(connections[0]!, "close");
    await client.ohlcvPage(QUERY);
    expect(connections).toHaveLength(2);
  });

  it("are not kept where the server keeps them for a second", async () => {
    const { url, connections } = await serve((_nth, _request, response) =>
      response.setHeader("keep-alive", "timeout=1").end(PAGE),
    );
    const { client } = clientOf(url);
    await client.ohlcvPage(QUERY);
    await client.ohlcvPage(QUERY);
    expect(connections).toHaveLength(2);
  });
});
