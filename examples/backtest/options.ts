import { fileURLToPath, pathToFileURL } from "node:url";
import { Command, Option } from "commander";
import type { Timeframe } from "pairstream";
import {
  DEFAULT_SEED,
  INSTANT_HELP,
  parseArguments,
  seedOption,
  toInstant,
  toNumber,
  toShare,
  UsageError,
} from "../terminal/command-line.js";
import { type BrokerRules, USUAL_RULES } from "./broker.js";

/** What the command line asks for. */
export interface BacktestOptions {
  readonly market: MarketOptions;
  readonly timeframe: Timeframe;
  readonly rules: BrokerRules;
  /** The URL of a strategy's file. */
  readonly strategy: string;
  /** The file that the page is written to. */
  readonly page: string;
}

/** Where the swaps are from, and which of them; `from` and `to` in ms since the epoch, the latter exclusive. */
export type MarketOptions = { readonly from: number | undefined; readonly to: number | undefined } & (
  | { readonly kind: "simulated"; readonly seed: number }
  | { readonly kind: "tape"; readonly file: string; readonly minimumUsd: number | undefined }
);

interface Given {
  tape?: string;
  minimumUsd?: number;
  seed?: number;
  timeframe: Timeframe;
  from?: number;
  to?: number;
  cash: number;
  fee: number;
  slippage: number;
  strategy?: string;
  page?: string;
}

const OWN_STRATEGY = new URL("strategy.ts", import.meta.url).href;
/** Out of the way of git, and found again. */
const PAGE = fileURLToPath(new URL("../../node_modules/.cache/pairstream/backtest.html", import.meta.url));

/** Reads the arguments that follow the program's name; throws a `UsageError` or `HelpShown`. */
export function readOptions(args: readonly string[]): BacktestOptions {
  const given = parseArguments<Given>(backtestCommand(), args);
  const { tape, minimumUsd, seed, timeframe, from, to, cash, fee, slippage, strategy, page } = given;
  if (minimumUsd !== undefined && tape === undefined) {
    throw new UsageError("--minimum-usd is about the swaps of a tape: it needs --tape");
  }
  return {
    market:
      tape === undefined
        ? { kind: "simulated", seed: seed ?? DEFAULT_SEED, from, to }
        : { kind: "tape", file: tape, minimumUsd, from, to },
    timeframe,
    rules: { cash, fee, slippage },
    strategy: strategy === undefined ? OWN_STRATEGY : pathToFileURL(strategy).href,
    page: page ?? PAGE,
  };
}

function backtestCommand(): Command {
  return new Command("npm run example:backtest --")
    .description(
      "Runs a strategy over the past of a pair, and draws what became of it. Without options the pair is made up; nothing leaves this machine.",
    )
    .addOption(new Option("--tape <file>", "the swaps of a tape, one JSON object a line, oldest first"))
    .addOption(
      new Option("--minimum-usd <amount>", "with --tape: leave out swaps worth less").argParser(toNumber),
    )
    .addOption(seedOption().conflicts("tape"))
    .addOption(new Option("--timeframe <length>", "from 1s to 1M").default("30min"))
    .addOption(
      new Option("--from <instant>", "start (default: the tape's, or 2025-01-08)").argParser(toInstant),
    )
    .addOption(new Option("--to <instant>", "end (default: the tape's, or 2025-01-22)").argParser(toInstant))
    .addOption(
      new Option("--cash <amount>", "money at the start").argParser(toNumber).default(USUAL_RULES.cash),
    )
    .addOption(
      new Option("--fee <percent>", "of each fill")
        .argParser(toShare)
        .default(USUAL_RULES.fee, "0.3, as many pools take"),
    )
    .addOption(
      new Option("--slippage <percent>", "how much worse than the open a fill is")
        .argParser(toShare)
        .default(USUAL_RULES.slippage, "0.1"),
    )
    .addOption(new Option("--strategy <file>", "what to run (default: examples/backtest/strategy.ts)"))
    .addOption(
      new Option(
        "--page <file>",
        "where to write the page (default: node_modules/.cache/pairstream/backtest.html)",
      ),
    )
    .addHelpText(
      "after",
      [
        "",
        INSTANT_HELP,
        "",
        "The same strategy, live: npm start -- --strategy examples/backtest/strategy.ts",
      ].join("\n"),
    );
}
