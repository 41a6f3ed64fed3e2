import { useMemo, useSyncExternalStore } from "react";
import { distinctUntilChanged, map } from "rxjs";
import { type FeedStatus, isSameStatus } from "../../feed-status.js";
import { refuseKnown } from "../../snipers/known.js";
import type { SniperLook } from "../../snipers/look.js";
import type { SniperWatch } from "../../snipers/watch.js";
import type { PairSource } from "../../source.js";
import { type Lease, lease, storesOf } from "./shared-store.js";
import { followFields, STARTING } from "./stream-state.js";
import { valueKey } from "./value-key.js";

/** The last look at the snipers of a pair, as of the last frame; frozen. */
export interface SniperReportState {
  /** The look; `undefined` until the first one has come. Of several in one frame only the last is shown. */
  readonly look: SniperLook | undefined;
  /** The state of the stream, `stalled` once it has ended. When it was last read is not in it: that changes with each poll, and a look only with news. */
  readonly status: Pick<FeedStatus, "state" | "failures" | "lastError">;
  /** The error that ended the stream. Nothing comes after it. */
  readonly error: Error | undefined;
}

const EMPTY: SniperReportState = Object.freeze({ look: undefined, status: STARTING, error: undefined });

/**
 * The snipers of a pair as a whole, for a component: what `watchSniperReport` tells, the state of the stream, and its error.
 *
 * It shares subscriptions as `useCandles` does, and renders nothing while nothing changes, however often it polls. What has
 * to see every trade, such as an alert, belongs into an effect that subscribes to `source.sniperReport`. After an `error` nothing more
 * comes. To try again, mount the component again, for example with another `key` on its element. Throws an
 * `InvalidInputError` while rendering if the options are wrong.
 *
 * ```ts
 * import { type PairSource, summarizeSnipers } from "pairstream";
 * import { useSniperReport } from "pairstream/react";
 *
 * export function Summary({ source, pairAddress }: { source: PairSource; pairAddress: string }) {
 *   const { look, status } = useSniperReport(source, { pairAddress });
 *   if (look === undefined) return status.state;
 *   const { wallets, holding, soldOut } = summarizeSnipers(look.report);
 *   return `${wallets} snipers, ${holding} hold, ${soldOut} sold out`;
 * }
 * ```
 */
export function useSniperReport(source: PairSource, options: SniperWatch): SniperReportState {
  const values = valueKey(options);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `values` stands for the options, by value.
  const store = useMemo(() => reportLease(source, options), [source, values]);
  return useSyncExternalStore(store.subscribe, store.snapshot, store.empty);
}

function reportLease(source: PairSource, options: SniperWatch): Lease<SniperReportState> {
  refuseKnown(options, "in a hook, which shows all that is there");
  // Both check the options, and do nothing else until they are subscribed to.
  const [looks, statuses] = [source.sniperReport(options), source.status(options)];
  const follow = followFields<SniperReportState>(EMPTY, {
    look: looks.pipe(map((look) => () => look)),
    status: statuses.pipe(
      map(({ coveredFrom, coveredUntil, ...status }): SniperReportState["status"] => Object.freeze(status)),
      distinctUntilChanged(isSameStatus),
      map((status) => () => status),
    ),
  });
  return lease(storesOf<SniperReportState>(source), `report ${valueKey(options)}`, EMPTY, follow);
}
