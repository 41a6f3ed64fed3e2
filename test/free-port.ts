import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that a system gives to connections, and to servers that take any: nobody gets that of a server which is down. */
const PORTS = { from: 10_000, count: 20_000 };
let given = 0;

/** A port at which nothing listens. Each process has a stretch of its own: what one has found another may not take. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.from + ((process.pid * 50 + given++) % PORTS.count);
    const holder = createServer().listen(port, "127.0.0.1");
    const isFree = await once(holder, "listening").catch(() => undefined);
    if (isFree === undefined) continue;
    await once(holder.close(), "close");
    return port;
  }
}
