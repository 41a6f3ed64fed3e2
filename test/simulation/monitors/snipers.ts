import type { Sniper, SniperEvent, SniperQuery } from "../../../src/index.js";
import {
  byHash,
  isGone,
  isSameTransaction,
  LISTS,
  type Report,
  reportsOf,
  type Subject,
  TOTALS,
  type Wallet,
  wordOf,
} from "../reports.js";
import type { RunLog, StayLog } from "../run-log.js";
import { isAlike, snipersAt } from "../truth.js";
import { APART } from "./evidence.js";
import { sniperStretch } from "./health.js";
import { mayWaitUntil, waits } from "./missing.js";
import type { Context, Monitor } from "./monitor.js";

type SniperPlan = Extract<StayLog["plan"], { kind: "snipers" | "sniper-status" }>;
type Wallets = ReadonlyMap<string, Wallet>;

/** Promises 1, 2, 7, 8 and 9 as they concern wallets and their transactions. */
export const watchSnipers: Monitor = (log, context) => {
  for (const stay of log.stays) {
    if (stay.plan.kind === "snipers") new Follower(log, stay, stay.plan, context).follow();
  }
};

const LIST_OF = {
  sniped: "snipedTransactions",
  sold: "sellTransactions",
  snipe: "snipedTransactions",
  sell: "sellTransactions",
} as const;

/** The longest wait after failures in a row, as docs/errors.md says, ms. */
const LONGEST_WAIT = 60_000;

/** So many answers in a row that are all asked for again at once are too many. */
const MOST_ASKS = 3;

/** Follows the events of one stay from report to report. */
class Follower {
  readonly #log: RunLog;
  readonly #stay: StayLog;
  readonly #plan: SniperPlan;
  readonly #context: Context;
  /** Those of the poll that the stay shares, up to its end. */
  readonly #reports: readonly Report[];
  /** Whether some of the reports may have been asked for by others, who want to know when the pair was created. */
  readonly #mayBeOfOthers: boolean;
  readonly #wallets = new Map<string, Wallet>();

