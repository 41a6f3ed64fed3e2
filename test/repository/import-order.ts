/**
 * From the lowest up: a unit (`NAME.ts` or the folder `NAME/`, of adapters each folder) imports only from rows above its
 * own, so that no entry point needs another one.
 */
const ORDER = [
  ["aborts", "errors", "bounded-map", "closing", "spans", "warning"],
  ["contract"],
  ["given", "timeframe"],
  ["indicators"],
  ["client"],
  ["poll"],
  ["candles", "snipers"],
  ["feed-status"],
  ["cost", "health", "source"],
  ["latest", "pause"],
  ["operators"],
  ["replay"],
  ["backtest"],
  ["adapters/wire", "adapters/price-decimals"],
  [
    "adapters/sse",
    "adapters/nats",
    "adapters/lightweight-charts",
    "adapters/store",
    "adapters/react",
    "adapters/tradingview",
    "adapters/otel",
  ],
  ["index"],
];

/** The unit of a file, by its path below src. */
export const unitOf = (path: string) => /^(?:adapters\/)?[^/]+/.exec(path)![0].replace(/\.ts$/, "");
/** How high a unit stands; -1 where it has no place. */
export const rankOf = (unit: string) => ORDER.findIndex((row) => row.includes(unit));
