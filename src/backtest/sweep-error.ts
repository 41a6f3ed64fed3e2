import { PairstreamError } from "../errors.js";

/**
 * A sweep has ended, as the strategy of some parameters failed, looks ahead, or brought its worker down; `cause` says
 * why.
 *
 * ```ts
 * import { SweepError } from "pairstream/backtest";
 *
 * const blamed = (error: unknown) => (error instanceof SweepError ? error.parameters : undefined);
 * ```
 */
export class SweepError extends PairstreamError {
  override readonly name = "SweepError";

  constructor(
    message: string,
    /** Those of the strategy, as they were given. */
    readonly parameters: unknown,
    options: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Makes the error for some parameters. */
export function sweepError(parameters: unknown, cause: unknown): SweepError {
  const what = cause instanceof Error ? cause.message : String(cause);
  return new SweepError(`The strategy of ${shown(parameters)}: ${what}`, parameters, { cause });
}

function shown(parameters: unknown): string {
  try {
    return JSON.stringify(parameters) ?? String(parameters);
  } catch {
    return String(parameters);
  }
}

/** What a sweep over a module says where there are no workers. */
export const NO_WORKERS =
  "A sweep over a module needs the worker threads of Node: give it the function that makes strategies instead";
