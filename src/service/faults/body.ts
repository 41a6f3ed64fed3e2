import { shuffle } from "../random.js";
import type { FaultKind } from "./kinds.js";
import { madeUpCursor, stepsBy } from "./made-up-cursor.js";
import type { FaultsOfCall } from "./options.js";
import { breakRows, dropRows, duplicateRows } from "./rows.js";

type Random = () => number;
type Rows = readonly unknown[];

/** The parts of a page that a fault may change. */
interface Page {
  readonly rows: Rows;
  /** The cursor as served. Null, absent and `""` all mean that there is none. */
  readonly cursor: unknown;
}

/** Changes a page, or returns the same page if there is nothing to change. `asked` is the cursor in the request. */
type PageFault = (page: Page, random: Random, asked: string | undefined) => Page;

function inRows(change: (rows: Rows, random: Random) => Rows): PageFault {
  return (page, random) => {
    const rows = change(page.rows, random);
    const isSame = rows.length === page.rows.length && rows.every((row, at) => row === page.rows[at]);
    return isSame ? page : { ...page, rows };
  };
}

/** In the order in which they apply. */
const PAGE_FAULTS = new Map<FaultKind, PageFault>([
  ["empty", (page) => (page.rows.length === 0 && !page.cursor ? page : { rows: [], cursor: undefined })],
  ["emptyPage", emptyPage],
  ["dropped", inRows(dropRows)],
  ["cutShort", cutShort],
  ["dripping", drip],
  ["broken", inRows(breakRows)],
  ["duplicated", inRows(duplicateRows)],
  ["shuffled", inRows(shuffle)],
  ["loopingCursor", leadBack],
  ["longCursor", lengthenCursor],
]);

/** These faults add a cursor. Only an answer with pages can have one. */
const OF_CURSORS: ReadonlySet<FaultKind> = new Set(["emptyPage", "dripping", "loopingCursor", "longCursor"]);

/** All faults that change the body of a good answer. */
export const BODY_FAULTS: readonly FaultKind[] = [...PAGE_FAULTS.keys(), "flood", "cutOff"];

function emptyPage(page: Page, _random: Random, asked: string | undefined): Page {
  if (page.rows.length === 0 && page.cursor) return page;
  return { rows: [], cursor: page.cursor || madeUpCursor(stepsBy(asked) + 1) };
}

function cutShort(page: Page, random: Random): Page {
  const { length } = page.rows;
  const isWhole = length < 2 || (page.cursor && random() < 0.5);
  if (isWhole && !page.cursor) return page;
  const rows = isWhole ? page.rows : page.rows.slice(0, 1 + Math.floor((length - 1) * random()));
  return { rows, cursor: undefined };
}

function drip(page: Page, _random: Random, asked: string | undefined): Page {
  if (page.rows.length === 0) return page;
  const steps = stepsBy(asked);
  return { rows: [page.rows[steps % page.rows.length]], cursor: madeUpCursor(steps + 1) };
}

function leadBack(page: Page, random: Random, asked: string | undefined): Page {
  const isToItself = random() < 0.5;
  // A made-up cursor leads to the first page: the service is asked without it.
  const cursor = (isToItself && asked) || madeUpCursor(0);
  return cursor === page.cursor ? page : { ...page, cursor };
}

function lengthenCursor(page: Page, random: Random, asked: string | undefined): Page {
  const length = 5_000 + Math.floor(15_001 * random());
  return { ...page, cursor: madeUpCursor(stepsBy(asked) + 1, length) };
}

const FLOOD = `0${",0".repeat(24_999)}`;

/** Applies the faults of a call that change a body. */
export function faultyBody(
  text: string,
  faults: FaultsOfCall,
  tell: (kind: FaultKind) => void,
  asked: string | undefined,
): string {
  const body = faultyPage(text, faults, tell, asked) ?? text;
  const cut = faults.get("cutOff");
  // A cut array or object is never JSON, but a cut number still is a number.
  if (cut === undefined || !/^\s*[[{]/.test(body)) return body;
  tell("cutOff");
  return body.slice(0, Math.floor(body.trimEnd().length * cut()));
}

/** The changed body; `undefined` if nothing changes. */
function faultyPage(
  text: string,
  faults: FaultsOfCall,
  tell: (kind: FaultKind) => void,
  asked: string | undefined,
): string | undefined {
  const answer = parse(text) as { result?: unknown; cursor?: unknown } | null | undefined;
  const served = answer?.result;
  if (!answer || !Array.isArray(served)) return undefined;
  const { result: _, ...rest } = answer;
  const isInPages = "cursor" in rest || "page" in rest;
  const before: Page = { rows: served, cursor: rest.cursor };
  let page = before;
  for (const [kind, change] of PAGE_FAULTS) {
    const random = faults.get(kind);
    if (random === undefined || (OF_CURSORS.has(kind) && !isInPages)) continue;
    const next = change(page, random, asked);
    if (next === page) continue;
    tell(kind);
    page = next;
  }
  const isFlooded = faults.has("flood");
  if (isFlooded) tell("flood");
  else if (page === before) return undefined;
  const cursor = page.cursor === before.cursor ? {} : { cursor: page.cursor };
  const body = JSON.stringify({ ...rest, ...cursor, result: page.rows });
  if (!isFlooded) return body;
  // The rows are the last field of the body.
  return `${body.slice(0, -2)}${page.rows.length === 0 ? "" : ","}${FLOOD}]}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
