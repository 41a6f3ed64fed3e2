import { Command, InvalidArgumentError, Option } from "commander";
import type { Series } from "pairstream";
import { helpBelow, parseArguments, toInstant } from "../terminal/command-line.js";
import { type GivenPast, type PastPlace, pastOptions, pastPlace, rangeOf } from "../terminal/past.js";
import { FORMATS_ALLOWED, type Format, formatOf } from "./formats.js";

/** What the command line and the environment ask for. */
export interface HistoryOptions {
  readonly place: PastPlace;
  readonly series: Omit<Series, "pairAddress">;
  /** `[from, to)`, ms since the epoch. */
  readonly from: number;
  readonly to: number;
  /** The file to write to, or to go on with; absent: standard output. */
  readonly output: Output | undefined;
  /** ms between two requests; absent: as fast as it goes. */
  readonly pace?: number;
}

/** A file, and what it is by the ending of its name. */
export interface Output {
  readonly file: string;
  readonly format: Format;
}

interface Given extends GivenPast {
  from?: number;
  to?: number;
  output?: Output;
  pace?: number;
}

/** Reads the arguments that follow the program's name; throws a `UsageError` or `HelpShown`. */
export function readOptions(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  now: number,
): HistoryOptions {
  const given = parseArguments<Given>(historyCommand(), args);
  const { network, timeframe, currency, output, pace } = given;
  const place = pastPlace(given, environment);
  return {
    place,
    series: { network, timeframe, currency },
    ...rangeOf(given, now),
    output,
    ...(pace !== undefined && { pace }),
  };
}

function toOutput(file: string): Output {
  const format = formatOf(file);
  if (format !== undefined) return { file, format };
  throw new InvalidArgumentError(`It has to end in ${FORMATS_ALLOWED}.`);
}

function toPace(text: string): number {
  const pace = Number(text);
  if (/^\d+$/.test(text) && pace >= 1 && pace <= 60_000) return pace;
  throw new InvalidArgumentError("It has to be a whole number of ms from 1 to 60000.");
}

function historyCommand(): Command {
  const command = new Command("npm run --silent example:history --")
    .description(
      "Downloads the closed candles of a range, oldest first. Without options the pair is simulated, and nothing leaves this machine.",
    )
    .addOption(
      new Option(
        "--output <file>",
        "where to write, as its name ends: .ndjson, .csv, .parquet, or .db for SQLite; if it is there already, the download goes on where it ended (default: standard output, one JSON object a line)",
      ).argParser(toOutput),
    )
    .addOption(
      new Option(
        "--pace <ms>",
        "ms between two requests, from 1 to 60000, such as to stop it on the way (default: as fast as the service allows)",
      ).argParser(toPace),
    )
    .addOption(new Option("--from <instant>", "start (default: a day before --to)").argParser(toInstant))
    .addOption(
      new Option("--to <instant>", "end, exclusive (default: the last midnight, UTC)").argParser(toInstant),
    )
    .addHelpText(
      "after",
      helpBelow(
        "",
        "Ctrl-C stops; the same command goes on later, and the file is that of one run. A .parquet is written once the",
        "range is complete; until then its candles are in a .parquet.part beside it. A .db takes any number of ranges and",
        "pairs, and asks for nothing twice. Exit code: 0 when the range is complete, 1 when it failed, 2 for options that",
        "cannot be taken, 130 or 143 when stopped by a signal.",
      ),
    );
  for (const option of pastOptions()) command.addOption(option);
  return command;
}
