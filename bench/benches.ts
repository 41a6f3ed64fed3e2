/** One comparison: of this package with others that do the same, and with the least that a machine has to do. */
export interface Bench {
  /**
   * Compares what the contestants give, without looking at a clock: says what is wrong with the others, one line
   * each, and throws where this package is wrong.
   */
  check(): readonly string[];
  /** Times the contestants side by side. */
  measure(options: MeasureOptions): Report | Promise<Report>;
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
  /** Every figure of the run, for JSON. */
  results: unknown;
}

/** The benches by the names that `npm run bench -- NAME` takes. */
export const BENCHES: Readonly<Record<string, () => Promise<Bench>>> = {
  indicators: async () => (await import("./indicators.js")).indicators,
  replay: async () => (await import("./replay.js")).replay,
};
