import { concatMap, defer, filter, map, type Observable } from "rxjs";
import { type Client, type ClientCore, coreOf, serviceNow } from "../client/core.js";
import { checkNumber, checkSniperQuery, show } from "../contract/input.js";
import type { SniperQuery, SniperReport } from "../contract/model.js";
import { namesOf, SNIPER_NAMES } from "../contract/names.js";
import type { Quote } from "../contract/quote.js";
import { snipersRoute } from "../contract/routes.js";
import { readSniperBody } from "../contract/wire.js";
import { ContractError, InvalidInputError } from "../errors.js";
import { APART } from "../poll/apart.js";
import { reportDropped } from "../poll/dropped.js";
import { checkWhenMissing, type WhenMissing } from "../poll/missing.js";
import type { AskOptions, FeedUpdate, Poll, Step } from "../poll/poller.js";
import { steadySchedule } from "../poll/schedule.js";
import { sharedFeed } from "../poll/shared-poll.js";
import type { Tell } from "../poll/teller.js";
import { emptySniperBook, lacksAll, readReport, type SniperBook } from "./diff.js";
import { emptyReport, type SniperEvent } from "./event.js";
import { checkKnown, type KnownSnipers } from "./known.js";
import { inKnownBlocks } from "./transactions.js";
import { nextView, type ReportHead, type SniperState, type SniperView } from "./view.js";

/** How to watch the snipers of a pair. */
export interface SniperWatch extends SniperQuery {
  /** Time between two polls in ms, at least 250; default 60,000. */
  every?: number;
  /** What to do if the service does not know the pair, as in `WatchOptions`; default `"fail"`. */
  whenMissing?: "fail" | "wait";
  /**
   * With `whenMissing: "wait"`: the time between two questions for a pair that is not known yet, in ms, at least 250. Default:
   * a minute, then twice as long each time, up to an hour.
   */
  missingPace?: number;
  /**
   * A look of `watchSniperReport` that was kept: go on from there, and tell only what has changed since; default: tell all that
   * is there. Refused if its `pairAddress` or `blocksAfterCreation` is another one.
   */
  known?: KnownSnipers | undefined;
}

/** A sniper watch with checked options. */
export interface CheckedSniperWatch {
  readonly query: SniperQuery;
  readonly every: number;
  readonly whenMissing: WhenMissing;
  /** ms; absent: longer and longer. */
  readonly missingPace: number | undefined;
  /** The kept look that it goes on from, as a book. */
  readonly known: SniperBook | undefined;
  /** Subscriptions with the same key share a poll. */
  readonly pollKey: string;
}

const DEFAULT_EVERY = 60_000;
const PACE = { min: 250, unit: "ms" };
export const SNIPER_WATCH_NAMES = [
  ...SNIPER_NAMES,
  ...namesOf<Omit<SniperWatch, keyof SniperQuery>>({
    every: true,
    whenMissing: true,
    missingPace: true,
    known: true,
  }),
];

/** Checks the options of a sniper watch. Throws an `InvalidInputError` that says what is allowed. */
export function checkSniperWatch(options: SniperWatch): CheckedSniperWatch {
  const query = checkSniperQuery(options, SNIPER_WATCH_NAMES);
  const every = checkNumber("every", options.every ?? DEFAULT_EVERY, PACE);
  const whenMissing = checkWhenMissing(options.whenMissing);
  const missingPace = checkMissingPace(options.missingPace, whenMissing);
  const known = checkKnown(options.known, query);
  const pollKey = pollPrefixOf(query) + every;
  return { query, every, whenMissing, missingPace, known, pollKey };
}

/** What the key of every poll of these snipers begins with. */
export function pollPrefixOf({ pairAddress, blocksAfterCreation }: SniperQuery): string {
  return `snipers ${pairAddress} ${blocksAfterCreation} `;
}

function checkMissingPace(pace: number | undefined, whenMissing: WhenMissing): number | undefined {
  if (pace === undefined) return undefined;
  if (whenMissing === "wait") return checkNumber("missingPace", pace, PACE);
  const problem = `is ${show(pace)}, but whenMissing is "fail"`;
  throw new InvalidInputError("missingPace", 'only with whenMissing: "wait"', problem);
}

