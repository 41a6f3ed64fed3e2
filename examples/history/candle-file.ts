import { type FileHandle, open } from "node:fs/promises";
import { type Candle, readCandles } from "pairstream";
import { UsageError } from "../terminal/command-line.js";
import { type LineFormat, NDJSON } from "./formats.js";

/** What a file holds of a download. */
export interface KeptCandles {
  readonly count: number;
  readonly first: Candle | undefined;
  readonly last: Candle | undefined;
}

/**
 * Cuts off a line that was not written to its end, and reads the others; `undefined` for what keeps nothing: no file yet,
 * a pipe, a device. Rejects where a line is no candle, or not newer than the one before it, and leaves alone what does not
 * begin as files of the format do.
 */
export async function recoverCandles(file: string, format = NDJSON): Promise<KeptCandles | undefined> {
  let handle: FileHandle;
  try {
    handle = await open(file, "r+");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    if (!(await handle.stat()).isFile()) return undefined;
    await checkBeginning(handle, file, format);
    await cutTornLine(handle);
    let kept: KeptCandles = { count: 0, first: undefined, last: undefined };
    for await (const candle of readCandles(handle.readLines({ autoClose: false, start: 0 }))) {
      kept = { count: kept.count + 1, first: kept.first ?? candle, last: candle };
    }
    return kept;
  } finally {
    await handle.close();
  }
}

async function checkBeginning(handle: FileHandle, file: string, { beginning }: LineFormat): Promise<void> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(beginning.length), 0, beginning.length, 0);
  if (beginning.startsWith(buffer.toString("utf8", 0, bytesRead))) return;
  const problem = `does not begin with ${beginning.trimEnd()}, as what is written here does`;
  throw new UsageError(`${file} ${problem}; move it away, or name another --output`);
}

const BLOCK = 65_536;
const LINE_FEED = 0x0a;

/** Ends a file with its last line feed. */
async function cutTornLine(handle: FileHandle): Promise<void> {
  const { size } = await handle.stat();
  const block = Buffer.alloc(BLOCK);
  for (let end = size; end > 0; end -= BLOCK) {
    const start = Math.max(0, end - BLOCK);
    const { bytesRead } = await handle.read(block, 0, end - start, start);
    const at = block.subarray(0, bytesRead).lastIndexOf(LINE_FEED);
    if (at < 0) continue;
    if (start + at + 1 < size) await handle.truncate(start + at + 1);
    return;
  }
  if (size > 0) await handle.truncate(0);
}
