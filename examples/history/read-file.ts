import { open } from "node:fs/promises";
import { type Candle, readCandles, type Series } from "pairstream";
import { UsageError } from "../terminal/command-line.js";
import { readDatabase, seriesOfDatabase, type WantedSeries } from "./database.js";
import { FORMATS_ALLOWED, formatOf } from "./formats.js";

/**
 * The candles of a file of any kind that a download writes, ascending, each once, in bounded memory. `series` is for `.db`,
 * which may hold several. Reading rejects where there is no file, or something is wrong in it.
 */
export async function* readCandleFile(file: string, series?: WantedSeries): AsyncGenerator<Candle> {
  const format = formatOf(file);
  if (format === undefined) throw new UsageError(`${file} has to end in ${FORMATS_ALLOWED}`);
  if (format === "db") {
    yield* readDatabase(file, series);
  } else if (format === "parquet") {
    const { readParquet } = await import("./parquet-file.js");
    yield* readParquet(file);
  } else {
    const handle = await open(file);
    yield* readCandles(handle.readLines());
  }
}

/** The candles of a file, and what it says of their series: all in `.db`, in `.parquet` of ours, and nothing in lines. */
export async function openCandleFile(
  file: string,
  wanted: Parameters<typeof seriesOfDatabase>[1] = {},
): Promise<{ series: Partial<Series>; candles: AsyncIterable<Candle> }> {
  const found = await seriesIn(file, wanted);
  const { weekStart: _, ...series } = found;
  return { series, candles: readCandleFile(file, found) };
}

async function seriesIn(file: string, wanted: Parameters<typeof seriesOfDatabase>[1]): Promise<WantedSeries> {
  const format = formatOf(file);
  if (format === "db") return seriesOfDatabase(file, wanted);
  if (format !== "parquet") return {};
  const { parquetContents } = await import("./parquet-file.js");
  // Others write Parquet, too, and say nothing there.
  return parquetContents(file).then(
    ({ series }) => series,
    () => ({}),
  );
}

export async function listOf(read: AsyncIterable<Candle>): Promise<Candle[]> {
  const candles: Candle[] = [];
  for await (const candle of read) candles.push(candle);
  return candles;
}
