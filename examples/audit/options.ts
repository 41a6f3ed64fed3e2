import { Command, Option } from "commander";
import type { Series } from "pairstream";
import { helpBelow, parseArguments, toInstant, toNumber, UsageError } from "../terminal/command-line.js";
import { type GivenPast, type PastPlace, pastOptions, pastPlace } from "../terminal/past.js";

/** What the command line and the environment ask for. */
export interface AuditProgramOptions {
  /** A SQLite store or a file of candles; absent: a store that is made up, with faults to find. */
  readonly file: string | undefined;
  readonly place: PastPlace;
  readonly series: Omit<Series, "pairAddress">;
  /** ms since the epoch. */
  readonly from: number | undefined;
  readonly to: number | undefined;
  /** Outliers are shown from this score on. */
  readonly outliers: number;
  readonly json: boolean;
}

interface Given extends GivenPast {
  from?: number;
  to?: number;
  outliers: number;
  json?: true;
}

/** The dust of one real day of one real pool stood out by thousands, and nothing else by 20. */
const SHOWN_OUTLIERS = 20;

/** Reads the arguments that follow the program's name; throws a `UsageError` or `HelpShown`. */
export function readOptions(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): AuditProgramOptions {
  const command = auditCommand();
  const given = parseArguments<Given>(command, args);
  const { network, timeframe, currency, from, to, outliers, json = false } = given;
  const [file] = command.args;
  const place = pastPlace(given, environment);
  if (place.kind === "remote" && file === undefined)
    throw new UsageError(
      "--base-url needs the file to audit: a SQLite store, or candles as Parquet, CSV or NDJSON",
    );
  return { file, place, series: { network, timeframe, currency }, from, to, outliers, json };
}

function auditCommand(): Command {
  const command = new Command("npm run --silent example:audit --")
    .description(
      "Reads a range again, and shows where a store, or a file of candles, differs from the service; it changes nothing. Without --base-url it uses the simulated market of example:history, and nothing leaves this machine.",
    )
    .argument(
      "[file]",
      "what example:history writes: a SQLite store, or candles as Parquet, CSV or NDJSON (default: a store with faults)",
    )
    .addOption(
      new Option(
        "--from <instant>",
        "start (default: where the file begins, or a day before --to)",
      ).argParser(toInstant),
    )
    .addOption(
      new Option(
        "--to <instant>",
        "end, exclusive (default: where the file ends, or the last midnight, UTC)",
      ).argParser(toInstant),
    )
    .addOption(
      new Option("--outliers <score>", "the score from which outliers are shown")
        .argParser(toNumber)
        .default(SHOWN_OUTLIERS),
    )
    .addOption(new Option("--json", "one JSON object a line: the cost, the findings, a summary"))
    .addHelpText(
      "after",
      helpBelow(
        "",
        "Exit code: 0 if nothing is wrong (outliers do not count: look at them yourself), 1 if something is wrong or the",
        "audit failed, 2 for wrong options.",
      ),
    );
  for (const option of pastOptions()) command.addOption(option);
  return command;
}
