import type * as z from "zod/mini";
import { ContractError } from "../errors.js";

/** What a schema refuses, as the error of its first issue; `base`: where in the whole the value stands. */
export function contractError(
  cause: z.core.$ZodError,
  base: readonly (string | number)[] = [],
): ContractError {
  const first = cause.issues[0];
  const path = (first?.path ?? []).map((key) => (typeof key === "symbol" ? String(key) : key));
  return new ContractError([...base, ...path], first === undefined ? "not allowed" : textOf(first), {
    cause,
  });
}

/** zod's own texts would have to be loaded, for all who use it in a process. */
function textOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_type") return `not of type ${issue.expected}`;
  if (issue.code === "invalid_value") return `none of ${issue.values.join(", ")}`;
  return issue.message;
}
