import { cursorIn } from "../../src/service/faults/made-up-cursor.js";
import { chanceOf } from "./draw.js";
import { type Answer, withHeaders } from "./exchanges.js";

/**
 * What a range's answer may lack so that nothing in it shows that: `cut slice`, the older of its rows, and the cursor to
 * more of them; `cut walk`, all that a cursor has led to.
 */
export type CutKind = "cut slice" | "cut walk";

export const CUT_KINDS: readonly CutKind[] = ["cut slice", "cut walk"];

export function isCut<T extends { readonly kind: string }>(fault: T): fault is Extract<T, { kind: CutKind }> {
  return (CUT_KINDS as readonly string[]).includes(fault.kind);
}

interface Page {
  readonly cursor?: unknown;
  readonly result?: readonly ({ readonly timestamp?: unknown } | null)[];
}

/** Answers that are cut: each range once, and never two in a row of one pair and timeframe, so that whoever asks again sees all. */
export class Cuts {
  readonly #seed: number;
  readonly #struck = new Set<string>();
  /** Series whose last answer was cut. */
  readonly #spared = new Set<string>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** The answer to a request, cut where there is something to cut; `tell` is called then. */
  async strike(kind: CutKind, url: string, answer: Answer, tell: (kind: CutKind) => void): Promise<Answer> {
    const range = `${kind} ${url.replace(/&(toDate|limit|cursor)=.*/, "")}`;
    const isFurther = cursorIn(url) !== undefined;
    if (answer.status !== 200 || !url.includes("/ohlcv?")) return answer;
    if (isFurther !== (kind === "cut walk")) return answer;
    const series = url.replace(/&fromDate=.*/, "");
    if (this.#spared.delete(series) || this.#struck.has(range)) return answer;
    const body = await answer.text();
    const cut = kind === "cut walk" ? emptied(body) : withoutOlder(body, chanceOf(this.#seed, range));
    if (cut !== undefined) {
      this.#struck.add(range);
      this.#spared.add(series);
      tell(kind);
    }
    return { ...withHeaders(answer, {}), text: async () => cut ?? body };
  }
}

/** A page without the given share of its rows, the oldest, and without a cursor; `undefined` where too few are there. */
export function withoutOlder(body: string, share: number): string | undefined {
  const page = pageIn(body);
  const instants = page?.result?.map((row) => Date.parse(String(row?.timestamp))) ?? [];
  const ascending = instants.filter(Number.isFinite).sort((a, b) => a - b);
  if (page === undefined || ascending.length < 2) return undefined;
  const first = ascending[1 + Math.floor(share * (ascending.length - 1))]!;
  return JSON.stringify({
    ...page,
    cursor: null,
    result: page.result!.filter((_, at) => instants[at]! >= first),
  });
}

/** A page without rows and without a cursor; `undefined` where there are none anyway. */
export function emptied(body: string): string | undefined {
  const page = pageIn(body);
  if (page?.result === undefined || page.result.length === 0) return undefined;
  return JSON.stringify({ ...page, cursor: null, result: [] });
}

function pageIn(body: string): Page | undefined {
  try {
    const page = JSON.parse(body) as Page | null;
    return Array.isArray(page?.result) ? page! : undefined;
  } catch {
    // Another fault has left no page of it.
    return undefined;
  }
}
