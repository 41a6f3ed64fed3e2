import { Command, Option } from "commander";
import type { Timeframe } from "pairstream";
import { demoService } from "pairstream/service";
import { KEY, parseArguments, toNumber, toShare, UsageError } from "../terminal/command-line.js";
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
    .description(
      "Trades five pairs in two timeframes on paper; without --base-url on a market that is made up.",
    )
    .addOption(new Option("--base-url <url>", `a service elsewhere; needs ${KEY} and --pair`))
    .addOption(new Option("--pair <addresses...>", "its pairs"))
    .addOption(new Option("--timeframe <length>", "the shorter one to trade, polled").default("1min"))
    .addOption(new Option("--longer <length>", "the longer one to trade, made of it").default("5min"))
    .addOption(new Option("--trend <length>", "the one of the trend, made of it").default("1h"))
    .addOption(
      new Option("--every <ms>", "time between polls, for the stop").argParser(toNumber).default(10_000),
    )
    .addOption(new Option("--stop-loss <percent>", "of a position").argParser(toShare).default(0.05, "5"))
    .addOption(new Option("--state <file>", "what survives a restart").default("bot-state.json"))
    .addOption(storeOption("; a market that is made up has other pairs tomorrow"))
    .addOption(
      new Option("--for <seconds>", "stop by itself")
        .argParser(toNumber)
        .default(Number.POSITIVE_INFINITY, "go on until Ctrl-C"),
    );

/** Reads the arguments that follow the program's name; throws a `UsageError` or `HelpShown`. */
export function readOptions(args: readonly string[], apiKey: string | undefined, now: number): BotOptions {
  const { baseUrl, pair, ...options } = parseArguments<Given>(command(), args);
  if (baseUrl === undefined) return { ...options, ...demoOf(now) };
  if (!apiKey) throw new UsageError(`a service elsewhere needs a key: set ${KEY} in the environment`);
  if (pair === undefined) throw new UsageError("a service elsewhere needs --pair, its pairs");
  return { ...options, pairs: pair, clientOptions: { baseUrl, apiKey } };
}

/** A market that is the same all day, with two days behind it; tomorrow's has other pairs. */
function demoOf(now: number) {
  const today = Math.floor(now / DAY);
  return demoService({ seed: today, pairs: 5, createdAt: (today - 2) * DAY });
}
