// Reads what a file holds, adds a candle to it, and reads again, by a SQLite driver: a name, or a path to one.
import { sqliteStore } from "pairstream/store";

const MINUTE = 60_000;
const SERIES = {
  service: "http://localhost",
  network: "mainnet",
  pairAddress: "pair",
  timeframe: "1min",
  currency: "usd",
  weekStart: "monday",
};

/** `bun:sqlite`, `node:sqlite` and others each name their class in their own way. */
async function open(driver, file) {
  const { Database, DatabaseSync, default: whole } = await import(driver);
  return new (DatabaseSync ?? Database ?? whole)(file);
}

async function main([driver, file]) {
  const store = sqliteStore(await open(driver, file));
  const all = { from: 0, to: 100 * MINUTE };
  const { candles } = await store.read(SERIES, all);
  const from = candles.length * MINUTE;
  const price = candles.length + 1;
  const prices = { open: price, high: price + 1, low: price, close: price + 1 / 3 };
  const candle = { timestamp: from, ...prices, volume: 1e-9, swaps: price };
  await store.write(SERIES, { from, to: from + MINUTE, candles: [candle] });
  const held = await store.read(SERIES, all);
  store.close();
  return { held: held.candles.map(({ close }) => close), covered: held.covered };
}

main(globalThis.process.argv.slice(2)).then((held) => console.log(`RESULT ${JSON.stringify(held)}`));