  constructor(log: RunLog, stay: StayLog, plan: SniperPlan, context: Context) {
    this.#log = log;
    this.#stay = stay;
    this.#plan = plan;
    this.#context = context;
    const { pairAddress, blocksAfterCreation } = plan.options;
    const ends = stay.leftOrder ?? stay.ended?.order ?? Number.POSITIVE_INFINITY;
    const begins = beginningOf(log, stay);
    this.#reports = reportsOf(
      log,
      `${pairAddress} ${blocksAfterCreation ?? null}`,
      plan.options.every,
    ).filter(({ order }) => order >= begins && order < ends);
    const readsCandles = log.stays.some(
      ({ plan: { options } }) => "timeframe" in options && options.pairAddress === pairAddress,
    );
    this.#mayBeOfOthers = blocksAfterCreation === undefined && readsCandles;
  }

  follow(): void {
    const { joined, joinedOrder, sniperEvents } = this.#stay;
    const waiting = [...sniperEvents];
    /** Takes the events up to an instant. */
    const take = (until: number) => {
      while (waiting[0] !== undefined && waiting[0].at <= until) this.#take(waiting.shift()!);
    };
    const before = this.#reports.filter(({ order }) => order < joinedOrder);
    // Who joins is told at once what is known.
    take(joined);
    this.#compare(before, joined);
    for (const [at, report] of this.#reports.entries()) {
      if (at < before.length) continue;
      take(report.received);
      this.#compare(this.#reports.slice(0, at + 1), report.received);
    }
    take(Number.POSITIVE_INFINITY);
    const ends = this.#stay.left ?? this.#stay.ended?.at;
    if (ends !== undefined) this.#compare(this.#reports, ends);
    this.#checkLiveness();
  }

  #take({ at, order, value: event }: StayLog["sniperEvents"][number]): void {
    const address = walletAddressOf(event);
    const breach = (promise: number, what: string) =>
      this.#breach(promise, `${event.type} of ${address}: ${what}`, at);
    const wallet = this.#wallets.get(address);
    if (event.type !== "wallet-added" && wallet === undefined) {
      breach(2, "is not known");
      return;
    }
    const own = wallet!;
    const told = () => this.#reports.filter((report) => report.order < order);
    switch (event.type) {
      case "wallet-added":
        if (wallet !== undefined) breach(2, "is there already");
        this.#wallets.set(address, indexed(event.wallet));
        return;
      case "sniped":
      case "sold": {
        const list = LIST_OF[event.type];
        const { transactionHash } = event.transaction;
        if (own[list].has(transactionHash)) breach(2, `${transactionHash} is announced again`);
        const next = new Map(own[list]).set(transactionHash, event.transaction);
        this.#wallets.set(address, { ...own, [list]: next });
        return;
      }
      case "transaction-removed": {
        const list = LIST_OF[event.side];
        const hash = event.transaction.transactionHash;
        const next = new Map(own[list]);
        if (!next.delete(hash)) breach(2, "takes back what was not there");
        this.#wallets.set(address, { ...own, [list]: next });
        const moved = told().at(-1)?.wallets.get(address)?.[list].get(hash);
        if (moved !== undefined && !isSameTransaction(moved, event.transaction)) return;
        if (!this.#mayGo(told(), { address, list, hash }))
          breach(7, `${hash} goes before answers that were made so far apart have lacked it`);
        return;
      }
      case "wallet-updated":
        if (event.changed.length === 0) breach(2, "changes nothing");
        for (const total of event.changed)
          if (event.previous[total] === event.wallet[total]) breach(2, `${total} is the same`);
        this.#wallets.set(address, indexed(event.wallet));
        return;
      case "wallet-removed":
        this.#wallets.delete(address);
        if (!this.#mayGo(told(), { address }))
          breach(7, "goes before answers that were made so far apart have lacked it");
    }
  }

  /** Whether what was there may be taken back; an answer that is older than another one may be left unheard. */
  #mayGo(reports: readonly Report[], subject: Subject): boolean {
    return isGone(reports, subject) || isGone(inOrderMade(reports), subject);
  }

  /** Compares what is known at an instant with the reports that have come. */
  #compare(reports: readonly Report[], at: number): void {
    const last = reports.at(-1);
    // Another answer of the same instant may not have been told of yet.
    const isFollowed = (report: Report) =>
      this.#reports.some(({ order, received }) => order > report.order && received === report.received);
    if (last === undefined || isFollowed(last) || this.#isAskedAgain(reports)) return;
    let difference = this.#differenceFrom(reports);
    if (difference !== undefined && this.#mayBeOfOthers) {
      const { every = 60_000 } = this.#plan.options;
      // The poll's own report is not older than that.
      const own = reports.findIndex(({ received }) => received > at - every);
      for (let count = reports.length - 1; count >= own && difference !== undefined; count -= 1)
        difference = this.#differenceFrom(reports.slice(0, count));
    }
    if (difference !== undefined) this.#breach(1, difference, at);
  }

  /** Whether the last one of some reports is in doubt, and asked for again in time: once or twice, not on and on. */
  #isAskedAgain(reports: readonly Report[], within = 0): boolean {
    const isDoubted = ({ exchange: { id, url, received } }: Report) =>
      this.#log.exchanges.some(
        (other) =>
          other.id > id && other.url === url && other.sent >= received! && other.sent <= received! + within,
      );
    const asks = reports.length - 1 - reports.findLastIndex((report) => !isDoubted(report));
    return asks > 0 && asks < MOST_ASKS;
  }

  /** Where what is known is not what the last one of some reports says. */
  #differenceFrom(reports: readonly Report[]): string | undefined {
    const last = reports.at(-1);
    // A copy from before another answer tells nothing new.
    if (last === undefined || reports.some(({ madeAt }) => madeAt > last.madeAt)) return undefined;
    const truth =
      last.exchange.faults.length === 0 ? this.#truthAt(last.madeAt - last.exchange.lag) : undefined;
    const wallets = truth ?? last.wallets;
    for (const address of new Set([...wallets.keys(), ...this.#wallets.keys()])) {
      const own = this.#wallets.get(address);
      const wanted = wallets.get(address);
      const difference =
        wanted === undefined
          ? this.#isOver(reports, { address }) && "is gone at the service"
          : own === undefined
            ? "is not known"
            : this.#walletDifference(reports, address, own, wanted);
      if (difference) return `${address}: ${difference}`;
    }
    return undefined;
  }

  #walletDifference(reports: readonly Report[], address: string, own: Wallet, wanted: Wallet) {
    for (const list of LISTS) {
      for (const [hash, transaction] of wanted[list]) {
        const known = own[list].get(hash);
        if (known === undefined) return `lacks ${hash}`;
        if (!isSameTransaction(known, transaction))
          return `has ${JSON.stringify(known)} for ${JSON.stringify(transaction)}`;
      }
      for (const hash of own[list].keys()) {
        if (!wanted[list].has(hash) && this.#isOver(reports, { address, list, hash }))
          return `has ${hash}, which is gone`;
      }
    }
    const total = TOTALS.find((name) => !isAlike(own[name], wanted[name]));
    return total && `${total} is ${own[total]}, the service says ${wanted[total]}`;
  }

  /** Whether what no answer shows any more has to be gone, or never was there. */
  #isOver(reports: readonly Report[], subject: Subject): boolean {
    const wasShown = reports.some((report) => wordOf(report, subject) !== "lacking");
    if (!wasShown) return true;
    // Whether it is gone another report may tell, a second later; all else counts at once.
    if (this.#isAskedAgain(reports, APART)) return false;
    const strictly = { isInARow: true, apart: this.#apartAt(reports.at(-1)!) };
    return isGone(reports, subject, strictly) && isGone(inOrderMade(reports), subject, strictly);
  }

  /** How far apart two reports are that count as two, ms: behind machines that are not told apart as much more as these differ. */
  #apartAt({ order }: Report): number {
    const { ahead = 0 } = this.#log.plan.world.machines ?? {};
    return APART + (this.#context.toleranceAt(order) < ahead ? 0 : ahead);
  }

  #truthAt(instant: number): Wallets | undefined {
    const snipers = snipersAt(this.#log, this.#plan.options as SniperQuery, instant);
    return snipers && new Map([...snipers].map(([address, sniper]) => [address, indexed(sniper)]));
  }

  /** Once all is well, reports go on coming. */
  #checkLiveness(): void {
    const { joined, left, joinedOrder } = this.#stay;
    const { plan } = this.#log;
    const { timeout = 10_000, quota } = plan.world.client;
    const { every = 60_000 } = this.#plan.options;
    if (left === undefined) return;
    // Who waits for a pair that is not known asks ever more seldom. Others may have its report meanwhile.
    const first = this.#reports.find(({ order }) => order >= joinedOrder);
    const since = waits(this.#stay)
      ? Math.max(first?.received ?? left, mayWaitUntil(this.#log, this.#stay))
      : joined;
    const calm = Math.max(plan.world.start + plan.healthyFrom, since);
    const bound = every * sniperStretch(this.#log) + timeout + LONGEST_WAIT + (quota?.per ?? 0);
    const read = this.#reports.map(({ received }) => received).filter((received) => received >= calm);
    for (const [at, instant] of [...read, left].entries()) {
      const silence = instant - (read[at - 1] ?? calm);
      if (silence <= bound) continue;
      this.#breach(8, `is not read in ${silence} ms of health`, instant);
      return;
    }
  }

  #breach(promise: number, what: string, at: number): void {
    this.#context.breach(promise, `snipers ${this.#stay.id}, ${what}`, at);
  }
}

/** From how many exchanges on the reports are those of the poll that a stay shares: others may have begun it. */
function beginningOf({ stays }: RunLog, { plan, joined, joinedOrder, id }: StayLog): number {
  const keyOf = ({ options }: StayLog["plan"]) => {
    const { pairAddress, blocksAfterCreation, every } = options as SniperPlan["options"];
    return `${pairAddress} ${blocksAfterCreation} ${every}`;
  };
  const begun = stays.filter(
    (other) =>
      (other.plan.kind === "snipers" || other.plan.kind === "sniper-status") &&
      keyOf(other.plan) === keyOf(plan) &&
      other.id < id &&
      other.joined <= joined &&
      (other.left ?? other.ended?.at ?? Number.POSITIVE_INFINITY) > joined,
  );
  return begun.reduce(
    (least, other) => Math.min(least, beginningOf({ stays } as RunLog, other)),
    joinedOrder,
  );
}

function inOrderMade(reports: readonly Report[]): readonly Report[] {
  return [...reports].sort((a, b) => a.madeAt - b.madeAt || a.order - b.order);
}

function walletAddressOf(event: SniperEvent): string {
  if ("walletAddress" in event) return event.walletAddress;
  return "wallet" in event ? event.wallet.walletAddress : event.previous.walletAddress;
}

function indexed(wallet: Sniper): Wallet {
  const { snipedTransactions, sellTransactions } = wallet;
  return {
    ...wallet,
    snipedTransactions: byHash(snipedTransactions),
    sellTransactions: byHash(sellTransactions),
  };
}
