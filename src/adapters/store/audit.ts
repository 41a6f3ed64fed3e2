import { concatMap, defer, finalize, from, noop, type Observable, Subscription } from "rxjs";
import { type CandleRange, checkCandleRange, readPast } from "../../candles/fetch.js";
import { DEFAULT_SETTLE, type Making } from "../../candles/making.js";
import type { FinalPart } from "../../candles/read/forward.js";
import { FULL_PAGE } from "../../candles/read/pages.js";
import { pastOf } from "../../candles/read/past.js";
import { windowStart } from "../../candles/rules.js";
import { type Client, type ClientCore, coreOf } from "../../client/core.js";
import { DEFAULT_COSTS } from "../../client/limits/spending.js";
import { sleepUntil } from "../../client/timers.js";
import { checkServed, toInstant } from "../../contract/input.js";
import type { Candle, DateLike, Series, Timeframe, WeekStart } from "../../contract/model.js";
import { namesOf } from "../../contract/names.js";
import type { CandleStore } from "../../contract/store.js";
import type { Cost } from "../../cost.js";
import { ContractError } from "../../errors.js";
import { APART } from "../../poll/apart.js";
import type { Span } from "../../spans.js";
import { intervalsOf } from "../../timeframe.js";
import { type BothSides, compareCandles, holesIn, sortedFindings, withServed } from "./audit-compare.js";
import type { Finding } from "./audit-finding.js";
import { OutlierRule } from "./audit-outliers.js";
import { type Audited, checkAudited } from "./audited.js";
import { withinLimit } from "./keeping/store-limit.js";
import { storeRules } from "./keeping/stored-past.js";
import { storeKeyOf } from "./key.js";

/** What to read again. */
export interface AuditRange {
  /** Start of the range, inclusive, on the candles' timestamps. */
  from: DateLike;
  /** End of the range, exclusive; candles that may still change are left out. */
  to: DateLike;
  /** Where `1w` begins; default `"monday"`. */
  weekStart?: WeekStart;
}

/** What to read again, and what to compare it with. */
export interface AuditOptions extends AuditRange {
  /**
   * A store, of which the candles of the client's `baseUrl` are read; or candles in any order, which count as all candles of
   * the range.
   */
  against: CandleStore | Iterable<Candle>;
}

const RANGE_NAMES = namesOf<AuditOptions>({ from: true, to: true, weekStart: true, against: true });
/** So many intervals are compared at once at most: where the service has few candles, the store may have many. */
const AT_ONCE = 100_000;
/** Once so many second requests have shown no more than the first, the service is believed without. */
const SECOND_LOOKS = 10;

/**
 * What `auditCandles` costs at most, in requests and units. It sends no request. It counts as if each interval of the range
 * had a candle, and as if up to ten pages had to be requested twice. If the service has all candles of the store, no page
 * is requested twice.
 *
 * Not counted: retries, answers that the next one shows to be wrong, the second answer that proves a silence at the
 * beginning, and the search for the beginning of a series that starts within the range or after it (some more requests).
 * Throws an `InvalidInputError` for a series or a range
 * that `auditCandles` would refuse.
 *
 * ```ts
 * import { auditCost } from "pairstream/store";
 *
 * const pairAddress = "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d";
 * const minutes = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;
 * console.log(auditCost({ ...minutes, from: "2024-01-05", to: "2024-01-06" })); // { requests: 4, units: 600 }
 * ```
 */
export function auditCost(query: Series & AuditRange): Cost {
  const { rules, range } = checkAuditRange(query);
  const pages = Math.ceil(rules.intervals.count(range.from, range.to) / FULL_PAGE);
  const requests = pages + Math.min(pages, SECOND_LOOKS);
  return Object.freeze({ requests, units: requests * DEFAULT_COSTS.ohlcv });
}

/**
 * Reads a range again, and lists what differs between the service and a store, or a list of candles: corrections that
 * came after a candle was final, candles that only one side has, spans that are not covered, impossible candles, and
 * outliers. It changes nothing. To have a span read again, delete it with `forget` of the store.
 *
 * ```marbles
 * requests                 r-------
 * auditCandles(client, …)  --(dm|)
 *
 * -: 20 ms           r: a request       d: differs at 12:00   m: missing at 12:03
 * ```
 *
 * Findings ascend by `timestamp`. Everything is requested from the service, and paid for, whatever the client's own store
 * has: `auditCost` says how much. Only final candles are read, up to two intervals before the running one. It reads one page
 * at a time, in bounded memory for any range. After unsubscribing nothing runs on. Each subscription reads again.
 *
 * - `differs`: both sides have a candle, with other numbers.
 * - `missing`: the service has a candle, and the store covers its interval without one.
 * - `extra`: the store has a candle, and the service has none in its interval. The service is requested again, a second
 *   later, before the finding is emitted. After ten such second requests without a difference, findings come at once.
 * - `hole`: the store does not cover `[timestamp, to)`. A list of candles has no holes: what it lacks is `missing`.
 * - `impossible`: `high` below `low`, `open` or `close` outside of them, a price or a volume that is negative, not finite
 *   or past 1e100, `swaps` that are no count, a timestamp that begins no interval, repeats, or lies outside of what the store
 *   covers. A row of the service that three answers, made a second apart, hold broken is one, too.
 * - `outlier`: of the candles served, the logarithmic return from the close before to the close, high or low has a modified
 *   z-score past 3.5 (0.6745 · (x − median) / MAD, by Iglewicz and Hoaglin, 1993) among the 300 returns of the same kind
 *   before it. With fewer than 30 returns there is no finding. If the MAD is 0, because more than half of the returns are the
 *   same, the median of the deviations that are not 0 is used; without such deviations there is no finding. A price of 0 has
 *   no return. Markets have fat tails: most outliers are true, and the way back from one may be one. `score` is there to
 *   filter by.
 *
 * It errors with a `PairstreamError` when the client's `retry` is exhausted, or if the store cannot be read or takes longer
 * than the client's `timeout` to answer. Throws an `InvalidInputError` at the call.
 *
 * ```ts
 * import Database from "libsql";
 * import { createClient } from "pairstream";
 * import { auditCandles, sqliteStore } from "pairstream/store";
 *
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * auditCandles(client, {
 *   network: "mainnet",
 *   pairAddress: "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d",
 *   timeframe: "1min",
 *   currency: "usd",
 *   from: "2024-01-05",
 *   to: "2024-01-06",
 *   against: sqliteStore(new Database("candles.db")),
 * }).subscribe((finding) => console.log(new Date(finding.timestamp), finding.type));
 * ```
 */
