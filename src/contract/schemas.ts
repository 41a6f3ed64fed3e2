import * as z from "zod/mini";
import { ContractError } from "../errors.js";
import { isPrintable, printableLines, shortened } from "./quote.js";

/** How many characters an error shows of a key that the sender chose. */
const SHOWN = 60;

/** The first rule that a value breaks, and the path of it within the value. */
export interface Flaw {
  readonly path: readonly (string | number)[];
  readonly issue: string;
}

/**
 * Turns a schema error into a `ContractError` about its first issue. `base` is the path of the checked value in the
 * whole body.
 */
export function contractError(
  cause: z.core.$ZodError,
  base: readonly (string | number)[] = [],
): ContractError {
  const { path, issue } = flawOf(cause);
  // A terminal would obey what is not printable.
  const isPlain = printableLines(cause.message) === cause.message;
  return new ContractError([...base, ...path], issue, { cause: isPlain ? cause : undefined });
}

/** The first issue of a schema error. */
export function flawOf({ issues: [first] }: z.core.$ZodError): Flaw {
  const path = (first?.path ?? []).map((key) =>
    typeof key === "number" ? key : shortened(String(key), SHOWN),
  );
  return { path, issue: first === undefined ? "not allowed" : textOf(first) };
}

/** Written here, because loading zod's own messages would change zod for the whole process. */
function textOf(issue: z.core.$ZodIssue): string {
  if (issue.code === "invalid_type")
    return `not ${/^[aio]/.test(issue.expected) ? "an" : "a"} ${issue.expected}`;
  if (issue.code === "invalid_value") return `not one of ${issue.values.join(", ")}`;
  return issue.message;
}

/** Makes a schema whose result is frozen. */
export const frozen = <T extends z.ZodMiniType>(schema: T) =>
  z.pipe(
    schema,
    z.transform((value: z.output<T>) => Object.freeze(value)),
  );

/**
 * Makes a schema for a frozen list. It stops at the first refused item: the library would collect the issues of all
 * items, and a hundred thousand of them overflow its stack.
 */
export const listOf = <T extends z.ZodMiniType>(schema: T) =>
  z.pipe(
    z.custom<readonly unknown[]>(Array.isArray, "not an array"),
    z.transform((rows, context) => {
      const list: z.output<T>[] = [];
      for (let index = 0; index < rows.length; index += 1) {
        const read = schema.safeParse(rows[index]);
        if (!read.success) {
          const { path, issue } = flawOf(read.error);
          context.issues.push({ code: "custom", message: issue, path: [index, ...path], input: rows });
          return z.NEVER;
        }
        list.push(read.data);
      }
      return Object.freeze(list) as readonly z.output<T>[];
    }),
  );

/** Makes a schema for what may be missing, too, or null; then it is null. */
export const orNull = <T extends z.ZodMiniType>(schema: T) =>
  z.pipe(
    z.nullish(schema),
    z.transform((value) => value ?? null),
  );

/** A text that a terminal can show. */
export const printableText = z.string().check(z.refine(isPrintable, "not printable"));

/** The same, not empty: an address or a hash. (`z.minLength` looks at whatever has a `length`, and can throw.) */
export const name = printableText.check(z.refine((text) => text !== "", "empty"));
