import { show } from "../contract/input.js";
import {
  SNIPER_TOTALS,
  type Sniper,
  type SniperQuery,
  type SniperReport,
  type SniperTransaction,
} from "../contract/model.js";
import { InvalidInputError } from "../errors.js";
import { emptySniperBook, readReport, type SniperBook } from "./diff.js";

/** A look that was kept, such as the last one of `watchSniperReport`, also after `JSON.stringify` and `JSON.parse`. */
export interface KnownSnipers {
  /** The pair of the look. */
  readonly pairAddress: string;
  /** How many blocks after the creation count, as it was asked for. */
  readonly blocksAfterCreation?: number | undefined;
  /** The snipers of the look. */
  readonly report: SniperReport;
}

const ALLOWED = "a SniperLook of the same pair and blocksAfterCreation, as watchSniperReport gives it";

/** A kept look as a book that had its report long ago. Throws an `InvalidInputError` if it is not a look of the query. */
export function checkKnown(known: KnownSnipers | undefined, query: SniperQuery): SniperBook | undefined {
  if (known === undefined) return undefined;
  if (typeof known !== "object" || known === null) throw refusal("", `is ${show(known)}`);
  for (const name of ["pairAddress", "blocksAfterCreation"] as const) {
    // A kept file may say null for what is absent.
    const [kept, asked] = [known[name] ?? undefined, query[name]];
    if (kept !== asked) throw refusal(`.${name}`, `is ${show(kept)}, and not ${show(asked)}`);
  }
  const { report } = known;
  if (!isReport(report)) throw refusal(".report", "is not a SniperReport");
  const read = { report, unreadable: new Set<string>(), hasUnidentifiedRow: false };
  // Whatever the clock says, the first report from now on comes later.
  const observedAt = -Infinity;
  return readReport(emptySniperBook(query.pairAddress), { ...read, observedAt }).book;
}

/** Throws an `InvalidInputError` where a kept look has no place. `where` names the place. */
export function refuseKnown({ known }: { readonly known?: unknown }, where: string): void {
  if (known === undefined) return;
  throw new InvalidInputError(
    "known",
    `nothing ${where}; watchSnipers and watchSniperReport take it`,
    "is given",
  );
}

function refusal(path: string, problem: string): InvalidInputError {
  return new InvalidInputError(`known${path}`, ALLOWED, problem);
}

function isReport(report: unknown): report is SniperReport {
  if (!isObject<SniperReport>(report)) return false;
  const { blockNumber, blockTimestamp, transactionHash, result } = report;
  const isHead =
    [blockNumber, blockTimestamp].every(isTotal) &&
    (transactionHash === null || typeof transactionHash === "string");
  return isHead && Array.isArray(result) && result.every(isSniper);
}

function isSniper(wallet: unknown): boolean {
  if (!isObject<Sniper>(wallet) || !isName(wallet.walletAddress)) return false;
  const lists = [wallet.snipedTransactions, wallet.sellTransactions];
  return (
    lists.every((list) => Array.isArray(list) && list.every(isTransaction)) &&
    SNIPER_TOTALS.every((name) => isTotal(wallet[name]))
  );
}

function isTransaction(transaction: unknown): boolean {
  if (!isObject<SniperTransaction>(transaction)) return false;
  const { transactionHash, transactionTimestamp, blocksAfterCreation } = transaction;
  return isName(transactionHash) && Number.isFinite(transactionTimestamp) && isTotal(blocksAfterCreation);
}

function isObject<T>(value: unknown): value is { readonly [field in keyof T]?: unknown } {
  return typeof value === "object" && value !== null;
}

function isName(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isTotal(value: unknown): boolean {
  return value === null || Number.isFinite(value);
}
