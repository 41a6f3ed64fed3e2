import fc from "fast-check";
import { expect, it } from "vitest";
import {
  SNIPER_TOTALS,
  type Sniper,
  type SniperReport,
  type SniperTotal,
  type SniperTransaction,
} from "../../src/contract/model.js";
import { LONGEST_LAG } from "../../src/poll/apart.js";
import {
  emptySniperBook,
  readReport,
  type SniperBook,
  type SniperRead,
  snapshot,
} from "../../src/snipers/diff.js";
import { applySniperEvent, emptyReport } from "../../src/snipers/event.js";

// Few addresses, hashes, places and totals, so that everything comes, goes, moves and meets often.
const ADDRESSES = ["a", "b", "c", "d"];
const transaction: fc.Arbitrary<SniperTransaction> = fc.record({
  transactionHash: fc.constantFrom("1", "2", "3", "4"),
  transactionTimestamp: fc.constantFrom(10, 10, 10, 20),
  blocksAfterCreation: fc.constantFrom(1, 1, 1, null),
});
const transactions = fc.array(transaction, { maxLength: 5 });
const total = fc.constantFrom(0, 0, 0, -0, null, 61.20289092299993, -1);
const sniper = fc
  .record({
    snipedTransactions: transactions,
    sellTransactions: transactions,
    totals: fc.tuple(total, total),
  })
  .map(({ snipedTransactions, sellTransactions, totals }) => ({
    ...(Object.fromEntries(SNIPER_TOTALS.map((name) => [name, 0])) as Record<SniperTotal, number>),
    snipedTransactions,
    sellTransactions,
    totalSoldUsd: totals[0],
    currentBalance: totals[1],
  }));
const listing = fc.tuple(fc.constantFrom(...ADDRESSES), sniper).map(([walletAddress, rest]): Sniper => {
  return { walletAddress, ...rest };
});
const trouble = fc.record({
  unreadable: fc.oneof(
    { weight: 4, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: fc.subarray(ADDRESSES) },
  ),
  hasUnidentifiedRow: fc.oneof(
    { weight: 8, arbitrary: fc.constant(false) },
    { weight: 1, arbitrary: fc.constant(true) },
  ),
});
const answer = fc
  .tuple(fc.array(listing, { maxLength: 6 }), trouble)
  .map(([result, { unreadable, hasUnidentifiedRow }]) => ({
    result,
    unreadable: new Set(unreadable),
    hasUnidentifiedRow,
  }));
type Answer = Pick<SniperRead, "unreadable" | "hasUnidentifiedRow"> & { result: Sniper[] };
/** Answers with repetitions, so that absences are confirmed as often as they are taken back. */
const answers: fc.Arbitrary<Answer[]> = fc
  .array(fc.tuple(answer, fc.integer({ min: 1, max: 3 })), { maxLength: 8 })
  .map((list) => list.flatMap(([one, times]) => Array.from({ length: times }, () => one)));

/** Takes an answer as the service made it so many seconds after the first one. */
function read(book: SniperBook, { result, unreadable, hasUnidentifiedRow }: Answer, at: number) {
  const report = { ...emptyReport, result };
  return readReport(book, { report, unreadable, hasUnidentifiedRow, observedAt: at * LONGEST_LAG });
}

const presentWallets = (book: SniperBook) =>
  snapshot(book).map((event) => (event.type === "wallet-added" ? event.wallet : undefined));

/** What counts of an answer's rows: of two listings of a wallet the last. */
const lastListings = (result: Sniper[]) =>
  [...new Map(result.map((row) => [row.walletAddress, row])).values()] as Sniper[];

it("folding the events gives the book, after every report", () => {
  fc.assert(
    fc.property(answers, (list) => {
      let book = emptySniperBook("pair");
      let report: SniperReport = { ...emptyReport, blockNumber: 7 };
      list.forEach((answer, at) => {
        const step = read(book, answer, at);
        book = step.book;
        report = step.events.reduce(applySniperEvent, report);
        expect(report).toEqual({ ...emptyReport, blockNumber: 7, result: presentWallets(book) });
      });
    }),
  );
});

