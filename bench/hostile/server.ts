// The service of the bench `hostile`, in a process of its own: one body, compressed, whatever it is asked.
import { createServer } from "node:http";
import { gzipSync } from "node:zlib";
import { givenOptions, tell } from "../scale/processes.js";
import { BODIES } from "./bodies.js";

export interface ServedBody {
  readonly url: string;
  /** Bytes, as they are sent and as they are then. */
  readonly sent: number;
  readonly size: number;
}

const { name } = givenOptions<{ name: string }>();
const { make, status = 200 } = BODIES.find((body) => body.name === name)!;
const body = Buffer.from(make(1));
const compressed = gzipSync(body);
const server = createServer((_request, response) => {
  response
    .writeHead(status, { "content-encoding": "gzip", "content-length": compressed.length })
    .end(compressed);
});
server.listen(0, "127.0.0.1", () => {
  const { port } = server.address() as { port: number };
  tell({ url: `http://127.0.0.1:${port}`, sent: compressed.length, size: body.length } satisfies ServedBody);
});
