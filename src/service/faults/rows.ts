import { parseIsoInstant } from "../../contract/iso-instant.js";

type Random = () => number;
type Row = Readonly<Record<string, unknown>>;

/** Removes rows: at least one, on average three of ten. */
export function dropRows(rows: readonly unknown[], random: Random): unknown[] {
  const isChosen = choose(rows.length, 0.3, random);
  return rows.filter((_, at) => !isChosen(at));
}

/** Duplicates rows, the copy at any place: at least one, on average three of ten. */
export function duplicateRows(rows: readonly unknown[], random: Random): unknown[] {
  const isChosen = choose(rows.length, 0.3, random);
  const all = [...rows];
  for (const copy of rows.filter((_, at) => isChosen(at))) {
    all.splice(Math.floor((all.length + 1) * random()), 0, copy);
  }
  return all;
}

/** Changes rows so that they break the contract: at least one, on average one of five. */
export function breakRows(rows: readonly unknown[], random: Random): unknown[] {
  const isChosen = choose(rows.length, 0.2, random);
  return rows.map((row, at) => (isChosen(at) ? broken(row, random) : row));
}

/** Chooses each of `count` places with a probability, and at least one. */
function choose(count: number, probability: number, random: Random): (place: number) => boolean {
  const certain = Math.floor(count * random());
  const chosen = new Set([certain]);
  for (let place = 0; place < count; place += 1) if (random() < probability) chosen.add(place);
  return (place) => chosen.has(place);
}

function broken(row: unknown, random: Random): unknown {
  if (typeof row !== "object" || row === null) return null;
  const breaks = "walletAddress" in row ? SNIPER_BREAKS : CANDLE_BREAKS;
  return oneOf(breaks, random)(row as Row, random);
}

function oneOf<T>(choices: readonly T[], random: Random): T {
  return choices[Math.floor(choices.length * random())]!;
}

type Break = (row: Row, random: Random) => unknown;

function without(row: Row, ...names: string[]): Row {
  return Object.fromEntries(Object.entries(row).filter(([name]) => !names.includes(name)));
}

const PRICE_FIELDS = ["open", "high", "low", "close"] as const;
const REQUIRED = [
  ["timestamp"],
  ...PRICE_FIELDS.map((price) => [price]),
  ["volume"],
  ["swaps", "trades"],
] as const;

const CANDLE_BREAKS: readonly Break[] = [
  () => null,
  (row, random) => without(row, ...oneOf(REQUIRED, random)),
  (row, random) => {
    const price = oneOf(PRICE_FIELDS, random);
    return { ...row, [price]: String(row[price]) };
  },
  (row, random) => ({ ...row, [oneOf([...PRICE_FIELDS, "volume"], random)]: null }),
  (row, random) => ({ ...row, [oneOf([...PRICE_FIELDS, "volume"], random)]: -1 }),
  // Numbers above any real amount: calculations with them overflow.
  (row, random) => ({ ...row, [oneOf([...PRICE_FIELDS, "volume"], random)]: oneOf([1e101, 1e308], random) }),
  (row) => ({ ...row, low: 2 * Number(row.high) + 1 }),
  (row, random) => ({ ...row, timestamp: oneOf(["", "soon", "2024-02-30T00:00:00.000Z", 0], random) }),
  // A valid instant that starts no interval.
  (row) => ({
    ...row,
    timestamp: new Date((parseIsoInstant(String(row.timestamp)) ?? 0) + 1).toISOString(),
  }),
  (row) => ({ ...without(row, "trades"), swaps: 0.5 }),
];

const SNIPER_BREAKS: readonly Break[] = [
  () => null,
  (row) => without(row, "walletAddress"),
  (row, random) => ({ ...row, walletAddress: oneOf([null, "", 7], random) }),
  (row) => ({ ...row, totalSoldUsd: String(row.totalSoldUsd) }),
  (row, random) => ({ ...row, [oneOf(["snipedTransactions", "sellTransactions"], random)]: {} }),
  (row) => withFirstSale(row, (sale) => without(sale, "transactionHash")),
  (row) => withFirstSale(row, (sale) => ({ ...sale, transactionTimestamp: "soon" })),
];

function withFirstSale(row: Row, change: (sale: Row) => Row): Row {
  const [first, ...others] = Array.isArray(row.sellTransactions) ? row.sellTransactions : [];
  return { ...row, sellTransactions: [change((first ?? {}) as Row), ...others] };
}
