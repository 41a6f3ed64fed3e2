import * as z from "zod/mini";
import { printableLines, shortened } from "../../contract/quote.js";
import { AuthenticationError, HttpError, type PairstreamError, RateLimitError } from "../../errors.js";
import { fromWireError, type WireError, wireError } from "../wire/error.js";
import { readWire } from "../wire/read.js";

/** The longest refusal that is looked at, in characters. */
export const LONGEST_REFUSAL = 10_000;
/** How much of a refusal an error holds, and how much of its sentence the message repeats, in characters. */
const LONGEST_BODY = 1_000;
const LONGEST_SENTENCE = 300;

const refusal = z.object({ error: wireError });

/**
 * The error for an answer that is a refusal: of the class that the gateway names where that says more than the status,
 * else of that of the status, with the gateway's sentence. `address`: whose answer it is.
 */
export function errorOfRefusal(
  { status, headers }: Pick<Response, "status" | "headers">,
  text: string,
  address: string,
): PairstreamError {
  const named = namedIn(text);
  const known = named && fromWireError(named);
  if (known !== undefined && !(known instanceof HttpError && known.status === status)) return known;
  const answered = `${address} answered with status ${status}`;
  const message =
    named === undefined ? `${answered}, and not as a gateway does` : `${sentenceOf(named)} (${answered})`;
  const body = printableLines(text).slice(0, LONGEST_BODY);
  if (status === 401 || status === 403) return new AuthenticationError(message, status, body);
  if (status !== 429) return new HttpError(message, status, body);
  const hint = headers.get("retry-after") ?? "";
  return new RateLimitError(message, body, /^\d{1,9}$/.test(hint) ? Number(hint) * 1_000 : undefined);
}

function sentenceOf({ message, allowed }: WireError): string {
  return shortened(allowed === undefined ? message : `${message}; allowed: ${allowed}`, LONGEST_SENTENCE);
}

/** What the gateway's JSON says; `undefined` where that is something else, as from a proxy before it. */
function namedIn(text: string): WireError | undefined {
  try {
    return readWire(refusal, text).error;
  } catch {
    return undefined;
  }
}
