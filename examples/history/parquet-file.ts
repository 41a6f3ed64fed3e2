import { rename, rm } from "node:fs/promises";
import {
  asyncBufferFromFile,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
  type SchemaElement,
} from "hyparquet";
import { fileWriter, parquetWriteRows } from "hyparquet-writer";
import { type Candle, readCandles, type Series } from "pairstream";

/** Of which series a file is, and what of it is covered: where it holds no candle there were no swaps. */
export interface Contents {
  readonly series: Series;
  /** `[from, to)`, ms since the epoch. */
  readonly covered: { readonly from: number; readonly to: number };
}

/** So many rows are in memory at a time. */
const ROWS = 50_000;

const PRICES = ["open", "high", "low", "close", "volume"] as const;
const SERIES_KEY = "pairstream.series";
const COVERED_KEY = "pairstream.covered";

const SCHEMA: SchemaElement[] = [
  { name: "root", num_children: 7 },
  {
    name: "timestamp",
    type: "INT64",
    repetition_type: "REQUIRED",
    converted_type: "TIMESTAMP_MILLIS",
    logical_type: { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MILLIS" },
  },
  ...PRICES.map((name): SchemaElement => ({ name, type: "DOUBLE", repetition_type: "REQUIRED" })),
  { name: "swaps", type: "INT64", repetition_type: "REQUIRED" },
];

const COLUMNS = SCHEMA.slice(1).map(({ name }) => ({ name }));

/** Writes a file that is whole at any instant: it is written beside, and put in its place. */
export async function writeParquet(
  file: string,
  candles: AsyncIterable<Candle>,
  { series, covered }: Contents,
): Promise<void> {
  const next = `${file}.next`;
  try {
    await parquetWriteRows({
      writer: fileWriter(next),
      rows: rowsOf(candles),
      columns: COLUMNS,
      schema: SCHEMA,
      rowGroupSize: ROWS,
      kvMetadata: [
        { key: SERIES_KEY, value: JSON.stringify(series) },
        { key: COVERED_KEY, value: JSON.stringify(covered) },
      ],
    });
  } catch (error) {
    await rm(next, { force: true });
    throw error;
  }
  await rename(next, file);
}

async function* rowsOf(candles: AsyncIterable<Candle>) {
  for await (const candle of candles) {
    yield { ...candle, timestamp: BigInt(candle.timestamp), swaps: BigInt(candle.swaps) };
  }
}

/** What a file says that it holds, and how many candles; rejects for one that `writeParquet` has not written. */
export async function parquetContents(file: string): Promise<Contents & { readonly count: number }> {
  const { metadata } = await open(file);
  const [series, covered] = [SERIES_KEY, COVERED_KEY].map((key) => {
    const value = metadata.key_value_metadata?.find((entry) => entry.key === key)?.value;
    return value === undefined ? undefined : JSON.parse(value);
  });
  if (series === undefined || covered === undefined)
    throw new Error(`${file} does not say which series it holds`);
  return { series, covered, count: Number(metadata.num_rows) };
}

/** The candles of a file, checked as `readCandles` checks them; an error names the row as a line. */
export function readParquet(file: string): AsyncIterable<Candle> {
  return readCandles(linesOf(file));
}

async function* linesOf(file: string): AsyncGenerator<string> {
  const { buffer, metadata } = await open(file);
  let rowStart = 0;
  for (const group of metadata.row_groups) {
    const rowEnd = rowStart + Number(group.num_rows);
    const rows = await parquetReadObjects({ file: buffer, metadata, rowStart, rowEnd });
    for (const { timestamp, swaps, ...prices } of rows) {
      yield JSON.stringify({ ...prices, timestamp: Number(timestamp), swaps: Number(swaps) });
    }
    rowStart = rowEnd;
  }
}

async function open(file: string) {
  const buffer = await asyncBufferFromFile(file);
  let metadata: FileMetaData;
  try {
    metadata = await parquetMetadataAsync(buffer);
  } catch (cause) {
    throw new Error(`${file} is not a Parquet file`, { cause });
  }
  return { buffer, metadata };
}
