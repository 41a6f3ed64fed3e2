/** What is drawn at one time. */
export interface Row {
  /** In ms since the epoch. */
  readonly timestamp: number;
}

/** Where the first of them is that is not before an instant; they ascend. */
export function firstFrom(rows: readonly Row[], timestamp: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (rows[middle]!.timestamp < timestamp) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What brings what a chart holds to what it should hold: these calls, in this order. */
export interface Steps<R extends Row> {
  /** Rows that the chart holds, with other values; ascending. `isOlder`: newer ones stay behind it. */
  readonly corrected: readonly { readonly row: R; readonly isOlder: boolean }[];
  /** How many rows leave at the end. */
  readonly popped: number;
  /** Rows that follow what is then the last one; ascending. */
  readonly appended: readonly R[];
}

/** All rows at once, or steps. */
export type Plan<R extends Row> = { readonly all: readonly R[] } | Steps<R>;

/**
 * The rows of a drawing by time, and what has changed since a chart was last told.
 *
 * Before `anew` the chart holds rows of the same times; so two numbers and the times of corrected rows say what it needs.
 */
export interface Rows<R extends Row> {
  /** Ascending; not to be kept. */
  all(): readonly R[];
  hasChanges(): boolean;
  put(row: R): void;
  remove(timestamp: number): void;
  /** Has all rows drawn anew. */
  redraw(): void;
  /** Begins to watch what changes, until `prepend`. */
  expectOlder(): void;
  /** Adds rows from before `before`, in any order, where nothing newer is known of their times; says how many came. */
  prepend(rows: Iterable<R>, before: number): number;
  /**
   * What the chart has to do; it is taken for done. `canCorrect`: whether it can change a row that newer ones follow.
   */
  drain(canCorrect?: boolean): Plan<R>;
}

/** Before all times. */
const BEGINNING = -Infinity;
/** Each call takes the chart a walk over all of its rows; beyond so many, all rows at once cost less. */
const MOST_CALLS = 64;
/** What is left of `keep` when that is exceeded: all rows are drawn anew then, so it should be seldom. */
const LEFT = 0.9;

/** No rows yet, and `keep` at most. */
export function makeRows<R extends Row>(keep: number): Rows<R> {
  let rows: R[] = [];
  /** How many the chart holds. */
  let drawn = 0;
  /** From here on, what the chart holds may be of other times. */
  let anew = BEGINNING;
  /** Times whose rows have other values now; those from `anew` on do not matter. */
  const corrected = new Set<number>();
  /** What is older has been forgotten. */
  let floor = BEGINNING;
  /** Times that changed while older rows were asked for. */
  let touched = new Set<number>();
  let isExpecting = false;

  const touch = (timestamp: number) => {
    if (isExpecting) touched.add(timestamp);
  };
  const redraw = () => {
    anew = BEGINNING;
  };
  const forget = () => {
    if (rows.length <= keep) return;
    rows = rows.slice(-Math.ceil(keep * LEFT));
    floor = rows[0]!.timestamp;
    redraw();
  };
  const indexOf = (timestamp: number) => firstFrom(rows, timestamp);

  return {
    redraw,
    all: () => rows,
    hasChanges: () => anew < -BEGINNING || corrected.size > 0,
    put(row) {
      const { timestamp } = row;
      if (timestamp < floor) return;
      touch(timestamp);
      const at = indexOf(timestamp);
      const isKnown = rows[at]?.timestamp === timestamp;
      rows.splice(at, isKnown ? 1 : 0, row);
      if (!isKnown) anew = Math.min(anew, timestamp);
      else if (timestamp < anew) corrected.add(timestamp);
      forget();
    },
    remove(timestamp) {
      touch(timestamp);
      const at = indexOf(timestamp);
      if (rows[at]?.timestamp !== timestamp) return;
      rows.splice(at, 1);
      anew = Math.min(anew, timestamp);
    },
    expectOlder() {
      isExpecting = true;
    },
    prepend(older, before) {
      const known = new Map<number, R>();
      // Meanwhile so many may have come that those next to these had to go: there would be a hole.
      if (before >= floor) for (const row of older) if (row.timestamp < before) known.set(row.timestamp, row);
      const count = known.size;
      for (const timestamp of touched) known.delete(timestamp);
      touched = new Set();
      isExpecting = false;
      if (count === 0) return 0;
      for (const row of rows) known.set(row.timestamp, row);
      rows = [...known.values()].sort((a, b) => a.timestamp - b.timestamp);
      floor = Math.min(floor, rows[0]?.timestamp ?? floor);
      redraw();
      forget();
      return count;
    },
    drain(canCorrect = true) {
      const last = rows[drawn - 1]?.timestamp;
      const times = [...corrected].sort((a, b) => a - b);
      if (!canCorrect) anew = Math.min(anew, ...times.slice(0, 1));
      const kept = indexOf(anew);
      const popped = drawn - kept;
      const steps = {
        corrected: times
          .filter((timestamp) => timestamp < anew)
          .map((timestamp) => ({
            row: rows[indexOf(timestamp)]!,
            isOlder: popped > 0 || timestamp !== last,
          })),
        popped,
        appended: rows.slice(kept),
      };
      const calls = steps.corrected.length + Math.min(1, popped) + steps.appended.length;
      drawn = rows.length;
      anew = -BEGINNING;
      corrected.clear();
      // What has no row left would leave the times of the scale behind.
      return kept === 0 || calls > MOST_CALLS ? { all: rows } : steps;
    },
  };
}
