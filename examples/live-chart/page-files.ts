import { fileURLToPath } from "node:url";

/** One file of the page. */
export interface PageFile {
  readonly body: string | Uint8Array<ArrayBuffer>;
  readonly type: string;
}

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** Builds the page with Vite, in memory: nothing is written; by path, such as `/index.html`. */
export async function buildPage(): Promise<ReadonlyMap<string, PageFile>> {
  const { build } = await import("vite");
  const built = await build({
    configFile: false,
    envDir: false,
    logLevel: "error",
    root: fileURLToPath(new URL("page", import.meta.url)),
    publicDir: false,
    // So "pairstream" is what it is elsewhere in this repository: its source.
    resolve: { tsconfigPaths: true },
    build: { write: false, target: "es2022", modulePreload: false, reportCompressedSize: false },
  });
  const outputs = (Array.isArray(built) ? built : [built]).flatMap((one) =>
    "output" in one ? one.output : [],
  );
  return new Map(
    outputs.map((one) => {
      const source = one.type === "chunk" ? one.code : one.source;
      const body = typeof source === "string" ? source : new Uint8Array(source);
      const extension = one.fileName.split(".").at(-1)!;
      return [`/${one.fileName}`, { body, type: TYPES[extension] ?? "application/octet-stream" }];
    }),
  );
}
