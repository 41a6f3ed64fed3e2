import type { Sniper, SniperEvent, SniperQuery, SniperReport, SniperTotal } from "../../../src/index.js";
import { KEY } from "../interference.js";
import { askedBy } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { isAlike, snipersAt } from "../truth.js";
import type { Context, Monitor } from "./monitor.js";

type Wallet = Omit<Sniper, "snipedTransactions" | "sellTransactions"> & {
  snipedTransactions: Map<string, string>;
  sellTransactions: Map<string, string>;
};

/** Promises 1, 2 and 7 as they concern wallets and their transactions. */
export const watchSnipers: Monitor = async (log, context) => {
  for (const stay of log.stays) if (stay.plan.kind === "snipers") await followWallets(log, stay, context);
};

const LISTS = {
  sniped: "snipedTransactions",
  sold: "sellTransactions",
  snipe: "snipedTransactions",
  sell: "sellTransactions",
} as const;

async function followWallets(log: RunLog, stay: StayLog, context: Context) {
  if (stay.plan.kind !== "snipers") return;
  const { pairAddress, blocksAfterCreation, every = 60_000 } = stay.plan.options;
  const series = `${pairAddress} ${blocksAfterCreation ?? null}`;
  const reports = log.told.filter(({ url, told }) => told!.isGood && isReport(url, series));
  const wallets = new Map<string, Wallet>();
  for (const { at, order, value: event } of stay.sniperEvents) {
    const breach = (promise: number, what: string) =>
      context.breach(promise, `snipers ${stay.id}, ${event.type} of ${walletAddressOf(event)}: ${what}`, at);
    const address = walletAddressOf(event);
    const wallet = wallets.get(address);
    if (event.type !== "wallet-added" && wallet === undefined) {
      breach(2, "is not known");
      continue;
    }
    const before = () =>
      reports
        .filter(({ told }) => told!.order < order)
        .slice(-2)
        .map(({ body }) => JSON.parse(body!) as RawReport);
    /** The last reports in a row that lack a wallet that is such. */
    const lacking = (last: number, isSuch: (row: RawWallet) => boolean, of: string) => {
      const told = reports.filter((report) => report.told!.order < last);
      const shown = told.findLastIndex(({ body }) =>
        (JSON.parse(body!) as RawReport).result?.some((row) => row?.walletAddress === of && isSuch(row)),
      );
      return told.slice(shown + 1);
    };
    switch (event.type) {
      case "wallet-added":
        if (wallet !== undefined) breach(2, "is there already");
        wallets.set(address, indexed(event.wallet));
        break;
      case "sniped":
      case "sold": {
        const list = wallet![LISTS[event.type]];
        if (list.has(event.transaction.transactionHash)) breach(2, "is announced again");
        list.set(event.transaction.transactionHash, JSON.stringify(event.transaction));
        break;
      }
      case "transaction-removed": {
        const { transactionHash } = event.transaction;
        if (!wallet![LISTS[event.side]].delete(transactionHash)) breach(2, "takes back what was not there");
        const lists = before().map(
          (report) => report.result?.find((row) => row?.walletAddress === address)?.[LISTS[event.side]] ?? [],
        );
        const moved = lists.at(-1)?.some((row) => row.transactionHash === transactionHash);
        if (!moved && lists.some((list) => list.some((row) => row.transactionHash === transactionHash)))
          breach(7, `${transactionHash} goes on its first absence`);
        else if (
          !moved &&
          !areTwo(
            lacking(order, (row) => hashesOf(row).has(transactionHash), address),
            context,
          )
        )
          breach(7, `${transactionHash} goes on an answer that a cache may have given twice`);
        break;
      }
      case "wallet-updated": {
        if (event.changed.length === 0) breach(2, "changes nothing");
        for (const total of event.changed)
          if (event.previous[total] === event.wallet[total]) breach(2, `${total} is the same`);
        wallets.set(address, indexed(event.wallet));
        break;
      }
      case "wallet-removed":
        wallets.delete(address);
        if (before().some((report) => report.result?.some((row) => row?.walletAddress === address)))
          breach(7, "goes on its first absence");
        else if (
          !areTwo(
            lacking(order, () => true, address),
            context,
          )
        )
          breach(7, "goes on an answer that a cache may have given twice");
    }
  }
  await compareWallets(log, stay, wallets, { reports, grace: context.sniperGrace(every) }, context);
}

