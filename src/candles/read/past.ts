import type { ClientCore } from "../../client/core.js";
import type { CandleRules } from "../rules.js";
import { type BackwardOptions, readBackward } from "./backward.js";
import { type FinalPart, type ForwardOptions, readForward } from "./forward.js";
import type { ReadOptions, SeriesPages } from "./pages.js";

/** Reads what is past of a series, wherever that comes from. */
export interface PastReader {
  /** All of a range, ascending, part by part. */
  parts(query: ForwardOptions, options: ReadOptions): AsyncGenerator<FinalPart>;
  /** The newest candles before an instant, in ascending parts. */
  newest(query: BackwardOptions, options: ReadOptions): Promise<readonly FinalPart[]>;
}

/** The past of a series as the service has it. */
export function servicePast(core: ClientCore, pages: SeriesPages, rules: CandleRules): PastReader {
  return {
    parts: (query, options) => readForward(core, pages, rules, query, options),
    newest: (query, options) => readBackward(core, pages, rules, query, options),
  };
}
