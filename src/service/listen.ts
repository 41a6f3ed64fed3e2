import { type Closing, closing } from "../closing.js";
import { checkNumber } from "../contract/input.js";
import { checkNames } from "../contract/names.js";
import { InvalidInputError, PairstreamError } from "../errors.js";
import type { PairService } from "./service.js";

/** The address of a listening service. */
export interface ListenOptions {
  /** The port, 0 to 65535; 0 picks any free one. */
  port: number;
  /** The address to listen on; default `"127.0.0.1"`, so only this machine can reach it. */
  hostname?: string;
}

/** A listening service. `await using` closes it when its block is left. */
export interface Listening extends Closing {
  /** Its base URL, such as `http://127.0.0.1:43121`. */
  readonly url: string;
  /** Stops listening and closes every open connection at once. Further calls do nothing more. */
  close(): Promise<void>;
}

/**
 * Serves a service over HTTP/1.1, on Node. `{ fetch: withFaults(service.fetch, …) }` serves faults, too: where `reset` applies,
 * the connection breaks.
 *
 * Needs the packages `hono` and `@hono/node-server`. Rejects with a `PairstreamError` if they are missing or the port
 * is not available, and with an `InvalidInputError` for invalid options.
 *
 * @example
 * ```ts
 * import { createPairService, listen, simulatedMarket } from "pairstream/service";
 *
 * const service = createPairService({ source: simulatedMarket({ seed: 1 }) });
 * const { url, close } = await listen(service, { port: 0 });
 * console.log(`listening at ${url}`);
 * await close();
 * ```
 */
export async function listen(
  service: Pick<PairService, "fetch">,
  options: ListenOptions,
): Promise<Listening> {
  if (typeof service?.fetch !== "function") {
    throw new InvalidInputError(
      "service",
      "a service made by createPairService, or another object with its fetch",
      "has no method fetch",
    );
  }
  if (options !== undefined) checkNames(options, ["port", "hostname"]);
  const port = checkNumber("port", options?.port, { min: 0, max: 65_535, integer: true });
  const hostname = options.hostname ?? "127.0.0.1";
  if (typeof hostname !== "string" || hostname === "") {
    throw new InvalidInputError("hostname", "a host name or an IP address", "is empty or not a string");
  }
  const { Hono, createAdaptorServer } = await loadServer();
  type Bindings = import("@hono/node-server").HttpBindings;
  const app = new Hono<{ Bindings: Bindings }>().all("*", async ({ req, env: { incoming, outgoing } }) => {
    try {
      const answer = await service.fetch(req.raw);
      // Otherwise Node would tell a time of its own.
      outgoing.sendDate = answer.headers.has("date");
      return answer;
    } catch (error) {
      const { code } = ((error as Error | null)?.cause ?? {}) as { code?: unknown };
      if (code !== "ECONNRESET") throw error;
      incoming.destroy();
      return new Response();
    }
  });
  // By default the adapter would replace the global Request and Response of the whole process.
  const server = createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false });
  await new Promise<void>((resolve, reject) => {
    server.once("error", (cause) => {
      reject(new PairstreamError(`Cannot listen at ${hostname}:${port}: ${cause.message}`, { cause }));
    });
    server.listen(port, hostname, resolve);
  });
  const address = server.address();
  const actualPort = typeof address === "object" && address !== null ? address.port : port;
  let closed: Promise<void> | undefined;
  return closing({
    url: `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${actualPort}`,
    close: () => {
      closed ??= new Promise<void>((resolve) => {
        server.close(() => resolve());
        // Idle keep-alive connections would hold the server open until they time out.
        if ("closeAllConnections" in server) server.closeAllConnections();
      });
      return closed;
    },
  });
}

async function loadServer() {
  try {
    const [{ Hono }, { createAdaptorServer }] = await Promise.all([
      import("hono"),
      import("@hono/node-server"),
    ]);
    return { Hono, createAdaptorServer };
  } catch (cause) {
    const message =
      "listen needs the packages hono and @hono/node-server: npm install hono @hono/node-server";
    throw new PairstreamError(message, { cause });
  }
}