/**
 * The changes among the snipers of a pair: new wallets with their transactions so far, each snipe and each sale,
 * changed totals, and transactions or wallets that a fork took back.
 *
 * ```marbles
 * swaps                    (xyz)---u-----v---------
 * watchSnipers(client, …)  a-----------b-----(de)--
 *
 * -: 10 s                    x: ann buys               y: bob buys                z: ann sells
 * u: bob sells               v: ann sells              a: wallet-added ann, initial
 * b: wallet-added bob        d: sold ann               e: wallet-updated ann
 * ```
 *
 * The first report comes as `wallet-added` events with `initial: true`. A late subscriber gets the present state in the
 * same way, at once. With `known` all that is told is news. All subscribers of one pair on one client share one poll if
 * their `blocksAfterCreation` and `every` are the same; `whenMissing`, `missingPace` and `known` are each subscriber's
 * own. A wallet or a transaction is removed once two reports, made a second apart, lack it, and the newest one once these
 * were made five seconds apart. A pair may have no report before its first swap; the service answers 404 then. Temporary
 * failures do not end the stream; it errors as `watchCandles` does. Throws an `InvalidInputError` at the call.
 *
 * ```ts
 * import { createClient, watchSnipers } from "pairstream";
 *
 * const client = createClient({ baseUrl: "https://api.example.com", apiKey: "…" });
 * watchSnipers(client, { pairAddress: "83v8iPyZihDEjDdY8RdZddyZNyUtXngz69Lgo9Kt5d6d" }).subscribe((event) => {
 *   if (event.type === "sold") console.log(event.walletAddress, event.transaction.transactionHash);
 * });
 * ```
 */
export function watchSnipers(client: Client, options: SniperWatch): Observable<SniperEvent> {
  const core = coreOf(client);
  const watch = checkSniperWatch(options);
  return sniperViews(core, watch).pipe(concatMap(({ events }) => events));
}

/** What one subscriber gets to know: what is there, at once where others have asked already, then every report. */
export function sniperViews(core: ClientCore, watch: CheckedSniperWatch): Observable<SniperView> {
  return defer(() => {
    let view: SniperView | undefined;
    return sniperFeed(core, watch).pipe(
      filter(({ state, isFresh }) => state?.book.observedAt !== undefined && (view === undefined || isFresh)),
      map(({ state }) => {
        view = nextView(view, state!, watch.known);
        return view;
      }),
    );
  });
}

/** The shared poll of a pair's snipers. */
export function sniperFeed(core: ClientCore, watch: CheckedSniperWatch): Observable<FeedUpdate<SniperState>> {
  const make = (): Poll<SniperState> => ({
    schedule: steadySchedule(watch.every, serviceNow(core)),
    ask: sniperAsker(core, watch),
    kind: "snipers",
    feed: watch.query,
  });
  return sharedFeed(core, watch.pollKey, make, watch);
}

type SniperBody = ReturnType<typeof readSniperBody>;

/** A row that breaks the contract this often is skipped. */
const READS_BEFORE_SKIPPING = 3;
const LACKS_ALL = "lacks all wallets that were there: it is not whole";
/** For so long, in ms, and two polls, reports that show other wallets alone may be another pair's. */
const STRANGE = 60_000;

/**
 * Reads one body after the other. Throws if a row breaks the contract and may not be skipped yet, and until the first report
 * also if no row can be read: such a report is none.
 */
function bodyReader(
  core: ClientCore,
  pairAddress: string,
  url: string,
): (text: string, quote: Quote, hasBegun: boolean, tell?: Tell) => SniperBody {
  /** How many reads in a row have refused a wallet's row; those without an address count as one. */
  const reads = new Map<string | undefined, number>();
  return (text, quote, hasBegun, tell) => {
    const body = readSniperBody(text, quote);
    const { refused, report } = body;
    const shown = report.result.map(({ walletAddress }) => walletAddress);
    const rows = new Map(refused.map((row) => [row.key, row]));
    for (const key of [...shown, undefined]) if (!rows.has(key)) reads.delete(key);
    for (const key of rows.keys()) reads.set(key, (reads.get(key) ?? 0) + 1);
    if (!hasBegun && refused.length > 0 && shown.length === 0) throw refused[0]!.error;
    const skipped = [...rows.values()].filter(({ key }) => reads.get(key) === READS_BEFORE_SKIPPING);
    reportDropped(core, { reading: "poll", pairAddress, url }, skipped, tell);
    const unread = refused.find(({ key }) => reads.get(key)! < READS_BEFORE_SKIPPING);
    if (unread !== undefined) throw unread.error;
    return body;
  };
}

