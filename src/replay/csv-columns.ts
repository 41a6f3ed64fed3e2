import { show } from "../contract/input.js";
import { parseIsoInstant } from "../contract/iso-instant.js";
import type { Candle } from "../contract/model.js";
import { InvalidInputError } from "../errors.js";

/** Gives the fields of a row as they are written; `line` is its number. */
export type CsvRow = (row: string, line: number) => Partial<Record<keyof Candle, unknown>>;

const NUMBERS = ["open", "high", "low", "close", "volume", "swaps"] as const;
const ALLOWED_NAMES = `a header that names date or timestamp, ${NUMBERS.join(", ")}, each once, parted by commas`;
const ALLOWED_TIME = "ms since the epoch, or ISO 8601 with a zone, such as 2024-01-01T00:00:00Z";

/** Names come before a first comma, or what some programs write in its place, and JSON of a candle before none. */
export const isCsvHeader = (text: string): boolean => /^[a-z_ ]*[,;\t]/i.test(text);

/** How rows below a header are read: by its names in any order and case; other columns are skipped. */
export function csvColumns(header: string, line: number): CsvRow {
  const names = header
    .toLowerCase()
    .split(",")
    .map((name) => name.trim());
  const time = names.includes("timestamp") ? "timestamp" : "date";
  const columns = [time, ...NUMBERS].map((name) => {
    const at = names.indexOf(name);
    if (at >= 0 && at === names.lastIndexOf(name)) return at;
    throw new InvalidInputError(
      `line ${line}`,
      ALLOWED_NAMES,
      at < 0 ? `has no ${name}` : `has ${name} twice`,
    );
  });
  const [timeAt, ...numbersAt] = columns as [number, ...number[]];

  return (row, rowLine) => {
    const cells = row.split(",");
    if (cells.length !== names.length) {
      const allowed = `${names.length} values, one for each name of the header`;
      throw new InvalidInputError(`line ${rowLine}`, allowed, `has ${cells.length} values`);
    }
    const fields: Partial<Record<keyof Candle, unknown>> = { timestamp: cellValue(cells[timeAt]!) };
    if (typeof fields.timestamp === "string") {
      // A space is what Python writes in place of the T.
      const instant = parseIsoInstant(fields.timestamp.replace(" ", "T"));
      if (instant === undefined) {
        const place = `${time} of line ${rowLine}`;
        throw new InvalidInputError(place, ALLOWED_TIME, `is ${show(fields.timestamp)}`);
      }
      fields.timestamp = instant;
    }
    for (const [at, name] of NUMBERS.entries()) fields[name] = cellValue(cells[numbersAt[at]!]!);
    return fields;
  };
}

/** A number; what is none as text, and nothing of an empty cell. */
function cellValue(cell: string): number | string | undefined {
  const text = cell.trim();
  if (text === "") return undefined;
  const number = Number(text);
  return Number.isNaN(number) ? text : number;
}
