import type { FeedStatus } from "../../feed-status.js";

/** The status before the stream has told its own. */
export const STARTING: FeedStatus = Object.freeze({ state: "starting", failures: 0 });

/** What was thrown, as an error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
