import type { Sniper, SniperReport } from "../../contract/model.js";
import { bookOfAbsent, readReport } from "../../snipers/diff.js";
import { applySniperEvent, emptyReport, type SniperEvent } from "../../snipers/event.js";

/** The wallet after an event; `undefined` if it is gone. */
export function foldWallet(wallet: Sniper | undefined, event: SniperEvent): Sniper | undefined {
  const report: SniperReport = { ...emptyReport, result: wallet === undefined ? [] : [wallet] };
  return applySniperEvent(report, event).result[0];
}

/** The events that lead from some wallets of a pair to others, in the order of a report's events. */
export function walletChanges(
  known: Iterable<Sniper>,
  now: readonly Sniper[],
  { pairAddress, observedAt, initial }: Pick<SniperEvent, "pairAddress" | "observedAt" | "initial">,
): { events: readonly SniperEvent[]; wallets: readonly Sniper[] } {
  const book = bookOfAbsent(pairAddress, known, initial ? undefined : observedAt);
  const read = {
    report: { ...emptyReport, result: now },
    unreadable: new Set<string>(),
    hasUnidentifiedRow: false,
  };
  const turn = readReport(book, { ...read, observedAt });
  return { events: turn.events, wallets: [...turn.book.wallets.values()].map(({ wallet }) => wallet) };
}
