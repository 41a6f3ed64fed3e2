import { mergeMap, Subject } from "rxjs";
import { BoundedMap } from "../../../bounded-map.js";
import { type CheckedHistory, checkHistory, type HistoryQuery } from "../../../candles/history.js";
import { checkWatch } from "../../../candles/options.js";
import { windowStart } from "../../../candles/rules.js";
import type { Series } from "../../../contract/model.js";
import { SharedAsks } from "../../../latest/shared-asks.js";
import { seriesKeyOf } from "../wire.js";
import type { Behind } from "./behind.js";
import type { Fixed } from "./options.js";

/** How many histories are read at once; the others wait for their turn. */
const AT_ONCE = 8;
/** How many answers about what is final are kept where the client has no store, and of how many characters each. */
const KEPT = 16;
const LONGEST_KEPT = 1_000_000;

/** A history as it goes out. */
export interface HistoryText {
  readonly text: string;
  /** Whether it will be the same whenever it is asked for. */
  readonly isFinal: boolean;
}

/** Reads histories for viewers: the same one once for all who ask for it at that time, and within a budget. */
export class Histories {
  readonly #behind: Behind;
  readonly #fixed: Fixed;
  readonly #turns = new Subject<() => Promise<void>>();
  readonly #reading = new SharedAsks<HistoryText>();
  readonly #kept = new BoundedMap<string, HistoryText>(KEPT);

  /** `fixed`: when candles of the gateway are final. */
  constructor(behind: Behind, fixed: Fixed) {
    this.#fixed = fixed;
    this.#behind = behind;
    this.#turns.pipe(mergeMap((read) => read(), AT_ONCE)).subscribe();
  }

  /** Rejects as `readHistory` does, and with a `RateLimitError` where the budget is spent. */
  async read(query: Series & HistoryQuery, signal: AbortSignal): Promise<HistoryText> {
    const checked = checkHistory(query, this.#behind.now());
    const { series, weekStart, range, count } = checked;
    const key = [seriesKeyOf(series), weekStart, range.from, range.to, count].join(" ");
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const history = await this.#reading.ask(key, signal, (left) => this.#inTurn(query, checked, left));
    const isKept = history.isFinal && history.text.length <= LONGEST_KEPT && !this.#behind.hasStore;
    if (isKept) this.#kept.set(key, history);
    return history;
  }

  #inTurn(query: Series & HistoryQuery, checked: CheckedHistory, signal: AbortSignal): Promise<HistoryText> {
    return new Promise((resolve, reject) => {
      this.#turns.next(() => this.#read(query, checked, signal).then(resolve, reject));
    });
  }

  async #read(
    query: Series & HistoryQuery,
    { series, weekStart, range }: CheckedHistory,
    signal: AbortSignal,
  ): Promise<HistoryText> {
    signal.throwIfAborted();
    const provenAt = this.#behind.asked();
    const candles = await this.#behind.read(query, signal);
    const { rules } = checkWatch({ ...series, weekStart, ...this.#fixed.candles });
    const finalUntil = windowStart(rules, provenAt());
    return { text: JSON.stringify({ candles }), isFinal: range.to <= finalUntil };
  }
}