export function auditCandles(client: Client, query: Series<Timeframe> & AuditOptions): Observable<Finding> {
  const core = coreOf(client);
  const asked = checkAuditRange(query);
  const key = storeKeyOf(core.service, asked.served.series, asked.weekStart);
  const audited = checkAudited(query.against, key, asked.range);

  return defer(() => {
    const abort = new AbortController();
    const waiting = new Subscription();
    const source: Audited = { read: (range) => withinLimit(() => audited.read(range), core, waiting) };
    return from(findingsOf(core, asked, source, abort.signal)).pipe(
      concatMap((findings) => findings),
      finalize(() => {
        abort.abort();
        waiting.unsubscribe();
      }),
    );
  });
}

function checkAuditRange(query: Series & AuditRange): CandleRange {
  const checked = checkCandleRange(query, RANGE_NAMES, auditMaking);
  toInstant("to", query.to);
  return checked;
}

/** A store holds what the service serves. */
function auditMaking(asked: Series, weekStart: WeekStart): Making {
  const series = checkServed(asked);
  const intervals = intervalsOf(series.timeframe, weekStart);
  const rules = storeRules({ intervals, settle: DEFAULT_SETTLE, revisionWindow: 0 });
  return { series, weekStart, rules, served: { series, rules } };
}

/** What the reads of a range show, in parts whose candles fit in memory. */
async function* findingsOf(
  core: ClientCore,
  audit: CandleRange,
  audited: Audited,
  signal: AbortSignal,
): AsyncGenerator<Finding[]> {
  const { rules, range } = audit;
  const { intervals } = rules;
  const isStart = (instant: number) => intervals.start(instant) === instant;
  const outliers = new OutlierRule();
  let looksLeft = SECOND_LOOKS;
  let holes: Span[] | undefined;
  for await (const read of readPast(core, audit, { skipsRows: true }, signal)) {
    // The first read tells the time, and so how far the audit goes.
    holes ??= await holesOf(audited, {
      ...range,
      to: Math.min(range.to, windowStart(rules, read.observedAt)),
    });
    for (let start = read.from; start < read.to; ) {
      const end = intervals.shift(start, Math.min(AT_ONCE, intervals.count(start, read.to)));
      const { candles: stored, covered } = await audited.read({ from: start, to: end });
      signal.throwIfAborted();
      let sides = withServed({ from: start, to: end, stored, covered }, [read]);
      let findings = compareCandles(sides, isStart);
      const extras = extrasIn(findings);
      if (extras.length > 0 && looksLeft > 0) {
        sides = withServed(sides, [read, ...(await secondLook(core, audit, sides, extras, signal))]);
        findings = compareCandles(sides, isStart);
        if (extrasIn(findings).length === extras.length) looksLeft -= 1;
      }
      yield sortedFindings([
        ...holes.filter(({ from }) => from >= start && from < end).map(holeOf),
        ...findings,
        ...sides.served.flatMap((candle) => outliers.next(candle) ?? []),
      ]);
      start = end;
    }
  }
}

/** The timestamps of candles that the service lacks, ascending. */
function extrasIn(findings: readonly Finding[]): number[] {
  return findings.flatMap(({ type, timestamp }) => (type === "extra" ? [timestamp] : []));
}

/**
 * Asks once more about candles that the service seems to lack, between those of which it is known that it has them: an
 * answer without these is not whole.
 */
async function secondLook(
  core: ClientCore,
  making: Making,
  { from, to, served }: BothSides,
  extras: readonly number[],
  signal: AbortSignal,
): Promise<FinalPart[]> {
  const { intervals } = making.rules;
  const before = served.findLast(({ timestamp }) => timestamp < extras[0]!)?.timestamp;
  const after = served.find(({ timestamp }) => timestamp > extras.at(-1)!)?.timestamp;
  await sleepUntil(core.scheduler, core.scheduler.now() + APART, signal);
  // What is dropped was told of with the first look.
  const past = pastOf({ ...core, report: noop }, making);
  const query = {
    from: before === undefined ? from : intervals.end(before),
    until: () => after ?? to,
    anchors: [before, after].filter((timestamp) => timestamp !== undefined),
    skipsRows: true,
    onGone: () => {
      throw new ContractError(["result"], "lacks candles that were there just now");
    },
  };
  const parts: FinalPart[] = [];
  for await (const part of past.parts(query, { priority: "history", signal })) parts.push(part);
  return parts;
}

async function holesOf(audited: Audited, range: Span): Promise<Span[]> {
  const { covered } = await audited.read({ ...range, last: 0 });
  return holesIn(covered, range);
}

function holeOf({ from, to }: Span): Finding {
  return { type: "hole", timestamp: from, to };
}
