import type * as z from "zod/mini";
import { ContractError } from "../errors.js";
import { printableLines, shortened } from "./quote.js";
import type { Flaw } from "./refused-row.js";

/** How many characters an error shows of a key that the sender chose. */
const SHOWN = 60;

/**
 * Turns a schema error into a `ContractError` about its first issue. `base` is the path of the checked value in the
 * whole body.
 */
export function contractError(
  cause: z.core.$ZodError,
  base: readonly (string | number)[] = [],
): ContractError {
  const { path, issue } = flawOf(cause);
  return new ContractError([...base, ...path], issue, { cause: printableIssues(cause) });
}

/** The first issue of a schema error. */
export function flawOf({ issues: [first] }: z.core.$ZodError): Flaw {
  const path = (first?.path ?? []).map((key) =>
    typeof key === "number" ? key : shortened(String(key), SHOWN),
  );
  return { path, issue: first === undefined ? "not allowed" : textOf(first) };
}

/** The schema error, or `undefined` if its message holds characters that a terminal would obey. */
export function printableIssues(cause: z.core.$ZodError): z.core.$ZodError | undefined {
  return printableLines(cause.message) === cause.message ? cause : undefined;
}

/** Written here, because loading zod's own messages would change zod for the whole process. */
function textOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_type")
    return `not ${/^[aio]/.test(issue.expected) ? "an" : "a"} ${issue.expected}`;
  if (issue.code === "invalid_value") return `not one of ${issue.values.join(", ")}`;
  return issue.message;
}
