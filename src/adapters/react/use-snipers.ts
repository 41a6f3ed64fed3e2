import { useMemo, useSyncExternalStore } from "react";
import { map } from "rxjs";
import type { SniperReport } from "../../contract/model.js";
import type { FeedStatus } from "../../feed-status.js";
import { emptyReport } from "../../snipers/event.js";
import { refuseKnown } from "../../snipers/known.js";
import type { SniperWatch } from "../../snipers/watch.js";
import type { PairSource } from "../../source.js";
import { type Lease, lease, storesOf } from "./shared-store.js";
import { followFields, STARTING } from "./stream-state.js";
import { valueKey } from "./value-key.js";

/** The snipers of a pair as of the last frame; frozen. */
export interface SnipersState {
  /** The wallets by address, ascending. The report's own block, time and hash are null, because no event has them. */
  readonly report: SniperReport;
  /** The status of the stream; `starting` until the stream reports one, and `stalled` once it has ended. */
  readonly status: FeedStatus;
  /** The error that ended the stream. Nothing comes after it. */
  readonly error: Error | undefined;
}

const EMPTY: SnipersState = Object.freeze({ report: emptyReport, status: STARTING, error: undefined });

/**
 * The snipers of a pair, for a component: all wallets as they are now, the status of the stream, and its error.
 *
 * It shares subscriptions and renders as `useCandles` does. After an `error` nothing more comes. To try again, mount the
 * component again, for example with another `key` on its element. Throws an `InvalidInputError` while rendering if the
 * options are wrong.
 *
 * ```ts
 * import type { PairSource } from "pairstream";
 * import { useSnipers } from "pairstream/react";
 *
 * export function Holders({ source, pairAddress }: { source: PairSource; pairAddress: string }) {
 *   const { report, status } = useSnipers(source, { pairAddress, every: 30_000 });
 *   const holding = report.result.filter(({ currentBalance }) => (currentBalance ?? 0) > 0);
 *   return `${holding.length} of ${report.result.length} snipers hold on (${status.state})`;
 * }
 * ```
 */
export function useSnipers(source: PairSource, options: SniperWatch): SnipersState {
  const values = valueKey(options);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `values` stands for the options, by value.
  const store = useMemo(() => snipersLease(source, options), [source, values]);
  return useSyncExternalStore(store.subscribe, store.snapshot, store.empty);
}

function snipersLease(source: PairSource, options: SniperWatch): Lease<SnipersState> {
  refuseKnown(options, "in a hook, which shows all that is there");
  // Both check the options, and do nothing else until they are subscribed to.
  const [looks, statuses] = [source.sniperReport(options), source.status(options)];
  const follow = followFields<SnipersState>(EMPTY, {
    report: looks.pipe(
      map(
        ({ report: { result } }) =>
          () =>
            Object.freeze({ ...emptyReport, result }),
      ),
    ),
    status: statuses.pipe(map((status) => () => status)),
  });
  return lease(storesOf<SnipersState>(source), `snipers ${valueKey(options)}`, EMPTY, follow);
}
