import type { ClientActivity } from "../../../src/index.js";
import { CLOSED } from "../connections.js";
import type { RunLog } from "../run-log.js";
import type { Monitor } from "./monitor.js";

/** The longest `per` of a rate limit, ms. */
const LONGEST_LIMIT = 4_000;

/** Promise 8: what a closed connection has lost is sent again at once, as the same attempt, or as the limit lets it. */
export const watchConnections: Monitor = (log, context) => {
  for (const { url, told, faults, attempt, outcome } of log.exchanges) {
    // Of what was lost after the client had given up it knows nothing.
    if (told === undefined || outcome !== "failed" || !faults.includes(CLOSED)) continue;
    const lost = log.activities.findIndex(
      ({ order, value }) => value.type === "response" && order === told.order,
    );
    const { at } = log.activities[lost]!;
    // Whoever leaves in the same ms wants nothing more.
    if (hasLeft(log, at)) continue;
    const breach = (what: string) =>
      context.breach(8, `${what} what a closed connection has lost: ${url}`, at);
    const next = (type: ClientActivity["type"], from: number) =>
      log.activities.findIndex(
        ({ value }, place) =>
          place > from && value.type === type && "url" in value && startOf(url).endsWith(startOf(value.url)),
      );
    const again = next("retry", lost);
    const retry = log.activities[again]?.value;
    if (retry?.type !== "retry") breach("does not send again");
    else if (retry.delay !== 0 || retry.attempt !== attempt) breach(`waits ${retry.delay} ms for`);
    const sent = log.activities[next("request", again)];
    if (again < 0 || sent?.value.type !== "request") continue;
    const isHeld = log.activities.some(
      ({ at: when, value }) => value.type === "throttled" && when <= sent.at && when >= at - LONGEST_LIMIT,
    );
    // A quota that is spent holds it back until its next period, or fails it: then a later poll asks.
    const quota = log.plan.world.client.quota?.per ?? 0;
    const isLater = quota > 0 && sent.at > at && sent.value.attempt === 1;
    if (sent.value.attempt !== attempt && !isLater) breach("counts an attempt for");
    const mayWait = isHeld || sent.at - at <= quota || context.isThrottled(at);
    if (sent.at > at && !mayWait) breach(`is ${sent.at - at} ms late with`);
  }
};

/** A request without the end of its range, which grows until it goes out. */
function startOf(url: string): string {
  return url.replace(/&toDate=.*/, "");
}

function hasLeft({ stays }: RunLog, at: number): boolean {
  return stays.some(({ left, ended }) => left === at || ended?.at === at);
}
