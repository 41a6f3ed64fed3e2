import fc from "fast-check";
import type { Sniper } from "../../../src/contract/model.js";
import { emptySniperBook, readReport } from "../../../src/snipers/diff.js";
import { emptyReport, type SniperEvent } from "../../../src/snipers/event.js";
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

/** The event of a wallet that has appeared, of the first report unless told otherwise. */
export function added(walletAddress: string, more: Partial<SniperEvent> = {}): SniperEvent {
  const wallet = walletOf(walletAddress);
  const event = { type: "wallet-added", wallet, pairAddress: "pair", initial: true, observedAt: 1 };
  return { ...event, ...more } as SniperEvent;
}

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

/** One subscription to the snipers of a pair; what is absent is gone at once. */
export class SniperWatch {
  #book = emptySniperBook("pair");
  #now = 0;

  take(result: Answer): readonly SniperEvent[] {
    const events: SniperEvent[] = [];
    for (let times = 0; times < 2; times += 1) {
      this.#now += 1;
      const read = {
        report: { ...emptyReport, result },
        unreadable: new Set<string>(),
        hasUnidentifiedRow: false,
      };
      const turn = readReport(this.#book, { ...read, observedAt: this.#now });
      this.#book = turn.book;
      events.push(...turn.events);
    }
    return events;
  }
}
