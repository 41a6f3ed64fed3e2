import { SNIPER_TOTALS } from "../../src/contract/model.js";

const MIB = 1_048_576;
/** The largest body that a client reads. */
export const LARGEST = 8 * MIB;
const MINUTE = 60_000;
const BEGIN = Date.UTC(2026, 0, 1);

/** The series that is asked for, and a range that holds as many rows as are read of any. */
export const QUERY = {
  network: "mainnet",
  pairAddress: "pair",
  timeframe: "1min",
  currency: "usd",
  fromDate: BEGIN,
  toDate: BEGIN + 10_000 * MINUTE,
} as const;

/** An answer that is made to do harm, or the largest that may be good. */
export interface Body {
  readonly name: string;
  readonly kind: "ohlcv" | "snipers";
  /** Default: 200. */
  readonly status?: number;
  /** The text; `share`: of its full size, 1 or less. */
  readonly make: (share: number) => string;
  /** What becomes of it, as a pattern of the error's message; none where it is taken. */
  readonly refusal?: RegExp;
}

const page = (rows: string, fields = "") =>
  `{"cursor":null,"page":1,"pairAddress":"pair","timeframe":"1min","currency":"usd",${fields}"result":[${rows}]}`;
const report = (rows: string) =>
  `{"blockNumber":1,"blockTimestamp":null,"transactionHash":null,"result":[${rows}]}`;
/** As many of the same as fit into so many bytes, or a count of them. */
const listOf = (element: string, count: number) =>
  `${`${element},`.repeat(Math.max(0, Math.floor(count) - 1))}${element}`;
const fitting = (element: string, bytes: number) => (bytes - 200) / (element.length + 1);

function rows(count: number, swaps: string): string {
  return Array.from({ length: Math.floor(count) }, (_, at) => {
    const timestamp = new Date(BEGIN + at * MINUTE).toISOString();
    const price = 1 + at / 7;
    return `{"timestamp":"${timestamp}","open":${price},"high":${price},"low":${price},"close":${price},"volume":${at},"swaps":${swaps}}`;
  }).join(",");
}
/** A row of `rows` is no longer. */
const ROW = 164;

function transactions(count: number, from: number): string {
  return Array.from(
    { length: Math.floor(count) },
    (_, at) =>
      `{"transactionHash":"h${from + at}","transactionTimestamp":"2026-01-01T00:00:00.000Z","blocksAfterCreation":3}`,
  ).join(",");
}

/** As many snipers with five transactions each as fit, with addresses and hashes of the usual length. */
function usualSnipers(bytes: number): string {
  const one = (at: number) => {
    const transaction = (each: number) =>
      `{"transactionHash":"${String(5 * at + each).padStart(88, "5h6xBEauJ3PK6SWCZ1PG")}","transactionTimestamp":"2026-01-01T00:00:00.000Z","blocksAfterCreation":${each}}`;
    const totals = SNIPER_TOTALS.map((name) => `"${name}":${at}.2345678901`).join(",");
    const lists = `"snipedTransactions":[${transaction(0)}],"sellTransactions":[${[1, 2, 3, 4].map(transaction)}]`;
    return `{"walletAddress":"${String(at).padStart(44, "7YttLkHDoNj9wyDur5pM")}",${lists},${totals}}`;
  };
  const count = Math.floor(bytes / (one(99_999).length + 1));
  return Array.from({ length: count }, (_, at) => one(at)).join(",");
}

const TOO_MANY = /at most \d+ are read/;
const NOT_JSON = /not JSON, but/;

