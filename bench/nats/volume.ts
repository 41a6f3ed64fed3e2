import { jetstreamManager } from "@nats-io/jetstream";
import { createClient, type WatchOptions } from "pairstream";
import { collect } from "pairstream/nats";
import { connectTo, startServer } from "../../test/adapters/nats/servers.js";
import { liquidService } from "./service.js";

const PAIRS = 20;
/** So many letters has an address on mainnet. */
const ADDRESS = 44;
const SECONDS = 60;

interface Watch {
  readonly name: string;
  readonly timeframe: "1s" | "10s";
  readonly every: NonNullable<WatchOptions["every"]>;
}

const WATCHES: readonly Watch[] = [
  { name: 'one poll a candle (`1s`, `every: "close"`)', timeframe: "1s", every: "close" },
  { name: "ten polls a candle (`10s`, `every: 1_000`)", timeframe: "10s", every: 1_000 },
];

/** How many messages and bytes the candles of busy pairs make, as the rows of a table in Markdown. */
export async function measureVolume(print: (line: string) => void): Promise<void> {
  print(`${PAIRS} series with swaps in every interval, ${SECONDS} s\n`);
  print("| | requests | messages | messages a request | bytes a message |");
  print("| --- | --: | --: | --: | --: |");
  const server = await startServer();
  const connection = await connectTo([server]);
  const manager = await jetstreamManager(connection);
  const pairs = Array.from({ length: PAIRS }, (_, at) => `pair-${at}`.padEnd(ADDRESS, "x"));
  try {
    for (const [number, { name, ...watch }] of WATCHES.entries()) {
      const fetch = liquidService(watch.timeframe);
      const client = createClient({
        baseUrl: "https://service.test",
        apiKey: "key",
        fetch,
        rateLimit: false,
      });
      let requests = 0;
      client.activity.subscribe(({ type }) => {
        if (type === "request") requests += 1;
      });
      const series = { network: "mainnet", currency: "usd", ...watch } as const;
      const feeds = pairs.map((pairAddress) => ({ ...series, pairAddress }));
      const stream = `volume-${number}`;
      const collecting = collect(connection, client, feeds, { name: stream }).subscribe();
      await new Promise((resolve) => setTimeout(resolve, SECONDS * 1_000));
      collecting.unsubscribe();
      const { state } = await manager.streams.info(stream);
      const cells = [requests, state.last_seq, state.last_seq / requests, state.bytes / state.messages];
      print(`| ${name} | ${cells.map((cell) => Number(cell.toFixed(1))).join(" | ")} |`);
    }
  } finally {
    await connection.close();
    await server.remove();
  }
}
