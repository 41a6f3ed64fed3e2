// Streams candles with an indicator from the service at an address: every value, with the type that it should have.
import {
  type Candle,
  createClient,
  ema,
  type IndicatorEvent,
  watchCandles,
  withIndicators,
} from "pairstream";
import { lastValueFrom, take, toArray } from "rxjs";

declare const process: { readonly argv: readonly string[] };

async function main(): Promise<{ candles: Candle[]; fast: (number | undefined)[] }> {
  const [, , baseUrl, pairAddress] = process.argv;
  const client = createClient({ baseUrl: baseUrl!, apiKey: "key" });
  const series = { network: "mainnet", pairAddress: pairAddress!, timeframe: "1s", currency: "usd" } as const;
  const stream = watchCandles(client, { ...series, since: { candles: 5 } }).pipe(
    withIndicators({ fast: ema(3) }),
  );
  const events: IndicatorEvent<{ fast: number | undefined }>[] = await lastValueFrom(
    stream.pipe(take(5), toArray()),
  );
  return { candles: events.map(({ candle }) => candle), fast: events.map(({ values }) => values.fast) };
}

main().then((result) => console.log(JSON.stringify(result)));
