import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path/posix";
import { build } from "esbuild";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { root } from "../../documents/files.js";
import { programs } from "../../documents/recipes.js";
import { run } from "../../package/commands.js";

const asked: string[] = [];
const service = createServer((request, response) => {
  asked.push(request.url ?? "");
  response.writeHead(500).end();
});
let folder = "";

beforeAll(async () => {
  await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
  mkdirSync(join(root, ".cache"), { recursive: true });
  folder = mkdtempSync(join(root, ".cache/routes-"));
});
beforeEach(() => {
  asked.length = 0;
});
afterAll(() => {
  service.close();
  service.closeAllConnections();
  rmSync(folder, { recursive: true });
});

/** Address and key of the service are in the environment. */
const ROUTES = {
  "with a client and a gateway at its top": `
    import { createClient } from "pairstream";
    import { createGateway } from "pairstream/sse";

    const client = createClient({ baseUrl: process.env.PAIRSTREAM_BASE_URL!, apiKey: "key" });
    client.activity.subscribe(() => {});
    const gateway = createGateway(client, { allow: () => true });
    export { gateway as channel };
    export const GET = gateway.fetch;
  `,
  "of docs/sse.md for Next": programs().find(({ code }) =>
    code.startsWith("// app/api/pairs/[what]/route.ts\n"),
  )!.code,
};
const SERIES =
  "network=mainnet&pairAddress=83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d&timeframe=1min&currency=usd";

/** Tells what the import of a route leaves open, and, where there is a key, what its first request opens. */
const IMPORTER = `
  setTimeout(() => process.exit(3), 40_000).unref();
  const [path, url, key] = process.argv.slice(2);
  delete process.env.PAIRSTREAM_API_KEY;
  Object.assign(process.env, { PAIRSTREAM_BASE_URL: url, ...(key && { PAIRSTREAM_API_KEY: key }) });
  // Timers and connections.
  const resources = () =>
    process.getActiveResourcesInfo().filter((kind) => /Timeout|Immediate|TCP|TLS|GetAddrInfo/.test(kind));
  const before = resources().length;
  const { GET, channel } = await import(path);
  const left = resources().slice(before);
  let opened;
  if (key !== undefined) {
    const { status, body } = await GET(new Request("http://localhost/api/pairs/candles?${SERIES}"));
    opened = [status, ...resources().slice(before)];
    await body.cancel();
    await (channel ?? globalThis.gateway).close();
  }
  console.log(JSON.stringify({ left, opened }));
`;

/** Runs until the process ends by itself, or has not for too long. */
async function importing(name: keyof typeof ROUTES, ...key: string[]) {
  return importingText(ROUTES[name], ...key);
}

async function importingText(text: string, ...key: string[]) {
  const [route, importer] = [join(folder, "route.mjs"), join(folder, "importer.mjs")];
  // Its packages stay outside: ours is found in the sources.
  await build({
    stdin: { contents: text, loader: "ts", resolveDir: root },
    outfile: route,
    bundle: true,
    external: ["rxjs", "zod", "cross-fetch", "hono", "@hono/*"],
    platform: "node",
    format: "esm",
    target: "node20",
  });
  writeFileSync(importer, IMPORTER);
  const { port } = service.address() as AddressInfo;
  const args = [importer, route, `http://127.0.0.1:${port}`, ...key];
  const { status, stdout, output } = await run(process.execPath, args, root);
  if (status !== 0) throw new Error(`ended with ${status}: ${output}`);
  return JSON.parse(stdout);
}

describe.each(Object.keys(ROUTES) as (keyof typeof ROUTES)[])("a route %s", (name) => {
  it("asks for nothing when it is imported, without a key even, and lets the process end", async () => {
    expect(await importing(name)).toEqual({ left: [] });
    expect(asked).toEqual([]);
  });

  it("begins with the first request, and lets the process end once the channel is closed", async () => {
    const { left, opened } = await importing(name, "key");
    expect([left, opened[0]]).toEqual([[], 200]);
    expect(opened).toContain("Timeout");
  });
});

describe("the gateway of docs/sse.md", () => {
  const { code } = programs().find((program) => program.code.includes("serve({ fetch: gateway.fetch"))!;

  it("has no more than ten lines", () => {
    expect(code.split("\n").filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(10);
  });

  it("answers, and lets the process end once it is closed", async () => {
    const route = code
      .replace('"https://api.example.com"', "process.env.PAIRSTREAM_BASE_URL!")
      .replace("process.env.API_KEY", "process.env.PAIRSTREAM_API_KEY")
      .replace(/^serve\(.*$/m, "export const GET = gateway.fetch;\nexport { gateway as channel };");
    const { opened } = await importingText(route, "key");
    expect(opened[0]).toBe(200);
  });
});
