// Downloads the candles of a range to a file, oldest first, and goes on where it was stopped:
// `npm run --silent example:history -- --output candles.ndjson`, `npm run example:history -- --help`.
import { type Client, createClient, type Series } from "pairstream";
import { demoService } from "pairstream/service";
import { ReplaySubject } from "rxjs";
import { recoverCandles } from "./history/candle-file.js";
import { CandleWriter } from "./history/candle-writer.js";
import { download, startAfter } from "./history/download.js";
import { Meter } from "./history/meter.js";
import { type HistoryOptions, type HistoryPlace, readOptions } from "./history/options.js";
import { onSignal, runProgram } from "./terminal/program.js";

const CREATED = "2025-01-01";
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143 };

const stopped = new ReplaySubject<keyof typeof EXIT_CODES>(1);
onSignal((signal) => stopped.next(signal));

await runProgram(async (args) => {
  const options = readOptions(args, process.env, Date.now());
  const { client, pair } = openPlace(options.place);
  try {
    await run(client, { ...options.series, pairAddress: pair }, options);
  } catch (error) {
    throw await explained(error, options.output);
  }
});

async function run(client: Client, series: Series, { from, to, output }: HistoryOptions): Promise<void> {
  const meter = new Meter(client, { from, to }, process.stderr);
  let isComplete = false;
  let signal: keyof typeof EXIT_CODES | undefined;
  stopped.subscribe((caught) => {
    signal = caught;
  });
  try {
    const kept = output === undefined ? undefined : await recoverCandles(output);
    const start =
      kept === undefined || output === undefined
        ? from
        : await startAfter(client, { series, from, to }, { kept, file: output, stopped });
    meter.start(start, kept?.count ?? 0);
    const writer = new CandleWriter(output);
    const onCandle = meter.onCandle.bind(meter);
    await download(client, { series, from: start, to }, { writer, onCandle, stopped });
    await writer.end();
    isComplete = signal === undefined;
  } finally {
    meter.stop({ isComplete });
  }
  if (signal !== undefined) process.exitCode = EXIT_CODES[signal];
  summarize(meter, output, isComplete);
}

/** Where candles go to standard output, nothing else does. */
function summarize(
  { candles, requests, units }: Meter,
  output: string | undefined,
  isComplete: boolean,
): void {
  const [all, asked, spent] = [candles, requests, units].map((count) => count.toLocaleString("en-US"));
  const state = isComplete ? "complete" : "stopped; the same command goes on from here";
  const text = `${all} candles in ${output ?? "standard output"}, ${asked} requests, ${spent} units: ${state}\n`;
  if (output !== undefined) process.stdout.write(text);
  else if (process.stderr.isTTY) process.stderr.write(text);
}

/** What a failure to write means, and what is left; other errors speak for themselves. */
async function explained(error: unknown, output: string | undefined): Promise<unknown> {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "EPIPE")
    return new Error("whoever read standard output has closed it; the download has stopped");
  if (code !== "ENOSPC") return error;
  if (output === undefined) return new Error("no room is left for standard output");
  const kept = await recoverCandles(output).catch(() => undefined);
  const left = kept === undefined ? "" : `; ${kept.count.toLocaleString("en-US")} candles are kept`;
  return new Error(`no room is left for ${output}${left}; make room, and start again to go on`);
}

function openPlace(place: HistoryPlace): { client: Client; pair: string } {
  if (place.kind === "remote") {
    const { baseUrl, apiKey, pair } = place;
    return { client: createClient({ baseUrl, apiKey }), pair };
  }
  const { pairs, clientOptions } = demoService({ seed: place.seed, createdAt: CREATED });
  return { client: createClient({ ...clientOptions, rateLimit: false }), pair: pairs[0] };
}
