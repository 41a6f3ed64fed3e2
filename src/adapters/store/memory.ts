import type { ClientStore } from "../../client/client-store.js";
import type { Candle } from "../../contract/model.js";
import type { Span } from "../../contract/store.js";
import { spansWithin, withoutSpan, withSpan } from "../../spans.js";
import { candleStore } from "./candle-store.js";
import { valuesOf } from "./key.js";
import { candleOf, checkKnown, checkStoreRange, placeOf } from "./known.js";

interface Shelf {
  /** Ascending. */
  readonly candles: Candle[];
  covered: readonly Span[];
}

/**
 * A store in memory, for tests, and for clients of one process that share their candles.
 *
 * ```ts
 * import { createClient } from "pairstream";
 * import { memoryStore } from "pairstream/store";
 *
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…", store: memoryStore() });
 * ```
 */
export function memoryStore(): ClientStore {
  const shelves = new Map<string, Shelf>();
  return candleStore({
    async read(key, range) {
      checkStoreRange(range);
      const shelf = shelves.get(valuesOf(key).join(" "));
      if (shelf === undefined) return { candles: [], covered: [] };
      const [first, end] = placesOf(shelf, range);
      const candles = shelf.candles.slice(Math.max(first, end - (range.last ?? end)), end);
      return { candles, covered: spansWithin(shelf.covered, range) };
    },
    async write(key, known) {
      const name = valuesOf(key).join(" ");
      checkKnown(known);
      const shelf = shelves.get(name) ?? { candles: [], covered: [] };
      const added = known.candles.map(candleOf);
      replace(shelf, known, added);
      shelf.covered = withSpan(shelf.covered, known);
      shelves.set(name, shelf);
    },
    async forget(key, from, to) {
      checkStoreRange({ from, to });
      const shelf = shelves.get(valuesOf(key).join(" "));
      if (shelf === undefined) return;
      replace(shelf, { from, to }, []);
      shelf.covered = withoutSpan(shelf.covered, { from, to });
    },
  });
}

function replace(shelf: Shelf, span: Span, added: readonly Candle[]): void {
  const { candles } = shelf;
  const [first, end] = placesOf(shelf, span);
  // One by one, as many candles would be too many arguments.
  const after = candles.slice(end);
  candles.length = first;
  for (const candle of added) candles.push(candle);
  for (const candle of after) candles.push(candle);
}

/** The places of the first candle of a span and of the first after it. */
function placesOf({ candles }: Shelf, { from, to }: Span): [first: number, end: number] {
  return [placeOf(candles, from), placeOf(candles, to)];
}
