/** A value of a legend, with its label; `style` is a class of the style sheet, or nothing. */
export type LegendEntry = readonly [label: string, text: string, style: string];

/** The entries of a legend as elements, in their order. */
export function legendElements(entries: readonly LegendEntry[]): HTMLElement[] {
  return entries.map(([label, text, style]) => {
    const entry = document.createElement("span");
    const value = document.createElement("b");
    value.textContent = text;
    value.className = style;
    entry.append(label, " ", value);
    return entry;
  });
}
