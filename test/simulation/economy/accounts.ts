import type { Series } from "../../../src/index.js";
import { CLOSED } from "../connections.js";
import { type Span, withoutSpan } from "../coverage.js";
import type { StoreCall } from "../disk.js";
import type { Exchange } from "../exchanges.js";
import { askedBy } from "../reads.js";
import type { RunLog, StayLog } from "../run-log.js";
import { serviceClockOf } from "../service-time.js";
import { Account } from "./allowed.js";
import { pagesAfter, readOf } from "./answers.js";
import { KnownClock } from "./clock.js";
import { coveredAt } from "./covered.js";
import { allowFailures } from "./failures.js";
import { allowPolls } from "./polls.js";
import { awakeSlots, isWithin, jumpsWithin, spansOf } from "./spans.js";
import { allowWalks, beginningOf, type Walk } from "./walks.js";

const known = new WeakMap<RunLog, Promise<readonly Account[]>>();

/** What the requests of a run were for, and how many it should have taken: of each series, each report and each call. */
export function accountsOf(log: RunLog): Promise<readonly Account[]> {
  let accounts = known.get(log);
  if (accounts === undefined) {
    accounts = new Ledger(log).settle();
    known.set(log, accounts);
  }
  return accounts;
}

class Ledger {
  readonly #log: RunLog;
  readonly #accounts: Account[] = [];
  /** By what they ask for; what is accounted for is taken out. */
  readonly #exchanges = new Map<string, Exchange[]>();
  /** How often the creation of a pair may be asked for. */
  readonly #reports = new Map<string, number>();

  constructor(log: RunLog) {
    this.#log = log;
    for (const exchange of log.exchanges) {
      // What was lost with its connection the service has not seen, and it is sent again.
      if (exchange.faults.includes(CLOSED)) continue;
      const { kind, series } = askedBy(exchange.url);
      const key = `${kind} ${series}${exchange.priority === "history" && kind === "ohlcv" ? " history" : ""}`;
      const list = this.#exchanges.get(key);
      if (list === undefined) this.#exchanges.set(key, [exchange]);
      else list.push(exchange);
    }
  }

