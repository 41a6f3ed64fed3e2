import { Command, Option } from "commander";
import { type Series, TIMEFRAMES, type Timeframe } from "pairstream";
import { helpBelow, parseArguments } from "../terminal/command-line.js";
import { type GivenPast, type PastPlace, pastOptions, pastPlace } from "../terminal/past.js";

/** What the command line and the environment ask for. */
export interface CheckOptions {
  readonly place: PastPlace;
  readonly series: Omit<Series<Timeframe>, "pairAddress">;
  readonly json: boolean;
}

interface Given extends GivenPast {
  json?: true;
}

/** Reads the arguments that follow the program's name; throws a `UsageError` or `HelpShown`. */
export function readOptions(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): CheckOptions {
  const given = parseArguments<Given>(checkCommand(), args);
  const { network, timeframe, currency, json = false } = given;
  const series = { network, timeframe: timeframe as Timeframe, currency };
  return { place: pastPlace(given, environment), series, json };
}

function checkCommand(): Command {
  const command = new Command("npm run --silent check:service --").description(
    "Asks a service a dozen questions, and says what of its answers fits the contract of docs/service.md, what is read kindly, and what is wrong. It says first what it will spend. Without --base-url it asks a simulated market, and nothing leaves this machine.",
  );
  for (const option of pastOptions())
    command.addOption(option.long === "--timeframe" ? timeframeOption() : option);
  return command
    .addOption(new Option("--json", "one JSON object a line: the cost, the answers, a summary"))
    .addHelpText(
      "after",
      helpBelow(
        "",
        "Exit code: 0 if everything fits or is read kindly, 1 if something does not, or could not be asked, 2 for wrong",
        "options.",
      ),
    );
}

/** One that the service has itself. */
function timeframeOption(): Option {
  return new Option("--timeframe <length>", "the candles to ask for").choices(TIMEFRAMES).default("1min");
}
