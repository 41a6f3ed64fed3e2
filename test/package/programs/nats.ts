// Publishes candles on the NATS server at an address, and reads them there.
import { connect } from "@nats-io/transport-node";
import { replayCandles } from "pairstream";
import { publishCandles, watchPublishedCandles } from "pairstream/nats";
import { lastValueFrom, map, take, toArray } from "rxjs";

async function main(): Promise<number[]> {
  const [, file, servers] = process.argv;
  // Each format of this program has streams of its own.
  const name = file!.slice(-3);
  const series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" } as const;
  const candles = [1, 2, 3].map((price, at) => {
    const prices = { open: price, high: price, low: price, close: price };
    return { timestamp: at * 60_000, ...prices, volume: 1, swaps: 1 };
  });
  const connection = await connect({ servers: servers! });
  const publishing = publishCandles(connection, replayCandles(candles, series), { name });
  await lastValueFrom(publishing, { defaultValue: undefined });
  const published = watchPublishedCandles(connection, series, { name, since: 0 }).pipe(
    map(({ candle }) => candle.close),
    take(candles.length),
    toArray(),
  );
  const closings = await lastValueFrom(published);
  await connection.close();
  return closings;
}

main().then((result) => console.log(JSON.stringify(result)));
