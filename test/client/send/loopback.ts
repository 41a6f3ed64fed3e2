import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { createClient } from "../../../src/client/client.js";
import type { ClientOptions } from "../../../src/client/options.js";
import { PAGE } from "../fake-service.js";

/** A server on loopback, until the test ends, and what it has seen. */
export async function serve(listener: RequestListener = (_, response) => response.end(PAGE)) {
  const requests: IncomingMessage[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    requests.push(request);
    listener(request, response);
  });
  server.on("connection", () => {
    connections += 1;
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(async () => {
    if (!server.listening) return;
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const { port } = server.address() as AddressInfo;
  return { server, requests, connections: () => connections, url: `http://127.0.0.1:${port}` };
}

/** A client of such a server that asks once. */
export const clientOf = (baseUrl: string, options: Partial<ClientOptions> = {}) =>
  createClient({ baseUrl, apiKey: "the-secret-key", retry: false, ...options });
