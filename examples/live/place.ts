import { open } from "node:fs/promises";
import { createPairService, listen, type SwapSource, simulatedMarket, swapTape } from "pairstream/service";
import { UsageError } from "../terminal/command-line.js";
import type { LiveOptions, Place } from "./options.js";
import { dateAndTime } from "./text.js";

/** A service that can be reached, and the pair to follow there. */
export interface OpenPlace {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly pair: string;
  /** All that can be followed there, as far as is known; the pair among them. */
  readonly pairs: readonly string[];
  /** Whether its polls cost nothing. */
  readonly isLocal: boolean;
  /** What is served, in words. */
  readonly title: string;
  close(): Promise<void>;
}

const HOUR = 3_600_000;
/** Enough to choose from. */
const PAIRS = 4;

/** Starts the local service that the options ask for; a service elsewhere is running already. */
export async function openPlace({
  place,
  network,
}: Pick<LiveOptions, "place" | "network">): Promise<OpenPlace> {
  if (place.kind === "remote") {
    const { baseUrl, apiKey, pair } = place;
    const title = "a service elsewhere";
    return { baseUrl, apiKey, pair, pairs: [pair], isLocal: false, title, close: async () => {} };
  }
  const { source, pair, pairs, title, clock } =
    place.kind === "tape" ? await readTape(place) : makeMarket(place);
  // The market is mainnet's; here it is served on whichever network is asked for.
  const served: SwapSource = {
    pair: (asked, address) => (asked === network ? source.pair("mainnet", address) : undefined),
  };
  const { url, close } = await listen(createPairService({ source: served, clock }), { port: 0 });
  return { baseUrl: url, apiKey: "local", pair, pairs, isLocal: true, title, close };
}

function makeMarket({ seed, pair }: Extract<Place, { kind: "market" }>) {
  const source = simulatedMarket({
    seed,
    createdAt: Date.now() - HOUR,
    pairs: pair === undefined ? PAIRS : [pair],
  });
  return {
    source,
    pair: source.pairs[0]!,
    pairs: source.pairs,
    title: `a simulated market (seed ${seed})`,
    clock: () => Date.now(),
  };
}

async function readTape({ file, from, minimumUsd = 0, pair }: Extract<Place, { kind: "tape" }>) {
  const lines = await readLines(file);
  const source = swapTape(lines, { pairAddress: pair, tokenAddress: null, minimumUsd });
  const swaps = [...(source.pair("mainnet", pair)?.swaps(ALWAYS) ?? [])];
  const [first, last] = [swaps[0], swaps.at(-1)];
  if (first === undefined || last === undefined) throw new UsageError(`${file} holds no swaps`);
  const extent = `${dateAndTime(first.timestamp)} to ${dateAndTime(last.timestamp)}`;
  if (from === undefined) {
    throw new UsageError(`--tape needs --from, where its clock starts; the tape goes from ${extent}`);
  }
  const startedAt = performance.now();
  const clock = () => from + performance.now() - startedAt;
  const title = `a tape of ${swaps.length} swaps, ${extent}; its clock started at ${dateAndTime(from)}`;
  return { source, pair, pairs: [pair], title, clock };
}

const ALWAYS = { from: 0, to: Number.POSITIVE_INFINITY, asOf: Number.POSITIVE_INFINITY };

async function readLines(file: string): Promise<string[]> {
  try {
    const handle = await open(file);
    const lines: string[] = [];
    for await (const line of handle.readLines()) lines.push(line);
    return lines;
  } catch (error) {
    throw new UsageError(`--tape cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
