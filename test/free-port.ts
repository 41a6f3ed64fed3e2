import { once } from "node:events";
import { createServer, type Server } from "node:net";

/** Below the ports that a system gives to connections, and to servers that take any: nobody gets that of a server which is down. */
const FROM = 10_000;
const STRETCHES = 400;
const LENGTH = 50;

let stretch: Promise<number> | undefined;
let given = 0;

async function listenAt(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, "127.0.0.1");
  return (await once(server, "listening").catch(() => undefined)) && server.unref();
}

/** The first port of a stretch that nobody else takes from: who took it listens there for as long as it lives. */
async function takeStretch(): Promise<number> {
  for (let next = process.pid; ; next += 1) {
    const first = FROM + (next % STRETCHES) * LENGTH;
    if (await listenAt(first)) return first;
  }
}

/** A port at which nothing listens, and which no other process is given. */
export async function freePort(): Promise<number> {
  stretch ??= takeStretch();
  const first = await stretch;
  for (;;) {
    const port = first + 1 + (given++ % (LENGTH - 1));
    const holder = await listenAt(port);
    if (holder === undefined) continue;
    await once(holder.close(), "close");
    return port;
  }
}
