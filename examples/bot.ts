// Trades five pairs in two timeframes, on paper: `npm run example:bot`, `npm run example:bot -- --help`.
// Copy it with the folders `bot` and `terminal`. Change `bot/strategy.ts`, and replace `paperBroker`.
import {
  type ClientOptions,
  closes,
  createClient,
  estimateCost,
  intervalOf,
  resample,
  type Timeframe,
  watchCandles,
  watchFeedStatus,
} from "pairstream";
import {
  catchError,
  concatMap,
  connect,
  distinctUntilChanged,
  EMPTY,
  filter,
  ignoreElements,
  lastValueFrom,
  merge,
  takeUntil,
  tap,
  timer,
} from "rxjs";
import { ndjsonLog } from "./bot/log.js";
import { type BotOptions, readOptions } from "./bot/options.js";
import { stateFile } from "./bot/state-file.js";
import { decideOrders, TREND_CANDLES } from "./bot/strategy.js";
import { keyOf, paperBroker, Trader } from "./bot/trader.js";
import { KEY } from "./terminal/command-line.js";
import { runProgram, untilStopped } from "./terminal/program.js";
import { storeTrouble, withStore } from "./terminal/store-file.js";

const stopped = untilStopped();
const log = ndjsonLog((line) => process.stdout.write(line), Date.now);

await runProgram(async (args) => {
  const options = readOptions(args, process.env[KEY], Date.now());
  await withStore(options.store, (stored) => trade(options, stored));
});

async function trade(options: BotOptions, stored: Pick<ClientOptions, "store">): Promise<void> {
  const { pairs, timeframe, longer, every, trend, stopLoss } = options;
  const watches = watchesOf(options);
  const client = createClient({ ...options.clientOptions, ...stored });
  storeTrouble(client).subscribe(({ key, operation, error }) =>
    log("store", { series: keyOf(key), operation, error }),
  );
  const spent = { requests: 0, units: 0 };
  client.activity.subscribe((activity) => {
    if (activity.type !== "response") return;
    spent.requests += 1;
    spent.units += activity.weight ?? 0;
  });
  const trader = new Trader(stateFile(options.state), paperBroker(100), log);
  log("cost", { ...estimateCost(watches), perDay: true });
  const timeframes = [timeframe, longer];
  log("start", { pairs, timeframes, trend, every, stopLoss, positions: trader.positions });

  const end = Number.isFinite(options.for) ? merge(stopped, timer(1_000 * options.for)) : stopped;
  let hasFailed = false;
  let closed = 0;
  const candles = merge(
    ...watches.map((watch) =>
      watchCandles(client, watch).pipe(
        // One pair that ends does not end the others.
        catchError((error) => {
          hasFailed = true;
          log("feed-ended", { series: keyOf(watch), error });
          return EMPTY;
        }),
      ),
    ),
  ).pipe(connect((short) => merge(short, short.pipe(resample(longer)))));
  /** The pairs that have not been live yet. */
  const awaited = new Set(pairs);
  const statuses = watches.map((watch) => {
    let isTrouble = false;
    return watchFeedStatus(client, watch).pipe(
      distinctUntilChanged((a, b) => a.state === b.state && a.lastError?.message === b.lastError?.message),
      tap(({ state, failures, lastError }) => {
        if (state === "live" && awaited.delete(watch.pairAddress) && awaited.size === 0) log("live", spent);
        // From then on a pair is heard of where it is in trouble, and where that is over.
        const wasTrouble = isTrouble;
        isTrouble = state === "stalled" || lastError !== undefined;
        if (isTrouble || wasTrouble)
          log("status", { series: keyOf(watch), state, failures, error: lastError });
      }),
      catchError(() => EMPTY), // The stream of its candles tells.
    );
  });
  const trading = candles.pipe(
    connect((events) =>
      merge(
        events.pipe(
          closes(),
          filter(({ live }) => live),
          tap(() => {
            closed += 1;
          }),
          ignoreElements(),
        ),
        decideOrders(events, trader.positionOf, { trend, stopLoss }),
      ),
    ),
    takeUntil(end),
    // After takeUntil: an order that is on its way is waited for.
    concatMap((order) => trader.act(order)),
  );
  const startedAt = performance.now();
  try {
    const watching = merge(...statuses).pipe(takeUntil(end), ignoreElements());
    await lastValueFrom(merge(trading, watching), { defaultValue: undefined });
  } catch (error) {
    hasFailed = true;
    log("failed", { error });
  } finally {
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    const { counts, profit, positions } = trader;
    log("summary", { seconds, ...spent, closed, ...counts, profit, positions });
  }
  if (hasFailed) process.exitCode = 1;
}

/** One poll a pair; the longer timeframes are made of its candles. */
function watchesOf({ pairs, timeframe, trend, every }: BotOptions) {
  const lengthOf = (of: Timeframe) => {
    const { start, end } = intervalOf(of, 0);
    return end - start;
  };
  // The trend's average, and one of its candles that begins before the history.
  const candles = Math.ceil(((TREND_CANDLES + 1) * lengthOf(trend)) / lengthOf(timeframe));
  return pairs.map((pairAddress) => {
    const series = { network: "mainnet", pairAddress, timeframe, currency: "usd" } as const;
    return { ...series, every, since: { candles }, fillGaps: true };
  });
}
