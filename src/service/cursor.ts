import { hashText } from "./random.js";

/** The contents of a cursor: the snapshot of its walk and the position in it. */
export interface CursorState {
  /** The service's time at the first request of the walk, ms. */
  readonly asOf: number;
  /** The border of the remaining candles, ms: they start from it on (oldest first) or before it (newest first). */
  readonly edge: number;
  /** The number of the page that the cursor fetches. */
  readonly page: number;
  /** Candles per page, as in the first request. */
  readonly limit: number;
}

/** Writes a cursor for a query. `query` names everything that must stay the same during a walk. */
export function writeCursor(state: CursorState, query: string): string {
  const fields = [state.asOf, state.edge, state.page, state.limit];
  const text = JSON.stringify([...fields, checksum(`${fields.join(" ")} ${query}`)]);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Reads a cursor; `undefined` if `writeCursor` did not make it for the same query. */
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
