import chalk from "chalk";
import { type Cost, holdingOf, type SniperLook, type SniperSummary } from "pairstream";
import { dollars, shortened, timeOfDay } from "../live/text.js";
import { costText } from "../terminal/cost.js";
import type { Alert } from "./alerts.js";

/** What a program prints. Whatever it gives is one line or several, without the last line break. */
export interface Lines {
  alert(alert: Alert): string;
  /** `whole`: with all figures, as at the beginning and at the end. */
  summary(look: SniperLook, summary: SniperSummary, whole: boolean): string;
  /** The last one. */
  end(end: End): string;
}

/** What has come of it. */
interface End extends Cost {
  readonly seconds: number;
  /** How many alerts the terminal was told. */
  readonly told: number;
  /** How many wait, for the terminal or the webhook. */
  readonly waiting: number;
}

/** One JSON object a line. */
export const jsonLines: Lines = {
  alert: (alert) => JSON.stringify({ type: "alert", ...alert }),
  summary: ({ pairAddress, observedAt }, summary) =>
    JSON.stringify({ type: "summary", pairAddress, observedAt, ...summary }),
  end: ({ seconds, told, waiting, requests, units }) =>
    JSON.stringify({ type: "end", seconds, told, waiting, requests, units }),
};

const COLOUR = { "new-wallet": chalk.cyan, sale: chalk.yellow, "sold-out": chalk.magenta };
const NAME = { "new-wallet": "new wallet", sale: "sale", "sold-out": "sold out" };
const WIDTH = "new wallet".length;
/** Below what the line of a summary says. */
const INDENT = " ".repeat("12:00:00 abcdef…uvwxyz ".length + WIDTH + 1);

/** Lines for people. The first column is the service's time. */
export const textLines: Lines = {
  alert: (alert) => {
    const { kind, walletAddress, transaction, observedAt, pairAddress } = alert;
    const hash =
      transaction === undefined ? "" : chalk.dim(`, transaction ${shortened(transaction.transactionHash)}`);
    const what = COLOUR[kind](`${NAME[kind].padEnd(WIDTH)} ${shortened(walletAddress)} ${deedOf(alert)}`);
    return `${start(observedAt, pairAddress)} ${what}${hash}`;
  },
  summary: (look, summary, whole) => {
    const { observedAt, pairAddress } = look;
    const { wallets, holding, soldOut, snipedUsd, soldUsd, realizedProfitUsd, heldUsd } = summary;
    const line = (text: string) =>
      `${start(observedAt, pairAddress)} ${chalk.bold("snipers".padEnd(WIDTH))} ${text}`;
    if (wallets === 0) return line("none so far");
    const money = `sniped for ${dollars(snipedUsd)}, sold for ${dollars(soldUsd)}, made ${signed(realizedProfitUsd)}`;
    const first = line(`${wallets}: ${holding} hold ${dollars(heldUsd)}, ${soldOut} sold out; ${money}`);
    return whole ? [first, ...detailsOf(summary).map((text) => `${INDENT}${text}`)].join("\n") : first;
  },
  end: ({ seconds, told, waiting, ...cost }) =>
    chalk.dim(`Followed for ${seconds} s: ${told} alerts told, ${waiting} wait; ${costText(cost)}`),
};

const signed = (usd: number | null) => dollars(usd, { signed: true });

function start(observedAt: number, pairAddress: string): string {
  return chalk.dim(`${timeOfDay(observedAt)} ${shortened(pairAddress)}`);
}

function deedOf({ kind, usd, trades, transaction }: Alert): string {
  const isOne = trades === null || trades === 1;
  const money = usd === null ? "an amount that is not known" : dollars(usd);
  switch (kind) {
    case "new-wallet": {
      const block = transaction?.blocksAfterCreation ?? undefined;
      const first = block === undefined ? "" : `, first in block +${block}`;
      return `sniped for ${money}${isOne || usd === null ? "" : ` in ${trades} trades`}${first}`;
    }
    case "sale":
      return isOne || usd === null ? `sold for ${money}` : `one of ${trades} sales for ${money} together`;
    case "sold-out":
      return `holds nothing any more${usd === null ? "" : `, made ${signed(usd)}`}`;
  }
}

function detailsOf({ inProfit, inCreationBlock, fastestSale, top, unknown }: SniperSummary): string[] {
  const fastest =
    fastestSale === undefined
      ? []
      : [
          `; fastest sale ${fastestSale.ms / 1_000} s after the snipe, by ${shortened(fastestSale.walletAddress)}`,
        ];
  return [
    `${inCreationBlock} in the block of the creation, ${inProfit} in profit${fastest.join("")}`,
    ...top.map((wallet, at) => {
      const { usd, isSoldOut } = holdingOf(wallet);
      const rest = isSoldOut ? "sold out" : `holds ${dollars(usd)}`;
      return `${at + 1}. ${shortened(wallet.walletAddress)} made ${signed(wallet.realizedProfitUsd)}, ${rest}`;
    }),
    ...(unknown > 0 ? [`the service leaves figures of ${unknown} out; the sums are without them`] : []),
  ];
}
