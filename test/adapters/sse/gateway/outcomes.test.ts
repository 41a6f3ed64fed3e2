import { readFileSync } from "node:fs";
import { applyCandleEvent, type Candle, type CandleEvent, clientSource } from "pairstream";
import { createGateway, type Gateway, type GatewayFetch, gatewaySource } from "pairstream/sse";
import { describe, expect, it } from "vitest";
import { MINUTES } from "../../../world.js";
import { ADDRESS, MINUTE, START, Stage } from "./stage.js";

const SINCE = START - 20 * MINUTE;

/** A page whose connection can be lost for a while, and the gateway before it replaced. */
class PageWorld {
  readonly stage = new Stage();
  readonly events: CandleEvent[] = [];
  readonly held = new Map<number, Candle>();
  #gateway: Gateway = this.stage.gateway;
  #isDown = false;
  readonly #open = new Set<AbortController>();

  async start(): Promise<void> {
    const fetch: GatewayFetch = async (url, init) => {
      this.stage.addresses.push(url);
      if (this.#isDown) throw new TypeError("fetch failed");
      const response = await this.#gateway.fetch(new Request(url, init));
      const controller = new AbortController();
      this.#open.add(controller);
      const { readable, writable } = new TransformStream();
      response.body?.pipeTo(writable, { signal: controller.signal }).catch(() => {});
      return new Response(readable, response);
    };
    gatewaySource(ADDRESS, { fetch, scheduler: this.stage.clock })
      .candles({ ...MINUTES, since: SINCE })
      .subscribe((event) => {
        this.events.push(event);
        applyCandleEvent(this.held, event);
      });
    while (this.stage.addresses.length === 0) await this.stage.clock.advanceBy(0);
    await this.stage.pass(3 * MINUTE);
  }

  /** For so long nothing comes through; meanwhile something happens. Gives the events that come afterwards. */
  async away(ms: number, happens: () => void): Promise<CandleEvent[]> {
    const before = this.events.length;
    this.#isDown = true;
    for (const controller of this.#open) controller.abort(new Error("cut"));
    this.#open.clear();
    happens();
    await this.stage.pass(ms);
    this.#isDown = false;
    await this.stage.pass(1.5 * MINUTE);
    return this.events.slice(before);
  }

  /** Another gateway, with another client, in place of the one that was asked. */
  async restart(): Promise<void> {
    await this.#gateway.close();
    this.#gateway = createGateway(this.stage.world.another(), { allow: [MINUTES] });
  }

  /** What somebody has who comes now, at a client of its own. */
  async truth(): Promise<Candle[]> {
    const now = new Map<number, Candle>();
    clientSource(this.stage.world.another())
      .candles({ ...MINUTES, since: SINCE })
      .subscribe((event) => applyCandleEvent(now, event));
    await this.stage.pass(1_500);
    return sorted(now);
  }
}

const sorted = (candles: ReadonlyMap<number, Candle>) =>
  [...candles.values()].sort((a, b) => a.timestamp - b.timestamp);

const inShort = (events: readonly CandleEvent[], minute: number) =>
  events
    .filter(({ candle }) => candle.timestamp === START - 10_000 + minute * MINUTE)
    .map(({ type, status }) => `${type} ${status}`);

/** By case, as docs/sse.md has it: what happens while the page is away, and what it is told of that. */
const CASES: Record<string, (world: PageWorld) => Promise<void>> = {
  "the gateway starts anew": async (world) => {
    const told = await world.away(5_000, () => void world.restart());
    expect(told.every(({ type }) => type !== "removed")).toBe(true);
    expect(told.filter(({ type }) => type === "new").length).toBeLessThan(4);
  },
  "a candle is corrected": async (world) => {
    const told = await world.away(30_000, () => world.stage.world.swap(START + 2.5 * MINUTE, 900));
    expect(inShort(told, 2)[0]).toMatch(/^updated (closed|final)$/);
  },
  "a candle is removed": async (world) => {
    const { swaps } = world.stage.world;
    const told = await world.away(30_000, () => {
      const start = START - 10_000 + 2 * MINUTE;
      const rest = swaps.filter(({ timestamp }) => timestamp < start || timestamp >= start + MINUTE);
      swaps.splice(0, swaps.length, ...rest);
    });
    expect(inShort(told, 2)).toEqual([expect.stringMatching(/^removed /)]);
  },
  "a final candle differs after the gateway has started anew": async (world) => {
    const told = await world.away(5_000, () => {
      world.stage.world.swap(START - 9.5 * MINUTE, 900);
      void world.restart();
    });
    expect(inShort(told, -10)).toEqual(["updated final"]);
  },
  "an hour goes by": async (world) => {
    const told = await world.away(60 * MINUTE, () => {});
    expect(told.filter(({ type }) => type === "new").length).toBeGreaterThan(45);
    const closes = told.filter(({ status, live }) => live && status !== "open");
    expect(closes.length).toBeLessThan(5);
  },
};

describe("what a page is told of what happened while it was away", () => {
  it.each(Object.entries(CASES))("%s", async (_, happens) => {
    const world = new PageWorld();
    await world.start();
    await happens(world);
    // Both have closed the same candles by then.
    const truth = await world.truth();
    expect(sorted(world.held).slice(0, -1)).toEqual(truth.slice(0, -1));
    expect(truth.length).toBeGreaterThan(20);
  });

  it("stands in docs/sse.md, case by case", () => {
    const docs = readFileSync(new URL("../../../../docs/sse.md", import.meta.url), "utf8");
    for (const name of Object.keys(CASES)) expect(docs).toContain(`| ${name} `);
  });
});
