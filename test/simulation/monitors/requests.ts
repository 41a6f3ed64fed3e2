import type { Timeframe } from "../../../src/index.js";
import { intervalsOf } from "../calendar.js";
import type { Exchange } from "../exchanges.js";
import { MOST_REQUESTS } from "../network.js";
import { askedBy, readBody } from "../reads.js";
import type { RunLog } from "../run-log.js";
import { serviceClockOf } from "../service-time.js";
import type { Context, Monitor } from "./monitor.js";
import { spendings } from "./spendings.js";

/** What every server takes. */
const LONGEST_URL = 8_192;
/** How many pages a range may take beyond one a candle: by its bounds, which may be inclusive, and an empty one at its end. */
const PAGES_BEYOND = 3;
/** The longest wait that a hint can ask for. */
const LONGEST_HINT = 3_600_000;

/** Promises 8 to 11, and of 5 that no walk is endless, as the network sees them. */
export const watchRequests: Monitor = (log, context) => {
  const { plan, exchanges } = log;
  if (exchanges.length >= MOST_REQUESTS) context.breach(9, "asks without end", exchanges.at(-1)!.sent);
  if (log.pendingTimers > 0)
    context.breach(9, `${log.pendingTimers} timers are left behind`, plan.world.start + plan.length);
  if (log.exchanges.length > log.requestsBefore) {
    context.breach(
      9,
      `asks after everybody has left: ${log.exchanges[log.requestsBefore]!.url}`,
      log.exchanges[log.requestsBefore]!.sent,
    );
  }
  for (const { url, sent } of log.unaborted) context.breach(9, `is not aborted: ${url}`, sent);
  if (log.oddDelay !== undefined) context.breach(11, `sets a timer of ${log.oddDelay} ms`, plan.world.start);
  for (const { url, sent } of exchanges) {
    if (url.length > LONGEST_URL) context.breach(8, `asks with a URL of ${url.length} characters`, sent);
  }
  watchWalks(log, context);
  watchRate(log, context);
  watchQuota(log, context);
  watchPauses(log, context);
  watchAbsentees(log, context);
};

/** No walk goes on along rows that it has read, nor over more pages than its range can fill. */
function watchWalks({ told }: RunLog, context: Context) {
  const walks = new Map<string, { pages: number; rows: Set<number> }>();
  for (const exchange of told) {
    const asked = askedBy(exchange.url);
    if (asked.kind !== "ohlcv" || exchange.told!.isGood !== true) continue;
    const read = readBody(exchange, asked);
    if (read === undefined) continue;
    const range = `${asked.series} ${asked.from} ${asked.to} ${exchange.priority} `;
    const walk = (asked.cursor === undefined ? undefined : walks.get(range + asked.cursor)) ?? {
      pages: 0,
      rows: new Set<number>(),
    };
    const placed = [...read.rows.keys(), ...read.broken];
    const isOld = placed.length > 0 && placed.every((timestamp) => walk.rows.has(timestamp));
    if (read.cursor === undefined) continue;
    const pages = walk.pages + 1;
    const timeframe = asked.series.split(" ")[1] as Timeframe;
    const most = intervalsOf(timeframe).count(asked.from, asked.to) + PAGES_BEYOND;
    if (isOld || pages > most)
      context.breach(
        5,
        `takes page ${pages} of ${exchange.url.slice(0, 200)}, ${isOld ? "whose rows it had" : `at most ${most}`}`,
        exchange.received!,
      );
    walks.set(range + read.cursor, { pages, rows: new Set([...walk.rows, ...placed]) });
  }
}

/**
 * Whoever counts does so when a request comes in, or when it is answered, after a stay on the way; how long each takes is
 * not for the client to know.
 */
function watchRate({ plan, exchanges }: RunLog, context: Context) {
  const { client } = plan.world;
  const time = serviceClockOf(plan.world);
  const { rateLimit = { requests: 40, per: 1_000 } } = client;
  if (rateLimit === false) return;
  const { requests, per } = rateLimit;
  const arrivals = exchanges.flatMap(({ arrived }) => arrived ?? []);
  // What the client gave up may be answered later than that: `watchPlaces` counts it.
  const answers = exchanges.flatMap(({ outcome, arrived, answeredAt, old }) =>
    outcome === "answered" ? time.until(answeredAt! + old) : (arrived ?? []),
  );
  watchPlaces(exchanges, requests, per, context);
  for (const [does, instants] of Object.entries({ arrive: arrivals, "are answered": answers })) {
    instants.sort((a, b) => a - b);
    for (let at = requests; at < instants.length; at += 1) {
      const first = instants[at - requests]!;
      const last = instants[at]!;
      if (last - first >= per || context.clockWasSet(first, last)) continue;
      context.breach(
        10,
        `${requests + 1} requests ${does} within ${last - first} ms, ${requests} allowed in ${per}`,
        last,
      );
      return;
    }
  }
}

