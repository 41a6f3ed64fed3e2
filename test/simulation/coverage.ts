/** A stretch of time, `[from, to)`. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Ascending spans, no two of which touch, and one more. */
export function withSpan(spans: readonly Span[], added: Span): Span[] {
  const union: { from: number; to: number }[] = [];
  const all = added.from < added.to ? [...spans, added] : spans;
  for (const { from, to } of [...all].sort((a, b) => a.from - b.from)) {
    const last = union.at(-1);
    if (last === undefined || from > last.to) union.push({ from, to });
    else last.to = Math.max(last.to, to);
  }
  return union;
}

/** What is left of ascending spans without `[from, to)`. */
export function withoutSpan(spans: readonly Span[], { from, to }: Span): Span[] {
  if (from >= to) return [...spans];
  const before = spansWithin(spans, { from: Number.NEGATIVE_INFINITY, to: from });
  return [...before, ...spansWithin(spans, { from: to, to: Number.POSITIVE_INFINITY })];
}

/** What of ascending spans lies in `[from, to)`. */
export function spansWithin(spans: readonly Span[], { from, to }: Span): Span[] {
  const parts = spans.map((span) => ({ from: Math.max(span.from, from), to: Math.min(span.to, to) }));
  return parts.filter((part) => part.from < part.to);
}
