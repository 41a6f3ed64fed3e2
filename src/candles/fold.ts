import { type FoldRow, ReaderFold } from "./reader-fold.js";

/** The candles of a series for many readers, each of whom may be away: it tells what has changed since any version. */
export class CandleFold extends ReaderFold {
  /** The candles that are gone, in the order in which they went. */
  readonly #gone = new Map<number, FoldRow>();
  /** Of what has changed with a later version, all is held. */
  #heldSince = 0;
  /** The last answer of `since`, as many who keep up ask for the same. */
  #changes: { readonly now: number; readonly since: number; readonly rows: readonly FoldRow[] } | undefined;

  /**
   * What has changed since a version, ascending: each candle once, and before it the end of its last life if that is as new.
   * `undefined` for a version that is to come, or from before what is known of all changes.
   */
  since(version: number, from = -Infinity): readonly FoldRow[] | undefined {
    const { version: now } = this;
    if (version > now || version < this.#heldSince) return undefined;
    if (this.#changes?.now !== now || this.#changes.since !== version) {
      this.#changes = { now, since: version, rows: this.#changedSince(version) };
    }
    return this.#changes.rows.filter(({ candle }) => candle.timestamp >= from);
  }

  #changedSince(version: number): readonly FoldRow[] {
    const isNew = (row: FoldRow | undefined): row is FoldRow => row !== undefined && row.version > version;
    const gone = [...this.#gone.values()].filter(isNew);
    const there = this.rows()
      .filter(isNew)
      .flatMap((row) => (isNew(row.before) ? [row.before, row] : [row]));
    return [...gone, ...there].sort((a, b) => a.candle.timestamp - b.candle.timestamp);
  }

  protected override forget(): readonly FoldRow[] {
    const forgotten = super.forget();
    for (const { version } of forgotten) this.#heldSince = Math.max(this.#heldSince, version);
    return forgotten;
  }

  protected override gone(timestamp: number): FoldRow | undefined {
    return this.#gone.get(timestamp);
  }

  protected override came(timestamp: number): void {
    this.#gone.delete(timestamp);
  }

  protected override went(row: FoldRow): void {
    this.#gone.set(row.candle.timestamp, row);
    for (const [timestamp, { version }] of this.#gone) {
      if (this.#gone.size <= this.keep) return;
      this.#gone.delete(timestamp);
      this.#heldSince = Math.max(this.#heldSince, version);
    }
  }
}