/** Asks for one report after the other, and takes each into a book. */
function sniperAsker(
  core: ClientCore,
  watch: CheckedSniperWatch,
): (options: AskOptions) => Promise<Step<SniperState>> {
  const { query, every, known } = watch;
  const route = snipersRoute(query);
  const read = bodyReader(core, query.pairAddress, route);
  let book = emptySniperBook(query.pairAddress);
  let head: ReportHead = emptyReport;
  let epoch: number | undefined;
  /** Since when reports show none of the wallets that are known, by the scheduler. */
  let strangeSince: number | undefined;

  /**
   * What a report tells that shows none of the wallets that are known, or were kept: another one is asked for, and that tells no
   * more. `undefined` of any other.
   */
  const strangeStep = (
    { report, refused, hasList }: SniperBody,
    at: number,
  ): Step<SniperState> | undefined => {
    const shown = report.result.map(({ walletAddress }) => walletAddress);
    const isFirst = book.observedAt === undefined;
    if (refused.length > 0 || !lacksAll((isFirst ? known : undefined) ?? book, shown, hasList)) {
      strangeSince = undefined;
      return undefined;
    }
    const now = core.scheduler.now();
    if (strangeSince === undefined) {
      strangeSince = now;
      return { observedAt: at, again: APART };
    }
    if (shown.length > 0 && now - strangeSince >= 2 * every + STRANGE) return undefined;
    const trouble = { unreadable: new Set<string>(), hasUnidentifiedRow: true };
    const error = new ContractError(["result"], LACKS_ALL);
    return { state: { book, events: [], head, trouble }, observedAt: at, error };
  };

  return async ({ priority, signal, tell }) => {
    const parse = (text: string, quote: Quote) => read(text, quote, book.observedAt !== undefined, tell);
    const answer = await core.send({ route, priority, signal, parse, needsClock: true, tell });
    const strange = strangeStep(answer.value, answer.observedAt);
    if (strange !== undefined) return strange;
    const { refused, hasList } = answer.value;
    const report = completed(answer.value.report, head, book);
    const { isInDoubt } = answer;
    // Within one epoch of the service's clock the instant of the book does not go back.
    const at = answer.observedAt;
    const observedAt = answer.epoch === epoch ? Math.max(at, book.observedAt ?? at) : at;
    epoch = answer.epoch;
    const trouble = {
      unreadable: new Set(refused.flatMap(({ key }) => key ?? [])),
      hasUnidentifiedRow: !hasList || refused.some(({ key }) => key === undefined),
      isInDoubt,
    };
    const turn = readReport(book, { report, observedAt, ...trouble });
    const { result, ...creation } = report;
    head = creation;
    book = turn.book;
    const again = isInDoubt ? 0 : turn.doubt ? APART : undefined;
    return {
      state: { book, events: turn.events, head, trouble },
      observedAt,
      again,
      currentAt: observedAt,
      hasShown: book.wallets.size > 0,
    };
  };
}

/** A report with what was known of the creation, and of the blocks of transactions, where it leaves that out. */
function completed(report: SniperReport, head: ReportHead, { wallets }: SniperBook): SniperReport {
  const result = report.result.map((sniper) => {
    const known = wallets.get(sniper.walletAddress)?.wallet;
    return {
      ...sniper,
      snipedTransactions: inKnownBlocks(sniper.snipedTransactions, known?.snipedTransactions),
      sellTransactions: inKnownBlocks(sniper.sellTransactions, known?.sellTransactions),
    };
  });
  return {
    blockNumber: report.blockNumber ?? head.blockNumber,
    blockTimestamp: report.blockTimestamp ?? head.blockTimestamp,
    transactionHash: report.transactionHash ?? head.transactionHash,
    result,
  };
}
