import { checkChoice, checkNumber, checkSniperQuery } from "../contract/input.js";
import { parseIsoInstant } from "../contract/iso-instant.js";
import { NETWORKS, type Network } from "../contract/model.js";
import { checkNames } from "../contract/names.js";
import { printable } from "../contract/quote.js";
import { InvalidInputError } from "../errors.js";

/** One trade of the pair's token, as recorded on the chain. */
export interface Swap {
  /** The number of its block, a whole number from 0. */
  readonly blockNumber: number;
  /** The time of its block, ms since the epoch. */
  readonly timestamp: number;
  /** The hash of its transaction. */
  readonly transactionHash: string;
  /** The wallet that bought or sold. */
  readonly walletAddress: string;
  /** Whether the wallet bought or sold the pair's token. */
  readonly side: "buy" | "sell";
  /** Tokens traded. A swap of 0 tokens has no price: it counts in sniper reports, but in no candle. */
  readonly tokenAmount: number;
  /** Their value in US dollars. */
  readonly usdAmount: number;
  /** Their value in the chain's own coin. */
  readonly nativeAmount: number;
}

/** A range of a pair's swaps, as known at an instant. */
export interface SwapRange {
  /** Start, ms since the epoch, inclusive. */
  readonly from: number;
  /** End, ms since the epoch, exclusive. */
  readonly to: number;
  /**
   * The service's time at the request, or at the first request of a walk through pages, ms since the epoch. Swaps with
   * a later `timestamp` do not exist yet. A source that is late or that changes its history answers as it would have at
   * that time.
   */
  readonly asOf: number;
  /** A hint: only swaps of these wallets are needed, so a source may leave out the others. */
  readonly wallets?: ReadonlySet<string>;
}

/** One pair of a source. */
export interface SwapPair {
  /** The traded token; `null` if it is not known. */
  readonly tokenAddress: string | null;
  /** The earliest possible swap of the pair, ms since the epoch; 0 if that is not known. */
  readonly createdAt: number;
  /**
   * `true` promises that only `timestamp <= asOf` decides which swaps are visible: none comes late, none is dropped. A
   * number promises that for swaps of at least that age in ms. The service then caches the sums of past intervals.
   * Default `false`.
   */
  readonly settled?: boolean | number;
  /** The swaps of a range, oldest first. Swaps with the same `timestamp` are in the order in which they happened. */
  swaps(range: SwapRange): Iterable<Swap>;
}

/**
 * The source of the service's swaps: `swapTape`, `simulatedMarket`, or your own.
 *
 * @example
 * ```ts
 * import type { Swap, SwapSource } from "pairstream/service";
 *
 * // Swaps that a test adds by hand, each of them indexed two seconds late.
 * const recorded: Swap[] = [];
 * const source: SwapSource = {
 *   pair: (network, pairAddress) =>
 *     network !== "mainnet" || pairAddress !== "pair1"
 *       ? undefined
 *       : {
 *           tokenAddress: "token1",
 *           createdAt: 0,
 *           swaps: ({ from, to, asOf }) =>
 *             recorded.filter((swap) => swap.timestamp >= from && swap.timestamp < to && swap.timestamp + 2_000 <= asOf),
 *         },
 * };
 * ```
 */
export interface SwapSource {
  /** The pair at an address; `undefined` if the source does not have it. */
  pair(network: Network, pairAddress: string): SwapPair | undefined;
}

/** Throws an `InvalidInputError` if the value is not a source. */
export function checkSource(source: SwapSource): SwapSource {
  if (typeof source?.pair === "function") return source;
  const allowed = "a swapTape, a simulatedMarket, or a SwapSource of your own";
  throw new InvalidInputError("source", allowed, "has no method pair");
}

/** The pair and the filter of a swap tape. */
export interface SwapTapeOptions {
  /** The pair's address: 1 to 128 letters, digits or `_ . : -`. */
  pairAddress: string;
  /** The address of its token, or `null`. */
  tokenAddress: string | null;
  /** Swaps worth less than this in US dollars are left out; default 0. */
  minimumUsd?: number;
  /** The network of the pair; default `"mainnet"`. Sniper reports exist on mainnet only. */
  network?: Network;
}

/**
 * Reads a source of one pair from a tape: one swap per line as JSON, oldest first, `timestamp` as ISO 8601 with a zone.
 *
 * Blank lines are skipped. All lines are read at the call. Throws an `InvalidInputError` that names the line if a line
 * is not a swap, or is older than the line before.
 *
 * @example
 * ```ts
 * import { readFileSync } from "node:fs";
 * import { createPairService, swapTape } from "pairstream/service";
 *
 * const lines = readFileSync("swaps.ndjson", "utf8").split("\n");
 * const source = swapTape(lines, { pairAddress: "pair1", tokenAddress: "token1", minimumUsd: 1 });
 * const service = createPairService({ source });
 * ```
 */