export const BODIES: readonly Body[] = [
  {
    name: "100,000 rows `0`",
    kind: "ohlcv",
    make: () => page(listOf("0", 100_000)),
    refusal: TOO_MANY,
  },
  {
    name: "8 MiB of rows `0`",
    kind: "ohlcv",
    make: (share) => page(listOf("0", fitting("0", share * LARGEST))),
    refusal: TOO_MANY,
  },
  {
    name: "8 MiB of good rows, each of another minute",
    kind: "ohlcv",
    make: (share) => page(rows((share * LARGEST) / (ROW + 1), "1")),
    refusal: TOO_MANY,
  },
  {
    name: "8 MiB of rows that break in their last field",
    kind: "ohlcv",
    make: (share) => page(rows((share * LARGEST) / (ROW + 2), "-1")),
    refusal: TOO_MANY,
  },
  {
    name: "20,000 rows that break in their last field",
    kind: "ohlcv",
    make: () => page(rows(20_000, "-1")),
    refusal: /result\[0\]\.swaps: not a whole number/,
  },
  {
    name: "30 MB of `[`",
    kind: "ohlcv",
    make: () => "[".repeat(30_000_000),
    refusal: /larger than 8388608 bytes/,
  },
  {
    name: "8 MiB of `[`",
    kind: "ohlcv",
    make: (share) => "[".repeat(LARGEST * share),
    refusal: NOT_JSON,
  },
  {
    name: "8 MiB of lists in lists",
    kind: "ohlcv",
    make: (share) => {
      const depth = (LARGEST * share - 200) / 2;
      return page("", `"note":${"[".repeat(depth)}${"]".repeat(depth)},`);
    },
  },
  {
    name: '8 MiB of `{"a":`',
    kind: "ohlcv",
    make: (share) => '{"a":'.repeat((LARGEST * share) / 5),
    refusal: NOT_JSON,
  },
  {
    name: "8 MiB of names in one object",
    kind: "ohlcv",
    make: (share) => {
      const names = Array.from({ length: (LARGEST * share) / 13 }, (_, at) => `"n${at}":0`);
      return page("", `${names.join(",")},`);
    },
  },
  {
    name: "8 MiB of one text",
    kind: "ohlcv",
    make: (share) => page("", `"note":"${"x".repeat(LARGEST * share - 200)}",`),
  },
  {
    name: "8 MiB of escapes, beside lists",
    kind: "ohlcv",
    make: (share) =>
      page("", `"lists":[${listOf("[]", 8)}],"note":"${'\\"'.repeat((LARGEST * share - 300) / 2)}",`),
  },
  {
    name: "8 MiB of space, beside lists",
    kind: "ohlcv",
    make: (share) => page("", `"lists":[${listOf("[]", 8)}],${" ".repeat(LARGEST * share - 300)}`),
  },
  {
    name: "a cursor of 2 MB",
    kind: "ohlcv",
    make: (share) => page("", `"cursor":"${"c".repeat(2_000_000 * share)}",`),
    refusal: /longer than 4096 characters/,
  },
  {
    name: "one sniper with 200,000 bad transactions",
    kind: "snipers",
    make: () => report(`{"walletAddress":"w","snipedTransactions":[${listOf("{}", 200_000)}]}`),
    refusal: TOO_MANY,
  },
  {
    name: "one sniper with 50,000 bad transactions",
    kind: "snipers",
    make: () => report(`{"walletAddress":"w","snipedTransactions":[${listOf("{}", 50_000)}]}`),
    refusal: /snipedTransactions\[0\]\.transactionHash/,
  },
  {
    name: "8 MiB of the smallest snipers",
    kind: "snipers",
    make: (share) => {
      const sniper = '{"walletAddress":"w"}';
      return report(listOf(sniper, fitting(sniper, share * LARGEST)));
    },
    refusal: TOO_MANY,
  },
  {
    name: "10,000 good snipers with 50,000 transactions",
    kind: "snipers",
    make: (share) =>
      report(
        Array.from(
          { length: 10_000 * share },
          (_, at) => `{"walletAddress":"w${at}","sellTransactions":[${transactions(5, at * 5)}]}`,
        ).join(","),
      ),
  },
  {
    name: "10,000 snipers that break in their last field",
    kind: "snipers",
    make: () => {
      const sniper = '{"walletAddress":"w","realizedProfitUsd":"one"}';
      return report(listOf(sniper, 10_000));
    },
    refusal: /result\[0\]\.realizedProfitUsd: not a number/,
  },
  {
    name: "8 MiB of good snipers with transactions of usual length",
    kind: "snipers",
    make: (share) => report(usualSnipers(share * LARGEST - 200)),
  },
  {
    name: "status 500 with 8 MiB of `[`",
    kind: "ohlcv",
    status: 500,
    make: (share) => "[".repeat(LARGEST * share),
    refusal: /status 500, without a message/,
  },
];
