import fc from "fast-check";
import { expect, it } from "vitest";
import type { Sniper, SniperReport } from "../../src/contract/model.js";
import { emptySniperBook, readReport, type SniperBook } from "../../src/snipers/diff.js";
import { applySniperEvent, emptyReport } from "../../src/snipers/event.js";
import { checkKnown } from "../../src/snipers/known.js";
import { nextLook, type SniperLook, type ToldLook } from "../../src/snipers/look.js";
import type { SniperTrade } from "../../src/snipers/trades.js";
import { nextView, type SniperState, type SniperView } from "../../src/snipers/view.js";
import { CALM, Chain, type Step, steps } from "./market.js";

const QUERY = { pairAddress: "pair", blocksAfterCreation: 3 };

/** A poll and one subscriber of it, who keeps its last look in a file and goes on from there. */
class Follower {
  readonly #chain = new Chain();
  #book: SniperBook = emptySniperBook(QUERY.pairAddress);
  #state: SniperState | undefined;
  #known: SniperBook | undefined;
  #view: SniperView | undefined;
  #told: ToldLook | undefined;
  /** Wallets whose row lacked something in an answer with a row that may be any wallet's. */
  readonly vague = new Set<string>();
  readonly looks: SniperLook[] = [];

  take(step: Step): void {
    const read = this.#chain.take(step);
    const turn = readReport(this.#book, read);
    const { result, ...head } = read.report;
    const { unreadable, hasUnidentifiedRow, isInDoubt = false } = read;
    this.#book = turn.book;
    this.#state = { ...turn, head, trouble: { unreadable, hasUnidentifiedRow, isInDoubt } };
    if (hasUnidentifiedRow) {
      for (const wallet of result) if (this.#lacks(wallet)) this.vague.add(wallet.walletAddress);
    }
    this.#follow();
    if (step.restart === "none") return;
    const kept = this.looks.at(-1);
    this.#known = kept && checkKnown(JSON.parse(JSON.stringify(kept)), QUERY);
    this.#view = undefined;
    this.#told = undefined;
    // In the same process the poll goes on for others, and the one who comes back gets its last state at once.
    if (step.restart === "subscriber") this.#follow();
    else this.#book = emptySniperBook(QUERY.pairAddress);
  }

  get truth(): readonly Sniper[] {
    return this.#chain.report().result;
  }

  #follow(): void {
    this.#view = nextView(this.#view, this.#state!, this.#known);
    const told = nextLook(this.#told, this.#view, QUERY, this.#known);
    if (told !== this.#told) this.looks.push(told.look);
    this.#told = told;
  }

  #lacks({ walletAddress, snipedTransactions, sellTransactions }: Sniper): boolean {
    const known = this.looks.at(-1)?.report.result.find((one) => one.walletAddress === walletAddress);
    if (known === undefined) return false;
    const hashes = (list: Sniper["sellTransactions"]) => list.map(({ transactionHash }) => transactionHash);
    const [snipes, sales] = [new Set(hashes(snipedTransactions)), new Set(hashes(sellTransactions))];
    return !(
      hashes(known.snipedTransactions).every((hash) => snipes.has(hash)) &&
      hashes(known.sellTransactions).every((hash) => sales.has(hash))
    );
  }
}

function followed(list: readonly Step[]): Follower {
  const follower = new Follower();
  for (const step of [...list, CALM, CALM, CALM]) follower.take(step);
  return follower;
}

const keyOf = ({ walletAddress, side, transaction }: SniperTrade) =>
  `${walletAddress} ${side} ${transaction.transactionHash}`;

const keysOf = ({ result }: SniperReport) =>
  result.flatMap(({ walletAddress, snipedTransactions, sellTransactions }) => [
    ...snipedTransactions.map(({ transactionHash }) => `${walletAddress} snipe ${transactionHash}`),
    ...sellTransactions.map(({ transactionHash }) => `${walletAddress} sell ${transactionHash}`),
  ]);

it("each trade is told once, and what is taken back is told, over forks, faults and restarts", () => {
  fc.assert(
    fc.property(steps, (list) => {
      const told = new Set<string>();
      for (const { trades, report } of followed(list).looks) {
        for (const trade of trades) {
          if (trade.kind === "made") expect(told).not.toContain(keyOf(trade));
          if (trade.kind === "made") told.add(keyOf(trade));
          else expect(told.delete(keyOf(trade)), keyOf(trade)).toBe(true);
        }
        expect([...told].sort()).toEqual(keysOf(report).sort());
      }
    }),
  );
});

it("lookUsd, summed once a wallet, side and look, equals the totals of every look", () => {
  fc.assert(
    fc.property(steps, (list) => {
      const follower = followed(list);
      const sums = new Map<string, number>();
      const unknown = new Set<string>();
      let before: ReadonlyMap<string, Sniper> = new Map();
      for (const { trades, report } of follower.looks) {
        const groups = new Map<string, SniperTrade[]>();
        for (const trade of trades) {
          const key = `${trade.walletAddress} ${trade.side}`;
          groups.set(key, [...(groups.get(key) ?? []), trade]);
        }
        for (const [key, group] of groups) {
          const { walletAddress, side, lookUsd } = group[0]!;
          const now = report.result.find((one) => one.walletAddress === walletAddress);
          const usd = (one: Sniper | undefined) =>
            one === undefined ? 0 : side === "snipe" ? one.totalSnipedUsd : one.totalSoldUsd;
          const isKnown = usd(before.get(walletAddress)) !== null && usd(now) !== null;
          // What was made while the service said nothing of it stays unknown: no sum makes up for it.
          if (!isKnown) unknown.add(walletAddress);
          expect(lookUsd === null).toBe(!isKnown);
          expect(group).toEqual(group.map((one) => ({ ...one, lookUsd, lookTrades: group.length })));
          sums.set(key, (sums.get(key) ?? 0) + (lookUsd ?? 0));
        }
        for (const { walletAddress, totalSnipedUsd, totalSoldUsd } of report.result) {
          if (follower.vague.has(walletAddress) || unknown.has(walletAddress)) continue;
          if (totalSnipedUsd !== null)
            expect(sums.get(`${walletAddress} snipe`)).toBeCloseTo(totalSnipedUsd, 6);
          if (totalSoldUsd !== null) expect(sums.get(`${walletAddress} sell`)).toBeCloseTo(totalSoldUsd, 6);
        }
        before = new Map(report.result.map((one) => [one.walletAddress, one]));
      }
    }),
  );
});

it("once all is well a look is what the service says, and each folds its events into the next", () => {
  fc.assert(
    fc.property(steps, (list) => {
      const { looks, truth } = followed(list);
      let report: SniperReport = emptyReport;
      for (const [at, look] of looks.entries()) {
        report = look.events.reduce(applySniperEvent, report);
        expect(report.result).toEqual(look.report.result);
        expect(look).toMatchObject({ ...QUERY, initial: at === 0, report: { blockNumber: 7 } });
        const news = [...look.events, ...look.trades];
        expect(news.every((one) => one.initial === look.initial && one.observedAt === look.observedAt)).toBe(
          true,
        );
      }
      expect(looks.at(-1)!.report.result).toEqual(truth);
    }),
  );
});

it("a wallet that comes in a look is new in it, and no other", () => {
  fc.assert(
    fc.property(steps, (list) => {
      for (const { events, trades } of followed(list).looks) {
        const added = new Set(
          events.flatMap((one) => (one.type === "wallet-added" ? one.wallet.walletAddress : [])),
        );
        for (const one of trades) expect(one.isNewWallet).toBe(added.has(one.walletAddress));
      }
    }),
  );
});
