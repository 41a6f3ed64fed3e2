import { createAdaptorServer } from "@hono/node-server";
import { type ForkedBuild, forkBuild } from "./forked-build.js";
import { type ChartOptions, createChartGateway } from "./gateway.js";
import type { PageFile } from "./page-files.js";

/** A page that can be opened. */
export interface ServedChart {
  /** Such as `http://127.0.0.1:43121/`. */
  readonly url: string;
  /** Builds the page now, so that it is there at once when it is opened; a failure shows there. */
  prepare(): void;
  /** Ends everything at once. */
  close(): Promise<void>;
}

/** How the page is served. */
export interface ServeOptions extends ChartOptions {
  /** 0 takes any that is free. */
  readonly port: number;
  /** The files of the page, by path; default: they are built when they are first needed. */
  readonly files?: ReadonlyMap<string, PageFile>;
}

/** Nothing but what comes from here; the chart sets styles on its elements. */
const SECURITY = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; " +
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
};

/** Serves the page and its gateway to this machine; rejects where the port cannot be had. */
export async function serveChart({ port, files, ...options }: ServeOptions): Promise<ServedChart> {
  const gateway = createChartGateway(options);
  let build: ForkedBuild | undefined;
  const page = async () => {
    if (files !== undefined) return files;
    build ??= forkBuild();
    return build.files;
  };
  gateway.app.get("*", async ({ req, body, text, notFound }) => {
    try {
      const file = (await page()).get(req.path === "/" ? "/index.html" : req.path);
      if (file === undefined) return notFound();
      return body(file.body, 200, { ...SECURITY, "content-type": file.type, "cache-control": "no-cache" });
    } catch (error) {
      build = undefined;
      return text(`The page cannot be built: ${error instanceof Error ? error.message : error}`, 500);
    }
  });

  // Without the last option the adapter would replace the Request and Response of the whole process.
  const server = createAdaptorServer({ fetch: gateway.app.fetch, overrideGlobalObjects: false });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  const address = server.address();
  const actualPort = typeof address === "object" && address !== null ? address.port : port;
  return {
    url: `http://127.0.0.1:${actualPort}/`,
    prepare: () => {
      page().catch(() => {});
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        void gateway.close();
        build?.stop();
        // Connections kept alive would hold the server open until they time out.
        if ("closeAllConnections" in server) server.closeAllConnections();
      }),
  };
}
