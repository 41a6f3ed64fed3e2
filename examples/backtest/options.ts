import { fileURLToPath, pathToFileURL } from "node:url";
import { Command, Option } from "commander";
import type { Series, Timeframe } from "pairstream";
import type { BrokerOptions } from "pairstream/backtest";
import {
  DEFAULT_SEED,
  helpBelow,
  KEY,
  parseArguments,
  remotePair,
  seedOption,
  toInstant,
  toNumber,
  toShare,
  UsageError,
} from "../terminal/command-line.js";
import { storeOption } from "../terminal/store-file.js";
import { setOption } from "./strategy-file.js";
import {
  refuseWithoutSweep,
  type SweepAsked,
  type SweepGiven,
  sweepAsked,
  sweepOptions,
} from "./sweep/options.js";

/** What the command line and the environment ask for. */
export interface BacktestProgramOptions {
  readonly past: PastOptions;
  readonly broker: BrokerOptions;
  /** The URL of a strategy's file, and what is set of its parameters. */
  readonly strategy: string;
  readonly set: Readonly<Record<string, number>>;
  /** Which parameters are tried; absent: the strategy runs once. */
  readonly sweep: SweepAsked | undefined;
  readonly output: "text" | "json" | "csv";
  /** The file that the page is written to; absent: no page. */
  readonly page: string | undefined;
}

/** Where the candles are from. */
export type Place =
  | { readonly kind: "market"; readonly seed: number }
  | { readonly kind: "tape"; readonly file: string; readonly minimumUsd: number | undefined }
  | { readonly kind: "candles"; readonly files: readonly string[] }
  | { readonly kind: "store"; readonly file: string }
  | {
      readonly kind: "remote";
      readonly baseUrl: string;
      readonly apiKey: string;
      readonly store: string | undefined;
    };

/** Which candles. */
export interface PastOptions extends Pick<Series, "network" | "currency"> {
  readonly place: Place;
  readonly pairs: readonly string[];
  /** What the strategy trades; absent: what there is. */
  readonly timeframe: Timeframe | undefined;
  /** The shorter candles that fill its orders; absent: what there is. */
  readonly within: Timeframe | undefined;
  /** `[from, to)`, ms since the epoch; absent: all there is. */
  readonly from: number | undefined;
  readonly to: number | undefined;
}

interface Given extends Pick<Series, "network" | "currency">, SweepGiven {
  candles?: readonly string[];
  store?: string;
  baseUrl?: string;
  pair?: readonly string[];
  tape?: string;
  minimumUsd?: number;
  seed?: number;
  timeframe?: Timeframe;
  within?: Timeframe;
  from?: number;
  to?: number;
  cash: number;
  fee: number;
  gas: number;
  slippage: number;
  volumeShare?: number;
  latency: number;
  short?: number;
  strategy?: string;
  set?: Readonly<Record<string, number>>;
  json?: true;
  csv?: true;
  page: string | false;
}

const OWN_STRATEGY = new URL("strategy.ts", import.meta.url).href;
/** Out of the way of git, and found again. */
const PAGE = fileURLToPath(new URL("../../node_modules/.cache/pairstream/backtest.html", import.meta.url));

/** Reads the arguments that follow the program's name; throws a `UsageError` or `HelpShown`. */
export function readOptions(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): BacktestProgramOptions {
  const given = parseArguments<Given>(backtestCommand(), args);
  const { pair = [], timeframe, within, from, to, network, currency } = given;
  const { cash, fee, gas, slippage, volumeShare, latency, short, strategy, set = {}, json, csv } = given;
  const place = placeOf(given, environment);
  if (from !== undefined && to !== undefined && from >= to)
    throw new UsageError("--from has to be before --to");
  refuseWithoutSweep(given);
  return {
    past: { place, pairs: pair, timeframe, within, from, to, network, currency },
    broker: {
      cash,
      fees: { maker: fee, taker: fee, fixed: gas },
      slippage: { share: slippage },
      ...(volumeShare !== undefined && { maxVolumeShare: volumeShare }),
      latency,
      ...(short !== undefined && { short: { borrow: short } }),
    },
    strategy: strategy === undefined ? OWN_STRATEGY : pathToFileURL(strategy).href,
    set,
    sweep: sweepAsked(given),
    output: json ? "json" : csv ? "csv" : "text",
    page: given.page === false ? undefined : given.page,
  };
}

