import type { OhlcvPage, SniperReport, Timeframe } from "../../../src/index.js";
import type { Exchange } from "../exchanges.js";
import { askedBy, asNumber } from "../reads.js";
import { TOTALS } from "../reports.js";
import type { RunLog, StayLog } from "../run-log.js";
import { checkEnd } from "./fetched.js";
import type { Context, Monitor } from "./monitor.js";

type Raw = Readonly<Record<string, unknown>>;

/**
 * Promise 15, and what the documents say of direct calls: they give what was served, in its order, frozen, and all pages. A number
 * in a text is one.
 */
export const watchCalls: Monitor = (log, context) => {
  for (const stay of log.stays) {
    if (!["page", "pages", "report"].includes(stay.plan.kind)) continue;
    checkEnd(log, stay, context);
    checkAnswers(log, stay, context);
  }
};

function checkAnswers(log: RunLog, stay: StayLog, context: Context) {
  const { id, plan, answers, ended } = stay;
  let cursor: string | undefined;
  for (const [at, { at: told, order, value }] of answers.entries()) {
    const breach = (what: string) => context.breach(15, `${plan.kind} ${id} ${what}`, told);
    const found = sourceOf(log, stay, { at: told, order, cursor: at === 0 ? undefined : cursor });
    if (found === undefined)
      return breach(`gives an answer that was not served${at > 0 ? ", or not next" : ""}`);
    const wanted = plan.kind === "report" ? reportIn(found) : pageIn(found, stay);
    const [has, served] = [JSON.stringify(inOrder(value)), JSON.stringify(inOrder(wanted))];
    if (has !== served) breach(`gives ${differenceOf(has, served)}`);
    if (!isDeeplyFrozen(value)) breach("gives what is not frozen");
    cursor = (value as OhlcvPage).cursor;
  }
  if (ended === undefined || ended.isError) return;
  if (answers.length === 0) context.breach(15, `${plan.kind} ${id} gives no answer`, ended.at);
  if (plan.kind === "pages" && cursor !== undefined)
    context.breach(5, `pages ${id} ends before its last page`, ended.at);
}

/** The exchange that holds an answer: it was here at that instant, and its request asked for just that. */
function sourceOf(
  { told }: RunLog,
  { plan, joinedOrder }: StayLog,
  { at, order, cursor }: { at: number; order: number; cursor: string | undefined },
): Exchange | undefined {
  return told.slice(joinedOrder, order).findLast(({ url, received, told: own, priority }) => {
    if (received !== at || !own!.isGood || priority === "history") return false;
    const asked = askedBy(url);
    if (asked.pair !== plan.options.pairAddress) return false;
    if (plan.kind === "report") return asked.kind === "snipers";
    if (plan.kind !== "page" && plan.kind !== "pages") return false;
    const { timeframe, currency, fromDate, toDate } = plan.options;
    const isRange = asked.from === Math.floor(fromDate / 1_000) * 1_000 && asked.to >= toDate;
    return asked.series === `${asked.pair} ${timeframe} ${currency}` && isRange && asked.cursor === cursor;
  });
}

/** The page as it was served, what lies outside of the range left out. */
function pageIn({ body = "" }: Exchange, { plan }: StayLog): unknown {
  const { fromDate, toDate } = plan.options as { fromDate: number; toDate: number };
  const { cursor, page, result, ...rest } = JSON.parse(body) as Raw & { result: Raw[] };
  const candles = result.map(({ timestamp, open, high, low, close, volume, trades, swaps = trades }) => ({
    timestamp: Date.parse(String(timestamp)),
    open: asNumber(open),
    high: asNumber(high),
    low: asNumber(low),
    close: asNumber(close),
    volume: asNumber(volume),
    swaps: asNumber(swaps),
  }));
  return {
    ...(typeof cursor === "string" && cursor !== "" ? { cursor } : {}),
    page: Number(page),
    pairAddress: rest.pairAddress,
    tokenAddress: rest.tokenAddress ?? null,
    timeframe: rest.timeframe as Timeframe,
    currency: rest.currency,
    result: candles.filter(({ timestamp }) => timestamp >= fromDate && timestamp < toDate),
  };
}

function reportIn({ body = "" }: Exchange): unknown {
  const { blockNumber, blockTimestamp, transactionHash, result } = JSON.parse(body) as Raw;
  const instant = (text: unknown) => (text === undefined || text === null ? null : Date.parse(String(text)));
  const transactions = (list: unknown) =>
    ((list ?? []) as Raw[]).map(({ transactionHash, transactionTimestamp, blocksAfterCreation }) => ({
      transactionHash,
      transactionTimestamp: instant(transactionTimestamp),
      blocksAfterCreation: blocksAfterCreation ?? null,
    }));
  return {
    blockNumber: blockNumber ?? null,
    blockTimestamp: instant(blockTimestamp),
    transactionHash: transactionHash ?? null,
    result: ((result ?? []) as Raw[]).map((row) => ({
      walletAddress: row.walletAddress,
      snipedTransactions: transactions(row.snipedTransactions),
      sellTransactions: transactions(row.sellTransactions),
      ...Object.fromEntries(TOTALS.map((total) => [total, asNumber(row[total] ?? null)])),
    })),
  } satisfies Record<keyof SniperReport, unknown>;
}

/** The same with the fields of all objects by name. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (value === null || typeof value !== "object") return value;
  const fields = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(fields.map(([name, field]) => [name, inOrder(field)]));
}

function differenceOf(has: string, served: string): string {
  let at = 0;
  while (has[at] === served[at]) at += 1;
  const about = (text: string) => text.slice(Math.max(0, at - 30), at + 40);
  return `…${about(has)}… where …${about(served)}… was served`;
}

function isDeeplyFrozen(value: unknown): boolean {
  if (value === null || typeof value !== "object") return true;
  return Object.isFrozen(value) && Object.values(value).every(isDeeplyFrozen);
}
