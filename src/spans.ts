/** A stretch of time, `[from, to)`, in ms since the epoch. */
export interface Span {
  /** Its start, inclusive, ms since the epoch. */
  readonly from: number;
  /** Its end, exclusive, ms since the epoch. */
  readonly to: number;
}

/** Ascending spans, no two of which touch, and one more. */
export function withSpan(spans: readonly Span[], { from, to }: Span): Span[] {
  if (from >= to) return [...spans];
  const joined = { from, to };
  const apart: Span[] = [];
  for (const span of spans) {
    if (span.to < from || span.from > to) apart.push(span);
    else {
      joined.from = Math.min(joined.from, span.from);
      joined.to = Math.max(joined.to, span.to);
    }
  }
  const at = apart.findIndex((span) => span.from > joined.to);
  apart.splice(at < 0 ? apart.length : at, 0, joined);
  return apart;
}

/** What is left of ascending spans without `[from, to)`. */
export function withoutSpan(spans: readonly Span[], { from, to }: Span): Span[] {
  if (from >= to) return [...spans];
  return spans.flatMap((span) =>
    [
      { from: span.from, to: Math.min(span.to, from) },
      { from: Math.max(span.from, to), to: span.to },
    ].filter((part) => part.from < part.to),
  );
}

/** What of ascending spans lies before an instant. The last one ends there, even where that leaves it empty. */
export function spansUntil(spans: readonly Span[], to: number): Span[] {
  const before = withoutSpan(spans, { from: to, to: Infinity });
  return before.at(-1)?.to === to ? before : [...before, { from: to, to }];
}

/** What of ascending spans lies in `[from, to)`. */
export function spansWithin(spans: readonly Span[], { from, to }: Span): Span[] {
  return spans.flatMap((span) => {
    const part = { from: Math.max(span.from, from), to: Math.min(span.to, to) };
    return part.from < part.to ? [part] : [];
  });
}
