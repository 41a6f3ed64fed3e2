import { checkNumber } from "../contract/input.js";
import type { Network } from "../contract/model.js";
import { checkNames } from "../contract/names.js";
import { checkSeed, hashText, mix, randomAt, randomNumbers, spreadByOrder } from "./random.js";
import { checkSource, type Swap, type SwapPair, type SwapRange, type SwapSource } from "./swaps.js";

const SECOND = 1_000;
const HOUR = 3_600_000;

/** How late swaps appear, and how often they are taken back. */
export interface UnsettledOptions {
  /** A whole number. Another seed gives every swap another history. */
  seed: number;
  /** The age in ms from which a swap no longer changes, 1,000 to 86,400,000; default 120,000. */
  settlesAfter?: number;
  /** The share of swaps, 0 to 1, that appear more than a second late, up to `settlesAfter`; default 0.05. */
  late?: number;
  /** The probability, 0 to 1, of a fork in each stretch as long as `settlesAfter`; default 0.1. */
  forks?: number;
  /** The share of hours, 0 to 1, in which a pair has no swaps at all; default 0. */
  silences?: number;
}

/** A source with late swaps and forks. */
export interface UnsettledSource extends SwapSource {
  /** The age in ms from which a swap no longer changes, on top of that of the underlying source. */
  readonly settlesAfter: number;
}

/**
 * Wraps a source: some swaps appear late and some are taken back, as in a service that indexes a chain. So candles
 * change after their interval has ended, appear late, or disappear.
 *
 * Half of the swaps are visible at once and most others within a second. The `late` ones need 1 s to `settlesAfter`,
 * short delays being more likely. A fork removes a run of blocks of up to half of `settlesAfter`, for all pairs of the
 * network, up to a quarter of `settlesAfter` later. Half of the forks bring the blocks back, up to another quarter
 * later. Only the seed and the swap decide when a swap is visible, so a range can be read as of any instant, in any
 * order. The swaps at the instant of the pair's creation are always visible. Throws an `InvalidInputError` for invalid
 * options.
 *
 * @example
 * ```ts
 * import { createPairService, simulatedMarket, unsettled } from "pairstream/service";
 *
 * const market = simulatedMarket({ seed: 1, createdAt: "2025-01-01" });
 * const source = unsettled(market, { seed: 7, settlesAfter: 60_000, late: 0.2, forks: 0.5 });
 * const service = createPairService({ source });
 * console.log(`final ${source.settlesAfter} ms after each swap`);
 * ```
 */
export function unsettled(source: SwapSource, options: UnsettledOptions): UnsettledSource {
  const chances = checkUnsettledOptions(source, options);
  return Object.freeze({
    settlesAfter: chances.settlesAfter,
    pair: (network: Network, pairAddress: string) => {
      const pair = source.pair(network, pairAddress);
      return pair && unsettledPair(pair, network, pairAddress, chances);
    },
  });
}

type Chances = Required<UnsettledOptions>;

function checkUnsettledOptions(source: SwapSource, options: UnsettledOptions): Chances {
  checkSource(source);
  const seed = checkSeed(options);
  checkNames(options, ["seed", "settlesAfter", "late", "forks", "silences"]);
  const share = (name: "late" | "forks" | "silences", absent: number) =>
    checkNumber(name, options[name] ?? absent, { min: 0, max: 1 });
  const bounds = { min: SECOND, max: 24 * HOUR, integer: true, unit: "ms" };
  return {
    seed,
    settlesAfter: checkNumber("settlesAfter", options.settlesAfter ?? 120_000, bounds),
    late: share("late", 0.05),
    forks: share("forks", 0.1),
    silences: share("silences", 0),
  };
}

function unsettledPair(
  pair: SwapPair,
  network: Network,
  pairAddress: string,
  { seed, settlesAfter, late, forks, silences }: Chances,
): SwapPair {
  const delayKey = hashText(String(seed), 11);
  const forkKey = hashText(`${seed} ${network}`, 12);
  const silenceKey = hashText(`${seed} ${network} ${pairAddress}`, 13);
  const forkIn = rememberingLast((stretch) => forkAt(stretch, forkKey, settlesAfter, forks));
  const isSilent = (hour: number) => silences > 0 && randomAt(silenceKey, hour) < silences;

  function isVisible(swap: Swap, asOf: number): boolean {
    const { timestamp } = swap;
    if (timestamp <= pair.createdAt) return true;
    if (isSilent(Math.floor(timestamp / HOUR))) return false;
    const fork = forkIn(Math.floor(timestamp / settlesAfter));
    const isForked = fork !== undefined && timestamp >= fork.from && timestamp < fork.to;
    if (isForked && asOf >= fork.droppedAt && asOf < fork.returnedAt) return false;
    const age = asOf - timestamp;
    return age >= settlesAfter || age >= delayOf(swap, delayKey, settlesAfter, late);
  }

  function* swaps(range: SwapRange): Iterable<Swap> {
    for (const swap of pair.swaps(range)) if (isVisible(swap, range.asOf)) yield swap;
  }

  const { tokenAddress, createdAt, settled } = pair;
  const beneath = settled === true ? 0 : settled;
  return Object.freeze({
    tokenAddress,
    createdAt,
    settled: typeof beneath === "number" && beneath + settlesAfter,
    swaps,
  });
}

/** The delay in ms after which a swap appears. */
function delayOf(
  { transactionHash, timestamp }: Swap,
  key: number,
  settlesAfter: number,
  late: number,
): number {
  // The end of a hash is as random as the whole, at a tenth of the cost.
  const random = randomNumbers(hashText(transactionHash.slice(-8), mix(key ^ mix(timestamp))));
  if (random() < late) return Math.floor(spreadByOrder(random, SECOND, settlesAfter));
  return random() < 0.5 ? 0 : Math.floor(SECOND * random());
}

/** A run of blocks that is dropped some time after it became visible. */
interface Fork {
  /** The timestamps of its blocks are in `[from, to)`, ms. */
  readonly from: number;
  readonly to: number;
  readonly droppedAt: number;
  /** When the blocks come back; `Infinity` if they never do. */
  readonly returnedAt: number;
}

/** The fork of a period of `length` ms, if there is one. It is over within `length` of its first block. */
function forkAt(stretch: number, key: number, length: number, chance: number): Fork | undefined {
  const random = randomNumbers(mix(key ^ mix(stretch)));
  if (random() >= chance) return undefined;
  const upTo = (most: number) => Math.floor(most * random());
  const from = stretch * length + upTo(length / 2);
  // Squared, so most forks are short.
  const to = from + 1 + Math.floor((length / 2 - 1) * random() ** 2);
  const droppedAt = to + upTo(length / 4);
  const returnedAt = random() < 0.5 ? Infinity : droppedAt + 1 + upTo(length / 4 - 1);
  return { from, to, droppedAt, returnedAt };
}

/** Remembers the last result: swaps come in order of time, so many in a row ask for the same one. */
function rememberingLast<T>(of: (place: number) => T): (place: number) => T {
  let last: { readonly place: number; readonly value: T } | undefined;
  return (place) => {
    if (last?.place !== place) last = { place, value: of(place) };
    return last.value;
  };
}
