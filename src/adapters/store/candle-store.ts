import type { StoredSeries } from "../../candles/read/past.js";
import {
  type ClientStore,
  SERVE,
  type ServableStore,
  type ServingStore,
  type StoreMeans,
} from "../../client/client-store.js";
import { show } from "../../contract/input.js";
import type { CandleStore } from "../../contract/store.js";
import { InvalidInputError } from "../../errors.js";
import { FinalRecorder } from "./keeping/final-recorder.js";
import { StoredPast } from "./keeping/stored-past.js";
import { StoreKeeper } from "./keeping/stored-series.js";

const METHODS = ["read", "write", "forget"] as const;

/**
 * Makes a store of your own one that `createClient` takes. It calls the methods of `own`, and no others.
 *
 * Throws an `InvalidInputError` if `own` lacks one of them.
 *
 * ```ts
 * import { createClient } from "pairstream";
 * import { candleStore, memoryStore } from "pairstream/store";
 *
 * const kept = memoryStore();
 * const store = candleStore({
 *   read: (key, range) => kept.read(key, range),
 *   write: (key, known) => {
 *     console.log(key.pairAddress, known.candles.length);
 *     return kept.write(key, known);
 *   },
 *   forget: (key, from, to) => kept.forget(key, from, to),
 * });
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…", store });
 * ```
 */
export function candleStore(own: CandleStore): ClientStore {
  checkMethods("own", own);
  const store: ServableStore = {
    read: (key, range) => own.read(key, range),
    write: (key, known) => own.write(key, known),
    forget: (key, from, to) => own.forget(key, from, to),
    [SERVE]: serve,
  };
  return store;
}

function checkMethods(name: string, store: CandleStore): void {
  const lacking = METHODS.filter((method) => typeof store?.[method] !== "function");
  if (lacking.length === 0) return;
  const isObject = typeof store === "object" && store !== null;
  const problem = isObject ? `lacks ${lacking.join(", ")}` : `is ${show(store)}`;
  throw new InvalidInputError(name, "an object with the methods read, write and forget", problem);
}

/** A method of the store: a copy of which some methods are others serves a client by those. */
function serve(this: CandleStore, means: StoreMeans): ServingStore {
  checkMethods("store", this);
  const keeper = new StoreKeeper(this, means);
  return {
    open(series, weekStart): StoredSeries {
      const stored = keeper.open(series, weekStart);
      return {
        before: (service, core, rules) => new StoredPast(core, rules, stored, service),
        recorder: (core, pages, rules) => new FinalRecorder(core, pages, rules, stored),
        read: (range) => stored.read(range),
        close: stored.close,
      };
    },
  };
}
