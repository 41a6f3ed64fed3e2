import { Command, InvalidArgumentError, Option } from "commander";
import { demoService } from "pairstream/service";
import { forOption, KEY, parseArguments, remotePairs, toNumber } from "../terminal/command-line.js";

export interface SnipersOptions {
  readonly pairs: readonly string[];
  /** For `createClient`. */
  readonly clientOptions: { readonly baseUrl: string; readonly apiKey: string };
  /** Whether polls are paid for. */
  readonly isRemote: boolean;
  /** How many blocks after the creation of a pair count; absent: the service decides. */
  readonly blocks?: number;
  /** ms between two polls of a pair; absent: what the library does by itself, as polling a remote service is spending. */
  readonly every?: number;
  /** Whether to wait for a pair that the service does not know yet. */
  readonly wait?: true;
  /** From how many US dollars on a sale is told. */
  readonly alertUsd: number;
  /** The file of the outbox. */
  readonly outbox: string;
  readonly webhook?: string;
  readonly json?: true;
  /** Seconds to run; Infinity: until Ctrl-C. */
  readonly for: number;
}

interface Given extends Omit<SnipersOptions, "pairs" | "clientOptions" | "isRemote"> {
  readonly baseUrl?: string;
  readonly pair?: readonly string[];
}

const QUARTER = 900_000;
const LOCAL_EVERY = 2_000;

const command = () =>
  new Command("npm run example:snipers --")
    .description(
      "Sums up the snipers of pairs, and tells of each new wallet, each large sale and each wallet that sells out.",
    )
    .addOption(
      new Option("--base-url <url>", `a remote service; needs ${KEY} and --pair; else a simulated market`),
    )
    .addOption(new Option("--pair <addresses...>", "the addresses of the pairs"))
    .addOption(
      new Option(
        "--blocks <count>",
        "how many blocks after the creation of a pair count (default: the service decides)",
      ).argParser(toNumber),
    )
    .addOption(
      new Option(
        "--every <ms>",
        `ms between two polls of a pair (default: 60000, of the simulated market ${LOCAL_EVERY})`,
      ).argParser(toNumber),
    )
    .option("--wait", "wait for a pair that the service does not know yet, and ask for it as often")
    .addOption(
      new Option("--alert-usd <amount>", "tell of sales of so many US dollars or more")
        .argParser(toNumber)
        .default(100),
    )
    .addOption(
      new Option("--outbox <file>", "the file of what a restart must not forget; one program a file").default(
        "snipers-outbox.json",
      ),
    )
    .addOption(
      new Option(
        "--webhook <url>",
        "post each alert there as JSON, again and again until it is taken",
      ).argParser(toUrl),
    )
    .option("--json", "print one JSON object a line, and nothing else on stdout")
    .addOption(forOption())
    .addHelpText(
      "after",
      [
        "",
        "Environment:",
        `  ${KEY}   the key for a remote service; it goes out in a header only`,
        "  NO_COLOR             no colours",
        "",
        "Ctrl-C stops. Exit code: 0 when stopped, 1 when a stream failed, 2 for options that cannot be taken.",
      ].join("\n"),
    );

/** Reads the arguments that follow the program's name; throws a `UsageError` or `HelpShown`. */
export function readOptions(
  args: readonly string[],
  apiKey: string | undefined,
  now: number,
): SnipersOptions {
  const { baseUrl, pair, ...options } = parseArguments<Given>(command(), args);
  const remote = remotePairs({ baseUrl, pair }, apiKey);
  if (remote !== undefined) return { ...options, ...remote, isRemote: true };
  return { every: LOCAL_EVERY, ...options, ...demoOf(now), isRemote: false };
}

/** A market that is the same for a quarter of an hour, so that a restart goes on with it; young, as snipers are busy then. */
function demoOf(now: number) {
  const quarter = Math.floor(now / QUARTER);
  return demoService({ seed: quarter, pairs: 3, createdAt: quarter * QUARTER - 60_000 });
}

function toUrl(text: string): string {
  if (URL.canParse(text) && ["https:", "http:"].includes(new URL(text).protocol)) return text;
  throw new InvalidArgumentError("It has to be an address that begins with https: or http:.");
}
