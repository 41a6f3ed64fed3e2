/** Two answers count as two if the service made them so far apart, in ms: a cache repeats one answer. */
export const APART = 1_000;
