import { fileURLToPath } from "node:url";
import { type BuildOptions, build } from "esbuild";
import type { Browser, Page } from "playwright-core";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Of no server: what the pages show is given to them. */
const ORIGIN = "http://127.0.0.1:9/";

export const REACTS = ["18", "19"] as const;
type ReactVersion = (typeof REACTS)[number];

interface BundleOptions {
  /** Whether React says what is wrong, and runs effects twice in `StrictMode`. */
  readonly mode?: "development" | "production";
  readonly plugins?: BuildOptions["plugins"];
  readonly define?: Record<string, string>;
}

/** A program for pages, out of a file or a text, with this React. */
export async function bundle(
  entry: string | { readonly text: string; readonly loader: "ts" | "tsx" },
  react: ReactVersion = "19",
  { mode = "development", plugins = [], define = {} }: BundleOptions = {},
): Promise<string> {
  const { outputFiles } = await build({
    ...(typeof entry === "string"
      ? { entryPoints: [fileURLToPath(new URL(entry, import.meta.url))] }
      : { stdin: { contents: entry.text, loader: entry.loader, resolveDir: root } }),
    jsx: "automatic",
    absWorkingDir: root,
    bundle: true,
    write: false,
    format: "iife",
    define: { "process.env.NODE_ENV": JSON.stringify(mode), ...define },
    alias: {
      // What package.json says for browsers; tsconfig.json knows of one door alone.
      "pairstream/service": `${root}/src/service/browser.ts`,
      ...(react === "18" && { react: "react-18", "react-dom": "react-dom-18" }),
    },
    plugins: [...plugins],
    logLevel: "silent",
  });
  return outputFiles[0]!.text;
}

/** A page that runs a program, and what it has thrown or warned of. */
export async function openPage(
  browser: Browser,
  program: string,
): Promise<{ page: Page; troubles: string[] }> {
  const page = await browser.newPage();
  const troubles: string[] = [];
  page.on("pageerror", (error) => troubles.push(String(error)));
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) troubles.push(message.text());
  });
  await page.route("**", (route) =>
    route.fulfill({
      contentType: "text/html",
      body: '<!doctype html><link rel="icon" href="data:,"><div id="app"></div>',
    }),
  );
  await page.goto(ORIGIN);
  await page.addScriptTag({ content: program });
  return { page, troubles };
}

/** Bytes of the page's heap that are in use after a collection. */
export async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  await session.detach();
  return usedSize;
}
