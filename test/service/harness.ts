import type { PairService, Swap } from "pairstream/service";

/** Timeframes written down again, so that the tests do not lean on the list they check. */
export const timeframes = [
  "1s",
  "10s",
  "30s",
  "1min",
  "5min",
  "10min",
  "30min",
  "1h",
  "4h",
  "12h",
  "1d",
  "1w",
  "1M",
] as const;

export interface AskedCandle {
  timestamp: string;
  open: number;
  high: number;
  low: number;
  close: number;
  volume: number;
  swaps: number;
}

export async function ask(
  service: PairService,
  path: string,
  headers: Record<string, string> = { "X-API-Key": "key" },
) {
  const answer = await service.fetch(`http://service.test${path}`, { headers });
  return { status: answer.status, headers: answer.headers, body: JSON.parse(await answer.text()) };
}

/** The path of an OHLCV request. */
export function ohlcv(
  pairAddress: string,
  query: Record<string, string | number>,
  network = "mainnet",
): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) parameters.set(name, String(value));
  return `/token/${network}/pairs/${pairAddress}/ohlcv?${parameters}`;
}

/** Follows the cursor to the end. */
export async function walk(
  service: PairService,
  pairAddress: string,
  query: Record<string, string | number>,
) {
  const pages: { page: number; result: AskedCandle[] }[] = [];
  let cursor: string | null = null;
  do {
    const path = ohlcv(pairAddress, cursor === null ? query : { ...query, cursor });
    const {
      status,
      body,
    }: { status: number; body: { cursor: string | null; page: number; result: AskedCandle[] } } = await ask(
      service,
      path,
    );
    if (status !== 200) throw new Error(`Answered ${status}: ${JSON.stringify(body)}`);
    pages.push({ page: body.page, result: body.result });
    cursor = body.cursor;
  } while (cursor !== null);
  return { pages, candles: pages.flatMap(({ result }) => result) };
}

/** The start of an interval, by the calendar's own fields instead of by division. */
export function startOf(
  instant: number,
  timeframe: (typeof timeframes)[number],
  weekStart: "monday" | "thursday",
) {
  const date = new Date(instant);
  date.setUTCMilliseconds(0);
  const [, amount = "", unit = ""] = /^(\d+)(\D+)$/.exec(timeframe) ?? [];
  const down = (value: number) => value - (value % Number(amount));
  if (unit === "s") date.setUTCSeconds(down(date.getUTCSeconds()));
  else if (unit === "min") date.setUTCMinutes(down(date.getUTCMinutes()), 0);
  else if (unit === "h") date.setUTCHours(down(date.getUTCHours()), 0, 0);
  else date.setUTCHours(0, 0, 0);
  const firstDay = weekStart === "monday" ? 1 : 4;
  if (unit === "w") while (date.getUTCDay() !== firstDay) date.setUTCDate(date.getUTCDate() - 1);
  if (unit === "M") date.setUTCDate(1);
  return date.getTime();
}

/** Candles worked out the long way: sort into heaps, then look at each heap. Newest first. */
export function naiveCandles(
  swaps: readonly Swap[],
  timeframe: (typeof timeframes)[number],
  currency: "usd" | "native",
  weekStart: "monday" | "thursday" = "monday",
): AskedCandle[] {
  const heaps = new Map<number, Swap[]>();
  for (const swap of swaps.filter(({ tokenAmount }) => tokenAmount > 0)) {
    const start = startOf(swap.timestamp, timeframe, weekStart);
    heaps.set(start, [...(heaps.get(start) ?? []), swap]);
  }
  const amountOf = (swap: Swap) => (currency === "usd" ? swap.usdAmount : swap.nativeAmount);
  return [...heaps]
    .sort(([a], [b]) => b - a)
    .map(([start, heap]) => {
      const prices = heap.map((swap) => amountOf(swap) / swap.tokenAmount);
      return {
        timestamp: new Date(start).toISOString(),
        open: prices[0]!,
        high: Math.max(...prices),
        low: Math.min(...prices),
        close: prices.at(-1)!,
        volume: heap.reduce((total, swap) => total + amountOf(swap), 0),
        swaps: heap.length,
      };
    });
}

export function toLine(swap: Swap): string {
  return JSON.stringify({ ...swap, timestamp: new Date(swap.timestamp).toISOString() });
}
