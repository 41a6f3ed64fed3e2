import { Command, Option } from "commander";
import type { Series } from "pairstream";
import {
  DEFAULT_SEED,
  ENVIRONMENT_HELP,
  INSTANT_HELP,
  KEY,
  parseArguments,
  type RemotePair,
  remotePair,
  seedOption,
  toInstant,
  UsageError,
} from "../terminal/command-line.js";

/** What the command line and the environment ask for. */
export interface HistoryOptions {
  readonly place: HistoryPlace;
  readonly series: Omit<Series, "pairAddress">;
  /** `[from, to)`, ms since the epoch. */
  readonly from: number;
  readonly to: number;
  /** The file to write to, or to go on with; absent: standard output. */
  readonly output: string | undefined;
}

/** Where the candles are from. */
export type HistoryPlace = { readonly kind: "simulated"; readonly seed: number } | RemotePair;

interface Given extends Omit<Series, "pairAddress"> {
  seed?: number;
  baseUrl?: string;
  pair?: string;
  from?: number;
  to?: number;
  output?: string;
}

const DAY = 86_400_000;

/** Reads the arguments that follow the program's name; throws a `UsageError` or `HelpShown`. */
export function readOptions(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  now: number,
): HistoryOptions {
  const given = parseArguments<Given>(historyCommand(), args);
  const { network, timeframe, currency, output } = given;
  const to = given.to ?? Math.floor(now / DAY) * DAY;
  const from = given.from ?? to - DAY;
  if (from >= to) throw new UsageError("--from has to be before --to");
  return { place: placeOf(given, environment), series: { network, timeframe, currency }, from, to, output };
}

function placeOf(given: Given, environment: Readonly<Record<string, string | undefined>>): HistoryPlace {
  const remote = remotePair(given, environment);
  if (remote !== undefined) return remote;
  if (given.pair !== undefined) throw new UsageError("--pair is of a service elsewhere: it needs --base-url");
  return { kind: "simulated", seed: given.seed ?? DEFAULT_SEED };
}

function historyCommand(): Command {
  return new Command("npm run --silent example:history --")
    .description(
      "Downloads the closed candles of a range, oldest first, one JSON object a line. Without options the pair is made up, and nothing leaves this machine.",
    )
    .addOption(
      new Option(
        "--output <file>",
        "where to write; if it is there already, the download goes on where it ended (default: standard output)",
      ),
    )
    .addOption(new Option("--from <instant>", "start (default: a day before --to)").argParser(toInstant))
    .addOption(
      new Option("--to <instant>", "end, exclusive (default: the last midnight, UTC)").argParser(toInstant),
    )
    .addOption(new Option("--timeframe <length>", "from 1s to 1M").default("1min"))
    .addOption(new Option("--currency <name>", "usd or native").default("usd"))
    .addOption(new Option("--network <name>", "mainnet or devnet").default("mainnet"))
    .addOption(seedOption().conflicts("baseUrl"))
    .addOption(new Option("--base-url <url>", `download from a service elsewhere; needs ${KEY}`))
    .addOption(new Option("--pair <address>", "the address of the pair; needed for a service elsewhere"))
    .addHelpText(
      "after",
      [
        "",
        INSTANT_HELP,
        "",
        ...ENVIRONMENT_HELP,
        "",
        "Ctrl-C stops; the same command goes on later, and the file is that of one run. Exit code: 0 when the range is",
        "complete, 1 when it failed, 2 for options that cannot be taken, 130 or 143 when stopped by a signal.",
      ].join("\n"),
    );
}
