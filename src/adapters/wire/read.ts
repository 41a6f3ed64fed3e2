import type * as z from "zod/mini";
import { parseJson } from "../../contract/json.js";
import { contractError } from "../../contract/schemas.js";
import { ContractError } from "../../errors.js";

/** Reads what another process has sent. Throws a `ContractError` if it does not fit; its path begins with `base`. */
export function readWire<T extends z.ZodMiniType>(
  schema: T,
  text: string,
  base: readonly string[] = [],
): z.output<T> {
  return checkWire(schema, parse(text, base), base);
}

/** The same for a value that was parsed already. */
export function checkWire<T extends z.ZodMiniType>(
  schema: T,
  value: unknown,
  base: readonly string[] = [],
): z.output<T> {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  throw contractError(read.error, base);
}

function parse(text: string, base: readonly string[]): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    throw new ContractError([...base], (cause as ContractError).issue, { cause });
  }
}
