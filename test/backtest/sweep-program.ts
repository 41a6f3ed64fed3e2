// Sweeps as a program does, with workers, and prints what came of it: `SweepProgram` as JSON is its argument.
import { isPairstreamError } from "pairstream";
import { SweepError, sweep } from "pairstream/backtest";
import { marketOf } from "../indicators/random-candles.js";
import { series } from "./bars.js";
import type { Parameters } from "./swept-strategy.js";

export interface SweepProgram {
  readonly parameters: readonly Parameters[];
  readonly workers: number;
  readonly candles: number;
  /** The module of the strategies, from this one. */
  readonly module: string;
  /** Whether the sweep is aborted once the first one is done. */
  readonly isAborted?: boolean;
}

const { parameters, workers, candles, module, isAborted } = JSON.parse(process.argv[2]!) as SweepProgram;
/** Opens once the sweep has heard of a failure. */
const gate = new Int32Array(new SharedArrayBuffer(4));
const threads = process.getBuiltinModule("node:worker_threads");
threads.Worker = class extends threads.Worker {
  constructor(...options: ConstructorParameters<typeof threads.Worker>) {
    super(...options);
    this.on("message", ({ type }: { type: string }) => {
      if (type === "failed") setImmediate(open);
    });
  }
};
function open(): void {
  Atomics.store(gate, 0, 1);
  Atomics.notify(gate, 0);
}

const controller = new AbortController();
const progress: string[] = [];
const chainOf = (error: unknown): string[] =>
  error instanceof Error ? [`${error.name}: ${error.message}`, ...chainOf(error.cause)] : [];

const told = await sweep<Parameters>({
  feeds: [{ series, candles: marketOf(5, candles) }],
  strategy: new URL(module, import.meta.url),
  parameters: parameters.map((each) => ({ ...each, ...(each.trouble !== undefined && { gate }) })),
  workers,
  signal: controller.signal,
  onProgress: (done, of) => {
    progress.push(`${done} of ${of}`);
    if (isAborted) controller.abort(new Error("enough"));
  },
}).catch((error: unknown) => ({
  errors: chainOf(error),
  isOurs: isPairstreamError(error),
  parameters: error instanceof SweepError ? error.parameters : null,
}));
const left = process.getActiveResourcesInfo().filter((resource) => /worker|message/i.test(resource));
console.log(JSON.stringify({ told, progress, left }));
