import { checkChoice, checkNumber } from "../contract/input.js";
import { checkNames } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";

/**
 * In what a service differs from the ordinary, where the contract leaves that open; for tests of a client. None of it
 * changes the truth: a client that relies on nothing but the contract gets the same candles from all of them.
 *
 * @example
 * ```ts
 * import { createPairService, simulatedMarket } from "pairstream/service";
 *
 * const source = simulatedMarket({ seed: 1, createdAt: "2025-01-01" });
 * const quirks = { order: "shuffled", cursor: "absent", pageSize: 7 } as const;
 * const service = createPairService({ source, quirks });
 * ```
 */
export interface ServiceQuirks {
  /**
   * The order of the candles; `"shuffled"` on each page, the same for the same request, while the cursor walks to older
   * ones. Default `"newest-first"`.
   */
  readonly order?: "newest-first" | "oldest-first" | "shuffled";
  /**
   * Whether a range whose `fromDate` lies before the start of the pair's first candle comes back empty, whatever it
   * holds; default `false`. Not beside `inclusive: "neither"`: no range would hold the first candle.
   */
  readonly emptyBeforeCreation?: boolean;
  /** How the last page says that it is the last: a cursor that is null, absent, or `""`; default `"null"`. */
  readonly cursor?: "null" | "absent" | "empty";
  /** Candles a page, 1 to 10,000, whatever `limit` asks for; default: as asked. */
  readonly pageSize?: number;
  /** Which bounds of a range belong to it, where a candle starts exactly there; default `"start"`. */
  readonly inclusive?: "start" | "both" | "neither";
  /** Whether the count of a candle's swaps is named `trades`; default `false`. */
  readonly trades?: boolean;
  /** Whether `page` is a string; default `false`. */
  readonly pageAsText?: boolean;
}

/** The quirks of a service, all of them decided. */
export type CheckedQuirks = Required<Omit<ServiceQuirks, "pageSize">> & {
  readonly pageSize: number | undefined;
};

const QUIRK_NAMES = [
  "order",
  "emptyBeforeCreation",
  "cursor",
  "pageSize",
  "inclusive",
  "trades",
  "pageAsText",
] as const;

export function checkQuirks(quirks: ServiceQuirks = {}): CheckedQuirks {
  if (typeof quirks !== "object" || quirks === null || Array.isArray(quirks)) {
    throw new InvalidInputError("quirks", "an object", `is ${quirks === null ? "null" : "none"}`);
  }
  checkNames(quirks, QUIRK_NAMES, "quirks.");
  const { order = "newest-first", cursor = "null", inclusive = "start", pageSize } = quirks;
  const { emptyBeforeCreation, trades, pageAsText } = quirks;
  const sizes = { min: 1, max: 10_000, integer: true };
  const checked: CheckedQuirks = {
    order: checkChoice("quirks.order", order, ["newest-first", "oldest-first", "shuffled"]),
    emptyBeforeCreation: checkSwitch("quirks.emptyBeforeCreation", emptyBeforeCreation),
    cursor: checkChoice("quirks.cursor", cursor, ["null", "absent", "empty"]),
    pageSize: pageSize === undefined ? undefined : checkNumber("quirks.pageSize", pageSize, sizes),
    inclusive: checkChoice("quirks.inclusive", inclusive, ["start", "both", "neither"]),
    trades: checkSwitch("quirks.trades", trades),
    pageAsText: checkSwitch("quirks.pageAsText", pageAsText),
  };
  if (checked.emptyBeforeCreation && checked.inclusive === "neither") {
    const problem = 'is "neither" beside emptyBeforeCreation, so that nobody could get the first candle';
    throw new InvalidInputError("quirks.inclusive", "start, both", problem);
  }
  return checked;
}

function checkSwitch(parameter: string, value: boolean | undefined): boolean {
  if (value === undefined || typeof value === "boolean") return value ?? false;
  throw new InvalidInputError(
    parameter,
    "true or false",
    `is ${value === null ? "null" : `a ${typeof value}`}`,
  );
}
