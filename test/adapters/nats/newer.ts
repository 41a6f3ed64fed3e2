/** What a later version may say: the same value with its fields in another order, and another field in each object. */
export function withMore(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withMore);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, of]) => [key, withMore(of)]);
  return Object.fromEntries([["more", { note: 1 }], ...entries.reverse()]);
}