  async settle(): Promise<readonly Account[]> {
    for (const feed of this.#log.plan.feeds) {
      const stays = this.#log.stays.filter(({ plan }) => "feed" in plan && plan.feed === feed);
      // Whoever reads a range of what others watch does so as a history.
      const reads = this.#log.stays.filter(
        ({ plan }) => plan.kind === "fetch" && keyOf(plan.options) === keyOf(feed.series),
      );
      const [polls, account] = this.#open(keyOf(feed.series), `polls of ${feed.series.timeframe}`);
      this.#askReports(feed.series, await allowPolls(this.#log, feed, stays, polls, account));
      await this.#settleWalks(feed.series, [...stays, ...reads]);
    }
    const fed = new Set(this.#log.plan.feeds.map(({ series }) => keyOf(series)));
    const calls = this.#log.stays.filter(
      ({ plan }) => ["fetch", "page", "pages"].includes(plan.kind) && !fed.has(keyOf(plan.options as Series)),
    );
    for (const [key, stays] of grouped(calls, ({ plan }) => keyOf(plan.options as Series))) {
      const series = stays[0]!.plan.options as Series;
      const [exchanges, account] = this.#open(key, `calls for ${series.timeframe}`);
      account.allow("call", stays.filter(({ plan }) => plan.kind !== "fetch").length);
      for (const exchange of exchanges) {
        const read = readOf(exchange);
        if (read !== undefined) account.allow("page", await pagesAfter(this.#log, series, read));
      }
      allowFailures(this.#log, exchanges, account, ({ url }, failed) => url === failed.url);
      await this.#settleWalks(series, stays);
    }
    this.#settleReports();
    for (const [key, exchanges] of this.#exchanges) this.#account(`nobody: ${key}`, exchanges);
    return this.#accounts;
  }

  async #settleWalks(series: Series, stays: readonly StayLog[]): Promise<void> {
    const walks: Walk[] = [];
    for (const stay of stays) {
      const walk = walkOf(this.#log, stay);
      if (walk !== undefined) walks.push({ ...walk, ...(await this.#missingIn(walk, stay)) });
    }
    const [exchanges, account] = this.#open(`${keyOf(series)} history`, `histories of ${series.timeframe}`);
    this.#askReports(series, await allowWalks(this.#log, walks, exchanges, account));
  }

  /** What of a walk's range a store does not have when it begins, and how often that has failed, or let go of some, since. */
  async #missingIn(walk: Walk, { joined, left, ended }: StayLog): Promise<Partial<Walk>> {
    const { store } = this.#log;
    if (store === undefined) return {};
    const { pairAddress, timeframe, currency } = walk.series;
    const name = `${pairAddress} ${timeframe} ${currency}`;
    const calls = store.calls.filter(({ series }) => series === name);
    const covered = coveredAt(store.before.get(name)?.covered ?? [], calls, joined);
    const range = { from: await beginningOf(this.#log, walk), to: walk.to };
    const until = left ?? ended?.at ?? Number.POSITIVE_INFINITY;
    const troubles = calls.filter(
      ({ operation, at, ended: end }) =>
        at >= joined &&
        at <= until &&
        (operation === "forget" || (operation === "read" && !isAnswered(this.#log, { at, end }))),
    ).length;
    const missing = covered.reduce((left: readonly Span[], span) => withoutSpan(left, span), [range]);
    return { missing: troubles > 0 ? [range] : missing, pieces: missing.length + troubles };
  }

  #askReports({ pairAddress }: Series, times: number): void {
    this.#reports.set(pairAddress, (this.#reports.get(pairAddress) ?? 0) + times);
  }

  #settleReports(): void {
    const watched = this.#log.stays.filter(({ plan }) => SNIPER_KINDS.includes(plan.kind));
    const keyOfReport = ({ plan }: StayLog) => {
      const { pairAddress, blocksAfterCreation = null } = plan.options as {
        pairAddress: string;
        blocksAfterCreation?: number;
      };
      return `snipers ${pairAddress} ${blocksAfterCreation}`;
    };
    const stays = grouped(watched, keyOfReport);
    for (const pair of this.#reports.keys()) {
      const key = `snipers ${pair} null`;
      if (!stays.has(key)) stays.set(key, []);
    }
    for (const [key, list] of stays) {
      const [exchanges, account] = this.#open(key, `reports (${key})`);
      const calls = list.filter(({ plan }) => plan.kind === "report").length;
      account.allow("call", calls);
      const streams = list.filter(({ plan }) => plan.kind !== "report");
      this.#settleWatch(streams, exchanges, account);
      const [, pair = "", blocks] = key.split(" ");
      const reports = blocks === "null" ? (this.#reports.get(pair) ?? 0) : 0;
      account.allow("report", reports);
      // Readers ask for it at the same time, each on its own.
      if (reports + calls > 0)
        account.allow("failure", exchanges.filter(({ told }) => told?.isGood === false).length);
      else allowFailures(this.#log, exchanges, account);
    }
  }

  #settleWatch(stays: readonly StayLog[], exchanges: readonly Exchange[], account: Account): void {
    const clock = new KnownClock(this.#log);
    for (const [at, span] of spansOf(this.#log, stays).entries()) {
      const { every = 60_000 } = stays[0]!.plan.options as { every?: number };
      const slots = Array.from(
        { length: Math.floor((span.until - span.from) / every) },
        (_, at) => span.from + (at + 1) * every,
      );
      account.allow("slot", awakeSlots(this.#log, slots));
      account.allow(at === 0 ? "firstLook" : "laterLook");
      const jumps = jumpsWithin(this.#log, span);
      account.allow("jump", jumps);
      if (this.#log.plan.world.machines !== undefined) account.allow("machines", 1 + jumps);
      let before: ReadonlySet<string> = new Set();
      for (const exchange of exchanges) {
        const { told, body, sent } = exchange;
        if (told?.isGood !== true || body === undefined || !isWithin(this.#log, sent, span)) continue;
        const names = namesIn(body);
        if ([...before].some((name) => !names.has(name))) account.allow("lacking");
        if (clock.contradicts(exchange)) account.allow("contradiction");
        before = names;
      }
    }
  }

  /** The requests for something, and an account for them. */
  #open(key: string, name: string): [readonly Exchange[], Account] {
    const exchanges = this.#exchanges.get(key) ?? [];
    this.#exchanges.delete(key);
    return [exchanges, this.#account(name, exchanges)];
  }

  #account(name: string, exchanges: readonly Exchange[]): Account {
    const account = new Account(name);
    account.sent = exchanges.length;
    account.lastSent = exchanges.at(-1)?.sent ?? this.#log.plan.world.start;
    this.#accounts.push(account);
    return account;
  }
}

const SNIPER_KINDS: readonly string[] = ["snipers", "sniper-status", "report"];

function keyOf({ pairAddress, timeframe, currency }: Series): string {
  return `ohlcv ${pairAddress} ${timeframe} ${currency}`;
}

function grouped<T>(list: readonly T[], keyOf: (one: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of list) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
}

/** Whether a store has answered in time. */
function isAnswered({ plan }: RunLog, { at, end }: { at: number; end: StoreCall["ended"] }): boolean {
  return end?.isGood === true && end.at - at < (plan.world.client.timeout ?? 10_000);
}

/** What somebody wants to have read besides the polls. */
function walkOf({ plan: { world } }: RunLog, { plan, joined }: StayLog): Walk | undefined {
  const now = serviceClockOf(world).at(joined);
  if (plan.kind === "fetch") {
    const { from, to = now, weekStart } = plan.options;
    return { series: plan.options, weekStart, from, to, candles: Number.POSITIVE_INFINITY };
  }
  if (plan.kind !== "candles" && plan.kind !== "status") return undefined;
  const { since, weekStart } = plan.options;
  if (since === undefined) return undefined;
  const candles = typeof since === "object" && "candles" in since ? since.candles : Number.POSITIVE_INFINITY;
  const from = typeof since === "number" ? since : undefined;
  return { series: plan.options, weekStart, from, to: now, candles };
}

/** The wallets and transactions of a report, whatever it holds. */
function namesIn(body: string): ReadonlySet<string> {
  const names = new Set<string>();
  const listIn = (value: unknown) => (Array.isArray(value) ? (value as unknown[]) : []);
  for (const row of listIn((JSON.parse(body) as { result?: unknown }).result)) {
    const { walletAddress, snipedTransactions, sellTransactions } = Object(row) as Record<string, unknown>;
    names.add(String(walletAddress));
    for (const [side, list] of [snipedTransactions, sellTransactions].entries()) {
      for (const one of listIn(list)) names.add(`${walletAddress} ${side} ${Object(one).transactionHash}`);
    }
  }
  return names;
}
