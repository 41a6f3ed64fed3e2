import { open } from "node:fs/promises";
import { type Swap, type SwapSource, swapTape } from "pairstream/service";
import { UsageError } from "./command-line.js";

/** The swaps of a file as a service takes them, and which they are. */
export interface Tape {
  readonly source: SwapSource;
  readonly pair: string;
  readonly count: number;
  readonly first: Swap;
  readonly last: Swap;
}

const ALWAYS = { from: 0, to: Number.POSITIVE_INFINITY, asOf: Number.POSITIVE_INFINITY };

/** Reads what `--tape` names, one JSON object a line, oldest first; swaps worth less than `minimumUsd` are left out. */
export async function readTape(
  file: string,
  { pair = "taped-pair", minimumUsd = 0 }: { pair?: string | undefined; minimumUsd?: number | undefined },
): Promise<Tape> {
  const lines = await readLines(file);
  const source = swapTape(lines, { pairAddress: pair, tokenAddress: null, minimumUsd });
  const swaps = [...(source.pair("mainnet", pair)?.swaps(ALWAYS) ?? [])];
  const [first, last] = [swaps[0], swaps.at(-1)];
  if (first === undefined || last === undefined) throw new UsageError(`${file} holds no swaps`);
  return { source, pair, count: swaps.length, first, last };
}

async function readLines(file: string): Promise<string[]> {
  try {
    const handle = await open(file);
    const lines: string[] = [];
    for await (const line of handle.readLines()) lines.push(line);
    return lines;
  } catch (error) {
    throw new UsageError(`--tape cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}