it("says nothing when the same rows come again in another order, once no absence is in doubt", () => {
  fc.assert(
    fc.property(answers, answer, fc.infiniteStream(fc.nat()), (list, last, order) => {
      let book = emptySniperBook("pair");
      for (const one of list) book = read(book, one, 0).book;
      for (let times = 1; times <= 2; times += 1) book = read(book, last, times).book;
      const shuffle = <T>(rows: readonly T[]) =>
        rows
          .map((row) => ({ row, key: order.next().value }))
          .sort((a, b) => a.key - b.key)
          .map(({ row }) => row);
      const result = shuffle(lastListings(last.result)).map((row) => ({
        ...row,
        snipedTransactions: shuffle(row.snipedTransactions),
        sellTransactions: shuffle(row.sellTransactions),
      }));
      const again = read(book, { ...last, result }, 3);
      expect(again.events).toEqual([]);
      expect(again.doubt).toBe(false);
      expect(presentWallets(again.book)).toEqual(presentWallets(book));
    }),
  );
});

it("gives the same events whatever the order of the rows", () => {
  fc.assert(
    fc.property(answers, (list) => {
      let straight = emptySniperBook("pair");
      let reversed = straight;
      list.forEach((answer, at) => {
        const rows = lastListings(answer.result);
        const one = read(straight, { ...answer, result: rows }, at);
        const other = read(reversed, { ...answer, result: rows.toReversed() }, at);
        expect(other.events).toEqual(one.events);
        expect(other.doubt).toBe(one.doubt);
        straight = one.book;
        reversed = other.book;
      });
    }),
  );
});

it("announces a wallet or a transaction once between two removals", () => {
  fc.assert(
    fc.property(answers, (list) => {
      let book = emptySniperBook("pair");
      const known = new Set<string>();
      const come = (key: string) => {
        expect(known).not.toContain(key);
        known.add(key);
      };
      const go = (key: string) => expect(known.delete(key), key).toBe(true);
      list.forEach((answer, at) => {
        const step = read(book, answer, at);
        book = step.book;
        for (const event of step.events) {
          if (event.type === "wallet-added") {
            const { walletAddress, snipedTransactions, sellTransactions } = event.wallet;
            come(walletAddress);
            for (const { transactionHash } of snipedTransactions)
              come(`${walletAddress} snipe ${transactionHash}`);
            for (const { transactionHash } of sellTransactions)
              come(`${walletAddress} sell ${transactionHash}`);
          } else if (event.type === "wallet-removed") {
            const { walletAddress } = event.previous;
            for (const key of [...known]) if (key.startsWith(walletAddress)) go(key);
          } else if (event.type !== "wallet-updated") {
            const side = "side" in event ? event.side : event.type === "sniped" ? "snipe" : "sell";
            const key = `${event.walletAddress} ${side} ${event.transaction.transactionHash}`;
            if (event.type === "transaction-removed") go(key);
            else come(key);
          }
        }
      });
    }),
  );
});

it("removes what two reports in a row lack, nothing else, and doubts what one lacks", () => {
  /** Every wallet and transaction that a report lists, by a name of its own. */
  const listedIn = (result: readonly (Sniper | undefined)[]) =>
    new Set(
      result.flatMap((row) => [
        row!.walletAddress,
        ...row!.snipedTransactions.map((one) => `${row!.walletAddress} snipe ${one.transactionHash}`),
        ...row!.sellTransactions.map((one) => `${row!.walletAddress} sell ${one.transactionHash}`),
      ]),
    );
  fc.assert(
    fc.property(answers, (list) => {
      let book = emptySniperBook("pair");
      let lackedBefore = new Set<string>();
      list.forEach((answer, at) => {
        const before = listedIn(presentWallets(book));
        const listed = listedIn(lastListings(answer.result));
        const lacked = new Set(
          [...before].filter(
            (key) =>
              !listed.has(key) && !answer.hasUnidentifiedRow && !answer.unreadable.has(key.split(" ")[0]!),
          ),
        );
        const step = read(book, answer, at);
        book = step.book;
        const after = listedIn(presentWallets(book));
        const removed = [...before].filter((key) => !after.has(key));
        const lackedTwice = [...lacked].filter((key) => lackedBefore.has(key));
        expect(removed).toEqual(lackedTwice);
        expect(step.doubt).toBe(lacked.size > lackedTwice.length);
        lackedBefore = new Set([...lacked].filter((key) => after.has(key)));
      });
    }),
  );
});
