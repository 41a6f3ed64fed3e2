import type { Candle } from "pairstream";

/** What the price was at an instant, ms since the epoch. */
export interface PricePoint {
  readonly at: number;
  readonly price: number;
}

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** Of the events, a price is kept so often, in ms. */
const STEP = 5_000;
/** Somewhat more than the longest change needs. */
const KEPT = DAY + HOUR;

/** The prices that candles of a length end with, and that with which the first begins; candles ascending. */
export function pathOf(candles: readonly Candle[], length: number): PricePoint[] {
  const [first] = candles;
  if (first === undefined) return [];
  return [
    { at: first.timestamp, price: first.open },
    ...candles.map(({ timestamp, close }) => ({ at: timestamp + length, price: close })),
  ];
}

/** One path of several, ascending; of two prices at one instant, that of the later path. */
export function joined(...paths: readonly (readonly PricePoint[])[]): PricePoint[] {
  const points = new Map(paths.flat().map((point) => [point.at, point]));
  return [...points.values()].sort((a, b) => a.at - b.at);
}

/**
 * The path with a price that is news; what is too old to be needed goes. Of prices that come one after the other the
 * last one holds: what was read first of a history may have been read at a later instant.
 */
export function withPoint(path: readonly PricePoint[], { at, price }: PricePoint): readonly PricePoint[] {
  const point = { at: Math.max(at, path.at(-1)?.at ?? at), price };
  const isOver = path.length > 1 && path.at(-1)!.at - path.at(-2)!.at < STEP;
  const before = isOver ? path.slice(0, -1) : path;
  const old = before.findIndex((one) => one.at > point.at - KEPT);
  return [...(old > 0 ? before.slice(old) : before), point];
}

/**
 * By how many per cent the price at the end of a path differs from that `span` ms before `now`; from the first one
 * where the path is not that old, as a young pair's is not. `undefined` without a price.
 */
export function changeOver(path: readonly PricePoint[], now: number, span: number): number | undefined {
  const last = path.at(-1);
  const then = path.findLast(({ at }) => at <= now - span) ?? path[0];
  if (last === undefined || then === undefined || then.price <= 0) return undefined;
  return (last.price / then.price - 1) * 100;
}

/** What candles that begin at `from` or later were traded for. */
export function volumeFrom(candles: Iterable<Candle>, from: number): number {
  let total = 0;
  for (const { timestamp, volume } of candles) if (timestamp >= from) total += volume;
  return total;
}
