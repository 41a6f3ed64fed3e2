import { clientSource, type PairSource, type VirtualClock } from "pairstream";
import { gatewaySource } from "pairstream/sse";
import { type Bar, createDatafeed, type DatafeedOptions, type PeriodParams } from "pairstream/tradingview";
import { at, PAIR, time, World } from "../../world.js";
import { ADDRESS, Stage } from "../sse/gateway/stage.js";

export const MINUTE = 60_000;
export const START = at("12:00:10");
export const BORN = at("06:00:00");
export const SYMBOL = { name: "ONE", network: "mainnet", pairAddress: PAIR, currency: "usd" } as const;
export const ONE = { name: "ONE" };

export const MARKETS = {
  "a client": (world: World) => clientSource(world.client),
  "a gateway": (world: World) => {
    const stage = new Stage({ allow: () => true }, world);
    return gatewaySource(ADDRESS, { fetch: stage.fetch, scheduler: world.clock });
  },
};

/** A swap a minute, but none in every seventh minute. */
export function market(): World {
  const world = new World({ start: START, createdAt: BORN, hasDate: true });
  for (let timestamp = BORN, price = 100; timestamp < START; timestamp += MINUTE, price += 1) {
    if ((timestamp / MINUTE) % 7 !== 0) world.swap(timestamp, price);
  }
  return world;
}

/** What a chart is told of one symbol. */
export class Chart {
  readonly answers: { bars: Bar[]; noData: boolean }[] = [];
  readonly reasons: string[] = [];
  readonly scales: number[] = [];
  readonly ticks: Bar[] = [];
  resets = 0;
  readonly datafeed;

  constructor(
    source: PairSource,
    readonly clock: VirtualClock,
    options: Partial<DatafeedOptions> = {},
  ) {
    this.datafeed = createDatafeed(source, { symbols: [SYMBOL], scheduler: clock, ...options });
  }

  async bars(
    { to = this.clock.now() / 1_000, ...more }: Partial<PeriodParams> = {},
    resolution = "1",
  ): Promise<Bar[] | undefined> {
    const told = () => this.answers.length + this.reasons.length;
    const before = told();
    this.ask({ from: to, to, countBack: 10, firstDataRequest: true, ...more }, resolution);
    // What a gateway sends is waited for without time, but not for ever.
    for (let turns = 0; told() === before && turns < 2_000; turns += 1) {
      await this.clock.advanceBy(turns < 100 ? 0 : 20);
    }
    if (told() === before) return undefined;
    return this.answers.at(-1)?.bars;
  }

  ask(period: PeriodParams, resolution = "1"): void {
    this.datafeed.getBars(
      ONE,
      resolution,
      period,
      (bars, { noData }) => this.answers.push({ bars, noData }),
      (reason) => this.reasons.push(reason),
    );
  }

  resolve(): void {
    this.datafeed.resolveSymbol(
      ONE.name,
      ({ pricescale }) => this.scales.push(pricescale),
      (reason) => this.reasons.push(reason),
    );
  }

  follow(guid = "guid", resolution = "1"): void {
    this.datafeed.subscribeBars(
      ONE,
      resolution,
      (bar) => this.ticks.push(bar),
      guid,
      () => {
        this.resets += 1;
      },
    );
  }

  /** Lets time pass, and what a gateway does without it. */
  async pass(ms: number): Promise<void> {
    for (let parts = 0; parts <= 20; parts += 1) {
      for (let turns = 0; turns < 20; turns += 1) await this.clock.advanceBy(0);
      if (parts < 20) await this.clock.advanceBy(ms / 20);
    }
  }
}

export const brief = (bars: readonly Bar[] | undefined) =>
  bars?.map((bar) => `${time(bar.time)} ${bar.close}`);

export const PERIOD = { from: 0, to: START / 1_000, countBack: 10, firstDataRequest: true };
