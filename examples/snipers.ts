// Sums up the snipers of pairs, and tells what they do: `npm run example:snipers`, `npm run example:snipers -- --help`.
// Copy it with the folders `snipers` and `terminal`, and with `live/text.ts`.
import chalk from "chalk";
import {
  type Cost,
  createClient,
  estimateCost,
  type SniperLook,
  type SniperSummary,
  summarizeSnipers,
  watchSniperReport,
} from "pairstream";
import {
  catchError,
  concat,
  concatMap,
  EMPTY,
  lastValueFrom,
  merge,
  mergeMap,
  ReplaySubject,
  takeUntil,
  timer,
} from "rxjs";
import { shortened } from "./live/text.js";
import { type Alert, alertsOf } from "./snipers/alerts.js";
import { jsonLines, textLines } from "./snipers/lines.js";
import { readOptions, type SnipersOptions } from "./snipers/options.js";
import { Outbox } from "./snipers/outbox.js";
import { outboxFile } from "./snipers/outbox-file.js";
import { webhook } from "./snipers/webhook.js";
import { KEY } from "./terminal/command-line.js";
import { costText, Spending } from "./terminal/cost.js";
import { onSignal, runProgram } from "./terminal/program.js";

let isStopped = false;
const stopped = new ReplaySubject<void>(1);
const stop = () => {
  isStopped = true;
  stopped.next();
};
onSignal(stop);
process.stdout.on("error", stop);

await runProgram((args) => follow(readOptions(args, process.env[KEY], Date.now())));

async function follow(options: SnipersOptions): Promise<void> {
  const { pairs, blocks, every, wait, alertUsd, json } = options;
  const outbox = new Outbox(outboxFile(options.outbox));
  const client = createClient(options.clientOptions);
  const spending = new Spending(client);
  const lines = json ? jsonLines : textLines;
  const queries = pairs.map((pairAddress) => ({
    pairAddress,
    ...(blocks !== undefined && { blocksAfterCreation: blocks }),
  }));
  const watches = queries.map((query) => {
    const known = outbox.knownOf(query);
    const waiting = wait && ({ whenMissing: "wait", missingPace: every ?? 60_000 } as const);
    return { ...query, ...(every !== undefined && { every }), ...waiting, ...(known && { known }) };
  });
  const streams = watches.map((watch) => ({ watch, looks: watchSniperReport(client, watch) }));
  introduce(options, estimateCost(watches), outbox.waiting.length);
  if (Number.isFinite(options.for))
    timer(1_000 * options.for)
      .pipe(takeUntil(stopped))
      .subscribe(stop);

  const shown = new Map<string, { look: SniperLook; figures: string }>();
  const looks = merge(
    ...streams.map(({ watch: { pairAddress }, looks }) =>
      looks.pipe(
        // One pair that ends does not end the others.
        catchError((error: Error) => {
          process.exitCode = 1;
          complain(`${shortened(pairAddress)} is not followed any more: ${error.message}`);
          return EMPTY;
        }),
      ),
    ),
  );
  const alerts = looks.pipe(
    takeUntil(stopped),
    mergeMap((look) => {
      const fresh = outbox.take(look, alertsOf(look, alertUsd));
      const summary = summarizeSnipers(look.report);
      const figures = figuresOf(summary);
      const before = shown.get(look.pairAddress);
      shown.set(look.pairAddress, { look, figures });
      if (figures !== before?.figures)
        process.stdout.write(`${lines.summary(look, summary, before === undefined)}\n`);
      return fresh;
    }),
  );

  let told = 0;
  const post = options.webhook === undefined ? undefined : webhook({ url: options.webhook, stopped, failed });
  /** Whatever ends the program in between, the alert is still in the file. */
  const tell = async (alert: Alert): Promise<void> => {
    if (isStopped || !(await print(lines.alert(alert)))) return;
    if (post !== undefined && !(await post(alert))) return;
    outbox.mark(alert);
    told += 1;
  };
  const startedAt = performance.now();
  try {
    const telling = concat(outbox.waiting, alerts).pipe(concatMap(tell));
    await lastValueFrom(telling, { defaultValue: undefined });
  } finally {
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    for (const { look } of shown.values())
      await print(lines.summary(look, summarizeSnipers(look.report), true));
    const { requests, units } = spending;
    await print(lines.end({ seconds, told, waiting: outbox.waiting.length, requests, units }));
  }

  function failed(reason: string, delay: number): void {
    const count = outbox.waiting.length;
    complain(
      `the webhook has not taken an alert: ${reason}; ${count} wait, and it is asked again in ${delay / 1_000} s`,
    );
  }
}

/** What is followed, where, at what cost, and how to stop; with `--json`, stdout is for events only. */
function introduce(options: SnipersOptions, cost: Cost, waiting: number): void {
  const { pairs, clientOptions, isRemote, outbox, json } = options;
  const output = json ? process.stderr : process.stdout;
  const place = isRemote ? `${clientOptions.baseUrl}; a day costs ${costText(cost)}` : "a simulated market";
  const text = [
    `Following the snipers of ${pairs.map(shortened).join(", ")}`,
    `Served by ${place}`,
    `Alerts wait in ${outbox} until they are told${waiting > 0 ? `: ${waiting} of the last time` : ""}`,
    "Ctrl-C stops",
  ];
  for (const line of text) output.write(`${chalk.dim(line)}\n`);
}

/** What makes a summary another one: that what is held is worth something else is no news. */
function figuresOf({ heldUsd, top, ...figures }: SniperSummary): string {
  return JSON.stringify([figures, top.map(({ walletAddress }) => walletAddress)]);
}

/** Whether somebody has got it. */
function print(text: string): Promise<boolean> {
  return new Promise((resolve) => process.stdout.write(`${text}\n`, (error) => resolve(!error)));
}

function complain(text: string): void {
  process.stderr.write(`${text}\n`);
}
