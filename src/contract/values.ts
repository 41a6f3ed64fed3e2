import { ContractError } from "../errors.js";
import { parseJson } from "./json.js";
import { isPrintable, quoting, shortened } from "./quote.js";

/** How many characters an error quotes of an answer's `message` or of an address. */
const SHOWN = 200;

const NOT_PRINTABLE = "not printable";

/** An unchecked object of an answer. */
export type Wire = { readonly [field: string]: unknown };

/** The first rule that a row breaks, and the path of the value within the row. */
export interface Flaw {
  readonly path: readonly (string | number)[];
  readonly issue: string;
}

/**
 * A row that breaks the contract. `key` identifies the row across reads, if it can be read. The error is created on
 * access: there may be thousands of such rows, and only one is reported.
 */
export class RefusedRow<Key> {
  constructor(
    readonly key: Key | undefined,
    private readonly index: number,
    private readonly flaw: Flaw,
  ) {}

  get error(): ContractError {
    return new ContractError(["result", this.index, ...this.flaw.path], this.flaw.issue);
  }
}

/** Parses the body, which has to be an object. */
export function readObject(text: string): Wire {
  const value = parseJson(text);
  if (isObject(value)) return value;
  throw new ContractError([], "not an object");
}

/**
 * The error about an envelope. It quotes the answer's `message`, because some services report trouble with status 200.
 */
export function refusalOf({ message }: Wire, path: string[], issue: string): ContractError {
  const first: unknown = Array.isArray(message) ? message[0] : message;
  if (!isName(first)) return new ContractError(path, issue);
  return quoting(first, (kept, quote) => {
    const said = shortened(quote(kept, SHOWN + 1), SHOWN);
    return new ContractError(path, `${issue}; its message is “${said}”`);
  });
}

/** Throws a `ContractError` for too many rows, before any row is read. */
export function expectAtMost(count: number, most: number, what: string): void {
  if (count > most) refuse("result", `${count} ${what}, at most ${most} are read`);
}

export function refuse(field: string, issue: string): never {
  throw new ContractError([field], issue);
}

export function flaw(field: string, issue: string): Flaw {
  return { path: [field], issue };
}

export function isNumber(value: unknown): value is number {
  return Number.isFinite(value);
}

export function isNothing(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

export function isTextOrNothing(value: unknown): value is string | null | undefined {
  return isNothing(value) || typeof value === "string";
}

export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

export function isOneOf<T extends string>(choices: readonly T[], value: unknown): value is T {
  return choices.includes(value as T);
}

/** Throws a `ContractError` if the answer is for another query. The case of an address may differ. */
export function expectEcho(field: string, got: string, asked: string): void {
  if (got === asked || (got.length === asked.length && got.toLowerCase() === asked.toLowerCase())) return;
  throw quoting(got, (kept, quote) => {
    const issue = `the answer is for ${shortened(quote(kept, SHOWN + 1), SHOWN)}, the request was for ${asked}`;
    return new ContractError([field], issue);
  });
}

export function isObject(value: unknown): value is Wire {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** The flaw of an address or a hash, or `undefined`. */
export function nameFlaw(field: string, value: unknown): Flaw | undefined {
  if (!isName(value)) return flaw(field, value === "" ? "empty" : "not a string");
  return isPrintable(value) ? undefined : flaw(field, NOT_PRINTABLE);
}

/** Throws a `ContractError` for a bad address or hash in an envelope. It may be missing. */
export function expectNameOrNothing(
  field: string,
  value: unknown,
): asserts value is string | null | undefined {
  if (!isTextOrNothing(value)) refuse(field, "not a string");
  if (value && !isPrintable(value)) refuse(field, NOT_PRINTABLE);
}

/** Whether the value is a number or missing. Any sign and size is fine, as totals are passed through. */
export function isTotal(value: unknown): value is number | null | undefined {
  return isNothing(value) || isNumber(value);
}
