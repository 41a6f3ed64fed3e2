import { type Exchange, hasFalseDate } from "../exchanges.js";
import type { RunLog, StayLog } from "../run-log.js";
import type { Account } from "./allowed.js";
import { timesUnknown } from "./answers.js";
import { allowRetries } from "./failures.js";
import { LEARNING, timesToLearn } from "./polls.js";
import { awakeSlots, spansOf } from "./spans.js";

/** What watches and calls of a sniper report need, and how many `series` of the pair are read, each of which asks it when the pair was created. */
export function allowReports(
  log: RunLog,
  stays: readonly StayLog[],
  series: number,
  exchanges: readonly Exchange[],
  account: Account,
): void {
  const calls = series + stays.filter(({ plan }) => plan.kind === "report").length;
  account.allow("report", calls);
  const watches = stays.filter(({ plan }) => plan.kind !== "report");
  for (const { from, until } of spansOf(log, watches)) {
    const { every = 60_000 } = watches[0]!.plan.options as { every?: number };
    const count = Math.ceil((until - from) / every);
    account.allow(
      "slot",
      awakeSlots(
        log,
        Array.from({ length: count }, (_, at) => from + (at + 1) * every),
      ),
    );
    account.allow("join");
    account.allow("closing", LEARNING * (timesToLearn(log) - 1));
  }
  let before: ReadonlySet<string> = new Set();
  for (const exchange of exchanges) {
    if (exchange.told?.isGood !== true || exchange.body === undefined) continue;
    account.allow("again", timesUnknown(log, exchange));
    const names = namesIn(exchange.body);
    if (exchange.old > 0 || hasFalseDate(exchange) || [...before].some((name) => !names.has(name)))
      account.allow("again");
    before = names;
  }
  // Those who ask at the same time do so each on their own.
  if (calls > 0) account.allow("retry", exchanges.filter(({ told }) => told?.isGood === false).length);
  else allowRetries(log, exchanges, account, undefined, stays);
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
