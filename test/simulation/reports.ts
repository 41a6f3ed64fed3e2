import type { SniperTotal, SniperTransaction } from "../../src/index.js";
import { type Exchange, hasFalseDate } from "./exchanges.js";
import { APART, isAnotherAnswer, NEWEST_END, ROUNDED } from "./monitors/evidence.js";
import { askedBy, asNumber } from "./reads.js";
import type { RunLog } from "./run-log.js";

export const LISTS = ["snipedTransactions", "sellTransactions"] as const;

export const TOTALS: readonly SniperTotal[] = [
  "totalSellTransactions",
  "totalSnipedTransactions",
  "totalTokensSniped",
  "totalSnipedUsd",
  "totalTokensSold",
  "totalSoldUsd",
  "currentBalance",
  "currentBalanceUsdValue",
  "realizedProfitPercentage",
  "realizedProfitUsd",
];

/** A cache that tells no age gives what is so many ms old at most. */
const LONGEST_KEPT = 1_000;

/** A wallet with its transactions by hash. */
export type Wallet = Readonly<Record<SniperTotal, number | null>> &
  Readonly<Record<(typeof LISTS)[number], ReadonlyMap<string, SniperTransaction>>>;

/** An answer with snipers that the client took in. */
export interface Report {
  readonly exchange: Exchange;
  /** How many answers the client had told of before it. */
  readonly order: number;
  /** When the service made it, by its clock. */
  readonly madeAt: number;
  readonly received: number;
  readonly wallets: ReadonlyMap<string, Wallet>;
  /** The wallets of which it has a row that nobody can read. */
  readonly broken: ReadonlySet<string>;
  /** Whether it has a row that may be any wallet's. */
  readonly isVague: boolean;
}

/** From so many wallets on, a report that shows none of them is none. */
const MANY = 4;
/** For so long, ms, and two polls, one that shows others alone is none, either. */
const STRANGE = 60_000;

/**
 * The reports of a watch that polls every so many ms, in the order in which the client told of them, without those that are none
 * by promise 7.
 */
export function reportsOf(log: RunLog, series: string, every = 60_000): Report[] {
  let known = new Set<string>();
  let since: number | undefined;
  return answersOf(log, series).filter(({ wallets, broken, isVague, received }) => {
    const isStrange =
      known.size >= MANY &&
      broken.size === 0 &&
      !isVague &&
      ![...wallets.keys()].some((one) => known.has(one));
    since = isStrange ? (since ?? received) : undefined;
    if (isStrange && (wallets.size === 0 || received - since! < 2 * every + STRANGE)) return false;
    known = new Set(wallets.keys());
    return true;
  });
}

function answersOf({ told, exchanges }: RunLog, series: string): Report[] {
  return told.flatMap((exchange) => {
    if (!exchange.told!.isGood || exchange.priority === "history") return [];
    const asked = askedBy(exchange.url);
    if (asked.kind !== "snipers" || asked.series !== series) return [];
    return reportOf(exchange, exchanges) ?? [];
  });
}

function reportOf(exchange: Exchange, exchanges: readonly Exchange[]): Report | undefined {
  let rows: unknown;
  try {
    rows = JSON.parse(exchange.body!).result;
  } catch {
    return undefined;
  }
  if (!Array.isArray(rows)) return undefined;
  const wallets = new Map<string, Wallet>();
  const broken = new Set<string>();
  let isVague = false;
  for (const row of rows) {
    const address: unknown = row?.walletAddress;
    const wallet = walletIn(row);
    if (typeof address !== "string" || address === "") isVague = true;
    else if (wallet === undefined) broken.add(address);
    else wallets.set(address, wallet);
  }
  return {
    exchange,
    order: exchange.told!.order,
    madeAt: madeAt(exchange, exchanges),
    received: exchange.received!,
    wallets,
    broken,
    isVague,
  };
}

/** When the service made an answer: what came from a cache that tells no age is a copy of one of the second before. */
function madeAt({ id, url, faults, answeredAt, body }: Exchange, exchanges: readonly Exchange[]): number {
  if (!faults.includes("cached")) return answeredAt!;
  const copied = exchanges.filter(
    (other) =>
      other.id < id &&
      other.url === url &&
      other.body === body &&
      other.answeredAt !== undefined &&
      answeredAt! - other.answeredAt <= LONGEST_KEPT,
  );
  return Math.min(answeredAt!, ...copied.map((other) => other.answeredAt!));
}

function walletIn(row: Record<string, unknown> | null): Wallet | undefined {
  const totals = TOTALS.map((name) => [name, numberIn(row?.[name])] as const);
  const lists = LISTS.map((name) => [name, transactionsIn(row?.[name] ?? [])] as const);
  if ([...totals, ...lists].some(([, value]) => value === undefined)) return undefined;
  return Object.fromEntries([...totals, ...lists]) as unknown as Wallet;
}

/** Numbers may be null, or absent. */
function numberIn(value: unknown): number | null | undefined {
  if (value === null || value === undefined) return null;
  const number = asNumber(value);
  return typeof number === "number" ? number : undefined;
}

