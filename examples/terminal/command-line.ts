import { type Command, CommanderError, InvalidArgumentError, Option } from "commander";

/** The text of `--help` is printed; there is nothing to do. */
export class HelpShown extends Error {}

/** The command line or the environment asks for what there is not; the message is one line. */
export class UsageError extends Error {}

/** The key of a remote service, in the environment: command lines are there for all to see. */
export const KEY = "PAIRSTREAM_API_KEY";
const BASE_URL = "PAIRSTREAM_BASE_URL";

const ENVIRONMENT_HELP = [
  "Environment:",
  `  ${KEY}   the key for a remote service; it goes out in a header only`,
  `  ${BASE_URL}  in place of --base-url`,
];

/** Which market is made up where none is asked for. */
export const DEFAULT_SEED = 31;

export function seedOption(): Option {
  return new Option("--seed <number>", `which market to make up (default: ${DEFAULT_SEED})`).argParser(
    toNumber,
  );
}

/** A pair of a remote service. */
export interface RemotePair {
  readonly kind: "remote";
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly pair: string;
}

/** The one that is asked for; `undefined` where none is. Throws a `UsageError` where its key or address is missing. */
export function remotePair(
  given: { baseUrl?: string; seed?: number; pair?: string },
  environment: Readonly<Record<string, string | undefined>>,
): RemotePair | undefined {
  const { pair, seed } = given;
  const baseUrl = given.baseUrl ?? (seed === undefined ? environment[BASE_URL] || undefined : undefined);
  if (baseUrl === undefined) return undefined;
  const apiKey = environment[KEY];
  if (!apiKey) throw new UsageError(`a remote service needs a key: set ${KEY} in the environment`);
  if (pair === undefined) throw new UsageError("a remote service needs --pair, the address of a pair");
  return { kind: "remote", baseUrl, apiKey, pair };
}

/** Those that are asked for; `undefined` where no service is. Throws a `UsageError` for pairs or a service alone. */
export function remotePairs(
  { baseUrl, pair }: { baseUrl: string | undefined; pair: readonly string[] | undefined },
  apiKey: string | undefined,
) {
  if (baseUrl === undefined) {
    if (pair === undefined) return undefined;
    throw new UsageError("--pair needs --base-url: the simulated market has pairs of its own");
  }
  if (!apiKey) throw new UsageError(`a remote service needs a key: set ${KEY} in the environment`);
  if (pair === undefined) throw new UsageError("a remote service needs --pair, the addresses of its pairs");
  return { pairs: [...new Set(pair)], clientOptions: { baseUrl, apiKey } };
}

/** For programs that go on until they are stopped. */
export function forOption(): Option {
  return new Option("--for <seconds>", "how long to run")
    .argParser(toNumber)
    .default(Number.POSITIVE_INFINITY, "go on until Ctrl-C");
}

/** Reads the arguments that follow the program's name; throws a `UsageError` or `HelpShown`. */
export function parseArguments<Given extends object>(command: Command, args: readonly string[]): Given {
  command
    .helpOption("--help", "print this")
    .allowExcessArguments(false)
    .showSuggestionAfterError(false)
    .configureOutput({ writeErr: () => {} })
    .exitOverride();
  try {
    command.parse(args, { from: "user" });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (error.exitCode === 0) throw new HelpShown();
    throw new UsageError(error.message.replace(/^error: /, ""));
  }
  return command.opts<Given>();
}

export function toNumber(text: string): number {
  const number = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isFinite(number)) return number;
  throw new InvalidArgumentError("It has to be a number.");
}

/** A share, such as 0.003, from percent, such as 0.3. */
export function toShare(text: string): number {
  return toNumber(text) / 100;
}

export const INSTANT = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d))?$/;
export const INSTANT_ALLOWED = "an instant with a zone, such as 2024-01-05T14:00:00Z, or a day";

const INSTANT_HELP =
  "An instant is ISO 8601 with a zone, such as 2024-01-05T14:00:00Z, or a day, such as 2024-01-05 (UTC).";

/** What `--help` says below the options of a program that takes instants and asks a service. */
export function helpBelow(...lines: readonly string[]): string {
  return ["", INSTANT_HELP, "", ...ENVIRONMENT_HELP, ...lines].join("\n");
}

/** ms since the epoch. */
export function toInstant(text: string): number {
  const ms = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  if (ms >= 0) return ms;
  throw new InvalidArgumentError(`It has to be ${INSTANT_ALLOWED}.`);
}
