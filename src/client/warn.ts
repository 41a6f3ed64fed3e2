import type { SchedulerLike } from "rxjs";
import { shortened } from "../contract/quote.js";
import { type AnyPairstreamError, ContractError } from "../errors.js";
import { warnProcess } from "../warning.js";
import type { Warner } from "./core.js";
import type { Waiting } from "./limits/budget.js";
import type { RateLimit } from "./limits/places.js";
import type { QuotaReport } from "./limits/spending.js";
import type { PolledFeed } from "./metering.js";
import type { ClientOptions } from "./options.js";
import type { Redactor } from "./send/redact.js";

type Warn = Exclude<ClientOptions["warn"], false | undefined>;

/** How far clocks may differ without a word, in ms. */
export const CLOCK_SLACK = 60_000;
/** The longest message. */
const LONGEST = 1_500;
/** How many messages of a client the process gets in a minute: one service that is down troubles all of its streams. */
const MOST = 10;
const MINUTE = 60_000;

/** What `warn` of the options asks for; messages come out on one line, escaped, without the key. */
export function warnerOf(
  { warn, clock: scheduler }: { readonly warn: ClientOptions["warn"]; readonly clock: SchedulerLike },
  redact: Redactor,
): Warner | undefined {
  if (warn === false) return undefined;
  const sink = warn ?? processSink(scheduler);
  return {
    scheduler,
    warn: (text, feed, error, failures) => {
      const clean = error instanceof ContractError ? redact.contractError(error) : error;
      const trouble = Object.freeze({
        ...(feed?.timeframe !== undefined && { series: feed }),
        ...(feed && { pairAddress: feed.pairAddress }),
        ...(clean && { error: clean as AnyPairstreamError }),
        failures,
      });
      try {
        sink(redact.body(shortened(feed ? `${nameOf(feed)}: ${text}` : text, LONGEST)), trouble);
      } catch (thrown) {
        // No stream is to blame: it is reported as RxJS reports what an observer throws.
        scheduler.schedule(() => {
          throw thrown;
        });
      }
    },
  };
}

function processSink(scheduler: SchedulerLike): Warn {
  let begun = -Infinity;
  let count = 0;
  return (message) => {
    const now = scheduler.now();
    if (Math.abs(now - begun) >= MINUTE) [begun, count] = [now, 0];
    count += 1;
    const more =
      count === MOST ? " (more warnings of this minute are left out; the client's warn gets all)" : "";
    if (count <= MOST) warnProcess(message + more, "STREAM");
  };
}

function nameOf(feed: PolledFeed): string {
  const { pairAddress } = feed;
  if (feed.timeframe === undefined) return `snipers of ${pairAddress}`;
  return `${feed.timeframe} candles of ${pairAddress} (${feed.network}, ${feed.currency})`;
}

/** What a client says whose service has another time than its own scheduler, by so many ms. */
export function clockText(offset: number): string {
  const apart = `${Math.round(Math.abs(offset) / 1_000)} s ${offset > 0 ? "ahead of" : "behind"}`;
  return `the service's clock is ${apart} this machine's, by its Date; candles close by the service's`;
}

/** What a client says whose polls, or histories, have waited for a minute. */
export function overloadText(limit: RateLimit | undefined, what: Waiting, waiting: number): string {
  const allowed = limit && `${limit.requests} in ${limit.per} ms`;
  const late = what === "polls" ? "have come late" : "have waited";
  return `${what} ${late} for a minute: more are due than rateLimit allows (${allowed}); ${waiting} wait now`;
}

/** What a client says whose quota does not pay for all polls at the end of candles, or for those of its snipers alone. */
export function shortageText({ units, spent, close, resetsAt }: QuotaReport, hasCandles: boolean): string {
  const late = hasCandles ? "closed candles" : "sniper reports";
  const left = `of the quota's ${units} units ${Math.floor(Math.max(0, units - spent))} are left`;
  const until = `${new Date(resetsAt).toISOString().slice(0, 19)}Z`;
  return `${late} come late: ${left} until ${until}, which pay for ${Math.floor(100 / close)} % of their polls`;
}