function transactionsIn(list: unknown): ReadonlyMap<string, SniperTransaction> | undefined {
  if (!Array.isArray(list)) return undefined;
  const transactions = list.map((row): SniperTransaction | undefined => {
    const transactionTimestamp = Date.parse(row?.transactionTimestamp);
    const isHash = typeof row?.transactionHash === "string";
    if (!isHash || Number.isNaN(transactionTimestamp)) return undefined;
    const { transactionHash, blocksAfterCreation = null } = row;
    return { transactionHash, transactionTimestamp, blocksAfterCreation };
  });
  return transactions.every((one) => one !== undefined) ? byHash(transactions) : undefined;
}

/** Of two that have one hash the later one counts. */
export function byHash(transactions: readonly SniperTransaction[]): ReadonlyMap<string, SniperTransaction> {
  const placeOf = ({ transactionTimestamp, blocksAfterCreation }: SniperTransaction) =>
    [transactionTimestamp, blocksAfterCreation ?? -1] as const;
  const found = new Map<string, SniperTransaction>();
  for (const one of transactions) {
    const other = found.get(one.transactionHash);
    const [[at, blocks], [otherAt, otherBlocks]] = [placeOf(one), placeOf(other ?? one)];
    if (other === undefined || at > otherAt || (at === otherAt && blocks > otherBlocks))
      found.set(one.transactionHash, one);
  }
  return found;
}

/** Whether a transaction is as an answer has it, which may leave out its block. */
export function isSameTransaction(known: SniperTransaction, now: SniperTransaction): boolean {
  return (
    known.transactionHash === now.transactionHash &&
    known.transactionTimestamp === now.transactionTimestamp &&
    (now.blocksAfterCreation === null || known.blocksAfterCreation === now.blocksAfterCreation)
  );
}

/** What a report says of a wallet, or of one of its transactions. */
type Word = "shown" | "lacking" | "nothing";

export type Subject = { readonly address: string } & (
  | { readonly list?: undefined }
  | { readonly list: (typeof LISTS)[number]; readonly hash: string }
);

export function wordOf({ wallets, broken, isVague }: Report, subject: Subject): Word {
  const wallet = wallets.get(subject.address);
  const isShown =
    subject.list === undefined ? wallet !== undefined : wallet?.[subject.list].has(subject.hash) === true;
  if (isShown) return "shown";
  // A row that nobody can read may be the wallet's.
  if (broken.has(subject.address) || (isVague && wallet === undefined)) return "nothing";
  return "lacking";
}

/**
 * Whether reports say that what was there is gone: since the last one that showed it, two lack it that the service has
 * made a second apart, as far as the way of the first tells that, or `apart`; where the later one shows no transaction that is
 * newer, it may come from a machine that lags, and nothing has shown it for five seconds. `isInARow`: for sure, as none of those
 * in between says nothing of it, as one that lies about its time does.
 */
export function isGone(
  reports: readonly Report[],
  subject: Subject,
  { isInARow = false, apart = APART } = {},
): boolean {
  let lacking: Report[] = [];
  let shown: Report | undefined;
  for (const report of reports) {
    const word = wordOf(report, subject);
    if (word === "shown") shown = report;
    if (word === "lacking" && !(isInARow && hasFalseDate(report.exchange))) lacking.push(report);
    else if (word === "shown" || isInARow) lacking = [];
  }
  const first = lacking.reduce((a, b) => (b.madeAt < a.madeAt ? b : a), lacking[0]!);
  const isTwo = (report: Report) =>
    isInARow
      ? report.madeAt - first.madeAt >= apart
      : isAnotherAnswer(first, report, first.received - first.exchange.sent);
  const made = shown === undefined ? Number.NEGATIVE_INFINITY : madeOf(shown, subject);
  return lacking.some((report) => {
    if (!isTwo(report)) return false;
    if (made < newestOf(report)) return true;
    return isInARow
      ? report.madeAt - first.madeAt >= NEWEST_END + apart
      : report.madeAt - (shown ?? first).madeAt >= NEWEST_END - ROUNDED;
  });
}

/** When a transaction was made, or the first sale of a wallet, from which on it is listed. */
function madeOf({ wallets }: Report, { address, ...subject }: Subject): number {
  const wallet = wallets.get(address)!;
  if (subject.list !== undefined) return wallet[subject.list].get(subject.hash)!.transactionTimestamp;
  const sales = [...wallet.sellTransactions.values()].map(({ transactionTimestamp }) => transactionTimestamp);
  return sales.length === 0 ? Number.POSITIVE_INFINITY : Math.min(...sales);
}

/** When the newest transaction of a report was made. */
function newestOf({ wallets }: Report): number {
  const all = [...wallets.values()].flatMap((wallet) => LISTS.flatMap((list) => [...wallet[list].values()]));
  return Math.max(...all.map(({ transactionTimestamp }) => transactionTimestamp));
}
