import { type Command, CommanderError, InvalidArgumentError } from "commander";

/** The text of `--help` is printed; there is nothing to do. */
export class HelpShown extends Error {}

/** The command line or the environment asks for what there is not; the message is one line. */
export class UsageError extends Error {}

/** The key of a service elsewhere, in the environment: command lines are there for all to see. */
export const KEY = "PAIRSTREAM_API_KEY";

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

/** ms since the epoch. */
export function toInstant(text: string): number {
  const ms = INSTANT.test(text) ? Date.parse(text) : Number.NaN;
  if (ms >= 0) return ms;
  throw new InvalidArgumentError(`It has to be ${INSTANT_ALLOWED}.`);
}
