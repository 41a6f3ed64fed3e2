import { accountsOf } from "../economy/accounts.js";
import { healthOf } from "../economy/health.js";
import type { Monitor } from "./monitor.js";

/** So many requests more than that, or such a share, nobody notices on a bill. */
const UNNOTICED = { requests: 2, share: 0.05 };
/** What a closed candle may cost in good health, in requests. */
const MOST_A_CLOSING = 1.05;

/** Promise 9: no more requests than a careful client needs, and in good health one a closed candle. */
export const watchEconomy: Monitor = async (log, context) => {
  for (const account of await accountsOf(log)) {
    const spare = Math.max(UNNOTICED.requests, UNNOTICED.share * account.most);
    if (account.sent > account.most + spare) context.breach(9, `sends ${account}`, account.lastSent);
  }
  for (const { feed, closings, requests, drifts, until } of healthOf(log)) {
    // Of a few closings one may be asked for twice.
    if (requests <= Math.max(MOST_A_CLOSING * closings, closings + 1) + drifts) continue;
    context.breach(
      9,
      `sends ${requests} requests for ${closings} closings of ${feed.series.timeframe}`,
      until,
    );
  }
};
