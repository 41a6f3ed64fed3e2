import type { ClientCore } from "../../client/core.js";
import type { StoredCandles, StoreRange } from "../../contract/store.js";
import type { Making } from "../making.js";
import type { CandleRules } from "../rules.js";
import { type PastReader, readBackward } from "./backward.js";
import { readForward } from "./forward.js";
import { ForwardWalk } from "./forward-walk.js";
import { longerPast } from "./longer-past.js";
import type { Page } from "./page.js";
import { type ReadOptions, SeriesPages } from "./pages.js";

/** Writes what becomes final in a running poll. */
export interface Recorder {
  /** Asks the store, once, how far it goes. */
  begin(now: number): Promise<void>;
  /** From where to read, so that what is not written yet is in the answer; `from`: the first that is read anyway. */
  readsFrom(from: number): number;
  /** Whether the store had anything of the series to begin with. */
  readonly hasPast: boolean;
  /** Known candles: an answer has to show them. */
  readonly anchors: readonly number[];
  /** Takes an answer in. */
  take(page: Page, options: ReadOptions): Promise<void>;
}

/** What the client's store does for a series. The store brings the code, so that nobody downloads it without one. */
export interface StoredSeries {
  /** Reads from the store as far as that goes, and else from the service. */
  before(service: PastReader, core: ClientCore, rules: CandleRules): PastReader;
  recorder(core: ClientCore, pages: SeriesPages, rules: CandleRules): Recorder;
  /** What it holds of a range; nothing where the store fails. */
  read(range: StoreRange): Promise<StoredCandles>;
  close(): void;
}

/** What is stored of a series where the client has a store; to be closed once. */
export function openStored(
  core: ClientCore,
  { served: { series }, weekStart }: Pick<Making, "served" | "weekStart">,
): StoredSeries | undefined {
  return core.store?.open(series, weekStart) as StoredSeries | undefined;
}

/** The past of a series: out of a store, if there is one, as far as that goes, and else as the service has it. */
export function pastOf(core: ClientCore, { served }: Making, stored?: StoredSeries): PastReader {
  const { series, rules } = served;
  const pages = new SeriesPages(core, series, rules.intervals);
  const walk = new ForwardWalk(pages, rules);
  const service: PastReader = {
    parts: (query, options) => readForward(core, pages, rules, query, options, walk),
    newest: (query, options) => readBackward(core, pages, rules, query, options),
  };
  const past = stored?.before(service, core, rules) ?? service;
  return rules.frames === undefined ? past : longerPast(rules.frames, past);
}
