import chalk from "chalk";
import {
  applySniperEvent,
  type CandleEvent,
  emptyReport,
  type FeedStatus,
  type Series,
  type Sniper,
  type SniperEvent,
  type SniperReport,
} from "pairstream";
import { type PaperEvent, paperLine } from "./paper.js";
import { amount, dateAndTime, dollars, prices, shortened, timeOfDay } from "./text.js";

/** What there is to print, by the stream that it comes from. */
export type LiveEvent =
  | ({ readonly stream: "candle" } & CandleEvent)
  | ({ readonly stream: "sniper" } & SniperEvent)
  | ({ readonly stream: "paper" } & PaperEvent)
  | ({ readonly stream: "status"; readonly of: "candles" | "snipers" } & FeedStatus);

/** Turns an event into lines, none for what is not worth one. */
export type Printer = (event: LiveEvent) => readonly string[];

/** One JSON object an event. */
export const jsonPrinter: Printer = (event) => [
  JSON.stringify(event, (_key, value: unknown) =>
    value instanceof Error ? { name: value.name, message: value.message } : value,
  ),
];

/** Lines for people. `now` tells the service's time, as far as that is known. */
export function textPrinter(series: Series, now: () => number | undefined): Printer {
  const candleLine = candleLines(series);
  const sniperLine = sniperLines();
  const shown = new Map<string, string>();
  let report = emptyReport;
  let isReportShown = false;

  return (event) => {
    if (event.stream === "candle") return candleLine(event);
    if (event.stream === "paper") return [paperLine(event, series.currency)];
    if (event.stream === "sniper") {
      report = applySniperEvent(report, event);
      return event.initial ? [] : sniperLine(event);
    }
    // What is covered changes with every poll; the reason of a stall may become known only after its begin.
    const news = `${event.state} ${event.lastError?.name}`;
    if (shown.get(event.of) === news) return [];
    shown.set(event.of, news);
    const line = statusLine(event, now());
    if (event.of === "candles" || event.state !== "live" || isReportShown) return [line];
    isReportShown = true;
    return [line, ...summary(report)];
  };
}

// Candles --------------------------------------------------------------------------------------------------

const HEADINGS = ["open", "high", "low", "close"];

function candleLines({ timeframe }: Series): (event: CandleEvent) => string[] {
  // Hours and days need no seconds, seconds and minutes no year.
  const isLong = /[hdwM]$/.test(timeframe);
  const start = (instant: number) =>
    isLong ? dateAndTime(instant).slice(0, 16) : dateAndTime(instant).slice(5);
  let width = 0;

  return ({ type, status, candle, live, observedAt }) => {
    const { open, high, low, close, volume, swaps, timestamp } = candle;
    const numbers = prices([close, open, high, low]);
    const shown = [...numbers.slice(1), numbers[0]!];
    const widest = Math.max(width, ...shown.map((text) => text.length));
    const isWider = widest > width;
    width = widest;
    const column = (text: string) => text.padStart(width);
    const [o, h, l, c] = shown.map(column) as [string, string, string, string];
    const trend = close > open ? chalk.green : close < open ? chalk.red : plain;
    const line = [
      chalk.dim(timeOfDay(observedAt)),
      (type === "removed" ? chalk.red : type === "new" ? chalk.bold : plain)(type.padEnd(7)),
      STATUS_COLOUR[status](status.padEnd(6)),
      start(timestamp),
      ...[o, h, l].map((text) => (live ? text : chalk.dim(text))),
      trend(c),
      amount(volume).padStart(11),
      String(swaps).padStart(5),
    ].join(" ");
    if (!isWider) return [line];
    const heading = [
      "UTC     ",
      "event  ",
      "status",
      "candle".padEnd(start(timestamp).length),
      ...HEADINGS.map(column),
      "volume".padStart(11),
      "swaps",
    ].join(" ");
    return [chalk.underline(heading), line];
  };
}

const plain = (text: string) => text;
const STATUS_COLOUR = { open: chalk.yellow, closed: chalk.cyan, final: chalk.blue };

// Status ---------------------------------------------------------------------------------------------------

const STATE_COLOUR = { starting: chalk.yellow, live: chalk.green, stalled: chalk.red };

