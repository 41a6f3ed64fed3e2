import { InvalidInputError, PairstreamError } from "../errors.js";
import { NO_WORKERS, STRATEGY_ALLOWED, sweepError } from "./sweep-error.js";
import type { RangesOutcome } from "./sweep-run.js";
import type { PackedError, WorkerAnswer, WorkerJob } from "./sweep-worker.js";

const threadsOf = () => globalThis.process?.getBuiltinModule?.("node:worker_threads");
type Worker = InstanceType<NonNullable<ReturnType<typeof threadsOf>>["Worker"]>;

/** How many workers there are by default: as many as the process may use cores. */
export function usualWorkers(): number {
  return globalThis.process?.getBuiltinModule?.("node:os").availableParallelism() ?? 1;
}

/**
 * Has workers try parameters, each the next ones in the list, and gives what came of them in the order of the list. All
 * workers have ended when it settles. Of several failures it rejects with that of the first in the list.
 */
export async function sweepInWorkers(
  job: WorkerJob,
  parameters: readonly unknown[],
  count: number,
  signal: AbortSignal | undefined,
  onDone: () => void,
): Promise<RangesOutcome[]> {
  const threads = threadsOf();
  if (threads === undefined) throw new PairstreamError(NO_WORKERS);
  const workers: Worker[] = [];
  let abort = () => {};
  try {
    return await new Promise<RangesOutcome[]>((resolve, reject) => {
      const outcomes: RangesOutcome[] = [];
      const failures = new Map<number, unknown>();
      /** What each worker is at. */
      const busy = new Map<Worker, number>();
      let [next, done] = [0, 0];
      abort = () => reject(signal!.reason);
      signal?.addEventListener("abort", abort, { once: true });
      const settle = () => {
        if (done === parameters.length) return resolve(outcomes);
        const first = Math.min(...failures.keys());
        // One that comes before it may fail, too, and two runs are to end alike.
        if (failures.size > 0 && [...busy.values()].every((at) => at > first)) reject(failures.get(first));
      };
      const give = (worker: Worker) => {
        busy.delete(worker);
        if (next === parameters.length || failures.size > 0) return;
        busy.set(worker, next);
        worker.postMessage({ at: next, parameters: parameters[next] });
        next += 1;
      };
      const fail = (worker: Worker, error: unknown) => {
        const at = busy.get(worker);
        if (at === undefined) return reject(workerError(error));
        busy.delete(worker);
        if (!failures.has(at)) failures.set(at, sweepError(parameters[at], error));
        settle();
      };
      const hear = (worker: Worker, answer: WorkerAnswer) => {
        if (answer.type === "ready") return give(worker);
        if (answer.type === "unusable") return reject(unusable(job.module, answer.error));
        if (answer.type === "failed") return fail(worker, unpack(answer.error));
        outcomes[answer.at] = frozen(answer.outcome);
        done += 1;
        give(worker);
        try {
          onDone();
        } catch (error) {
          return reject(error);
        }
        settle();
      };
      for (let started = 0; started < Math.min(count, parameters.length); started += 1) {
        const worker = new threads.Worker(workerFile(), { workerData: job });
        workers.push(worker);
        worker.on("message", (answer: WorkerAnswer) => hear(worker, answer));
        worker.on("messageerror", (error) => fail(worker, error));
        let hasFailed = false;
        worker.on("error", (error) => {
          hasFailed = true;
          fail(worker, error);
        });
        worker.on("exit", (code) => {
          if (!hasFailed) fail(worker, new Error(`its worker thread has ended with exit code ${code}`));
        });
      }
    });
  } finally {
    signal?.removeEventListener("abort", abort);
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

function workerError(cause: unknown): PairstreamError {
  const what = cause instanceof Error ? cause.message : String(cause);
  return new PairstreamError(`A worker thread of the sweep has failed: ${what}`, { cause });
}

function unusable(module: string, error: PackedError): InvalidInputError {
  return new InvalidInputError("strategy", STRATEGY_ALLOWED, `(${module}) cannot be used: ${error.message}`, {
    cause: unpack(error),
  });
}

/** The worker is an ES module beside this file, with the same ending. No bundler is to take it for a part of a page. */
function workerFile(): URL | string {
  const here = import.meta.url;
  const [, folder = "./", ending = ".js"] = /^(.*[/\\])[^/\\]*?(\.\w+)$/.exec(here) ?? [];
  // In CommonJS it is a path. There, a worker could not import modules.
  return here.startsWith("file:")
    ? new URL(`${folder}sweep-worker${ending}`)
    : `${folder}../esm/backtest/sweep-worker.js`;
}

function unpack({ name, message, stack, cause }: PackedError): Error {
  const error = new Error(message, cause && { cause: unpack(cause) });
  Object.defineProperty(error, "name", { value: name, configurable: true, writable: true });
  if (stack !== undefined) error.stack = stack;
  return error;
}

/** As in this thread: what comes out is frozen, and messages are not. */
function frozen<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  Object.values(value).forEach(frozen);
  return Object.freeze(value);
}
