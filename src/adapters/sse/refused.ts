import * as z from "zod/mini";
import { parseJson } from "../../contract/json.js";
import { printableLines, shortened } from "../../contract/quote.js";
import { AuthenticationError, HttpError, RateLimitError } from "../../errors.js";

/** How much of the body of a refusal an error holds, and how much of its sentence the message repeats, in characters. */
export const LONGEST_BODY = 1_000;
const LONGEST_SENTENCE = 300;

const refusal = z.object({ error: z.object({ message: z.string() }) });

/** The error for an answer with another status than 200. What the other side says of it stands first. */
export function refusedBy(
  address: string,
  { status, headers }: Pick<Response, "status" | "headers">,
  text: string,
): HttpError {
  const body = printableLines(text).slice(0, LONGEST_BODY);
  const said = sentenceIn(text);
  const answered = `${address} answered with status ${status}`;
  const message = said === undefined ? answered : `“${shortened(said, LONGEST_SENTENCE)}”: ${answered}`;
  if (status === 401 || status === 403) return new AuthenticationError(message, status, body);
  if (status !== 429) return new HttpError(message, status, body);
  const hint = headers.get("retry-after") ?? "";
  return new RateLimitError(message, body, /^\d{1,9}$/.test(hint) ? Number(hint) * 1_000 : undefined);
}

/** What a gateway says in its JSON; `undefined` where that is something else, as from a proxy before it. */
function sentenceIn(text: string): string | undefined {
  try {
    return refusal.parse(parseJson(text)).error.message;
  } catch {
    return undefined;
  }
}