function statusLine(status: FeedStatus & { of: string }, now: number | undefined): string {
  const { of, state, coveredFrom, coveredUntil, lastError } = status;
  const until = coveredUntil === undefined ? "" : dateAndTime(coveredUntil);
  const covered =
    coveredFrom === undefined ? `as of ${until}` : `covered from ${dateAndTime(coveredFrom)} until ${until}`;
  const unanswered = state === "stalled" ? "a poll that was due has not been answered yet" : undefined;
  const reason = lastError?.message ?? unanswered;
  const details = [...(reason === undefined ? [] : [reason]), ...(until === "" ? [] : [covered])];
  const detail = details.length === 0 ? "" : `${reason === undefined ? ", " : ": "}${details.join("; ")}`;
  const time = chalk.dim(now === undefined ? " ".repeat(8) : timeOfDay(now));
  return `${time} ${"status".padEnd(7)} ${STATE_COLOUR[state](`${of} ${state}`)}${detail}`;
}

// Snipers --------------------------------------------------------------------------------------------------

const SNIPER_COLOUR = chalk.magenta;
const LISTED = 5;

/** Those who hold most are worth knowing: what they have can still be sold. */
function summary({ result }: SniperReport): string[] {
  const sum = (total: "totalSnipedUsd" | "totalSoldUsd" | "currentBalanceUsdValue") =>
    dollars(result.reduce((all, sniper) => all + Math.abs(sniper[total] ?? 0), 0));
  const held = (sniper: Sniper) => sniper.currentBalanceUsdValue ?? 0;
  const holders = result.filter((sniper) => held(sniper) > 0).sort((a, b) => held(b) - held(a));
  const lead = `${" ".repeat(8)} ${"snipers".padEnd(7)}`;
  if (result.length === 0) return [SNIPER_COLOUR(`${lead} none so far`)];
  const rest = holders.length - LISTED;
  return [
    `${lead} ${result.length} so far: sniped for ${sum("totalSnipedUsd")}, sold for ${sum("totalSoldUsd")}; ` +
      `${holders.length} still hold ${sum("currentBalanceUsdValue")}`,
    ...holders
      .slice(0, LISTED)
      .map((sniper) => `${lead} ${shortened(sniper.walletAddress)} ${standing(sniper)}`),
    ...(rest > 0 ? [`${lead} and ${rest} who hold less`] : []),
  ].map((line) => SNIPER_COLOUR(line));
}

function standing(sniper: Sniper): string {
  const { totalSellTransactions, totalSoldUsd, currentBalanceUsdValue, realizedProfitPercentage } = sniper;
  const percent = realizedProfitPercentage === null ? "?" : amount(realizedProfitPercentage);
  return (
    `holds ${dollars(currentBalanceUsdValue)}, sold ${dollars(Math.abs(totalSoldUsd ?? 0))} ` +
    `in ${totalSellTransactions ?? "?"}, realized ${dollars(sniper.realizedProfitUsd, { signed: true })} (${percent} %)`
  );
}

function sniperLines(): (event: SniperEvent) => string[] {
  return (event) => {
    const line = (what: string, walletAddress: string, detail: string) => [
      `${chalk.dim(timeOfDay(event.observedAt))} ` +
        SNIPER_COLOUR(`${what.padEnd(7)} sniper ${shortened(walletAddress)} ${detail}`),
    ];
    switch (event.type) {
      case "wallet-added":
        return line("added", event.wallet.walletAddress, standing(event.wallet));
      case "wallet-removed":
        return line("removed", event.previous.walletAddress, "is no sniper any more");
      case "sniped":
      case "sold":
        return line(event.type, event.walletAddress, swap(event.transaction));
      case "transaction-removed":
        return line("undone", event.walletAddress, `${event.side}, ${swap(event.transaction)}`);
      case "wallet-updated":
        // What a wallet holds is worth something else after every swap of anybody.
        if (!event.changed.includes("realizedProfitUsd")) return [];
        return line("profit", event.wallet.walletAddress, standing(event.wallet));
    }
  };
}

function swap({
  transactionHash,
  transactionTimestamp,
  blocksAfterCreation,
}: Sniper["sellTransactions"][number]) {
  const block = blocksAfterCreation === null ? "" : `, block +${blocksAfterCreation}`;
  return `at ${timeOfDay(transactionTimestamp)}${block}, transaction ${shortened(transactionHash)}`;
}
