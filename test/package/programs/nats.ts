// Collects candles on the NATS server at an address, and reads them there.
import { connect } from "@nats-io/transport-node";
import { createClient, type FetchLike } from "pairstream";
import { collect, natsSource } from "pairstream/nats";
import { lastValueFrom, map, take, toArray } from "rxjs";

const MINUTE = 60_000;
const BEGAN = Math.floor(Date.now() / MINUTE) * MINUTE - 3 * MINUTE;

/** A service whose last three minutes closed at 1, 2 and 3. */
const fetch: FetchLike = async (url) => {
  const asked = new URL(url).searchParams;
  const [from, to] = ["fromDate", "toDate"].map((name) => Number(asked.get(name)) * 1_000);
  const result = [1, 2, 3]
    .map((price, at) => ({ price, start: BEGAN + at * MINUTE }))
    .filter(({ start }) => start >= from! && start <= to!)
    .reverse()
    .map(({ price, start }) => {
      const prices = { open: price, high: price, low: price, close: price };
      return { timestamp: new Date(start).toISOString(), ...prices, volume: 1, swaps: 1 };
    });
  const body = {
    pairAddress: "pair",
    timeframe: "1min",
    currency: "usd",
    page: 1,
    cursor: null,
    tokenAddress: "t",
    result,
  };
  const date = new Date().toUTCString();
  const headers = { get: (name: string) => (/^date$/i.test(name) ? date : null) };
  return { status: 200, headers, text: async () => JSON.stringify(body) };
};

async function main(): Promise<number[]> {
  const [, file, servers] = process.argv;
  // Each format of this program has streams of its own.
  const name = file!.slice(-3);
  const series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" } as const;
  const connection = await connect({ servers: servers! });
  const client = createClient({ baseUrl: "https://service.test", apiKey: "key", fetch, rateLimit: false });
  const collecting = collect(connection, client, [{ ...series, since: BEGAN }], { name }).subscribe();
  const published = natsSource(connection, { name })
    .candles({ ...series, since: BEGAN })
    .pipe(
      map(({ candle }) => candle.close),
      take(3),
      toArray(),
    );
  const closings = await lastValueFrom(published);
  collecting.unsubscribe();
  await connection.close();
  return closings;
}

main().then((result) => console.log(JSON.stringify(result)));
