import { ContractError } from "../errors.js";
import { parseJson } from "./json.js";
import { isPrintable, quoting, shortened } from "./quote.js";

/** How much of an answer's `message`, and of an address, an error shows. */
const SHOWN = 200;

const NOT_PRINTABLE = "not printable";

/** An object of an answer, of which nothing is known yet. */
export type Wire = { readonly [field: string]: unknown };

/** The first rule that a value breaks, and where in its row it stands. */
export interface Flaw {
  readonly path: readonly (string | number)[];
  readonly issue: string;
}

/**
 * A row of an answer that breaks the contract; `key` names it from one read to the next, where it can be named. Its
 * error is made where it is asked for: there may be thousands of rows, of which one is told.
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

/** The object that a body is. */
export function readObject(text: string): Wire {
  const value = parseJson(text);
  if (isObject(value)) return value;
  throw new ContractError([], "not of type object");
}

/** The error about an envelope, with what the answer says of itself: some tell of trouble with status 200. */
export function refusalOf({ message }: Wire, path: string[], issue: string): ContractError {
  const first: unknown = Array.isArray(message) ? message[0] : message;
  if (!isName(first)) return new ContractError(path, issue);
  return quoting(first, (kept, quote) => {
    const said = shortened(quote(kept, SHOWN + 1), SHOWN);
    return new ContractError(path, `${issue}; its message is “${said}”`);
  });
}

/** Refuses more rows than there may be before any of them is looked at. */
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

/** Refuses an answer to another question; an address may come back in other capitals. */
export function expectEcho(field: string, got: string, asked: string): void {
  if (got === asked || (got.length === asked.length && got.toLowerCase() === asked.toLowerCase())) return;
  throw quoting(got, (kept, quote) => {
    const issue = `the answer is for ${shortened(quote(kept, SHOWN + 1), SHOWN)}, asked was ${asked}`;
    return new ContractError([field], issue);
  });
}

export function isObject(value: unknown): value is Wire {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

/** What is wrong with an address or a hash; `undefined` where nothing is. */
export function nameFlaw(field: string, value: unknown): Flaw | undefined {
  if (!isName(value)) return flaw(field, value === "" ? "empty" : "not of type string");
  return isPrintable(value) ? undefined : flaw(field, NOT_PRINTABLE);
}

/** Refuses an address or a hash of an envelope, which may be missing. */
export function expectNameOrNothing(
  field: string,
  value: unknown,
): asserts value is string | null | undefined {
  if (!isTextOrNothing(value)) refuse(field, "not of type string");
  if (value && !isPrintable(value)) refuse(field, NOT_PRINTABLE);
}

/** Whether it is a number, or nothing; of any sign and size, as it is passed through. */
export function isTotal(value: unknown): value is number | null | undefined {
  return isNothing(value) || isNumber(value);
}
