import { type Client, createClient } from "pairstream";
import { createPairService, simulatedMarket } from "pairstream/service";
import { dateAndTime } from "../live/text.js";
import { UsageError } from "../terminal/command-line.js";
import { readTape } from "../terminal/tape.js";
import type { MarketOptions } from "./options.js";

/** A past that can be asked for, served in this process. */
export interface Market {
  readonly client: Client;
  readonly pair: string;
  /** In words. */
  readonly title: string;
  /** What to run over, `[from, to)` in ms since the epoch. */
  readonly from: number;
  readonly to: number;
}

const DAY = 86_400_000;
const CREATED = Date.UTC(2025, 0, 1);

export async function openMarket(options: MarketOptions): Promise<Market> {
  const { source, pair, title, from, to } =
    options.kind === "tape" ? await openTape(options) : makeMarket(options);
  if (from >= to) throw new UsageError(`there is nothing from ${dateAndTime(from)} to ${dateAndTime(to)}`);
  // The service's clock runs, as all do; at its start all that is asked for has been over for a day.
  const startedAt = performance.now();
  const clock = () => to + DAY + performance.now() - startedAt;
  const { fetch } = createPairService({ source, clock });
  const client = createClient({ baseUrl: "http://localhost", apiKey: "local", fetch, rateLimit: false });
  return { client, pair, title, from, to };
}

function makeMarket({ seed, from, to }: Extract<MarketOptions, { kind: "simulated" }>) {
  const source = simulatedMarket({ seed, createdAt: CREATED });
  return {
    source,
    pair: source.pairs[0]!,
    title: `a simulated market (seed ${seed})`,
    // Not its first week, in which snipers come and go.
    from: from ?? CREATED + 7 * DAY,
    to: to ?? CREATED + 21 * DAY,
  };
}

async function openTape({ file, minimumUsd, from, to }: Extract<MarketOptions, { kind: "tape" }>) {
  const { source, pair, count, first, last } = await readTape(file, { minimumUsd });
  return {
    source,
    pair,
    title: `a tape of ${count.toLocaleString("en-US")} swaps`,
    // Whole candles: a range leaves out one that it begins within.
    from: from ?? Math.floor(first.timestamp / DAY) * DAY,
    to: to ?? last.timestamp + 1,
  };
}
