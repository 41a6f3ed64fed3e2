import type { SeriesMarker, Time, UTCTimestamp } from "lightweight-charts";
import type { PageTrade } from "./data.js";

/** What trades look like; the page's colours. */
export interface ArrowStyle {
  /** Where the candle of an instant starts. */
  readonly startOf: (instant: number) => number;
  /** Which trade is chosen; absent: none. */
  readonly selected: number | undefined;
  /** Of all others, 1 for a usual one. */
  readonly size: number;
  readonly colours: { readonly selected: string; readonly other: string };
}

/** A place on the chart's scale. */
export const seconds = (ms: number) => (ms / 1_000) as UTCTimestamp;

const percentText = (share: number) => `${share > 0 ? "+" : ""}${(100 * share).toFixed(2)} %`;

/**
 * An arrow where a trade begins, and one where it ends, ascending; each is named by the place of its trade. A candle has
 * one arrow of a kind: that of the trade which is selected, if any.
 */
export function arrowsOf(
  trades: readonly (readonly [at: number, trade: PageTrade])[],
  { startOf, selected, size, colours }: ArrowStyle,
): SeriesMarker<Time>[] {
  const arrow = (at: number, instant: number, isBuy: boolean): SeriesMarker<Time> => ({
    id: String(at),
    time: seconds(startOf(instant)),
    position: isBuy ? "belowBar" : "aboveBar",
    shape: isBuy ? "arrowUp" : "arrowDown",
    color: at === selected ? colours.selected : colours.other,
    size: at === selected ? 1.5 : size,
  });
  const all = trades.flatMap(([at, { side, from, to, gain }]) => {
    const entry = arrow(at, from, side === "long");
    if (to === undefined) return [entry];
    const exit = arrow(at, to, side === "short");
    return [entry, at === selected && gain !== undefined ? { ...exit, text: percentText(gain) } : exit];
  });
  const isSelected = ({ id }: SeriesMarker<Time>) => Number(id === String(selected));
  const sorted = all.sort((a, b) => Number(a.time) - Number(b.time) || isSelected(b) - isSelected(a));
  const places = new Set<string>();
  return sorted.filter(({ time, position }) => {
    const place = `${time} ${position}`;
    return !places.has(place) && places.add(place);
  });
}

/** A line from where a trade began to where it ended. */
export function wayOf({ from, to, entry, exit }: PageTrade, startOf: ArrowStyle["startOf"]) {
  const way = [{ time: seconds(startOf(from)), value: entry }];
  if (to === undefined || exit === undefined || startOf(to) === startOf(from)) return way;
  return [...way, { time: seconds(startOf(to)), value: exit }];
}
