import fc from "fast-check";
import type { Sniper } from "../../../src/contract/model.js";
import { emptySniperBook, readReport } from "../../../src/snipers/diff.js";
import { emptyReport } from "../../../src/snipers/event.js";
import { lookAt, type SniperLook, type ToldLook } from "../../../src/snipers/look.js";
import { walletOf } from "../../snipers/wallets.js";

/** The wallets of a report. */
export type Answer = readonly Sniper[];

const transactions = fc.array(
  fc.record({
    transactionHash: fc.constantFrom("1", "2", "3"),
    transactionTimestamp: fc.constantFrom(10, 20),
    blocksAfterCreation: fc.constantFrom(1, null),
  }),
  { maxLength: 3 },
);

/** Few wallets and transactions, so that all of them come and go. */
export const sniperAnswer: fc.Arbitrary<Answer> = fc
  .uniqueArray(
    fc.record({
      walletAddress: fc.constantFrom("a", "b", "c"),
      snipedTransactions: transactions,
      sellTransactions: transactions,
      currentBalance: fc.constantFrom(0, 1, null),
    }),
    { selector: ({ walletAddress }) => walletAddress },
  )
  .map((wallets) => wallets.map(({ walletAddress, ...rest }) => walletOf(walletAddress, rest)));

/** One subscription to the looks at the snipers of a pair; what is absent is gone at once. */
export class Looks {
  #told: ToldLook | undefined;

  get last(): SniperLook | undefined {
    return this.#told?.look;
  }

  /** The next look, if the answer is news. */
  take(answer: Answer, blockNumber: number | null, observedAt: number): SniperLook | undefined {
    const report = { ...emptyReport, result: answer };
    const read = { report, unreadable: new Set<string>(), hasUnidentifiedRow: false, observedAt };
    const { book } = readReport(emptySniperBook("pair"), read);
    const wallets = new Map(Array.from(book.wallets, ([address, { wallet }]) => [address, wallet]));
    const head = { blockNumber, blockTimestamp: 5, transactionHash: "hash" };
    const before = this.#told;
    this.#told = lookAt(before, { wallets, head, observedAt }, { pairAddress: "pair" });
    return this.#told === before ? undefined : this.#told.look;
  }
}
