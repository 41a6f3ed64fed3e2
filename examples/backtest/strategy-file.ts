import { Option } from "commander";
import { InvalidInputError } from "pairstream";
import type { Strategy } from "pairstream/backtest";
import { toNumber, UsageError } from "../terminal/command-line.js";

/** A strategy, as its file has it. */
export interface LoadedStrategy {
  readonly title: string;
  /** What it runs with. */
  readonly parameters: Parameters;
  readonly strategy: Strategy;
}

type Parameters = Readonly<Record<string, number>>;

/** What a strategy's file exports; all but the function may be left out. */
interface StrategyFile {
  readonly default: (parameters: Parameters) => Strategy;
  readonly title?: string;
  readonly parameters?: Parameters;
}

export function setOption(): Option {
  return new Option(
    "--set <name=number...>",
    "parameters of the strategy, such as fast=12 slow=26 stop=0.03",
  ).argParser((text: string, before: Parameters = {}) => {
    const [name, number = "", ...rest] = text.split("=");
    if (!name || rest.length > 0)
      throw new UsageError(`--set ${text} has to be a name, =, and a number, such as fast=12`);
    return { ...before, [name]: toNumber(number) };
  });
}

/** The strategy that a file exports, by its URL, with some parameters other than its own. */
export async function loadStrategy(url: string, set: Parameters = {}): Promise<LoadedStrategy> {
  const loaded = await load(url);
  const { default: make, title = url.split("/").at(-1)!, parameters: own = {} } = loaded;
  if (typeof make !== "function" || typeof title !== "string" || typeof own !== "object" || own === null) {
    throw refusal("has no such default export");
  }
  const wrong = Object.keys(set).find((name) => !Object.hasOwn(own, name));
  if (wrong !== undefined) {
    const allowed = Object.keys(own).join(", ") || "none, as the strategy has no parameters";
    throw new InvalidInputError(`--set ${wrong}`, `one of ${allowed}`, "is not a parameter of the strategy");
  }
  const parameters = { ...own, ...set };
  const strategy: unknown = make(parameters);
  if (typeof strategy !== "function") throw refusal("does not return a strategy");
  return { title, parameters, strategy: strategy as Strategy };
}

async function load(url: string): Promise<Partial<StrategyFile>> {
  try {
    return await import(url);
  } catch (cause) {
    const [reason] = (cause instanceof Error ? cause.message : String(cause)).split("\n");
    throw refusal(`cannot be loaded: ${reason}`, { cause });
  }
}

function refusal(problem: string, options?: ErrorOptions): InvalidInputError {
  const allowed =
    "a file whose default export is a function from parameters to a strategy, such as examples/backtest/strategy.ts";
  return new InvalidInputError("strategy", allowed, problem, options);
}
