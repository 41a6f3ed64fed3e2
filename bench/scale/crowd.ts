import { type CandleEvent, type Client, type Timeframe, watchCandles } from "pairstream";
import { addresses } from "./market.js";

/** How long after the end of an interval the polls are due, in ms. */
export const SETTLE = 1_000;

/** Watches a series of each of the first `count` pairs; the function that it returns leaves them all. */
export function watchCrowd(
  client: Client,
  { count, timeframe }: { count: number; timeframe: Timeframe },
  take: (event: CandleEvent) => void,
): () => void {
  const stays = addresses(count).map((pairAddress) => {
    const series = { network: "mainnet", pairAddress, timeframe, currency: "usd" } as const;
    return watchCandles(client, { ...series, settle: SETTLE }).subscribe(take);
  });
  return () => {
    for (const stay of stays) stay.unsubscribe();
  };
}
