// Reads a range again and tells what of a store, or of a file of candles, is otherwise at the service:
// `npm run --silent example:audit -- candles.db`, `npm run example:audit -- --help`.
import type { Series, Timeframe } from "pairstream";
import { auditCandles, auditCost } from "pairstream/store";
import { lastValueFrom, tap } from "rxjs";
import { faultyStore } from "./audit/demo.js";
import { openEvidence } from "./audit/evidence.js";
import { readOptions } from "./audit/options.js";
import { Report, timeText } from "./audit/report.js";
import { UsageError } from "./terminal/command-line.js";
import { Spending } from "./terminal/cost.js";
import { openPlace, rangeOf } from "./terminal/past.js";
import { runProgram } from "./terminal/program.js";

await runProgram(async (args) => {
  const options = readOptions(args, process.env);
  const { file, from, to } = options;
  const { client, baseUrl, pair } = openPlace(options.place);
  const series = { ...options.series, pairAddress: pair } as Series<Timeframe>;
  const found = file === undefined ? undefined : await openEvidence(file, series);
  if (found !== undefined && found.range === undefined && (from === undefined || to === undefined)) {
    const names = `${pair}, ${series.timeframe}, ${series.currency}`;
    throw new UsageError(
      `${file} holds no candles of ${names}; set --from and --to to audit it all the same`,
    );
  }
  const range = rangeOf({ from: from ?? found?.range?.from, to: to ?? found?.range?.to }, Date.now());
  const query = { ...series, ...range };
  const cost = auditCost(query);
  const against = found?.against ?? (await faultyStore(client, series, range, baseUrl));
  const report = new Report((line) => process.stdout.write(`${line}\n`), options);
  const span = `${timeText(range.from)} to ${timeText(range.to)}`;
  report.begin(`${file ?? "a store with faults"}, ${series.timeframe}, ${span}`, cost);
  const spending = new Spending(client);
  const findings = auditCandles(client, { ...query, against }).pipe(
    tap((finding) => {
      if (finding.type !== "outlier" || Math.abs(finding.score) >= options.outliers) report.add(finding);
    }),
  );
  await lastValueFrom(findings, { defaultValue: undefined });
  report.end(spending);
  if (report.isWrong) process.exitCode = 1;
});
