import { show } from "../../../contract/input.js";
import { InvalidInputError } from "../../../errors.js";

/** A request's page, as far as its browser tells: let in or not, and the foreign origin that has to be told so. */
export type Visitor =
  | { readonly isLetIn: false }
  | { readonly isLetIn: true; readonly foreign: string | undefined };

/** Whether the pages of an origin may read. */
export type OriginRule = (origin: string) => boolean;

const STRANGER: Visitor = { isLetIn: false };
const GUEST: Visitor = { isLetIn: true, foreign: undefined };

/**
 * Whether a page may ask. Pages of the gateway's own site may, and programs that are no browser; those of other sites if
 * their origin is named. `host`: the gateway's, with the port.
 *
 * A page cannot set either header. One that asks without telling its origin, as for an image, could read nothing, but
 * would begin a poll.
 */
export function visitorOf(headers: Pick<Headers, "get">, host: string, isNamed: OriginRule): Visitor {
  const origin = headers.get("origin");
  const site = headers.get("sec-fetch-site");
  if (origin !== null && isNamed(origin)) return { isLetIn: true, foreign: origin };
  // A gateway behind a proxy may not know by which host or scheme it is reached; the browser does.
  if (site !== null) return site === "same-origin" || site === "none" ? GUEST : STRANGER;
  return origin === null || hostOf(origin) === host ? GUEST : STRANGER;
}

function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host;
  } catch {
    return undefined;
  }
}

/** Whether an origin is one of those that are named. Throws an `InvalidInputError`. */
export function checkOrigins(origins: OriginRule | Iterable<string> = []): OriginRule {
  if (typeof origins === "function") return (origin) => origins(origin) === true;
  const allowed = 'a list of origins such as "https://chart.example", without a path, or a function';
  const isList = typeof origins === "object" && origins !== null && Symbol.iterator in origins;
  if (!isList) throw new InvalidInputError("origins", allowed, `is ${show(origins)}`);
  const checked = new Set<string>();
  for (const origin of origins) {
    if (!isOrigin(origin)) throw new InvalidInputError("origins", allowed, `holds ${show(origin)}`);
    checked.add(origin);
  }
  return (origin) => checked.has(origin);
}

function isOrigin(value: unknown): value is string {
  try {
    return typeof value === "string" && /^https?:/.test(value) && new URL(value).origin === value;
  } catch {
    return false;
  }
}
