import type { CandleEvent } from "pairstream";
import { Lanes } from "../../src/adapters/nats/lanes.js";
import { candleSubjects } from "../../src/adapters/nats/subjects.js";
import { HandPublisher } from "../../test/adapters/nats/hand-publisher.js";
import { connectTo, startServer } from "../../test/adapters/nats/servers.js";

const MINUTE = 60_000;
const PAIRS = 100;
/** So many letters has an address on mainnet. */
const ADDRESS = 44;
/** Of each pair, in one step. */
const CANDLES = 1_000;
const STEPS = 3;
const START = Date.UTC(2026, 0, 1);

/** How much of the server's memory candles take that are kept, as the rows of a table in Markdown. */
export async function measureMemory(print: (line: string) => void): Promise<void> {
  print("| candles | memory of the server | bytes for each that was added |");
  print("| --: | --: | --: |");
  const server = await startServer();
  const connection = await connectTo([server]);
  try {
    const lanes = new Lanes(256);
    const publishers = new Map<string, HandPublisher>();
    for (const { series } of finals(0)) {
      if (publishers.has(series.pairAddress)) break;
      const feed = candleSubjects("pairstream", series);
      const publisher = await HandPublisher.open(connection, feed, 1, { lanes });
      publisher.status();
      publishers.set(series.pairAddress, publisher);
    }
    let before = await server.memory();
    print(`| 0 | ${(before / 1e6).toFixed(0)} MB | |`);
    for (let step = 0; step < STEPS; step++) {
      for (const event of finals(step)) publishers.get(event.series.pairAddress)!.candle(event);
      await Promise.all(Array.from(publishers.values(), (one) => one.whenStored()));
      const memory = await server.memory();
      const each = ((memory - before) / (PAIRS * CANDLES)).toFixed(0);
      print(`| ${(step + 1) * PAIRS * CANDLES} | ${(memory / 1e6).toFixed(0)} MB | ${each} |`);
      before = memory;
    }
  } finally {
    await connection.close();
    await server.remove();
  }
}

/** The candles of all pairs in one step, which are final, so that the publisher keeps none of them. */
function* finals(step: number): Iterable<CandleEvent> {
  for (let at = step * CANDLES; at < (step + 1) * CANDLES; at++) {
    const timestamp = START + at * MINUTE;
    const candle = { timestamp, open: 1.5, high: 1.75, low: 1.25, close: 1.5, volume: at, swaps: 9 };
    for (let number = 0; number < PAIRS; number++) {
      const pairAddress = `pair-${number}`.padEnd(ADDRESS, "x");
      yield {
        type: "new",
        candle,
        status: "final",
        revision: 0,
        live: false,
        lateBy: 0,
        observedAt: timestamp + 3 * MINUTE,
        series: { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" },
      };
    }
  }
}
