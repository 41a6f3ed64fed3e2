import type * as z from "zod/mini";
import { ContractError } from "../errors.js";
import { printableLines, shortened } from "./quote.js";

/** How much an error shows of a key that the other side has made up. */
const SHOWN = 60;

/** What a schema refuses, as the error of its first issue; `base`: where in the whole the value stands. */
export function contractError(
  cause: z.core.$ZodError,
  base: readonly (string | number)[] = [],
): ContractError {
  const first = cause.issues[0];
  const path = (first?.path ?? []).map((key) =>
    typeof key === "number" ? key : shortened(String(key), SHOWN),
  );
  return new ContractError([...base, ...path], first === undefined ? "not allowed" : textOf(first), {
    cause: printableIssues(cause),
  });
}

/** The error of a schema, unless it names what a terminal would obey. */
export function printableIssues(cause: z.core.$ZodError): z.core.$ZodError | undefined {
  return printableLines(cause.message) === cause.message ? cause : undefined;
}

/** zod's own texts would have to be loaded, for all who use it in a process. */
function textOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_type") return `not of type ${issue.expected}`;
  if (issue.code === "invalid_value") return `none of ${issue.values.join(", ")}`;
  return issue.message;
}
