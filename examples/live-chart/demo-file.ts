import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build as buildStyle } from "esbuild";
import { chartLicence } from "../page/chart-licence.js";

/** It runs what it brings, and asks nobody for anything. */
const POLICY =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";

/** The live page as one HTML file: service, client and chart are in it, and no server is needed. `program` starts it. */
export async function demoFile(program = beside("page/demo.ts")): Promise<string> {
  const [html, code, css, licence] = await Promise.all([
    readFile(beside("page/index.html"), "utf8"),
    script(program),
    style(),
    chartLicence(),
  ]);
  const parts: readonly [RegExp, string][] = [
    [
      /<meta name="color-scheme"/,
      `<meta http-equiv="Content-Security-Policy" content="${POLICY}" />\n    <meta name="color-scheme"`,
    ],
    [/<link rel="stylesheet"[^>]*>/, `<style>\n${css}</style>`],
    [
      /<script type="module"[^>]*><\/script>/,
      `<script type="text/plain">\n${unindented(licence).replaceAll("<", "&lt;")}</script>\n    <script>\n${unpacked(code)}</script>`,
    ],
  ];
  return parts.reduce((page, [place, part]) => {
    if (!place.test(page)) throw new Error(`The page has no ${place.source}`);
    // A function: a text may have signs that `replace` would read.
    return page.replace(place, () => part);
  }, unindented(html));
}

/** Most of the file is minified code, a third as large when it is packed; every browser that runs it can unpack it. */
function unpacked(code: string): string {
  const packed = gzipSync(code, { level: 9 }).toString("base64");
  return `(async () => {
const bytes = Uint8Array.from(atob("${packed}"), (sign) => sign.charCodeAt(0));
const code = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
const script = document.createElement("script");
script.textContent = await new Response(code).text();
document.body.append(script);
})();
`;
}

/** By the same builder as the page of a gateway; of the service the part for browsers, and no second fetch. */
async function script(program: string): Promise<string> {
  const { build } = await import("vite");
  const built = await build({
    configFile: false,
    envDir: false,
    logLevel: "error",
    root: beside("page"),
    publicDir: false,
    resolve: {
      tsconfigPaths: true,
      alias: {
        "pairstream/service": beside("../../src/service/browser.ts"),
        "cross-fetch": beside("page/global-fetch.ts"),
      },
      // RxJS in the language of today is smaller.
      conditions: ["es2015", "module", "browser", "production"],
    },
    build: {
      write: false,
      target: "es2022",
      reportCompressedSize: false,
      rollupOptions: { input: program, output: { format: "iife" } },
    },
  });
  const outputs = (Array.isArray(built) ? built : [built]).flatMap((one) =>
    "output" in one ? one.output : [],
  );
  const [chunk] = outputs.flatMap((one) => (one.type === "chunk" ? [one.code] : []));
  if (chunk === undefined) throw new Error("The build of the page has no script");
  return chunk;
}

async function style(): Promise<string> {
  const { outputFiles } = await buildStyle({
    entryPoints: [beside("page/page.css")],
    ...{ bundle: true, write: false, minify: true, target: "es2022", logLevel: "silent" },
  });
  return outputFiles![0]!.text;
}

/** Indentation is a good part of a page. */
function unindented(text: string): string {
  return text.replace(/^[ \t]+/gm, "");
}

function beside(path: string): string {
  return fileURLToPath(new URL(path, import.meta.url));
}
