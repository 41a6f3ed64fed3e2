/** Writes what has happened, with whatever is known of it. */
export type Log = (event: string, fields?: object) => void;

/** A log of one JSON object a line. */
export function ndjsonLog(write: (line: string) => void, now: () => number): Log {
  return (event, fields = {}) =>
    write(`${JSON.stringify({ at: new Date(now()).toISOString(), event, ...fields }, readable)}\n`);
}

/** JSON knows neither errors nor Infinity: the one would be `{}`, the other `null`. */
function readable(_name: string, value: unknown): unknown {
  if (typeof value === "number" && !Number.isFinite(value)) return String(value);
  return value instanceof Error ? { name: value.name, message: value.message } : value;
}
