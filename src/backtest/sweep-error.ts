import { PairstreamError } from "../errors.js";

/**
 * A sweep has ended because the strategy failed with some parameters, looks ahead, or ended its worker thread. `cause` says
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
    /** The parameters, as given. */
    readonly parameters: unknown,
    options: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Makes the error for some parameters. */
export function sweepError(parameters: unknown, cause: unknown): SweepError {
  const what = cause instanceof Error ? cause.message : String(cause);
  return new SweepError(`The strategy failed with the parameters ${shown(parameters)}: ${what}`, parameters, {
    cause,
  });
}

function shown(parameters: unknown): string {
  try {
    return JSON.stringify(parameters) ?? String(parameters);
  } catch {
    return String(parameters);
  }
}

/** What may be swept. */
export const STRATEGY_ALLOWED =
  "a function from parameters to a strategy, or the URL of a module whose default export is one";

/** What a sweep over a module says where there are no workers. */
export const NO_WORKERS =
  "A sweep with the URL of a module needs the worker threads of Node: pass the function that the module exports instead";
