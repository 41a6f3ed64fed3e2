import type { Marker } from "pairstream/lightweight-charts";
import { colour } from "../../page/theme.js";
import type { SwitchId } from "./indicators.js";
import type { Correction } from "./shown-candles.js";

/** What a mark looks like; `style` is a colour of the style sheet. */
const CORRECTIONS = {
  corrected: { glyph: "●", shape: "circle", style: "warning" },
  late: { glyph: "●", shape: "circle", style: "accent" },
  removed: { glyph: "■", shape: "square", style: "strength" },
} as const;

/** What the marks in the chart mean, and what switches them. */
const LEGEND: readonly (readonly [glyph: string, style: string, meaning: string, by: SwitchId])[] = [
  ["▲", "up", "a sniper bought", "snipers"],
  ["▼", "down", "a sniper sold", "snipers"],
  ["2", "muted", "several in one candle", "snipers"],
  [CORRECTIONS.corrected.glyph, CORRECTIONS.corrected.style, "corrected", "corrections"],
  [CORRECTIONS.late.glyph, CORRECTIONS.late.style, "came late", "corrections"],
  [CORRECTIONS.removed.glyph, CORRECTIONS.removed.style, "removed, at the candle beside", "corrections"],
];

/** The mark of a correction, at the bar of an instant. */
export function correctionMark({ kind }: Correction, timestamp: number): Marker {
  const { shape, style } = CORRECTIONS[kind];
  return { timestamp, position: "above", shape, color: colour(style) };
}

/** Says what the marks mean that are switched on. */
export function drawMarkLegend(list: HTMLElement, isOn: (id: SwitchId) => boolean): void {
  list.replaceChildren(
    ...LEGEND.filter(([, , , by]) => isOn(by)).map(([glyph, style, meaning]) => {
      const entry = document.createElement("li");
      const sign = document.createElement("b");
      sign.textContent = glyph;
      sign.style.color = `var(--${style})`;
      entry.append(sign, ` ${meaning}`);
      return entry;
    }),
  );
}
