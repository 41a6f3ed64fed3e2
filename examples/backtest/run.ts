// Runs a strategy over the past, or sweeps over its parameters, reports, and writes a page: `npm run example:backtest`,
// with `-- --help`.
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { runProgram } from "../terminal/program.js";
import { type BacktestProgramOptions, readOptions } from "./options.js";
import { csvOf, jsonOf, textOf } from "./outputs.js";
import { pageOf } from "./page/page.js";
import { openPast } from "./past.js";
import { reportOf } from "./report.js";
import { type LoadedStrategy, loadStrategy } from "./strategy-file.js";
import type { SweepAsked } from "./sweep/options.js";
import { sweepCsvOf, sweepJsonOf, sweepTextOf } from "./sweep/outputs.js";
import { sweepPageOf } from "./sweep/page.js";
import { SweepProgress } from "./sweep/progress.js";
import { sweepReportOf } from "./sweep/report.js";
import { sweepPast } from "./sweep/sweep-past.js";
import { tradePast } from "./trade-past.js";

/** What is printed in each way, and what is on the page. */
interface Outcome extends Readonly<Record<BacktestProgramOptions["output"], () => string>> {
  readonly page: () => Promise<string>;
}

await runProgram(async (args) => {
  const options = readOptions(args, process.env);
  const loaded = await loadStrategy(options.strategy, options.set);
  const { sweep, output, page } = options;
  const outcome = await (sweep === undefined ? runOnce(options, loaded) : runSweep(options, loaded, sweep));
  process.stdout.write(`${outcome[output]()}\n`);
  if (page === undefined) return;
  await mkdir(dirname(resolve(page)), { recursive: true });
  await writeFile(page, await outcome.page());
  const told = `The page: ${pathToFileURL(resolve(page))}\n`;
  if (output === "text") process.stdout.write(`\n${told}`);
  else process.stderr.write(told);
});

function tell(line: string): void {
  process.stderr.write(`${line}\n`);
}

async function runOnce({ past, broker }: BacktestProgramOptions, loaded: LoadedStrategy): Promise<Outcome> {
  const run = await tradePast(await openPast(past, tell), loaded, broker);
  const report = reportOf(run);
  return {
    text: () => textOf(report),
    json: () => jsonOf(run, report),
    csv: () => csvOf(report.trades),
    page: () => pageOf(run, report),
  };
}

async function runSweep(
  { past: where, broker, strategy }: BacktestProgramOptions,
  loaded: LoadedStrategy,
  asked: SweepAsked,
): Promise<Outcome> {
  const past = await openPast(where, tell);
  const progress = new SweepProgress(process.stderr);
  const onProgress = progress.show.bind(progress);
  const run = await sweepPast(past, strategy, { loaded, asked, broker }, onProgress).finally(() =>
    progress.stop(),
  );
  const report = sweepReportOf(run);
  return {
    text: () => sweepTextOf(report),
    json: () => sweepJsonOf(run, report),
    csv: () => sweepCsvOf(run),
    page: () => sweepPageOf(report),
  };
}
