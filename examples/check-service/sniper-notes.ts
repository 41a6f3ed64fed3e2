import type { SniperReport } from "pairstream";
import type { Answer } from "./asker.js";
import { kindly, type Note } from "./notes.js";
import { type RawRow, rawRows } from "./page-notes.js";

/** What is otherwise in a report that could be read. */
export function sniperNotes(answer: Answer, { blockTimestamp, result }: SniperReport): Note[] {
  const wallets = new Set(result.map(({ walletAddress }) => walletAddress));
  const lists = ["snipedTransactions", "sellTransactions"] as const;
  const some = (passes: (row: RawRow) => boolean) => rawRows(answer).some(passes);
  const notes: (Note | false)[] = [
    blockTimestamp === null && kindly("it does not say when the pair was created"),
    wallets.size < result.length && kindly(`wallets that come twice: ${result.length - wallets.size}`),
    result.some((sniper) => Object.values(sniper).includes(null)) && kindly("some totals are null or absent"),
    some((row) => lists.some((list) => !Array.isArray(row[list]))) && kindly("some lists are null or absent"),
    result.some(({ totalTokensSold }) => (totalTokensSold ?? 0) < 0) &&
      kindly("tokens sold are below 0, so take holdingOf for what a wallet still holds"),
    result.some(({ sellTransactions }) => sellTransactions.length === 0) &&
      kindly("it lists wallets that have sold nothing"),
  ];
  return notes.filter((note) => note !== false);
}
