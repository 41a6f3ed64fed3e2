import {
  type Candle,
  type Client,
  createClient,
  type FetchLike,
  type Timeframe,
  VirtualClock,
} from "pairstream";
import { createPairService } from "pairstream/service";
import type { Browser, Page, Request } from "playwright-core";
import type {} from "../../examples/live-chart/page/main.js";
import type { PageFile } from "../../examples/live-chart/page-files.js";
import { type ServedChart, serveChart } from "../../examples/live-chart/serve.js";
import { HandMadeMarket, PAIR } from "./hand-made-market.js";
import { Relay } from "./relay.js";

export const KEY = "key-that-stays-with-the-gateway-4711";
export const STEP = 10_000;
/** The first swap. */
export const CREATED = Date.UTC(2026, 0, 5, 11, 50);
/** Where the clock of the service stands at first: two seconds into a candle. */
const START = Date.UTC(2026, 0, 5, 12, 0, 2);
const DEADLINE = 50_000;
/** That of a page that is opened without one. */
const VIEWPORT = { width: 1_280, height: 720 };

/**
 * Pages that worlds have left, for those that follow: to lead one to another address takes a third of opening another.
 * What a page has stored is kept by its address, which is another in each world.
 */
const idle = new WeakMap<Browser, Page[]>();

