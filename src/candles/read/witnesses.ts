/** How many candles before a range are remembered. If the service loses the newest, the oldest takes its place. */
const REMEMBERED = 4;

/** Known candles of a series: an answer that is asked for one and lacks it is not whole. */
export class Witnesses {
  /** The timestamps of the last answer with candles, and the newest ones before those, ascending. */
  #shown: readonly number[] = [];
  #before: readonly number[] = [];
  /** A candle that the last answer lacked although it was known. */
  #doubted: number | undefined;
  /** The same candle, once an answer about it alone has shown it. */
  #confirmed: number | undefined;

  /** Whether a candle of the series was ever read. */
  get hasAny(): boolean {
    return this.#shown.length > 0 || this.#before.length > 0;
  }

  /** The newest known candle before a range; `other`: one to go by while no answer has shown any. */
  before(from: number, other: number | undefined): number | undefined {
    this.remember(this.#shown.filter((timestamp) => timestamp < from));
    if (this.#before.length === 0 && other !== undefined && other < from) this.#before = [other];
    return this.#before.findLast((timestamp) => timestamp < from);
  }

  /** Keeps the newest of the candles before a range. */
  remember(timestamps: readonly number[]): void {
    const newer = timestamps.filter((timestamp) => !this.#before.includes(timestamp));
    if (newer.length === 0) return;
    this.#before = [...this.#before, ...newer].sort((a, b) => a - b).slice(-REMEMBERED);
  }

  /** Takes in the candles of a range, of an answer that lacked none that was known. */
  show(timestamps: readonly number[]): void {
    if (timestamps.length > 0) this.#shown = timestamps;
  }

  /** Goes by one candle before the range alone. */
  replace(timestamp: number): void {
    this.#before = [timestamp];
  }

  /** Notes that an answer lacks a candle, which may be gone: the next one has to hold the oldest known candle instead. */
  doubt(timestamp: number): void {
    this.#doubted = timestamp;
    this.#before = this.#before.slice(0, 1);
    this.#shown = [];
  }

  /** The doubted candle, if an answer about `[start, end)` settles whether it is there; it is doubted no more. */
  settle(start: number, end: number): number | undefined {
    const doubted = this.#doubted;
    if (doubted === undefined || doubted < start || doubted >= end) return undefined;
    this.#doubted = undefined;
    return doubted;
  }

  /** Notes that an answer about a candle alone has shown it, until `takeConfirmed` asks. */
  confirm(timestamp: number): void {
    this.#confirmed = timestamp;
  }

  takeConfirmed(timestamp: number): boolean {
    const isConfirmed = timestamp === this.#confirmed;
    this.#confirmed = undefined;
    return isConfirmed;
  }

  forget(timestamp: number): void {
    this.#before = this.#before.filter((each) => each !== timestamp);
    this.#shown = this.#shown.filter((each) => each !== timestamp);
  }
}
