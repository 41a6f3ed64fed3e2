import { hashText } from "./random.js";

/** What a cursor carries: the snapshot that it walks through, and how far it has come. */
export interface CursorState {
  /** The service's clock at the first request of the walk, ms. */
  readonly asOf: number;
  /** Where the candles that are still to be served begin (oldest first) or end (newest first, exclusive), ms. */
  readonly edge: number;
  /** The number of the page that it fetches. */
  readonly page: number;
  /** Candles a page, as asked for at first. */
  readonly limit: number;
}

/** A cursor for a query, named by all that must not change during a walk. */
export function writeCursor(state: CursorState, query: string): string {
  const fields = [state.asOf, state.edge, state.page, state.limit];
  const text = JSON.stringify([...fields, checksum(`${fields.join(" ")} ${query}`)]);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** What a cursor carries; `undefined` where `writeCursor` has not made it for this very query. */
export function readCursor(cursor: string, query: string): CursorState | undefined {
  let fields: unknown;
  try {
    fields = JSON.parse(atob(cursor.replaceAll("-", "+").replaceAll("_", "/")));
  } catch {
    return undefined;
  }
  if (!Array.isArray(fields) || !fields.slice(0, 4).every(Number.isSafeInteger)) return undefined;
  const [asOf, edge, page, limit] = fields;
  const state: CursorState = { asOf, edge, page, limit };
  return writeCursor(state, query) === cursor ? state : undefined;
}

function checksum(text: string): string {
  return hashText(text, 1).toString(36) + hashText(text, 2).toString(36);
}
