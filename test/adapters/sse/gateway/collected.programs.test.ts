import { type ClientRequest, createServer, get, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, it } from "vitest";
import { QUERY, Stage } from "./stage.js";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const VIEWERS = 40;

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const turn = () => new Promise<void>((resolve) => setTimeout(resolve));

/** Waits until it holds. */
async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) await turn();
}

/** Lets go of all that nobody holds any more. */
async function collectAll(): Promise<void> {
  for (let times = 0; times < 3; times += 1) {
    await turn();
    collect();
  }
}

type Answer = (request: Request) => Response | Promise<Response>;

/** Viewers of Node's own server, in the fewest lines: that they leave is told by the signal of their requests alone. */
class Crowd {
  readonly #requests: readonly ClientRequest[];
  asked = 0;
  /** How many of the answers have begun, and have ended. */
  begun = 0;
  ended = 0;

  private constructor(answer: Answer, address: { port: number; path: string }, server: Server) {
    server.on("request", (incoming, outgoing) => {
      this.asked += 1;
      const left = new AbortController();
      outgoing.once("close", () => left.abort());
      const asked = new Request(`http://127.0.0.1${incoming.url}`, { signal: left.signal });
      void this.#respond(outgoing, answer(asked));
    });
    this.#requests = Array.from({ length: VIEWERS }, () =>
      get({ ...address, agent: false }, (response) => response.resume()).on("error", () => {}),
    );
  }

  /** All have asked, and of what nobody holds nothing is left. */
  static async open(path: string, answer: Answer): Promise<Crowd> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const crowd = new Crowd(answer, { port, path }, server);
    cleanups.push(() => {
      crowd.leave();
      server.close();
    });
    await until(() => crowd.asked === VIEWERS);
    await collectAll();
    return crowd;
  }

  async #respond(outgoing: ServerResponse, answer: Response | Promise<Response>): Promise<void> {
    const { status, headers, body } = await answer;
    this.begun += 1;
    outgoing.writeHead(status, Object.fromEntries(headers));
    const stream = Readable.fromWeb(body as never);
    stream.once("end", () => {
      this.ended += 1;
    });
    stream.pipe(outgoing);
    outgoing.once("close", () => stream.resume());
  }

  leave(): void {
    for (const request of this.#requests) request.destroy();
  }
}

describe("viewers of a plain server that leave after a collection", () => {
  it("leave the channel of a gateway, which then ends", async () => {
    const stage = new Stage({ linger: 1_000 });
    const crowd = await Crowd.open(`/candles?${QUERY}`, stage.gateway.fetch);
    await until(() => crowd.begun === VIEWERS);
    await collectAll();
    crowd.leave();
    await until(() => crowd.ended === VIEWERS);
    await stage.pass(2_000);
    expect(stage.clock.pending).toBe(0);
  });

  it.each([
    ["whether they are let in", { allow: () => new Promise<boolean>(() => {}) }],
    ["a history", {}],
  ])("wait no longer for %s", async (_, options) => {
    const stage = new Stage(options);
    stage.world.interfere = () => new Promise(() => {});
    const crowd = await Crowd.open(`/history?${QUERY}`, stage.gateway.fetch);
    expect(crowd.begun).toBe(0);
    crowd.leave();
    await until(() => crowd.begun === VIEWERS);
    await stage.gateway.close();
  });
});
