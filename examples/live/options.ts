import { pathToFileURL } from "node:url";
import { Command, InvalidArgumentError, Option } from "commander";
import type { Series, WatchOptions } from "pairstream";
import { setOption } from "../backtest/strategy-file.js";
import {
  DEFAULT_SEED,
  helpBelow,
  INSTANT,
  INSTANT_ALLOWED,
  KEY,
  parseArguments,
  type RemotePair,
  remotePair,
  seedOption,
  toInstant,
  toNumber,
  UsageError,
} from "../terminal/command-line.js";
import { storeOption } from "../terminal/store-file.js";

/** What the command line and the environment ask for. */
export interface LiveOptions {
  readonly place: Place;
  readonly network: Series["network"];
  readonly timeframe: Series["timeframe"];
  readonly currency: Series["currency"];
  readonly since: NonNullable<WatchOptions["since"]>;
  /** ms between two polls; absent: what suits the place. */
  readonly every: number | "close" | undefined;
  readonly json: boolean;
  /** The file of the store; absent: none. */
  readonly store: string | undefined;
  /** The URL of the file of a strategy to trade on paper; absent: none. */
  readonly strategy: string | undefined;
  /** What is set of its parameters. */
  readonly set: Readonly<Record<string, number>>;
  /** The port of the page, 0 for any that is free; absent: no page. */
  readonly pagePort: number | undefined;
}

/** Where the pair is followed. */
export type Place =
  | { readonly kind: "market"; readonly seed: number; readonly pair: string | undefined }
  | {
      readonly kind: "tape";
      readonly file: string;
      /** Where the clock of its service starts, ms since the epoch. */
      readonly from: number | undefined;
      readonly minimumUsd: number | undefined;
      readonly pair: string | undefined;
    }
  | RemotePair;

/** Reads the arguments that follow the program's name; throws a `UsageError` or `HelpShown`. */
export function readOptions(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): LiveOptions {
  const given = parseArguments<Given>(liveCommand(), args);
  return {
    place: placeOf(given, environment),
    network: given.network,
    timeframe: given.timeframe,
    currency: given.currency,
    since: given.since,
    every: given.every,
    json: given.json ?? false,
    store: given.store,
    strategy: given.strategy === undefined ? undefined : pathToFileURL(given.strategy).href,
    set: given.set ?? {},
    pagePort: given.page ? given.pagePort : undefined,
  };
}

/** As commander hands them over. Names, timeframes and the like are checked by the library, which names what is allowed. */
interface Given extends Pick<LiveOptions, "network" | "timeframe" | "currency" | "since"> {
  tape?: string;
  from?: number;
  minimumUsd?: number;
  seed?: number;
  baseUrl?: string;
  pair?: string;
  every?: number | "close";
  json?: true;
  store?: string;
  strategy?: string;
  set?: LiveOptions["set"];
  page: boolean;
  pagePort: number;
}

function liveCommand(): Command {
  return new Command("npm start --")
    .description(
      "Follows the candles and the snipers of a pair. Without options the pair is simulated, and served on this machine.",
    )
    .addOption(new Option("--tape <file>", "serve the swaps of a tape, one JSON object a line, oldest first"))
    .addOption(
      new Option("--from <instant>", "with --tape: where the clock of its service starts").argParser(
        toInstant,
      ),
    )
    .addOption(
      new Option("--minimum-usd <amount>", "with --tape: leave out swaps worth less").argParser(toNumber),
    )
    .addOption(seedOption().conflicts(["tape", "baseUrl"]))
    .addOption(
      new Option("--base-url <url>", `follow a remote service; needs ${KEY} in the environment`).conflicts(
        "tape",
      ),
    )
    .addOption(new Option("--pair <address>", "the address of the pair; needed for a remote service"))
    .addOption(new Option("--network <name>", "mainnet or devnet, which has no snipers").default("mainnet"))
    .addOption(new Option("--timeframe <length>", "such as 1s, 15min or 1M").default("10s"))
    .addOption(new Option("--currency <name>", "usd or native").default("usd"))
    .addOption(
      new Option("--since <start>", "where the history begins: an instant, or a number of candles back")
        .argParser(toSince)
        .default({ candles: 30 }, "30"),
    )
    .addOption(
      new Option(
        "--every <ms>",
        'time between polls, or "close": one a candle (default: 2000 on this machine, else the length of a candle, at most 60000)',
      ).argParser(toEvery),
    )
    .addOption(
      new Option(
        "--strategy <file>",
        "trade on paper what a strategy decides, such as examples/backtest/strategy.ts",
      ),
    )
    .addOption(setOption())
    .addOption(storeOption("; needs --base-url: the service on this machine has another port each time"))
    .option("--json", "print one JSON event a line, and nothing else on stdout")
    .option("--no-page", "serve no chart to the browser")
    .addOption(
      new Option("--page-port <port>", "where to serve it on this machine")
        .argParser(toPort)
        .default(0, "any that is free"),
    )
    .addHelpText(
      "after",
      helpBelow(
        "  NO_COLOR             no colours",
        "",
        "Ctrl-C stops. Exit code: 0 when stopped, 1 when a stream failed, 2 for options that cannot be taken.",
      ),
    );
}

function placeOf(given: Given, environment: Readonly<Record<string, string | undefined>>): Place {
  const { tape, from, minimumUsd, seed, pair, store } = given;
  const remote = tape === undefined ? remotePair(given, environment) : undefined;
  if (store !== undefined && remote === undefined)
    throw new UsageError("--store needs --base-url: the service on this machine has another port each time");
  if (tape !== undefined) return { kind: "tape", file: tape, from, minimumUsd, pair };
  if (from !== undefined) throw new UsageError("--from needs --tape, whose clock starts there");
  if (minimumUsd !== undefined) throw new UsageError("--minimum-usd needs --tape, whose swaps it filters");
  return remote ?? { kind: "market", seed: seed ?? DEFAULT_SEED, pair };
}

function toPort(text: string): number {
  const port = toNumber(text);
  if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw new InvalidArgumentError("It has to be a port, from 0 to 65535.");
}

function toEvery(text: string): number | "close" {
  return text === "close" ? text : toNumber(text);
}

/** Digits alone are a number of candles. */
function toSince(text: string): LiveOptions["since"] {
  if (/^\d+$/.test(text)) return { candles: Number(text) };
  if (INSTANT.test(text)) return text;
  throw new InvalidArgumentError(`It has to be a number of candles, or ${INSTANT_ALLOWED}.`);
}
