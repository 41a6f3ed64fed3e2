import { existsSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { type Client, intervalOf, readCandles } from "pairstream";
import type { Observable } from "rxjs";
import { UsageError } from "../terminal/command-line.js";
import { recoverCandles } from "./candle-file.js";
import { CandleWriter } from "./candle-writer.js";
import type { FileStore } from "./database.js";
import { type DownloadOptions, type KnownCandle, type Range, startAfter } from "./download.js";
import { lineFormatOf } from "./formats.js";
import type { Output } from "./options.js";

/** What candles are written to, and what it holds already. */
export interface Target {
  /** From where on candles are missing, or where the last one lies that is there. */
  readonly start: number;
  readonly known?: KnownCandle | undefined;
  /** So many candles are there already. */
  readonly count: number;
  readonly writer: DownloadOptions["writer"];
  /** Waits until all is written, and makes a whole of it where it is; gives what is to be said of it. */
  end(how: { isComplete: boolean }): Promise<string | undefined>;
}

interface Way {
  readonly client: Client;
  readonly range: Range;
  readonly stopped: Observable<unknown>;
}

/** Opens what is there, or is to be; `store` is that of a client that writes to a database. */
export function openTarget(
  way: Way,
  output: Output | undefined,
  store: FileStore | undefined,
): Promise<Target> {
  if (store !== undefined) return Promise.resolve(storeTarget(way.range, store));
  if (output === undefined) return standardOutput(way.range);
  return output.format === "parquet" ? parquetTarget(way, output.file) : linesTarget(way, output);
}

/** The lines that a download of this kind goes on with. */
export const linesOf = ({ file, format }: Output): string => (format === "parquet" ? `${file}.part` : file);

async function standardOutput({ from }: Range): Promise<Target> {
  const writer = new CandleWriter(undefined);
  return { start: from, count: 0, writer, end: () => ended(writer) };
}

async function linesTarget({ client, range, stopped }: Way, output: Output): Promise<Target> {
  const file = linesOf(output);
  const format = lineFormatOf(output.format);
  const kept = await recoverCandles(file, format);
  const place =
    kept === undefined
      ? { start: range.from }
      : await startAfter(client, range, { kept, file: output.file, stopped });
  const writer = new CandleWriter(file, format);
  return { ...place, count: kept?.count ?? 0, writer, end: () => ended(writer) };
}

async function ended(writer: CandleWriter): Promise<undefined> {
  await writer.end();
}

/** ms by which this machine's clock may be ahead of the service's. */
const CLOCKS_APART = 60_000;

/** Parquet cannot be appended to: its candles are lines of a file beside it until all of them are there. */
async function parquetTarget(way: Way, file: string): Promise<Target> {
  const { writeParquet } = await import("./parquet-file.js");
  const { series, from, to } = way.range;
  const output: Output = { file, format: "parquet" };
  const part = linesOf(output);
  const count = existsSync(part) || !existsSync(file) ? undefined : await unpack(file, part, way.range);
  if (count !== undefined) return { start: to, count, writer: NOTHING_TO_WRITE, end: async () => undefined };
  const { start: running } = intervalOf(series.timeframe, Date.now() - CLOCKS_APART);
  const lines = await linesTarget(way, output);
  return {
    ...lines,
    end: async ({ isComplete }) => {
      await lines.end({ isComplete });
      if (!isComplete) return undefined;
      const last = (await recoverCandles(part))?.last;
      const known = last === undefined ? running : intervalOf(series.timeframe, last.timestamp).end;
      const covered = { from, to: Math.min(to, Math.max(from, known, running)) };
      const handle = await open(part);
      await writeParquet(file, readCandles(handle.readLines()), { series, covered });
      await rm(part);
      return undefined;
    },
  };
}

const NOTHING_TO_WRITE: Target["writer"] = {
  write: () => {},
  isFull: false,
  drained: async () => {},
  failed: new Promise<never>(() => {}),
};

/** Makes lines of a file again, to go on with; or gives how many candles it has where it is of this very range. */
async function unpack(file: string, part: string, { series, from, to }: Range): Promise<number | undefined> {
  const { parquetContents, readParquet } = await import("./parquet-file.js");
  const { covered, count, ...held } = await parquetContents(file);
  const names = ["network", "pairAddress", "timeframe", "currency"] as const;
  if (names.some((name) => held.series[name] !== series[name])) {
    throw new UsageError(`${file} holds another series; move it away, or name another --output`);
  }
  if (covered.from === from && covered.to === to) return count;
  const writer = new CandleWriter(part);
  for await (const candle of readParquet(file)) {
    writer.write(candle);
    if (writer.isFull) await writer.drained();
  }
  await writer.end();
  return undefined;
}

/** The client's store takes what is final by itself, and knows what is there: the range is asked for as a whole. */
function storeTarget({ series, from, to }: Range, store: FileStore): Target {
  return {
    start: from,
    count: 0,
    writer: { ...NOTHING_TO_WRITE, failed: store.failed },
    end: async ({ isComplete }) => {
      const [first] = await store.covered({ from, to });
      store.close();
      // A write that has failed has done so before that was answered.
      await Promise.race([store.failed, Promise.resolve()]);
      const { start, end } = intervalOf(series.timeframe, from);
      const isFromStart = first !== undefined && first.from <= (start === from ? from : end);
      const reached = isFromStart ? first.to : from;
      if (!isComplete || reached >= to) return undefined;
      return `those from ${new Date(reached).toISOString()} on can still change, and are asked for again`;
    },
  };
}