export function swapTape(lines: Iterable<string>, options: SwapTapeOptions): SwapSource {
  const { pairAddress, tokenAddress, network, minimumUsd } = checkTapeOptions(lines, options);
  const swaps = readSwaps(lines).filter(({ usdAmount }) => usdAmount >= minimumUsd);
  const pair: SwapPair = Object.freeze({
    tokenAddress,
    createdAt: swaps[0]?.timestamp ?? 0,
    settled: true,
    swaps: ({ from, to, asOf }: SwapRange) =>
      swaps.slice(firstAtOrAfter(swaps, from), firstAtOrAfter(swaps, Math.min(to, asOf + 1))),
  });
  return Object.freeze({
    pair: (askedNetwork: Network, askedAddress: string) =>
      askedNetwork === network && askedAddress === pairAddress ? pair : undefined,
  });
}

function checkTapeOptions(lines: Iterable<string>, options: SwapTapeOptions): Required<SwapTapeOptions> {
  // A string would be iterated by characters, not by lines.
  if (typeof lines === "string" || typeof lines?.[Symbol.iterator] !== "function") {
    const problem = typeof lines === "string" ? "is one string" : "is not iterable";
    throw new InvalidInputError("lines", 'an iterable of lines, such as text.split("\\n")', problem);
  }
  if (typeof options !== "object" || options === null) {
    throw new InvalidInputError("options", "an object with pairAddress and tokenAddress", "is missing");
  }
  checkNames(options, ["pairAddress", "tokenAddress", "minimumUsd", "network"]);
  const { pairAddress } = checkSniperQuery({ pairAddress: options.pairAddress });
  const network = checkChoice("network", options.network ?? "mainnet", NETWORKS);
  const minimumUsd = checkNumber("minimumUsd", options.minimumUsd ?? 0, { min: 0 });
  const { tokenAddress } = options;
  if (tokenAddress !== null && (typeof tokenAddress !== "string" || tokenAddress === "")) {
    throw new InvalidInputError("tokenAddress", "an address, or null", `is ${tokenAddress || "empty"}`);
  }
  return { pairAddress, tokenAddress, network, minimumUsd };
}

function readSwaps(lines: Iterable<string>): Swap[] {
  const swaps: Swap[] = [];
  let number = 0;
  for (const line of lines) {
    number += 1;
    const swap = readSwap(line, number);
    if (swap === undefined) continue;
    const before = swaps.at(-1);
    if (before !== undefined && swap.timestamp < before.timestamp) {
      const allowed = "swaps from the oldest to the newest";
      const problem = `is older than the swap before it (${new Date(before.timestamp).toISOString()})`;
      throw new InvalidInputError(`line ${number}: timestamp`, allowed, problem);
    }
    swaps.push(swap);
  }
  return swaps;
}

/** The index of the first swap at or after an instant. */
function firstAtOrAfter(swaps: readonly Swap[], instant: number): number {
  let low = 0;
  let high = swaps.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (swaps[middle]!.timestamp < instant) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The swap on a line, frozen; `undefined` for a blank line. */
function readSwap(line: unknown, number: number): Swap | undefined {
  if (typeof line !== "string") {
    throw new InvalidInputError(`line ${number}`, "one swap as JSON", `is of type ${typeof line}`);
  }
  if (line.trim() === "") return undefined;
  let wire: Partial<Record<keyof Swap, unknown>> | null;
  try {
    wire = JSON.parse(line);
  } catch (cause) {
    throw new InvalidInputError(`line ${number}`, "one swap as JSON", "is not JSON", { cause });
  }
  if (typeof wire !== "object" || wire === null || Array.isArray(wire)) {
    throw new InvalidInputError(`line ${number}`, "one swap as a JSON object", "is not an object");
  }
  const at = (field: keyof Swap) => `line ${number}: ${field}`;
  const text = (field: keyof Swap): string => {
    const value = wire[field];
    if (typeof value === "string" && value !== "") return value;
    throw new InvalidInputError(at(field), "a string that is not empty", `is ${shown(value)}`);
  };
  const amount = (field: keyof Swap): number => checkNumber(at(field), wire[field] as number, { min: 0 });
  const timestamp = typeof wire.timestamp === "string" ? parseIsoInstant(wire.timestamp) : undefined;
  if (timestamp === undefined) {
    throw new InvalidInputError(at("timestamp"), "ISO 8601 with a zone", `is ${shown(wire.timestamp)}`);
  }
  return Object.freeze({
    blockNumber: checkNumber(at("blockNumber"), wire.blockNumber as number, { min: 0, integer: true }),
    timestamp,
    transactionHash: text("transactionHash"),
    walletAddress: text("walletAddress"),
    side: checkChoice(at("side"), wire.side as Swap["side"], ["buy", "sell"]),
    tokenAmount: amount("tokenAmount"),
    usdAmount: amount("usdAmount"),
    nativeAmount: amount("nativeAmount"),
  });
}

function shown(value: unknown): string {
  return value === undefined ? "missing" : printable(JSON.stringify(value)).slice(0, 60);
}
