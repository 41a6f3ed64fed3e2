// Follows the candles and the snipers of a pair in the terminal: `npm start`, `npm start -- --help`.
import chalk from "chalk";
import { InvalidInputError } from "pairstream";
import { lastValueFrom, ReplaySubject, takeUntil, tap } from "rxjs";
import { loadStrategy } from "./backtest/trading.js";
import { clientOf, linesOf } from "./live/follow.js";
import { type LiveOptions, readOptions } from "./live/options.js";
import { openPage } from "./live/page.js";
import { type OpenPlace, openPlace } from "./live/place.js";
import { shortened } from "./live/text.js";
import { HelpShown, UsageError } from "./terminal/command-line.js";

const stopped = new ReplaySubject<void>(1);
const stop = () => stopped.next();

// For good, not once: npm passes a Ctrl-C on, which the terminal has sent to this process already.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, stop);
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    // Whoever read has left, as `head` does.
    if (error.code !== "EPIPE") process.exitCode = 1;
    stop();
  });
}

try {
  const options = readOptions(process.argv.slice(2), process.env);
  const strategy = options.strategy === undefined ? undefined : await loadStrategy(options.strategy);
  const place = await openPlace(options);
  try {
    const client = clientOf(place);
    const lines = linesOf(place, options, client, strategy);
    const page = await openPage(place, options, client);
    try {
      introduce(place, options, page?.url);
      const print = (printed: readonly string[]) => {
        for (const line of printed) process.stdout.write(`${line}\n`);
      };
      await lastValueFrom(lines.pipe(tap(print), takeUntil(stopped)), { defaultValue: [] });
    } finally {
      await page?.close();
    }
  } finally {
    await place.close();
  }
} catch (error) {
  if (!(error instanceof HelpShown)) {
    const isUsage = error instanceof UsageError || error instanceof InvalidInputError;
    process.exitCode = isUsage ? 2 : 1;
    process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  }
}

/** What is followed, where, and how to stop; with `--json`, stdout is for events only. */
function introduce(
  { baseUrl, pair, title }: OpenPlace,
  { network, timeframe, currency, json }: LiveOptions,
  page: string | undefined,
): void {
  const output = json ? process.stderr : process.stdout;
  const text = [
    `Following ${shortened(pair)} on ${network}: ${timeframe} candles in ${currency}${network === "mainnet" ? ", and snipers" : ""}`,
    `Served at ${baseUrl} by ${title}`,
    ...(page === undefined ? [] : [`Chart at ${page}`]),
    "Ctrl-C stops",
  ];
  for (const line of text) output.write(`${chalk.dim(line)}\n`);
}
