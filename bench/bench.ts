/** One comparison: of this package with others that do the same, and with the least that a machine has to do. */
export interface Bench {
  /**
   * Compares what the contestants give, without looking at a clock: says what is wrong with the others, one line
   * each, and throws (or rejects) where this package is wrong.
   */
  check(): readonly string[] | Promise<readonly string[]>;
  /** Times the contestants side by side. */
  measure(options: MeasureOptions): Report | Promise<Report>;
  /** Makes a short stretch of what this package does here ready, for a profiler to look into. */
  prepared?(): () => unknown;
}

export interface MeasureOptions {
  /** How many times every contestant is timed, all of them once before any a second time. */
  rounds: number;
  /** The command that was given, for the report. */
  command: string;
}

export interface Report {
  /** A section of `docs/performance.md`, from its heading on. */
  markdown: string;
  /** What was to be reached, and what was: lines of the table at the head of the page. */
  goals: readonly GoalResult[];
  /** Every figure of the run, for JSON; with the date, machine, engine, versions and command of `circumstances`. */
  results: object;
}

/** One figure beside its goal. */
export interface GoalResult {
  /** What is measured, such as "a page of 1,000 candles"; goals of the same row follow one another. */
  row: string;
  /** In words, such as "at most 1.5 times `JSON.parse` and `Date.parse`". */
  goal: string;
  /** In the goal's terms, such as "1.43 [1.41, 1.46]"; why there is none, where it could not be taken. */
  figure: string;
  met: boolean;
}
