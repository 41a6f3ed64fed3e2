// Uses doors by no name of a platform, so that only declarations may need one.
import { createClient, ema, toAsyncIterable, watchCandles, withIndicators } from "pairstream";
import { createPairService, simulatedMarket } from "pairstream/service";
import { createGateway, type Gateway } from "pairstream/sse";

const source = simulatedMarket({ seed: 1 });
const { fetch } = createPairService({ source });
const client = createClient({ baseUrl: "https://service.test", apiKey: "key", fetch });
const series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" } as const;
const candles = watchCandles(client, series).pipe(withIndicators({ fast: ema(3) }));

export const gateway: Gateway = createGateway(client, { allow: [series] });

export async function firstClose(): Promise<number | undefined> {
  for await (const { candle, values } of toAsyncIterable(candles)) return values.fast ?? candle.close;
  return undefined;
}
