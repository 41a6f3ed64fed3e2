import type { Exchange } from "../exchanges.js";
import { ENOUGH, isMissing, waits } from "../monitors/missing.js";
import type { RunLog, StayLog } from "../run-log.js";
import type { Account } from "./allowed.js";

/** The longest wait after failures in a row, ms. */
const LONGEST_WAIT = 60_000;
/** Whoever ends with a pair that is not known asks for it within so long, ms: a minute counts from the first answer. */
const FIRST_LOOK = 10_000;
/** The part of a wait that has to pass in any case: what is waited for by one clock may be less by another. */
const PATIENCE = 0.5;

/**
 * A request that failed is sent again, but not before it has waited as `retry` says; after its last attempt, as after
 * failures in a row. `all`: those among which the next attempt is, if these are not all.
 */
export function allowRetries(
  log: RunLog,
  exchanges: readonly Exchange[],
  account: Account,
  isSame: (next: Exchange, failed: Exchange) => boolean = () => true,
  stays: readonly StayLog[] = [],
  all = exchanges,
): void {
  const { retry, timeout = 10_000 } = log.plan.world.client;
  const rules = {
    attempts: 3,
    baseDelay: 500,
    maxDelay: 8_000,
    ...(retry === false ? { attempts: 1 } : retry),
  };
  const endOf = endsOf(log);
  /** Who ends with a pair that is not known asks for it so often, and has an answer after a minute. */
  const hasty = stays.filter((stay) => !waits(stay)).map(({ joined }) => ({ joined, left: ENOUGH.answers }));
  /** Looks that failed for good, in a row, of those who ask for the same. */
  const rows: { readonly first: Exchange; failures: number }[] = [];
  for (const failed of exchanges) {
    const { told, attempt = 1 } = failed;
    if (told === undefined) continue;
    let row = rows.find(({ first }) => isSame(first, failed));
    if (row === undefined) {
      row = { first: failed, failures: 0 };
      rows.push(row);
    }
    if (told.isGood) {
      row.failures = 0;
      continue;
    }
    const ended = endOf.get(failed)!;
    const place = all.indexOf(failed);
    const after = all.find((next, at) => at > place && next.sent >= ended && isSame(next, failed));
    const isRetry = attempt < rules.attempts && after?.attempt === attempt + 1;
    if (!isRetry) row.failures += 1;
    const wait = isRetry
      ? Math.min(rules.maxDelay, rules.baseDelay * 2 ** (attempt - 1))
      : Math.min(LONGEST_WAIT, Math.max(1_000, rules.maxDelay) * 2 ** (row.failures - 1));
    if (after === undefined) continue;
    if (after.sent - ended >= PATIENCE * wait) account.allow("retry");
    else if (isMissing(log, failed)) {
      const longest = FIRST_LOOK + ENOUGH.time + 2 * timeout;
      const own = hasty.find(
        ({ joined, left }) => left > 0 && after.sent >= joined && after.sent <= joined + longest,
      );
      if (own === undefined) continue;
      own.left -= 1;
      account.allow("retry");
    }
  }
}

/** Whether a request has waited, after an answer that left its poll without one, as it has to after a first failure. */
export function hasWaited({ plan }: RunLog, { received }: Exchange, { sent }: Exchange): boolean {
  const { retry } = plan.world.client;
  const { maxDelay = 8_000 } = retry === false ? {} : (retry ?? {});
  return sent - received! >= PATIENCE * Math.max(1_000, maxDelay);
}

const ends = new WeakMap<RunLog, ReadonlyMap<Exchange, number>>();

/** When each exchange had ended for the client, by the run's clock. */
function endsOf(log: RunLog): ReadonlyMap<Exchange, number> {
  let known = ends.get(log);
  if (known === undefined) {
    const responses = log.activities.filter(({ value }) => value.type === "response");
    known = new Map(log.told.map((exchange, order) => [exchange, responses[order]!.at]));
    ends.set(log, known);
  }
  return known;
}
