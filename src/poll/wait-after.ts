import { type PairstreamError, RateLimitError } from "../errors.js";

/** How long to wait for another side that does not answer, in ms. */
export interface Waits {
  readonly first: number;
  readonly longest: number;
  /** The longest that the other side can ask for. */
  readonly longestHint: number;
}

/** How long to wait after so many failures in a row, in ms: twice as long each time, and as long as the other side asks for. */
export function waitAfter(
  error: PairstreamError,
  failures: number,
  { first, longest, longestHint }: Waits,
): number {
  const hint = error instanceof RateLimitError ? (error.retryAfter ?? 0) : 0;
  return Math.max(Math.min(first * 2 ** (failures - 1), longest), Math.min(hint, longestHint));
}