/** A market, its service, a gateway and a page; time passes at the service only when told. */
export class ChartWorld {
  readonly clock = new VirtualClock(START);
  readonly market = new HandMadeMarket(CREATED);
  /** The timeframes that the service was asked for. */
  readonly asked: string[] = [];
  /** What the page has thrown. */
  readonly errors: Error[] = [];
  /** The addresses that the page has asked for. */
  readonly addresses: string[] = [];
  readonly relay: Relay;
  readonly page: Page;
  /** Whether the service refuses the key of the gateway. */
  isKeyRefused = false;
  readonly #files: ReadonlyMap<string, PageFile>;
  readonly #service: FetchLike;
  /** How many requests the service has not answered yet. */
  #unanswered = 0;
  /** How many requests for older candles have been answered. */
  #histories = 0;
  chart!: ServedChart;
  readonly #onError = (error: Error) => void this.errors.push(error);
  readonly #onRequest = (request: Request) => void this.addresses.push(request.url());
  readonly #onAnswer = (request: Request) => {
    if (new URL(request.url()).pathname === "/history") this.#histories += 1;
  };

  private constructor(relay: Relay, page: Page, files: ReadonlyMap<string, PageFile>) {
    this.relay = relay;
    this.page = page;
    this.#files = files;
    page.on("pageerror", this.#onError).on("request", this.#onRequest).on("requestfinished", this.#onAnswer);
    const { clock, market } = this;
    const { fetch } = createPairService({ source: market, clock: () => clock.now(), apiKeys: [KEY] });
    this.#service = async (url, init) => {
      if (this.isKeyRefused) return Response.json({ message: "Unauthorized" }, { status: 401 });
      const timeframe = new URL(url).searchParams.get("timeframe");
      if (timeframe !== null) this.asked.push(timeframe);
      this.#unanswered += 1;
      try {
        return await fetch(url, init);
      } finally {
        this.#unanswered -= 1;
      }
    };
    // Ten minutes of candles of 10 s, each with its own prices; the last of them has just begun.
    for (let at = CREATED; at < START; at += STEP) {
      market.trade(at, priceAt(at));
      market.trade(at + 1_000, priceAt(at) * 1.01);
    }
  }

  /** `history`: how many candles the page begins with. */
  static async open(
    browser: Browser,
    files: ReadonlyMap<string, PageFile>,
    history?: number,
  ): Promise<ChartWorld> {
    const page = (idle.get(browser) ?? []).pop() ?? (await browser.newPage());
    const world = new ChartWorld(await Relay.open(), page, files);
    await world.startGateway(history);
    await page.goto(world.relay.url);
    await world.shows(
      "history",
      (chart) => chart.drawn.candles.length > 40 && chart.status?.state === "live",
    );
    // Ten minutes of candles leave room in the view: the page asks for older ones.
    await world.until("snipers are polled, too, and older candles have been asked for", async () => {
      const isPolled = (await world.viewers()).includes("snipers  1") && world.#unanswered === 0;
      return isPolled && world.#histories > 0;
    });
    return world;
  }

  /** Starts a gateway with a client of its own. */
  async startGateway(history = 300): Promise<void> {
    this.chart = await serveChart({
      client: this.#client(),
      network: "mainnet",
      pairs: [PAIR],
      port: 0,
      every: 2_000,
      snipersEvery: 2_000,
      revisionWindow: 8,
      history,
      // They come by the service's clock, which stands still for long.
      heartbeat: 600_000,
      linger: 0,
      files: this.#files,
    });
    this.relay.target = Number(new URL(this.chart.url).port);
  }

  async stopGateway(): Promise<void> {
    this.relay.target = undefined;
    await this.chart.close();
  }

  /** Waits until the page is as asked; `passes` runs in it. */
  async shows<Argument>(
    what: string,
    passes: (chart: Window["__pairstream"], argument: Argument) => boolean,
    argument?: Argument,
  ): Promise<void> {
    const source = `((chart, argument) => chart !== undefined && (${passes})(chart, argument))`;
    const expression = `${source}(window.__pairstream, ${JSON.stringify(argument) ?? "undefined"})`;
    await this.until(`the page shows ${what}`, () => this.page.evaluate<boolean>(expression));
  }

  /** Waits until something holds; timers of the service that are due fire meanwhile. */
  async until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = performance.now() + DEADLINE;
    while (!(await holds())) {
      if (performance.now() > deadline) {
        const state = await this.page.evaluate(() => document.body.textContent);
        throw new Error(`In vain: ${what}; the page:\n${state}\n${this.errors.join("\n")}`);
      }
      await this.clock.advanceBy(0);
      await this.page.evaluate(() => new Promise(requestAnimationFrame));
    }
  }

  /** Waits until the page has drawn exactly the candles that the service has now. */
  async agrees(timeframe: Timeframe = "10s"): Promise<void> {
    const expected = (await this.truth(timeframe)).map(({ timestamp, open, high, low, close }) => {
      return { time: timestamp / 1_000, open, high, low, close };
    });
    await this.shows(
      "the candles of the service",
      ({ drawn }, text) => {
        const candles = drawn.candles.map((point) => {
          const { time, open, high, low, close } = point as unknown as Record<string, number>;
          return { time, open, high, low, close };
        });
        return JSON.stringify(candles) === text;
      },
      JSON.stringify(expected),
    );
  }

  /** What the service has now, ascending. */
  async truth(timeframe: Timeframe): Promise<Candle[]> {
    const series = { network: "mainnet", pairAddress: PAIR, timeframe, currency: "usd" } as const;
    const range = { fromDate: CREATED, toDate: this.clock.now() + 1 };
    const candles: Candle[] = [];
    for await (const { result } of this.#client().ohlcvPages({ ...series, ...range }))
      candles.push(...result);
    return candles.sort((a, b) => a.timestamp - b.timestamp);
  }

  /** What is watched at the gateway, and by how many, in alphabetical order. */
  async viewers(): Promise<readonly string[]> {
    const { channels } = (await (await fetch(new URL("status", this.chart.url))).json()) as {
      channels: { type: string; viewers: number; options: { timeframe?: string } }[];
    };
    return channels
      .map(({ type, viewers, options: { timeframe = "" } }) => `${type} ${timeframe} ${viewers}`)
      .sort();
  }

  async close(): Promise<void> {
    const { page } = this;
    await page.goto("about:blank");
    page
      .off("pageerror", this.#onError)
      .off("request", this.#onRequest)
      .off("requestfinished", this.#onAnswer);
    await page.emulateMedia({ media: null, colorScheme: null, reducedMotion: null });
    await page.setViewportSize(VIEWPORT);
    await page.mouse.move(0, 0);
    const browser = page.context().browser()!;
    idle.set(browser, [...(idle.get(browser) ?? []), page]);
    await this.chart.close();
    await this.relay.close();
  }

  #client(): Client {
    const fetch = this.#service;
    return createClient({ baseUrl: "https://service.test", apiKey: KEY, fetch, scheduler: this.clock });
  }
}

/** Some price of the interval that begins then. */
export function priceAt(timestamp: number): number {
  return 8.5e-6 * (1 + 0.1 * Math.sin(timestamp / 60_000));
}

/** The start of the interval `back` before the one that runs. */
export function candleBack(clock: VirtualClock, back: number): number {
  return Math.floor(clock.now() / STEP - back) * STEP;
}
