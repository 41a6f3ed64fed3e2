import { checkChoice, checkNumber, LATEST_INSTANT } from "../../contract/input.js";
import type { AnyTimeframe, Sniper, SniperReport } from "../../contract/model.js";
import { InvalidInputError } from "../../errors.js";
import { intervalsOf } from "../../timeframe.js";
import { firstFrom } from "./rows.js";

/** Something that happened at an instant, for `drawMarkers`. */
export interface Marker {
  /** When it happened, ms since the epoch. The marker stands at the bar that contains this instant. */
  readonly timestamp: number;
  /** On which side of the bar it stands. */
  readonly position: "above" | "below";
  /** Default: an arrow that points to the bar. */
  readonly shape?: "arrow" | "circle" | "square";
  /** Default: the colour of a rising candle below a bar, and of a falling one above it. */
  readonly color?: string;
  /** A short text at the marker; default: none. */
  readonly text?: string;
}

/** What stands at a bar: one marker, or several of the same look. */
export interface Mark {
  /** Which of the bars. */
  readonly bar: number;
  readonly position: Marker["position"];
  readonly shape: NonNullable<Marker["shape"]>;
  readonly color: string | undefined;
  readonly text: string | undefined;
}

/**
 * Where markers stand, of bars that start at `starts` (ascending); `markers` ascend, too. Those in no bar stand nowhere.
 *
 * Weeks may begin on any day, so only the length of a bar is taken from its timeframe.
 */
export function marksAt(
  starts: readonly number[],
  timeframe: AnyTimeframe,
  markers: readonly Marker[],
): readonly Mark[] {
  const intervals = intervalsOf(timeframe);
  const marks: Mark[] = [];
  let next = firstFrom(markers, starts[0] ?? Infinity);
  starts.forEach((start, bar) => {
    const length = intervals.end(start) - intervals.start(start);
    while (next < markers.length && markers[next]!.timestamp < start) next += 1;
    const alike = new Map<string, Marker[]>();
    for (; next < markers.length && markers[next]!.timestamp < start + length; next += 1) {
      const marker = markers[next]!;
      const { position, shape, color } = marker;
      const look = [position, shape ?? "arrow", color].join(" ");
      alike.set(look, [...(alike.get(look) ?? []), marker]);
    }
    for (const group of alike.values()) {
      const { position, shape = "arrow", color } = group[0]!;
      marks.push({ bar, position, shape, color, text: textOf(group) });
    }
  });
  return marks;
}

/** How many there are, and their text if they share it. */
function textOf(group: readonly Marker[]): string | undefined {
  const texts = new Set(group.map(({ text }) => text));
  const [text] = texts;
  if (group.length === 1) return text;
  return texts.size === 1 && text ? `${text} ×${group.length}` : String(group.length);
}

/** All snipes and sales of a report: below and above the bars. */
export function sniperMarkers(
  { result }: SniperReport,
  label: (wallet: Sniper) => string | undefined = () => undefined,
): readonly Marker[] {
  return result.flatMap((wallet) => {
    const text = label(wallet);
    const at = (position: Marker["position"]) => (trade: { readonly transactionTimestamp: number }) => ({
      timestamp: trade.transactionTimestamp,
      position,
      ...(text !== undefined && { text }),
    });
    return [...wallet.snipedTransactions.map(at("below")), ...wallet.sellTransactions.map(at("above"))];
  });
}

/** Throws an `InvalidInputError` for what is no list of markers. */
export function checkMarkers(markers: readonly Marker[]): readonly Marker[] {
  if (!Array.isArray(markers)) {
    throw new InvalidInputError("events", "lists of markers", `have a value of type ${typeof markers}`);
  }
  for (const marker of markers as readonly Marker[]) {
    checkNumber("timestamp", marker?.timestamp, { min: 0, max: LATEST_INSTANT, unit: "ms" });
    checkChoice("position", marker.position, ["above", "below"]);
    if (marker.shape !== undefined) checkChoice("shape", marker.shape, ["arrow", "circle", "square"]);
  }
  return markers;
}
