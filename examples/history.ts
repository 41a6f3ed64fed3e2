// Downloads the candles of a range to a file, oldest first, and goes on where it was stopped:
// `npm run --silent example:history -- --output candles.ndjson`, `npm run example:history -- --help`.
import type { Client, Series } from "pairstream";
import { ReplaySubject } from "rxjs";
import { recoverCandles } from "./history/candle-file.js";
import { coverage } from "./history/coverage.js";
import { type FileStore, openStore } from "./history/database.js";
import { download } from "./history/download.js";
import { lineFormatOf } from "./history/formats.js";
import { Meter } from "./history/meter.js";
import { type HistoryOptions, type Output, readOptions } from "./history/options.js";
import { linesOf, openTarget } from "./history/targets.js";
import { openPlace } from "./terminal/past.js";
import { onSignal, runProgram } from "./terminal/program.js";

const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 };

const stopped = new ReplaySubject<keyof typeof EXIT_CODES>(1);
onSignal((signal) => stopped.next(signal));

await runProgram(async (args) => {
  const options = readOptions(args, process.env, Date.now());
  const { output } = options;
  const store = output?.format === "db" ? await openStore(output.file) : undefined;
  try {
    const { pace } = options;
    const { client, pair } = openPlace(options.place, {
      // The first trouble of the file ends the program, which says so itself.
      ...(store && { store: store.store, warn: false }),
      ...(pace !== undefined && { rateLimit: { requests: 1, per: pace } }),
    });
    await run(client, { ...options.series, pairAddress: pair }, options, store);
  } catch (error) {
    throw await explained(error, output);
  } finally {
    store?.close();
  }
});

async function run(
  client: Client,
  series: Series,
  { from, to, output }: HistoryOptions,
  store: FileStore | undefined,
): Promise<void> {
  const meter = new Meter(client, { from, to }, process.stderr);
  let isComplete = false;
  let note: string | undefined;
  let signal: keyof typeof EXIT_CODES | undefined;
  stopped.subscribe((caught) => {
    signal = caught;
  });
  try {
    const way = { client, range: { series, from, to }, stopped };
    const { start, count, known, writer, end } = await openTarget(way, output, store);
    meter.start(start, count);
    const onCandle = meter.onCandle.bind(meter);
    await download(client, { series, from: start, to }, { writer, onCandle, stopped, known });
    note = await end({ isComplete: signal === undefined });
    isComplete = signal === undefined;
  } finally {
    meter.stop({ isComplete });
  }
  if (signal !== undefined) process.exitCode = EXIT_CODES[signal];
  const state = isComplete ? "complete" : "stopped; run the same command again to go on from here";
  summarize(meter, output, note === undefined ? state : `${state}, but ${note}`);
  if (isComplete)
    tell(coverage(meter.candles, series.timeframe, { from, to: Math.min(to, Date.now()) }), output);
}

/** Where candles go to standard output, nothing else does. */
function summarize({ candles, requests, units }: Meter, output: Output | undefined, state: string): void {
  const [all, asked, spent] = [candles, requests, units].map((count) => count.toLocaleString("en-US"));
  const text = `${all} candles in ${output?.file ?? "standard output"}, ${asked} requests, ${spent} units: ${state}\n`;
  tell(text, output);
}

function tell(text: string, output: Output | undefined): void {
  if (output !== undefined) process.stdout.write(text);
  else if (process.stderr.isTTY) process.stderr.write(text);
}

/** What a failure to write means, and what is left; other errors speak for themselves. */
async function explained(error: unknown, output: Output | undefined): Promise<unknown> {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EPIPE") return new Error("standard output was closed, so the download has stopped");
  if (code !== "ENOSPC") return error;
  if (output === undefined) return new Error("the disk behind standard output is full");
  const kept = await recoverCandles(linesOf(output), lineFormatOf(output.format)).catch(() => undefined);
  const left = kept === undefined ? "" : `; ${kept.count.toLocaleString("en-US")} candles are kept`;
  return new Error(
    `the disk of ${output.file} is full${left}; make room, and run the same command again to go on`,
  );
}
