import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** Stands before a gateway at an address that stays, and keeps every byte that goes to the browser. */
export class Relay {
  /** The port of the gateway; `undefined`: nobody is there. */
  target: number | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #received: Buffer[] = [];

  private constructor(server: Server) {
    this.#server = server;
    server.on("connection", (browser) => this.#join(browser));
  }

  static async open(): Promise<Relay> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new Relay(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  /** All that the browser has been sent, status lines and headers included. */
  get received(): string {
    return Buffer.concat(this.#received).toString("latin1");
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #join(browser: Socket): void {
    this.#keep(browser);
    if (this.target === undefined) {
      browser.destroy();
      return;
    }
    const gateway = this.#keep(connect(this.target, "127.0.0.1"));
    gateway.on("data", (bytes) => this.#received.push(bytes));
    gateway.pipe(browser);
    browser.pipe(gateway);
    gateway.on("close", () => browser.destroy());
    browser.on("close", () => gateway.destroy());
  }

  #keep(socket: Socket): Socket {
    this.#sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => this.#sockets.delete(socket));
    return socket;
  }
}
