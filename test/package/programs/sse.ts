// Relays candles through a gateway to a page, without a network between.
import type { CandleEvent } from "pairstream";
import { type PairSource, replayCandles } from "pairstream";
import { createGateway, gatewaySource } from "pairstream/sse";
import { EMPTY, lastValueFrom, map, toArray } from "rxjs";

async function main(): Promise<number[]> {
  const series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" } as const;
  const candles = [1, 2, 3].map((price, at) => {
    const prices = { open: price, high: price, low: price, close: price };
    return { timestamp: at * 60_000, ...prices, volume: 1, swaps: 1 };
  });
  const source: PairSource = {
    candles: () => replayCandles(candles, series),
    status: () => EMPTY,
    snipers: () => EMPTY,
    sniperReport: () => EMPTY,
    history: async () => [],
  };
  const gateway = createGateway(source, { allow: [series] });
  const page = gatewaySource("https://gateway.test/pairs", {
    fetch: (url, init) => gateway.fetch(new Request(url, init)),
  });
  const closings = page.candles({ ...series, since: { candles: 5 } }).pipe(
    map((event: CandleEvent) => event.candle.close),
    toArray(),
  );
  return await lastValueFrom(closings);
}

main().then((result) => console.log(JSON.stringify(result)));
