import { Command, Option } from "commander";
import type { Timeframe } from "pairstream";
import { demoService } from "pairstream/service";
import { forOption, KEY, parseArguments, remotePairs, toNumber, toShare } from "../terminal/command-line.js";
import { storeOption } from "../terminal/store-file.js";

export interface BotOptions {
  readonly pairs: readonly string[];
  /** For `createClient`. */
  readonly clientOptions: { readonly baseUrl: string; readonly apiKey: string };
  /** The shorter of those that are traded, and the one that is polled. */
  readonly timeframe: Timeframe;
  readonly longer: Timeframe;
  readonly trend: Timeframe;
  /** ms between two polls. */
  readonly every: number;
  /** The share of a position's price. */
  readonly stopLoss: number;
  /** The file of the state. */
  readonly state: string;
  /** The file of the store; absent: none. */
  readonly store?: string;
  /** Seconds to run; Infinity: until Ctrl-C. */
  readonly for: number;
}

interface Given extends Omit<BotOptions, "pairs" | "clientOptions"> {
  readonly baseUrl?: string;
  readonly pair?: readonly string[];
}

const DAY = 86_400_000;

const command = () =>
  new Command("npm run example:bot --")
    .description("Trades five pairs in two timeframes on paper; without --base-url on a simulated market.")
    .addOption(new Option("--base-url <url>", `a remote service; needs ${KEY} and --pair`))
    .addOption(new Option("--pair <addresses...>", "the addresses of the pairs"))
    .addOption(
      new Option("--timeframe <length>", "the shorter candles to trade; they are polled").default("1min"),
    )
    .addOption(
      new Option("--longer <length>", "the longer candles to trade, made of the shorter ones").default(
        "5min",
      ),
    )
    .addOption(
      new Option("--trend <length>", "the candles of the trend, made of the shorter ones").default("1h"),
    )
    .addOption(
      new Option("--every <ms>", "ms between two polls; each one checks the stop")
        .argParser(toNumber)
        .default(10_000),
    )
    .addOption(
      new Option("--stop-loss <percent>", "the loss at which a position is sold")
        .argParser(toShare)
        .default(0.05, "5"),
    )
    .addOption(
      new Option("--state <file>", "the file of what a restart must not forget").default("bot-state.json"),
    )
    .addOption(storeOption("; the simulated market has other pairs every day"))
    .addOption(forOption());

/** Reads the arguments that follow the program's name; throws a `UsageError` or `HelpShown`. */
export function readOptions(args: readonly string[], apiKey: string | undefined, now: number): BotOptions {
  const { baseUrl, pair, ...options } = parseArguments<Given>(command(), args);
  return { ...options, ...(remotePairs({ baseUrl, pair }, apiKey) ?? demoOf(now)) };
}

/** A market that is the same all day, with two days behind it; tomorrow's has other pairs. */
function demoOf(now: number) {
  const today = Math.floor(now / DAY);
  return demoService({ seed: today, pairs: 5, createdAt: (today - 2) * DAY });
}
