import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { markdownBlocks } from "../documents/blocks.js";
import { read } from "../documents/files.js";
import { POOR_SERVICES } from "./poor-services.js";

/** What asked for a service, and when, in ms. */
interface AskedOf {
  readonly name: string;
  readonly at: number;
}

/** All services but the one that refuses connections, each under a path of its own, over HTTP. */
export async function servePoorly() {
  const asked: AskedOf[] = [];
  const names = Object.keys(POOR_SERVICES);
  const server = createServer((request, response) => {
    const url = new URL(request.url!, "http://service.test");
    const name = names[Number(url.pathname.split("/")[1])]!;
    asked.push({ name, at: performance.now() });
    const answer = POOR_SERVICES[name]!.answer(url);
    if (typeof answer === "string") return;
    response.writeHead(answer.status, answer.headers).end(answer.body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const baseUrls = names.map((name, index) => {
    const isOpen = name !== "a refused connection";
    // Nobody listens at the port of the discard protocol.
    return isOpen ? `http://127.0.0.1:${port}/${index}` : "http://127.0.0.1:9";
  });
  return {
    asked,
    baseUrls,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The first program of the README, for each of the services that its arguments name. */
export function programForEach(): string {
  const [code] = markdownBlocks("README.md", read("README.md"))
    .filter(({ language }) => language === "ts")
    .map((block) => block.code);
  const [imports, rest] = code!.split("\n\n") as [string, string];
  const own = rest.replace("createClient(clientOptions)", 'createClient({ baseUrl, apiKey: "key" })');
  if (own === rest) throw new Error("the README's first program makes another client");
  return `${imports}\nfor (const baseUrl of process.argv.slice(2)) {\n${own}\n}\n`;
}
