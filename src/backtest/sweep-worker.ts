// What a worker of a sweep runs, on Node alone: nothing imports this file, the workers are started with it.
import type { Series, WeekStart } from "../contract/model.js";
import { unpackEvents } from "./packed-events.js";
import type { BrokerRules } from "./rules.js";
import type { Strategy } from "./strategy.js";
import { type RangesOutcome, runRanges, type TimeRange } from "./sweep-run.js";

/** What a worker is started with. */
export interface WorkerJob {
  /** The URL of the module whose default export makes strategies. */
  readonly module: string;
  readonly events: SharedArrayBuffer;
  readonly series: readonly Series[];
  readonly rules: BrokerRules;
  readonly weekStart: WeekStart;
  readonly ranges: readonly TimeRange[];
}

/** One set of parameters, by its place in the list. */
export interface WorkerTask {
  readonly at: number;
  readonly parameters: unknown;
}

/** An error on its way to another thread, which would lose its name. */
export interface PackedError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | undefined;
  readonly cause: PackedError | undefined;
}

/** What a worker says: that it can begin, that it has no strategies, or what came of a task. */
export type WorkerAnswer =
  | { readonly type: "ready" }
  | { readonly type: "unusable"; readonly error: PackedError }
  | { readonly type: "failed"; readonly at: number; readonly error: PackedError }
  | { readonly type: "done"; readonly at: number; readonly outcome: RangesOutcome };

const { parentPort, workerData } = process.getBuiltinModule("node:worker_threads");
const { module, events, series, rules, weekStart, ranges } = workerData as WorkerJob;

function pack(error: unknown, depth = 0): PackedError {
  if (!(error instanceof Error))
    return { name: "Error", message: String(error), stack: undefined, cause: undefined };
  const { name, message, stack, cause } = error;
  return {
    name,
    message,
    stack,
    cause: cause === undefined || depth > 8 ? undefined : pack(cause, depth + 1),
  };
}

const tell = (answer: WorkerAnswer) => parentPort!.postMessage(answer);

async function loaded(): Promise<(parameters: unknown) => Strategy> {
  const { default: given } = (await import(module)) as { default: unknown };
  // Of a CommonJS module that was compiled from TypeScript, all exports are the default one here.
  const make = typeof given === "object" && given !== null && "default" in given ? given.default : given;
  if (typeof make === "function") return make as (parameters: unknown) => Strategy;
  throw new TypeError(`its default export is of type ${typeof make}, not a function`);
}

async function work(): Promise<void> {
  const make = await loaded();
  const frozen = series.map((each) => Object.freeze(each));
  const market = { events: unpackEvents(events, frozen), series: frozen, rules, weekStart };
  parentPort!.on("message", ({ at, parameters }: WorkerTask) => {
    try {
      tell({ type: "done", at, outcome: runRanges(market, make(parameters), ranges) });
    } catch (error) {
      tell({ type: "failed", at, error: pack(error) });
    }
  });
  tell({ type: "ready" });
}

work().catch((error) => tell({ type: "unusable", error: pack(error) }));
