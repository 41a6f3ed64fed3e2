import {
  type CandleEvent,
  createClient,
  type FetchLike,
  type Series,
  VirtualClock,
  type WatchOptions,
  watchCandles,
  watchFeedStatus,
} from "pairstream";
import { createPairService, type SwapSource } from "pairstream/service";
import type { ClientStore } from "pairstream/store";

/** ms each way. */
const WAY = 40;

/** How a process starts. */
export interface Start {
  /** ms since the epoch. */
  readonly at: number;
  /** How long it runs, by its clock. */
  readonly ms: number;
  readonly watches: readonly (Series & WatchOptions)[];
  readonly source: SwapSource;
  readonly store?: ClientStore | undefined;
}

export interface Started {
  readonly requests: number;
  readonly units: number;
  /** ms until the last event of all was there. */
  readonly took: number;
  /** By watch. */
  readonly events: readonly (readonly CandleEvent[])[];
  /** By watch, as its status told last. */
  readonly coveredFrom: readonly (number | undefined)[];
}

/** Follows series from an instant on, as a process does that starts then; its time is virtual. */
export async function started({ at, ms, watches, source, store }: Start): Promise<Started> {
  const clock = new VirtualClock(at);
  const { fetch: serve } = createPairService({ source, clock: () => clock.now() });
  const pass = () =>
    new Promise<void>((resolve) => {
      clock.schedule(() => resolve(), WAY);
    });
  const fetch: FetchLike = async (url, init) => {
    await pass();
    const answer = await serve(url, init);
    await pass();
    return answer;
  };
  const baseUrl = "https://service.test";
  const client = createClient({ baseUrl, apiKey: "key", scheduler: clock, fetch, ...(store && { store }) });
  let requests = 0;
  let units = 0;
  client.activity.subscribe((activity) => {
    if (activity.type === "request") requests += 1;
    if (activity.type === "response") units += activity.weight ?? 0;
  });
  let last = at;
  const stays = watches.map((watch) => {
    const events: CandleEvent[] = [];
    const stay = watchCandles(client, watch).subscribe((event) => {
      events.push(event);
      last = clock.now();
    });
    let coveredFrom: number | undefined;
    stay.add(watchFeedStatus(client, watch).subscribe((status) => ({ coveredFrom } = status)));
    return { events, stay, covered: () => coveredFrom };
  });
  await clock.advanceBy(ms);
  const coveredFrom = stays.map(({ covered }) => covered());
  for (const { stay } of stays) stay.unsubscribe();
  // What is written at the end is asked of the store by then.
  await clock.advanceBy(0);
  return { requests, units, took: last - at, events: stays.map(({ events }) => events), coveredFrom };
}

/** A swap every `spacing` ms in every pair, but none where `isQuiet` says so. */
export function pacedMarket(
  createdAt: number,
  spacing: number,
  isQuiet: (instant: number) => boolean = () => false,
): SwapSource {
  return {
    pair: () => ({
      tokenAddress: "token",
      createdAt,
      *swaps({ from, to, asOf }) {
        const end = Math.min(to, asOf + 1);
        for (let at = Math.ceil(Math.max(from, createdAt) / spacing) * spacing; at < end; at += spacing) {
          if (isQuiet(at)) continue;
          yield {
            blockNumber: Math.floor(at / 1_000),
            timestamp: at,
            transactionHash: `hash ${at}`,
            walletAddress: "wallet",
            side: "buy",
            tokenAmount: 1,
            usdAmount: 1 + (at % 17_000) / 1_000,
            nativeAmount: 1,
          };
        }
      },
    }),
  };
}
