import { show } from "../../contract/input.js";
import type { Candle } from "../../contract/model.js";
import type { CandleStore, StoredCandles, StoreKey } from "../../contract/store.js";
import { InvalidInputError, PairstreamError } from "../../errors.js";
import { isIterable } from "../../replay/read-candles.js";
import { type Span, spansWithin } from "../../spans.js";
import { placeOf } from "./known.js";

/** What an audit is held against: candles ascending, though some may repeat or be none. */
export interface Audited {
  read(range: Span & { readonly last?: number }): Promise<StoredCandles>;
}

/** Checks what a user gives; `range`: of which a list of candles holds all that there are. */
export function checkAudited(against: CandleStore | Iterable<Candle>, key: StoreKey, range: Span): Audited {
  if (typeof (against as Partial<CandleStore> | null)?.read === "function") {
    return storeOf(against as CandleStore, key);
  }
  if (isIterable(against) && typeof against !== "string") return listOf([...against] as Candle[], range);
  throw new InvalidInputError("against", "a CandleStore, or a list of candles", `is ${show(against)}`);
}

function storeOf(store: CandleStore, key: StoreKey): Audited {
  return {
    async read(range) {
      try {
        const held = await store.read(key, range);
        if (!isShaped(held)) throw new PairstreamError("it lacks candles or covered");
        return { candles: ascending(held.candles), covered: held.covered };
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new PairstreamError(`The store cannot be read: ${reason}`, { cause });
      }
    },
  };
}

/** What comes from a store is not always what it should be; what its candles are worth is for the audit to tell. */
function isShaped(held: Partial<StoredCandles> | undefined): held is StoredCandles {
  const isPlaced = (candle: Candle) => Number.isFinite(candle?.timestamp);
  const isSpan = (span: Span) => Number.isFinite(span?.from) && Number.isFinite(span.to);
  const { candles, covered } = held ?? {};
  return Array.isArray(candles) && candles.every(isPlaced) && Array.isArray(covered) && covered.every(isSpan);
}

/** Holds all there is of a range. */
function listOf(list: readonly Candle[], whole: Span): Audited {
  for (const [at, candle] of list.entries()) {
    if (Number.isFinite(candle?.timestamp)) continue;
    const problem = `is ${show(candle?.timestamp)}`;
    throw new InvalidInputError(`timestamp of candle ${at} of against`, "ms since the epoch", problem);
  }
  const candles = ascending(list);
  return {
    read: async ({ from, to, last }) => ({
      candles: last === 0 ? [] : candles.slice(placeOf(candles, from), placeOf(candles, to)),
      covered: spansWithin([whole], { from, to }),
    }),
  };
}

function ascending(candles: readonly Candle[]): readonly Candle[] {
  return [...candles].sort((a, b) => a.timestamp - b.timestamp);
}
