import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build as esbuild } from "esbuild";
import { build, createServer, type InlineConfig, preview, type ViteDevServer } from "vite";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { findChromium, launchChromium } from "../browser/chromium.js";
import { ROOT } from "./commands.js";

const { folders } = inject("shipped");
const executablePath = findChromium();
const isRequired = process.env.CI === "true";

/** Where the page's files are served from, and nothing else is, once these are ready. */
type Serve = (root: string) => Promise<string>;

const alias = { "lightweight-charts": join(ROOT, "node_modules/lightweight-charts") };
const configOf = (root: string): InlineConfig => ({
  root,
  configFile: false,
  logLevel: "error",
  resolve: { alias },
  server: { host: "127.0.0.1", port: 0, fs: { strict: false } },
  preview: { host: "127.0.0.1", port: 0 },
});
const addressOf = ({ resolvedUrls }: Pick<ViteDevServer, "resolvedUrls">) => resolvedUrls!.local[0]!;

const builtByVite: Serve = async (root) => {
  await build(configOf(root));
  const server = await preview(configOf(root));
  onTestFinished(() => server.close());
  return addressOf(server);
};

const servedByVite: Serve = async (root) => {
  const server = await createServer(configOf(root));
  onTestFinished(() => server.close());
  await server.listen();
  return addressOf(server);
};

const builtByEsbuild: Serve = async (root) => {
  const { metafile } = await esbuild({
    entryPoints: [join(root, "main.ts")],
    outfile: join(root, "dist/main.js"),
    alias,
    bundle: true,
    format: "esm",
    metafile: true,
  });
  const taken = Object.entries(metafile.inputs).filter(([, { bytes }]) => bytes > 0);
  expect(taken.filter(([path]) => /node_modules\/@?hono\//.test(path))).toEqual([]);
  const html = readFileSync(join(root, "index.html"), "utf8");
  writeFileSync(join(root, "dist/index.html"), html.replace("main.ts", "main.js"));
  const server = await preview(configOf(root));
  onTestFinished(() => server.close());
  return addressOf(server);
};

describe.skipIf(executablePath === undefined && !isRequired)(
  "a service, a client and a chart in a page",
  () => {
    // With hono and without it: a bundler must need it as little as take it.
    it.each([
      ["esbuild", "all", builtByEsbuild],
      ["esbuild", "sse", builtByEsbuild],
      ["Vite's build", "all", builtByVite],
      ["Vite's build", "sse", builtByVite],
      ["Vite's server", "sse", servedByVite],
    ] as const)("need no other server, by %s, in folder %s", async (name, folder, serve) => {
      if (executablePath === undefined) throw new Error("No Chromium: install it, or set CHROMIUM_PATH");
      const root = join(folders[folder], `serverless-${name.replace(/\W/g, "")}`);
      cpSync(join(ROOT, "test/package/serverless"), root, { recursive: true });
      const url = await serve(root);
      const browser = await launchChromium(executablePath);
      onTestFinished(() => browser.close());
      const page = await browser.newPage();
      const asked: string[] = [];
      page.on("request", (request) => asked.push(request.url()));
      await page.goto(url);
      await page.waitForFunction("globalThis.shown");
      expect(await page.evaluate("shown")).toEqual({
        bars: 49,
        isDrawn: true,
        pending: 0,
        refusal: expect.stringContaining("listen needs Node"),
      });
      expect(asked.filter((one) => /snipers|ohlcv/.test(one))).toEqual([]);
    });
  },
);
