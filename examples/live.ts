// Follows the candles and the snipers of a pair in the terminal: `npm start`, `npm start -- --help`.
import chalk from "chalk";
import type { ClientOptions } from "pairstream";
import type { Strategy } from "pairstream/backtest";
import { lastValueFrom, takeUntil, tap } from "rxjs";
import { loadStrategy } from "./backtest/strategy-file.js";
import { clientOf, linesOf } from "./live/follow.js";
import { type LiveOptions, readOptions } from "./live/options.js";
import { openPage } from "./live/page.js";
import { type OpenPlace, openPlace } from "./live/place.js";
import { Tally } from "./live/tally.js";
import { shortened } from "./live/text.js";
import { runProgram, untilStopped } from "./terminal/program.js";
import { storeTrouble, withStore } from "./terminal/store-file.js";

/** Told once, for who has not read docs/candles.md. */
const LEGEND =
  "A candle is open while its interval runs, closed once that is over, and final when nothing changes it any more";

const stopped = untilStopped();

await runProgram(async (args) => {
  const options = readOptions(args, process.env);
  const { strategy: file, set } = options;
  const loaded = file === undefined ? undefined : await loadStrategy(file, set);
  await withStore(options.store, (stored) => follow(options, loaded?.strategy, stored));
});

async function follow(
  options: LiveOptions,
  strategy: Strategy | undefined,
  stored: Pick<ClientOptions, "store">,
): Promise<void> {
  const place = await openPlace(options);
  try {
    const client = clientOf(place, stored);
    storeTrouble(client).subscribe(({ operation, key, error }) =>
      process.stderr.write(`store ${operation} ${key.timeframe}: ${error.message}\n`),
    );
    const tally = new Tally(client);
    const lines = linesOf(place, options, client, strategy, (event) => tally.count(event));
    const page = await openPage(place, options, client);
    try {
      introduce(place, options, page?.url);
      const print = (printed: readonly string[]) => {
        for (const line of printed) process.stdout.write(`${line}\n`);
      };
      await lastValueFrom(lines.pipe(tap(print), takeUntil(stopped)), { defaultValue: [] });
      if (!options.json) process.stdout.write(`${chalk.dim(tally.line())}\n`);
    } finally {
      await page?.close();
    }
  } finally {
    await place.close();
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
    ...(page === undefined ? [] : [`Chart at ${page}`]),
    `Following ${shortened(pair)} on ${network}: ${timeframe} candles in ${currency}${network === "mainnet" ? ", and snipers" : ""}`,
    `Served at ${baseUrl} by ${title}`,
    "Ctrl-C stops",
    ...(json ? [] : [LEGEND]),
  ];
  for (const line of text) output.write(`${chalk.dim(line)}\n`);
}
