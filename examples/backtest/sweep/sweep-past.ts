import { InvalidInputError } from "pairstream";
import { type BrokerOptions, type SweepResult, sweep } from "pairstream/backtest";
import type { Past } from "../past.js";
import type { LoadedStrategy } from "../strategy-file.js";
import { rulesFor, tradedIn } from "../trade-past.js";
import type { SweepAsked } from "./options.js";

/** All parameters of a strategy, by their names. */
export type ParameterSet = Readonly<Record<string, number>>;

/** A sweep, and what it was run on. */
export interface SweepRun {
  readonly result: SweepResult<ParameterSet>;
  readonly past: Past;
  readonly loaded: LoadedStrategy;
  /** The names of the parameters that were tried with several values, or with one that was asked for. */
  readonly swept: readonly string[];
}

/** Tries a strategy's file, by its URL, with all combinations of what is asked for, in worker threads. */
export async function sweepPast(
  past: Past,
  file: string,
  { loaded, asked, broker }: { loaded: LoadedStrategy; asked: SweepAsked; broker: BrokerOptions },
  onProgress: (done: number, of: number) => void = () => {},
): Promise<SweepRun> {
  const swept = Object.keys(asked.values);
  const own = Object.keys(loaded.parameters);
  const wrong = swept.find((name) => !own.includes(name));
  if (wrong !== undefined) {
    const allowed = own.join(", ") || "none, as the strategy has no parameters";
    throw new InvalidInputError(
      `--sweep ${wrong}`,
      `one of ${allowed}`,
      "is not a parameter of the strategy",
    );
  }
  const fixed = Object.entries(loaded.parameters).filter(([name]) => !swept.includes(name));
  const result = await sweep<ParameterSet>({
    feeds: past.pairs.flatMap(({ feeds }) => feeds),
    strategy: moduleFor(file, past),
    parameters: { ...Object.fromEntries(fixed.map(([name, value]) => [name, [value]])), ...asked.values },
    split: asked.split,
    ...(asked.workers !== undefined && { workers: asked.workers }),
    broker: rulesFor(past, broker),
    onProgress,
  });
  return { result, past, loaded, swept };
}

function moduleFor(strategy: string, past: Past): URL {
  const url = new URL("swept-strategy.ts", import.meta.url);
  url.search = String(new URLSearchParams({ strategy, traded: JSON.stringify(tradedIn(past)) }));
  return url;
}
