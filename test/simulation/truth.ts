import type { Candle, Network, Series, Sniper, Timeframe } from "../../src/index.js";
import type { Swap, SwapPair } from "../../src/service/index.js";
import { intervalsOf } from "./calendar.js";
import type { RunLog } from "./run-log.js";

/** How far two sums of the same swaps may lie apart by the order of their additions, as a share. */
const ROUNDING = 1e-9;
/** So many blocks after the first one a buyer is a sniper, where nobody says how many. */
const BLOCKS = 3;

type Market = Pick<RunLog, "source" | "plan">;

function pairOf({ source }: Market, network: Network, pairAddress: string): SwapPair | undefined {
  return source.pair(network, pairAddress);
}

/** The candles that a service had at an instant of its clock, those that start in `[from, to)`, folded from the swaps. */
export function candlesAt(
  market: Market,
  { network, pairAddress, timeframe, currency }: Series,
  { from, to, at }: { from: number; to: number; at: number },
): ReadonlyMap<number, Candle> {
  const candles = new Map<number, Candle>();
  const pair = pairOf(market, network, pairAddress);
  const intervals = intervalsOf(timeframe as Timeframe, market.plan.world.weekStart);
  const earliest = Math.max(from, intervals.start(pair?.createdAt ?? 0));
  const first = intervals.start(earliest) < earliest ? intervals.end(earliest) : earliest;
  if (pair === undefined || first >= to) return candles;
  for (const swap of visible(pair, first, Math.min(intervals.end(to - 1), at + 1), at)) {
    const amount = currency === "usd" ? swap.usdAmount : swap.nativeAmount;
    const price = amount / swap.tokenAmount;
    if (!Number.isFinite(price)) continue;
    const timestamp = intervals.start(swap.timestamp);
    const known = candles.get(timestamp);
    candles.set(timestamp, {
      timestamp,
      open: known?.open ?? price,
      high: Math.max(known?.high ?? price, price),
      low: Math.min(known?.low ?? price, price),
      close: price,
      volume: (known?.volume ?? 0) + amount,
      swaps: (known?.swaps ?? 0) + 1,
    });
  }
  return candles;
}

/** Whether a candle is the true one; volumes are sums, whose order of additions is the service's own. */
export function isTrue(candle: Candle, truth: Candle): boolean {
  const fields = ["timestamp", "open", "high", "low", "close", "swaps"] as const;
  return fields.every((field) => candle[field] === truth[field]) && isAlike(candle.volume, truth.volume);
}

/** Whether two sums of the same numbers are the same. */
export function isAlike(sum: number | null, other: number | null): boolean {
  if (sum === other) return true;
  if (sum === null || other === null) return false;
  return Math.abs(sum - other) <= ROUNDING * Math.max(Math.abs(sum), Math.abs(other));
}

/** The snipers that a service knew of at an instant of its clock, by address; `undefined` before the pair's first swap. */
export function snipersAt(
  market: Market,
  { pairAddress, blocksAfterCreation = BLOCKS }: { pairAddress: string; blocksAfterCreation?: number },
  at: number,
): ReadonlyMap<string, Sniper> | undefined {
  const pair = pairOf(market, "mainnet", pairAddress);
  const swaps = pair === undefined ? [] : [...visible(pair, pair.createdAt, at + 1, at)];
  const birth = swaps[0]?.blockNumber;
  if (birth === undefined) return undefined;
  const isEarly = ({ side, blockNumber }: Swap) =>
    side === "buy" && blockNumber - birth <= blocksAfterCreation;
  const price = swaps.map(({ usdAmount, tokenAmount }) => usdAmount / tokenAmount).findLast(Number.isFinite);
  const snipers = new Map<string, Sniper>();
  for (const wallet of new Set(swaps.filter(isEarly).map(({ walletAddress }) => walletAddress))) {
    const own = swaps.filter(({ walletAddress }) => walletAddress === wallet);
    const sells = own.filter(({ side }) => side === "sell");
    if (sells.length > 0)
      snipers.set(wallet, sniperOf(wallet, own, own.filter(isEarly), sells, birth, price ?? 0));
  }
  return snipers;
}

function sniperOf(
  walletAddress: string,
  own: readonly Swap[],
  sniped: readonly Swap[],
  sells: readonly Swap[],
  birth: number,
  price: number,
): Sniper {
  const total = (swaps: readonly Swap[], field: "tokenAmount" | "usdAmount") =>
    swaps.reduce((sum, swap) => sum + swap[field], 0);
  const transactions = (swaps: readonly Swap[]) =>
    swaps.map(({ transactionHash, timestamp, blockNumber }) => ({
      transactionHash,
      transactionTimestamp: timestamp,
      blocksAfterCreation: blockNumber - birth,
    }));
  const bought = total(
    own.filter(({ side }) => side === "buy"),
    "tokenAmount",
  );
  const sold = total(sells, "tokenAmount");
  const spent = total(sniped, "usdAmount");
  const earned = total(sells, "usdAmount");
  const balance = Math.max(0, bought - sold);
  return {
    walletAddress,
    snipedTransactions: transactions(sniped),
    sellTransactions: transactions(sells),
    totalSellTransactions: sells.length,
    totalSnipedTransactions: sniped.length,
    totalTokensSniped: total(sniped, "tokenAmount"),
    totalSnipedUsd: spent,
    totalTokensSold: sold,
    totalSoldUsd: earned,
    currentBalance: balance,
    currentBalanceUsdValue: balance * price,
    realizedProfitPercentage: spent === 0 ? 0 : ((earned - spent) / spent) * 100,
    realizedProfitUsd: earned - spent,
  };
}

/**
 * What a source shows at an instant, in order; the source decides what is late and what a fork has taken. A service reads its
 * clock in whole ms.
 */
function* visible(pair: SwapPair, from: number, to: number, asOf: number): Iterable<Swap> {
  if (from >= to) return;
  for (const swap of pair.swaps({ from, to, asOf: Math.floor(asOf) }))
    if (swap.timestamp >= from && swap.timestamp < to) yield swap;
}
