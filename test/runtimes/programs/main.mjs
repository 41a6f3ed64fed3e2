// On Node, Deno and Bun; with NATS where there is an address of a server.
import * as root from "pairstream";
import * as rxjs from "rxjs";
import { result } from "./entry.mjs";
import { publish } from "./program.mjs";

async function main([servers]) {
  const figures = await result();
  if (servers === undefined) return figures;
  const [nats, { connect }] = await Promise.all([
    import("pairstream/nats"),
    import("@nats-io/transport-node"),
  ]);
  const name = `matrix-${globalThis.crypto.randomUUID().slice(0, 8)}`;
  return { ...figures, nats: await publish({ root, nats, rxjs, connect }, servers, name) };
}

main(globalThis.process.argv.slice(2)).then((figures) => console.log(`RESULT ${JSON.stringify(figures)}`));
