/**
 * A text that is the same for values that mean the same: objects by their fields in any order, those that are undefined
 * left out, dates by their instant.
 */
export function valueKey(value: unknown): string {
  if (value instanceof Date) return String(value.getTime());
  if (Array.isArray(value)) return `[${value.map(valueKey)}]`;
  if (typeof value === "object" && value !== null) {
    const fields = Object.entries(value).filter(([, field]) => field !== undefined);
    fields.sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${valueKey(field)}`)}}`;
  }
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
