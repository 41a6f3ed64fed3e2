import chalk from "chalk";
import {
  applySniperEvent,
  type CandleEvent,
  emptyReport,
  type FeedStatus,
  holdingOf,
  type Series,
  type Sniper,
  type SniperEvent,
  type SniperReport,
  summarizeSnipers,
} from "pairstream";
import type { PaperEvent } from "pairstream/backtest";
import { paperLine } from "./paper.js";
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

/** Lines for people. `now` tells the service's time, as far as that is known; it stands in the first column. */
export function textPrinter(series: Series, now: () => number | undefined): Printer {
  const column = timeColumn(now);
  const candleLine = candleLines(series, column);
  const sniperLine = sniperLines(column);
  const shown = new Map<string, string>();
  let report = emptyReport;
  let isReportShown = false;
  /** What has come of snipers while the candles begin; their history is printed first. */
  let held: LiveEvent[] | undefined = [];

  const linesOf: Printer = (event) => {
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
    const line = statusLine(event, column);
    if (event.of === "candles" || event.state !== "live" || isReportShown) return [line];
    isReportShown = true;
    return [line, ...standings(report, column)];
  };

  return (event) => {
    if (held === undefined) return linesOf(event);
    const isStatus = event.stream === "status";
    if (event.stream === "sniper" || (isStatus && event.of === "snipers" && event.state === "live")) {
      held.push(event);
      return [];
    }
    const isBeginning = isStatus && event.state === "starting" && event.lastError === undefined;
    if (!isStatus || event.of === "snipers" || isBeginning) return linesOf(event);
    const all = [event, ...held].flatMap(linesOf);
    held = undefined;
    return all;
  };
}

/** As long as the service's time goes back by less than this, in ms, the column shows what the line above has. */
const LEARNING = 5_000;

/** The first column; the service's time is not known before its first answer, and only about for some more. */
function timeColumn(now: () => number | undefined): () => string {
  let last = Number.NEGATIVE_INFINITY;
  return () => {
    const instant = now();
    if (instant === undefined) return " ".repeat(timeOfDay(0).length);
    if (instant > last || instant < last - LEARNING) last = instant;
    return chalk.dim(timeOfDay(last));
  };
}

// Candles --------------------------------------------------------------------------------------------------

const HEADINGS = ["open", "high", "low", "close"];

function candleLines({ timeframe }: Series, column: () => string): (event: CandleEvent) => string[] {
  // Hours and days need no seconds, seconds and minutes no year.
  const isLong = /[hdwM]$/.test(timeframe);
  const start = (instant: number) =>
    isLong ? dateAndTime(instant).slice(0, 16) : dateAndTime(instant).slice(5);
  let width = 0;

  return ({ type, status, candle, live }) => {
    const { open, high, low, close, volume, swaps, timestamp } = candle;
    const numbers = prices([close, open, high, low]);
    const shown = [...numbers.slice(1), numbers[0]!];
    const widest = Math.max(width, ...shown.map((text) => text.length));
    const isWider = widest > width;
    width = widest;
    const inWidth = (text: string) => text.padStart(width);
    const [o, h, l, c] = shown.map(inWidth) as [string, string, string, string];
    const trend = close > open ? chalk.green : close < open ? chalk.red : plain;
    const line = [
      column(),
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
      ...HEADINGS.map(inWidth),
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

function statusLine(status: FeedStatus & { of: string }, column: () => string): string {
  const { of, state, coveredFrom, coveredUntil, lastError } = status;
  const until = coveredUntil === undefined ? "" : dateAndTime(coveredUntil);
  const covered =
    coveredFrom === undefined ? `as of ${until}` : `covered from ${dateAndTime(coveredFrom)} until ${until}`;
  const unanswered = state === "stalled" ? "a poll that was due has not been answered yet" : undefined;
  const reason = lastError?.message ?? unanswered;
  const details = [...(reason === undefined ? [] : [reason]), ...(until === "" ? [] : [covered])];
  const detail = details.length === 0 ? "" : `${reason === undefined ? ", " : ": "}${details.join("; ")}`;
  return `${column()} ${"status".padEnd(7)} ${STATE_COLOUR[state](`${of} ${state}`)}${detail}`;
}

// Snipers --------------------------------------------------------------------------------------------------

const SNIPER_COLOUR = chalk.magenta;
const LISTED = 5;

/** Those who hold most are worth knowing: what they have can still be sold. */
function standings(report: SniperReport, column: () => string): string[] {
  const { wallets, holding: count, snipedUsd, soldUsd, heldUsd } = summarizeSnipers(report);
  const held = (sniper: Sniper) => {
    const { usd, isSoldOut } = holdingOf(sniper);
    return isSoldOut ? 0 : (usd ?? 0);
  };
  const holders = report.result.filter((sniper) => held(sniper) > 0).sort((a, b) => held(b) - held(a));
  const line = (text: string) => `${column()} ${SNIPER_COLOUR(`snipers ${text}`)}`;
  if (wallets === 0) return [line("none so far")];
  const listed = holders.slice(0, LISTED);
  const rest = holders.length - LISTED;
  const widths = [(sniper: Sniper) => holding(sniper).length, (sniper: Sniper) => selling(sniper).length].map(
    (lengthOf) => Math.max(0, ...listed.map(lengthOf)),
  );
  return [
    line(
      `${wallets} so far: sniped for ${dollars(snipedUsd)}, sold for ${dollars(soldUsd)}; ` +
        `${count} still hold ${dollars(heldUsd)}`,
    ),
    ...listed.map((sniper) => line(`${shortened(sniper.walletAddress)} ${standing(sniper, widths)}`)),
    ...(rest > 0 ? [line(`and ${rest} who hold less`)] : []),
  ];
}

const holding = (sniper: Sniper) => `holds ${dollars(holdingOf(sniper).usd)},`;
const selling = ({ totalSoldUsd, totalSellTransactions }: Sniper) =>
  `sold ${dollars(Math.abs(totalSoldUsd ?? 0))} in ${totalSellTransactions ?? "?"},`;

/** What a sniper has and has done; in columns where several stand below each other. */
function standing(sniper: Sniper, [held = 0, sold = 0]: readonly number[] = []): string {
  const { realizedProfitUsd, realizedProfitPercentage } = sniper;
  const percent = realizedProfitPercentage === null ? "?" : amount(realizedProfitPercentage);
  const realized = `realized ${dollars(realizedProfitUsd, { signed: true })} (${percent} %)`;
  return `${holding(sniper).padEnd(held)} ${selling(sniper).padEnd(sold)} ${realized}`;
}

function sniperLines(column: () => string): (event: SniperEvent) => string[] {
  return (event) => {
    const line = (what: string, walletAddress: string, detail: string) => [
      `${column()} ${SNIPER_COLOUR(`${what.padEnd(7)} sniper ${shortened(walletAddress)} ${detail}`)}`,
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
