// Relays candles through a channel to a receiver, without a network between.
import type { CandleEvent } from "pairstream";
import { replayCandles } from "pairstream";
import { createEventChannel, fromServerSentEvents, isCandleEvent } from "pairstream/sse";
import { filter, lastValueFrom, map, toArray } from "rxjs";

async function main(): Promise<number[]> {
  const series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" } as const;
  const candles = [1, 2, 3].map((price, at) => {
    const prices = { open: price, high: price, low: price, close: price };
    return { timestamp: at * 60_000, ...prices, volume: 1, swaps: 1 };
  });
  const channel = createEventChannel({ candles: replayCandles(candles, series) });
  const received = fromServerSentEvents("https://gateway.test/events", {
    fetch: async (url, init) => channel.respond(new Request(url, init)),
  });
  const closings = received.pipe(
    filter(isCandleEvent),
    map((event: CandleEvent) => event.candle.close),
    toArray(),
  );
  return await lastValueFrom(closings);
}

main().then((result) => console.log(JSON.stringify(result)));