const TOTALS: readonly SniperTotal[] = [
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

function walletAddressOf(event: SniperEvent): string {
  if ("walletAddress" in event) return event.walletAddress;
  return "wallet" in event ? event.wallet.walletAddress : event.previous.walletAddress;
}

/** A look after a failure has the next slot just behind it, in ms. */
const SOON = 500;

async function compareWallets(
  log: RunLog,
  stay: StayLog,
  wallets: ReadonlyMap<string, Wallet>,
  { reports, grace }: { reports: RunLog["told"]; grace: number },
  context: Context,
) {
  if (log.plan.world.client.quota !== undefined) return;
  const calmSince = Math.max(log.plan.world.start + log.plan.healthyFrom, stay.joined);
  if (stay.left === undefined || stay.left - calmSince < grace) return;
  const polls = reports.filter(({ told, url }) => told!.order < stay.leftOrder! && !url.includes(KEY));
  const last = polls.at(-1);
  if (last === undefined) return context.breach(8, `snipers ${stay.id}: was never read`, stay.left);
  const truth = snipersAt(log, stay.plan.options as SniperQuery, last.answeredAt! - last.lag);
  if (truth === undefined) return;
  const former = new Map(
    (JSON.parse(polls.at(-2)?.body ?? '{"result":[]}') as RawReport).result?.map((row) => [
      row?.walletAddress,
      row,
    ]),
  );
  for (const address of new Set([...truth.keys(), ...wallets.keys()])) {
    const own = wallets.get(address);
    const wanted = truth.get(address);
    const breach = (what: string) => context.breach(1, `snipers ${stay.id}, ${address}: ${what}`, stay.left!);
    if (own === undefined) breach("is not known");
    else if (wanted === undefined) {
      if (!former.has(address)) breach("is gone at the service");
    } else {
      for (const list of ["snipedTransactions", "sellTransactions"] as const) {
        const there = new Set(wanted[list].map(({ transactionHash }) => transactionHash));
        for (const hash of there) if (!own[list].has(hash)) breach(`lacks ${hash}`);
        const doubted = new Set(former.get(address)?.[list].map(({ transactionHash }) => transactionHash));
        for (const hash of own[list].keys())
          if (!there.has(hash) && !doubted.has(hash)) breach(`has ${hash}, which is gone`);
      }
      const total = TOTALS.find((name) => !isAlike(own[name], wanted[name]));
      if (total !== undefined) breach(`${total} is ${own[total]}, the service says ${wanted[total]}`);
    }
  }
}

/** Whether there are two among reports that no cache has given alike: a second look or the next slot, or one that was late. */
function areTwo(reports: RunLog["told"], context: Context): boolean {
  const [first, last] = [reports[0], reports.at(-1)];
  if (first === undefined || last === undefined || first === last) return false;
  return last.sent - first.sent >= SOON || first.attempt !== 1 || context.clockWasSet(first.sent, last.sent);
}

type RawWallet = Record<string, unknown> & {
  walletAddress: string;
  snipedTransactions: { transactionHash: string }[];
  sellTransactions: { transactionHash: string }[];
};

interface RawReport {
  readonly result?: (RawWallet | null)[];
}

function hashesOf({ snipedTransactions, sellTransactions }: RawWallet): ReadonlySet<string> {
  return new Set([snipedTransactions, sellTransactions].flat().map(({ transactionHash }) => transactionHash));
}

function isReport(url: string, series: string): boolean {
  const asked = askedBy(url);
  return asked.kind === "snipers" && asked.series === series;
}

function indexed(wallet: SniperReport["result"][number]): Wallet {
  const byHash = (list: Sniper["sellTransactions"]) =>
    new Map(list.map((one) => [one.transactionHash, JSON.stringify(one)]));
  return {
    ...wallet,
    snipedTransactions: byHash(wallet.snipedTransactions),
    sellTransactions: byHash(wallet.sellTransactions),
  };
}
