import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { QUERY } from "../fake-service.js";
import { serve } from "./loopback.js";

describe("over HTTP", () => {
  it("lets a process that has made its request end", async () => {
    const { url, server, connections } = await serve();
    server.keepAliveTimeout = 0;
    const file = fileURLToPath(new URL("../../../src/client/client.ts", import.meta.url));
    const script = `
      import { createClient } from ${JSON.stringify(file)};
      const client = createClient({ baseUrl: ${JSON.stringify(url)}, apiKey: "key" });
      const page = await client.ohlcvPage(${JSON.stringify(QUERY)});
      console.log(page.result.length);
    `;
    const args = ["--import", "tsx", "--input-type=module", "--eval", script];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout.trim()).toBe("1");
    expect(connections()).toBe(1);
  });
});

describe("without Node", () => {
  it("makes a client where process is not defined", async () => {
    const { url } = await serve();
    const file = fileURLToPath(new URL("../../../src/client/client.ts", import.meta.url));
    // What cross-fetch itself needs of Node is loaded first: a browser gets another build of it.
    const script = `
      const { createClient } = await import(${JSON.stringify(file)});
      const kept = globalThis.process;
      const found = ["undefined", "empty"].map((kind) => {
        globalThis.process = kind === "empty" ? {} : undefined;
        return createClient({ baseUrl: ${JSON.stringify(url)}, apiKey: "key" });
      });
      globalThis.process = kept;
      const pages = await Promise.all(found.map((client) => client.ohlcvPage(${JSON.stringify(QUERY)})));
      console.log(pages.length);
    `;
    const args = ["--import", "tsx", "--input-type=module", "--eval", script];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    expect(stdout.trim()).toBe("2");
  });
});