function placeOf(given: Given, environment: Readonly<Record<string, string | undefined>>): Place {
  const { candles, store, tape, minimumUsd, seed, pair } = given;
  if (minimumUsd !== undefined && tape === undefined)
    throw new UsageError("--minimum-usd needs --tape, whose swaps it filters");
  if (candles !== undefined) return { kind: "candles", files: candles };
  if (tape !== undefined) return { kind: "tape", file: tape, minimumUsd };
  const { pair: _pairs, ...rest } = given;
  const first = pair?.[0];
  const remote = remotePair({ ...rest, ...(first !== undefined && { pair: first }) }, environment);
  if (remote !== undefined) {
    const { baseUrl, apiKey } = remote;
    return { kind: "remote", baseUrl, apiKey, store };
  }
  if (store !== undefined) return { kind: "store", file: store };
  if (pair !== undefined) throw new UsageError("--pair needs --base-url, --store or --candles");
  return { kind: "market", seed: seed ?? DEFAULT_SEED };
}

function backtestCommand(): Command {
  const command = new Command("npm run example:backtest --")
    .description(
      "Runs a strategy over past candles of pairs, on paper, and reports the result. Without options the market is simulated, and nothing leaves this machine.",
    )
    .addOption(
      new Option(
        "--candles <files...>",
        "candles, one file for each pair: .ndjson, .csv, .parquet or .db, such as example:history writes",
      ).conflicts(["store", "baseUrl", "tape", "seed"]),
    )
    .addOption(storeOption("; without --base-url only the store is read").conflicts(["tape", "seed"]))
    .addOption(
      new Option("--base-url <url>", `ask a remote service; needs ${KEY} and --pair`).conflicts("tape"),
    )
    .addOption(
      new Option(
        "--pair <addresses...>",
        "the pairs to read of a service or a store; with --candles, the names of the files' pairs",
      ),
    )
    .addOption(
      new Option("--tape <file>", "the swaps of a tape, one JSON object a line, oldest first").conflicts(
        "pair",
      ),
    )
    .addOption(
      new Option("--minimum-usd <amount>", "with --tape: leave out swaps worth less").argParser(toNumber),
    )
    .addOption(seedOption().conflicts(["tape", "baseUrl"]))
    .addOption(
      new Option(
        "--timeframe <length>",
        "the candles that the strategy trades, such as 15min; made of shorter candles if there are any (default: those of the file; 1h in the simulated market; else 1min)",
      ),
    )
    .addOption(
      new Option(
        "--within <length>",
        "shorter candles, which fill the orders in between (default: those of the file or the market)",
      ),
    )
    .addOption(new Option("--currency <name>", "usd or native").default("usd"))
    .addOption(new Option("--network <name>", "mainnet or devnet").default("mainnet"))
    .addOption(
      new Option(
        "--from <instant>",
        "start (default: the first candle; with --base-url a day before --to)",
      ).argParser(toInstant),
    )
    .addOption(
      new Option(
        "--to <instant>",
        "end, exclusive (default: after the last candle; with --base-url the last midnight, UTC)",
      ).argParser(toInstant),
    )
    .addOption(
      new Option("--strategy <file>", "the file of the strategy (default: examples/backtest/strategy.ts)"),
    )
    .addOption(setOption());
  for (const option of sweepOptions()) command.addOption(option);
  return command
    .addOption(new Option("--cash <amount>", "money at the start").argParser(toNumber).default(10_000))
    .addOption(
      new Option("--fee <percent>", "the fee, in percent of each fill")
        .argParser(toShare)
        .default(0.003, "0.3, as many pools take"),
    )
    .addOption(
      new Option("--gas <amount>", "what each fill costs in addition, in the currency of the prices")
        .argParser(toNumber)
        .default(0),
    )
    .addOption(
      new Option("--slippage <percent>", "how much worse than the candle's price a fill is")
        .argParser(toShare)
        .default(0.001, "0.1"),
    )
    .addOption(
      new Option(
        "--volume-share <percent>",
        "how much of the volume of a candle fills may take, at most (default: no limit)",
      ).argParser(toShare),
    )
    .addOption(
      new Option("--latency <ms>", "ms from a close until an order is known").argParser(toNumber).default(0),
    )
    .addOption(
      new Option(
        "--short <percent>",
        "allow selling what is not held, and set the yearly cost of borrowing (default: not allowed)",
      ).argParser(toShare),
    )
    .addOption(new Option("--json", "print everything as one JSON object").conflicts("csv"))
    .addOption(new Option("--csv", "print the trades as CSV, or the sets of a sweep"))
    .addOption(
      new Option("--page <file>", "where to write the page").default(
        PAGE,
        "node_modules/.cache/pairstream/backtest.html",
      ),
    )
    .addOption(new Option("--no-page", "write no page"))
    .addHelpText(
      "after",
      helpBelow(
        "",
        "The same strategy, live: npm start -- --strategy examples/backtest/strategy.ts",
        "With --json and --csv the address of the page goes to standard error.",
      ),
    );
}