/** A request holds its place from its start until a window after its end, whether that is an answer, a failure or a timeout. */
function watchPlaces(exchanges: readonly Exchange[], requests: number, per: number, context: Context): void {
  let held: readonly Exchange[] = [];
  for (const exchange of [...exchanges].sort((a, b) => a.sent - b.sent)) {
    const { sent } = exchange;
    const before = held.filter(({ endedAt }) => endedAt === undefined || endedAt + per > sent);
    held = [...before, exchange];
    if (before.length < requests) continue;
    if (before.some((other) => context.clockWasSet(other.sent, sent))) continue;
    context.breach(
      10,
      `sends a request while ${before.length} hold a place, ${requests} allowed in ${per}`,
      sent,
    );
    return;
  }
}

/** In no period of the service's clock are more units spent than the quota has. */
function watchQuota(log: RunLog, context: Context) {
  const { quota } = log.plan.world.client;
  if (quota === undefined) return;
  for (const { exchange, spent } of spendings(log, quota.per, context)) {
    const { sent, told } = exchange;
    // Without a clock that can be told nobody knows when a period ends.
    const order = told?.order ?? log.exchanges.length;
    const isKnown = context.isTrusted(order) && context.knowsTime(order) && context.toleranceAt(order) <= 1;
    if (spent > quota.units && isKnown) {
      context.breach(10, `spends ${spent} units, ${quota.units} allowed`, sent);
      return;
    }
  }
}

/** After a 429 nothing goes out until its hint, or the first back-off, has passed. */
function watchPauses({ plan, exchanges, told }: RunLog, context: Context) {
  const { retry } = plan.world.client;
  const baseDelay = (retry === false ? undefined : retry?.baseDelay) ?? 500;
  const maxDelay = (retry === false ? undefined : retry?.maxDelay) ?? 8_000;
  for (const { status, headers, received, told: end } of told) {
    const { order } = end!;
    if (status !== 429 || received === undefined) continue;
    const { retryAfter, date } = headers;
    const seconds = Number(retryAfter ?? Number.NaN);
    const service = context.serviceClock(received);
    // A date without a `Date` beside it, or with one that is behind, counts by what is known of the service's clock from other answers.
    const isBehind = date === undefined || service - date >= 1_000;
    const isDated = Number.isNaN(seconds) && retryAfter !== undefined && isBehind;
    const isTold = told.some((other) => other.received! < received && other.headers.date !== undefined);
    if (isDated && !(isTold && context.isTrusted(order))) continue;
    const now = Math.max(date ?? -Infinity, service);
    const until = Number.isNaN(seconds) ? Date.parse(retryAfter ?? "") - now : seconds * 1_000;
    // A date has passed when the clock tells it, which is known as well as it can be.
    const vague = Number.isNaN(seconds) ? context.toleranceAt(order) : 0;
    const isOver = until <= (isDated ? -vague - context.untoldAt(order) : 0);
    const pause = isOver ? Math.min(baseDelay, maxDelay) : Math.min(until - vague, LONGEST_HINT);
    const early = exchanges.find(({ sent }) => sent > received && sent < received + pause);
    if (early === undefined || context.clockWasSet(received, early.sent)) continue;
    context.breach(
      10,
      `sends ${early.url} ${early.sent - received} ms after a 429 that asks for ${pause}`,
      early.sent,
    );
    return;
  }
}

/** A feed that nobody watches asks for nothing. */
function watchAbsentees(log: RunLog, context: Context) {
  for (const { url, sent, priority } of log.exchanges) {
    const asked = askedBy(url);
    if (asked.kind !== "ohlcv") continue;
    const feed = context.feedOf(asked.series);
    if (feed === undefined || context.isWatched(feed, sent, sent)) continue;
    if (priority === "history" && context.isFetched(feed, sent)) continue;
    context.breach(9, `asks (${priority}) for what nobody watches: ${url}`, sent);
    return;
  }
}
