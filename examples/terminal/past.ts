import { Option } from "commander";
import { type Client, type ClientOptions, createClient, type Series } from "pairstream";
import { demoService } from "pairstream/service";
import { DEFAULT_SEED, KEY, type RemotePair, remotePair, seedOption, UsageError } from "./command-line.js";

/** What programs that read the past are given: which candles, and where. */
export interface GivenPast extends Omit<Series, "pairAddress"> {
  seed?: number;
  baseUrl?: string;
  pair?: string;
}

export function pastOptions(): Option[] {
  return [
    new Option("--timeframe <length>", "such as 1s, 15min or 1M").default("1min"),
    new Option("--currency <name>", "usd or native").default("usd"),
    new Option("--network <name>", "mainnet or devnet").default("mainnet"),
    seedOption().conflicts("baseUrl"),
    new Option("--base-url <url>", `ask a remote service; needs ${KEY}`),
    new Option("--pair <address>", "the address of the pair; needed for a remote service"),
  ];
}

/** A market that is made up, or a pair of a remote service. */
export type PastPlace = { readonly kind: "simulated"; readonly seed: number } | RemotePair;

/** Which place is asked for; throws a `UsageError` as `remotePair` does, and for a pair alone. */
export function pastPlace(
  given: Pick<GivenPast, "seed" | "baseUrl" | "pair">,
  environment: Readonly<Record<string, string | undefined>>,
): PastPlace {
  const remote = remotePair(given, environment);
  if (remote !== undefined) return remote;
  if (given.pair !== undefined)
    throw new UsageError("--pair needs --base-url: the simulated market has pairs of its own");
  return { kind: "simulated", seed: given.seed ?? DEFAULT_SEED };
}

/** When the simulated market begins: the same for all programs, so that one can read what another has written. */
const CREATED = "2025-01-01";

/** A client of a place, and its pair. */
export function openPlace(
  place: PastPlace,
  options: Pick<ClientOptions, "store" | "rateLimit" | "warn"> = {},
): { client: Client; baseUrl: string; pair: string } {
  if (place.kind === "remote") {
    const { baseUrl, apiKey, pair } = place;
    return { client: createClient({ baseUrl, apiKey, ...options }), baseUrl, pair };
  }
  const { pairs, clientOptions } = demoService({ seed: place.seed, createdAt: CREATED });
  const client = createClient({ ...clientOptions, rateLimit: false, ...options });
  return { client, baseUrl: clientOptions.baseUrl, pair: pairs[0] };
}

const DAY = 86_400_000;

/** ms since the epoch; by default the day before `to`, and that is the last midnight, UTC. */
export function rangeOf(
  given: { readonly from?: number | undefined; readonly to?: number | undefined },
  now: number,
): { from: number; to: number } {
  const to = given.to ?? Math.floor(now / DAY) * DAY;
  const from = given.from ?? to - DAY;
  if (from >= to) throw new UsageError("--from has to be before --to");
  return { from, to };
}
