import type { Series } from "pairstream";
import { createGateway, type Gateway, type GatewayFetch, type GatewayOptions } from "pairstream/sse";
import { at, MINUTES, World } from "../../../world.js";
import { Reading } from "../gateway.js";

export const ADDRESS = "https://gateway.test/pairs";
export const START = at("12:00:10");
export const BORN = at("06:00:00");
export const MINUTE = 60_000;
export const QUERY = new URLSearchParams({ ...MINUTES }).toString();
export const SNIPERS = `pairAddress=${MINUTES.pairAddress}`;

/** A world with two swaps a minute, none in every seventh minute, and a sniper. */
export function market(options: Partial<ConstructorParameters<typeof World>[0]> = {}): World {
  const world = new World({ start: START, createdAt: BORN, hasDate: true, ...options });
  for (let timestamp = BORN, index = 0; timestamp < START + 120 * MINUTE; timestamp += 30_000, index++) {
    if (Math.floor(timestamp / MINUTE) % 7 !== 0) world.swap(timestamp, 100 + Math.sin(index * index));
  }
  world.swap(BORN + 1, 100, { walletAddress: "ann" });
  world.swap(BORN + 60_001, 100, { walletAddress: "ann", side: "sell" });
  world.swap(START + 90_000, 100, { walletAddress: "ann", side: "sell" });
  return world;
}

/** Connections to gateways that can be cut, all at once. */
export class Cable {
  readonly #open = new Set<AbortController>();

  /** The response, until it is cut. */
  through(response: Response): Response {
    const controller = new AbortController();
    this.#open.add(controller);
    const { readable, writable } = new TransformStream();
    response.body?.pipeTo(writable, { signal: controller.signal }).catch(() => {});
    return new Response(readable, response);
  }

  cut(): void {
    for (const controller of this.#open) controller.abort(new Error("cut"));
    this.#open.clear();
  }
}

/** Lets in whoever watches one series, or the snipers of its pair, or looks what runs. */
const allow: GatewayOptions["allow"] = (_, { type, options }: { type: string; options?: Partial<Series> }) =>
  type === "status" ||
  Object.entries(MINUTES).every(([name, value]) => (options?.[name as keyof Series] ?? value) === value);

/** A gateway before a world, and those who ask it. */
export class Stage {
  readonly world: World;
  readonly gateway: Gateway;
  /** Every address that was asked for. */
  readonly addresses: string[] = [];

  constructor(options: Partial<GatewayOptions> = {}, world = market()) {
    this.world = world;
    this.gateway = createGateway(world.client, { allow, ...options });
  }

  get clock() {
    return this.world.clock;
  }

  readonly fetch: GatewayFetch = (url, init) => {
    this.addresses.push(url);
    return this.gateway.fetch(new Request(url, init));
  };

  /** Asks; virtual time passes until it is answered. */
  async ask(path: string, init: RequestInit = {}): Promise<Response> {
    return this.settled(this.gateway.fetch(new Request(ADDRESS + path, init)));
  }

  async settled<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const note = () => {
      isSettled = true;
    };
    promise.then(note, note);
    for (let turns = 0; !isSettled && turns < 2_000; turns += 1) {
      await this.clock.advanceBy(turns < 10 ? 0 : 20);
    }
    return promise;
  }

  /** A viewer that has been answered with 200. */
  async view(path = `/candles?${QUERY}`, init: RequestInit = {}): Promise<Reading> {
    const response = await this.ask(path, init);
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    return new Reading(response);
  }

  async status(): Promise<{
    viewers: number;
    channels: { type: string; viewers: number; options: object }[];
  }> {
    return (await this.ask("/status")).json();
  }

  /** Lets everything happen that needs no time, and then time pass. */
  async pass(ms: number): Promise<void> {
    await this.clock.advanceBy(ms);
    for (let turns = 0; turns < 10; turns += 1) await this.clock.advanceBy(0);
  }
}

export async function refusalIn(
  response: Response,
): Promise<{ message: string; allowed?: string; name: string }> {
  return (await response.json()).error;
}
