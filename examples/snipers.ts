// Sums up the snipers of pairs, and tells what they do: `npm run example:snipers`, `npm run example:snipers -- --help`.
// Copy it with the folders `snipers` and `terminal`, and with `live/text.ts`.
import chalk from "chalk";
import {
  type Cost,
  createClient,
  estimateCost,
  type SniperLook,
  type SniperSummary,
  type SniperWatch,
  summarizeSnipers,
  watchSniperReport,
} from "pairstream";
import {
  catchError,
  concat,
  concatMap,
  EMPTY,
  groupBy,
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
import { type Letter, Outbox } from "./snipers/outbox.js";
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
  const { alertUsd, json } = options;
  const lines = json ? jsonLines : textLines;
  const receivers: Receivers = { terminal: (alert) => print(lines.alert(alert)) };
  if (options.webhook !== undefined) receivers.webhook = webhook({ url: options.webhook, stopped, failed });
  const outbox = new Outbox(outboxFile(options.outbox), Object.keys(receivers));
  const client = createClient(options.clientOptions);
  const spending = new Spending(client);
  const watches = watchesOf(options, outbox);
  const looks = watches.map((watch) =>
    watchSniperReport(client, watch).pipe(
      // One pair that ends does not end the others.
      catchError((error: Error) => {
        process.exitCode = 1;
        complain(`${shortened(watch.pairAddress)} is not followed any more: ${error.message}`);
        return EMPTY;
      }),
    ),
  );
  introduce(options, estimateCost(watches), outbox.waiting.length);
  if (Number.isFinite(options.for))
    timer(1_000 * options.for)
      .pipe(takeUntil(stopped))
      .subscribe(stop);

  const shown = new Map<string, { look: SniperLook; figures: string }>();
  const letters = merge(...looks).pipe(
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
  /** Whatever ends the program in between, the letter is still in the file. */
  const deliver = async (letter: Letter): Promise<void> => {
    const isDelivered = !isStopped && (await receivers[letter.to]?.(letter.alert));
    if (!isDelivered) return;
    outbox.mark(letter);
    if (letter.to === "terminal") told += 1;
  };
  const startedAt = performance.now();
  try {
    const delivering = concat(outbox.waiting, letters).pipe(
      // A webhook that takes nothing does not hold up the terminal.
      groupBy(({ to }) => to),
      mergeMap((ofOne) => ofOne.pipe(concatMap(deliver))),
    );
    await lastValueFrom(delivering, { defaultValue: undefined });
  } finally {
    const seconds = Math.round((performance.now() - startedAt) / 1_000);
    for (const { look } of shown.values())
      await print(lines.summary(look, summarizeSnipers(look.report), true));
    const { requests, units } = spending;
    await print(lines.end({ seconds, told, waiting: outbox.waiting.length, requests, units }));
  }

  function failed(reason: string, delay: number): void {
    const count = outbox.waiting.filter(({ to }) => to === "webhook").length;
    complain(
      `the webhook takes nothing: ${reason}; ${count} wait, and it is asked again in ${delay / 1_000} s`,
    );
  }
}

/** What delivers alerts to each receiver; says whether it has. */
type Receivers = Record<string, (alert: Alert) => Promise<boolean>>;

/** What is followed, each pair from where the last start left off. */
function watchesOf({ pairs, blocks, every, wait }: SnipersOptions, outbox: Outbox): SniperWatch[] {
  return pairs.map((pairAddress) => {
    const query = { pairAddress, ...(blocks !== undefined && { blocksAfterCreation: blocks }) };
    const known = outbox.knownOf(query);
    const waiting = wait && ({ whenMissing: "wait", missingPace: every ?? 60_000 } as const);
    return { ...query, ...(every !== undefined && { every }), ...waiting, ...(known && { known }) };
  });
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
