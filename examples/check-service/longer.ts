import { type Candle, intervalOf, type Timeframe } from "pairstream";
import { fits, kindly, type Note, wrong } from "./notes.js";
import type { Subject } from "./subject.js";

/** Each timeframe, and the next one that is made of it. */
const NEXT: Partial<Record<Timeframe, Timeframe>> = {
  ...({
    "1s": "10s",
    "10s": "30s",
    "30s": "1min",
    "1min": "5min",
    "5min": "10min",
    "10min": "30min",
  } as const),
  ...({ "30min": "1h", "1h": "4h", "4h": "12h", "12h": "1d" } as const),
};
/** Sums of the same numbers in another order differ by less. */
const NEAR = 1e-6;

/** Whether the last long candle that has settled is what its short ones make. */
export async function compareLonger({ asker, series, range }: Subject): Promise<Note[]> {
  const short = series.timeframe in NEXT ? series.timeframe : "12h";
  const long = NEXT[short]!;
  const step = intervalOf(short, range.toDate - 1);
  const { start, end } = intervalOf(
    long,
    intervalOf(long, step.start - 2 * (step.end - step.start)).start - 1,
  );
  const read = async (timeframe: Timeframe) => {
    // From a second before, as not every service counts fromDate in.
    const span = { fromDate: start - 1_000, toDate: end + 1_000, limit: 1_000 };
    const { value } = await asker.read((client) => client.ohlcvPage({ ...series, timeframe, ...span }));
    if (value.cursor !== undefined) return undefined;
    return value.result
      .filter(({ timestamp }) => timestamp >= start && timestamp < end)
      .sort((a, b) => a.timestamp - b.timestamp);
  };
  const parts = await read(short);
  if (parts === undefined) return [kindly(`a page does not hold the ${short} of one ${long}`)];
  const [whole] = (await read(long)) ?? [];
  const from = new Date(start).toISOString();
  if (parts.length === 0 && whole === undefined) return [fits(`no swaps in the ${long} from ${from}`)];
  if (parts.length === 0 || whole === undefined)
    return [
      wrong(`${from}: there are candles of ${whole === undefined ? short : long}, and none of the other`),
    ];
  const made = sumOf(parts);
  const different = (Object.keys(made) as (keyof typeof made)[]).filter(
    (field) => Math.abs(made[field] - whole[field]) > NEAR * Math.max(made[field], whole[field]),
  );
  if (different.length === 0)
    return [fits(`the ${long} from ${from} is made of ${parts.length} of ${short}`)];
  return different.map((field) =>
    wrong(`${from}: ${field} of ${long} is ${whole[field]}, of its ${short} ${made[field]}`),
  );
}

function sumOf(parts: readonly Candle[]): Omit<Candle, "timestamp"> {
  const total = (field: "volume" | "swaps") => parts.reduce((sum, part) => sum + part[field], 0);
  return {
    open: parts[0]!.open,
    high: Math.max(...parts.map(({ high }) => high)),
    low: Math.min(...parts.map(({ low }) => low)),
    close: parts.at(-1)!.close,
    volume: total("volume"),
    swaps: total("swaps"),
  };
}
