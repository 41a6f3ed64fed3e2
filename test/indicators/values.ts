/** The numbers of a value by their keys, a bare number under `value`; `undefined` for none. */
export function numbersOf(value: unknown): Record<string, number> | undefined {
  if (value === undefined) return undefined;
  return typeof value === "number" ? { value } : (value as Record<string, number>);
}
