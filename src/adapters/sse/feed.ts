import type { CandleWatch } from "../../candles/options.js";

/** Who watches a channel, as its feed sees it. */
export interface Viewer {
  /** Where its candles begin. */
  readonly since: CandleWatch["since"];
  /** When it came, by the channel's own clock. */
  readonly cameAt: number;
  /** Whether it waits for a history that is being read. */
  isWaiting: boolean;
}

/** What a channel has to tell: a state of which each viewer gets a part, and what changes of it, by version. */
export interface Feed {
  /** Grows with every change. */
  readonly version: number;
  /** The service's clock; `null` while nothing was heard of it. */
  readonly now: number | null;
  /** The last message; absent while the sources go on. */
  readonly ending: string | undefined;
  /** Subscribes to the sources, or to more of them, so that a viewer can get what it asks for. */
  want(viewer: Viewer): void;
  /** Where the viewer's state begins; `undefined` until all of it is known. */
  startFor(viewer: Viewer): number | undefined;
  /** The status for a viewer whose state begins at `start`; `undefined`: of what is still being read for it. */
  status(viewer: Viewer, start: number | undefined): string | undefined;
  /** The messages of the whole state from `start` on. */
  snapshot(start: number): readonly string[];
  /** The messages of what has changed since a version; `undefined` where that is not known any more. */
  since(version: number, start: number): readonly string[] | undefined;
  /** Leaves the sources. */
  close(): void;
}
