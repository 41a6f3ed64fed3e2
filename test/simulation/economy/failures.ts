import type { Exchange } from "../exchanges.js";
import { askedBy } from "../reads.js";
import type { RunLog } from "../run-log.js";
import type { Account } from "./allowed.js";

/** The longest wait after a failure, ms. */
const LONGEST_RECOVERY = 60_000;
/** The part of a back-off that has to pass in any case: what is waited for by one clock may be less by another. */
const PATIENCE = 0.5;

/**
 * What failed requests excuse: each the next one for the same, but only if it has waited as long as the client's rules
 * say. Gives those that failed for good.
 */
export function allowFailures(
  log: RunLog,
  exchanges: readonly Exchange[],
  account: Account,
  isSame: (next: Exchange, failed: Exchange) => boolean = () => true,
): number {
  const { retry } = log.plan.world.client;
  const rules = {
    attempts: 3,
    baseDelay: 500,
    maxDelay: 8_000,
    ...(retry === false ? { attempts: 1 } : retry),
  };
  const endOf = endsOf(log);
  let failedForGood = 0;
  /** Looks that failed for good, in a row. */
  let row = 0;
  for (let at = 0; at < exchanges.length; at += 1) {
    const failed = exchanges[at]!;
    const { told, attempt = 1 } = failed;
    if (told?.isGood === true) row = 0;
    if (told?.isGood !== false) continue;
    let next = at + 1;
    while (next < exchanges.length && !isSame(exchanges[next]!, failed)) next += 1;
    const after = exchanges[next];
    const isRetry = attempt < rules.attempts && after?.attempt === attempt + 1;
    if (!isRetry) {
      row += 1;
      failedForGood += 1;
    }
    const wait = isRetry
      ? Math.min(rules.maxDelay, rules.baseDelay * 2 ** (attempt - 1))
      : Math.min(LONGEST_RECOVERY, Math.max(1_000, rules.maxDelay) * 2 ** (row - 1));
    if (after !== undefined && after.sent - endOf.get(failed)! >= PATIENCE * wait) account.allow("failure");
  }
  return failedForGood;
}

/** Whether a request begins the same range as another one. */
export function beginsAlike(a: Exchange, b: Exchange): boolean {
  return askedBy(a.url).from === askedBy(b.url).from;
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
