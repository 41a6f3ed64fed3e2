import { createPairService, listen, type SwapSource, simulatedMarket } from "pairstream/service";
import { UsageError } from "../terminal/command-line.js";
import { readTape } from "../terminal/tape.js";
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

/** Starts the local service that the options ask for; a remote service is running already. */
export async function openPlace({
  place,
  network,
}: Pick<LiveOptions, "place" | "network">): Promise<OpenPlace> {
  if (place.kind === "remote") {
    const { baseUrl, apiKey, pair } = place;
    const title = "a remote service";
    return { baseUrl, apiKey, pair, pairs: [pair], isLocal: false, title, close: async () => {} };
  }
  const { source, pair, pairs, title, clock } =
    place.kind === "tape" ? await openTape(place) : makeMarket(place);
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

async function openTape({ file, from, minimumUsd, pair }: Extract<Place, { kind: "tape" }>) {
  const tape = await readTape(file, { pair, minimumUsd });
  const extent = `${dateAndTime(tape.first.timestamp)} to ${dateAndTime(tape.last.timestamp)}`;
  if (from === undefined) {
    throw new UsageError(
      `--tape needs --from, where its clock starts; allowed: an instant of the tape, ${extent}`,
    );
  }
  const startedAt = performance.now();
  const clock = () => from + performance.now() - startedAt;
  const title = `a tape of ${tape.count} swaps, ${extent}; its clock started at ${dateAndTime(from)}`;
  return { source: tape.source, pair: tape.pair, pairs: [tape.pair], title, clock };
}
