import { checkChoice, checkNumber } from "../contract/input.js";
import { checkNames } from "../contract/names.js";
import { InvalidInputError } from "../errors.js";

/**
 * Behaviour that the contract leaves open, set to something unusual; for tests of a client. The candles stay the same:
 * a client that relies only on the contract gets the same from any such service.
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
   * The order of the candles; default `"newest-first"`. `"shuffled"` mixes each page, always in the same way for the
   * same request; the cursor still walks to older candles.
   */
  readonly order?: "newest-first" | "oldest-first" | "shuffled";
  /**
   * Whether a range that begins before the start of the pair's first candle comes back empty, even if it holds candles;
   * default `false`. Not allowed with `inclusive: "neither"`, because then no range would hold the first candle.
   */
  readonly emptyBeforeCreation?: boolean;
  /** The cursor on the last page: null, absent, or `""`; default `"null"`. */
  readonly cursor?: "null" | "absent" | "empty";
  /** Candles per page, 1 to 10,000, whatever the request's `limit`; default: the `limit`. */
  readonly pageSize?: number;
  /** Which bounds belong to a range, if a candle starts exactly there; default `"start"`. */
  readonly inclusive?: "start" | "both" | "neither";
  /** Whether the number of swaps is called `trades`; default `false`. */
  readonly trades?: boolean;
  /** Whether `page` is a string; default `false`. */
  readonly pageAsText?: boolean;
  /**
   * Whether a sniper's `totalTokensSold` is below 0. `currentBalance` is what was bought minus that, so it is too large by twice
   * what was sold, and its value follows it. Default `false`.
   */
  readonly soldBelowZero?: boolean;
}

/** All quirks of a service, with their defaults filled in. */
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
  "soldBelowZero",
] as const;

export function checkQuirks(quirks: ServiceQuirks = {}): CheckedQuirks {
  if (typeof quirks !== "object" || quirks === null || Array.isArray(quirks)) {
    throw new InvalidInputError(
      "quirks",
      "an object",
      `is ${quirks === null ? "null" : Array.isArray(quirks) ? "an array" : `of type ${typeof quirks}`}`,
    );
  }
  checkNames(quirks, QUIRK_NAMES, "quirks.");
  const { order = "newest-first", cursor = "null", inclusive = "start", pageSize } = quirks;
  const { emptyBeforeCreation, trades, pageAsText, soldBelowZero } = quirks;
  const sizes = { min: 1, max: 10_000, integer: true };
  const checked: CheckedQuirks = {
    order: checkChoice("quirks.order", order, ["newest-first", "oldest-first", "shuffled"]),
    emptyBeforeCreation: checkSwitch("quirks.emptyBeforeCreation", emptyBeforeCreation),
    cursor: checkChoice("quirks.cursor", cursor, ["null", "absent", "empty"]),
    pageSize: pageSize === undefined ? undefined : checkNumber("quirks.pageSize", pageSize, sizes),
    inclusive: checkChoice("quirks.inclusive", inclusive, ["start", "both", "neither"]),
    trades: checkSwitch("quirks.trades", trades),
    pageAsText: checkSwitch("quirks.pageAsText", pageAsText),
    soldBelowZero: checkSwitch("quirks.soldBelowZero", soldBelowZero),
  };
  if (checked.emptyBeforeCreation && checked.inclusive === "neither") {
    const problem = 'is "neither" together with emptyBeforeCreation, so nobody could get the first candle';
    throw new InvalidInputError("quirks.inclusive", "start, both", problem);
  }
  return checked;
}

function checkSwitch(parameter: string, value: boolean | undefined): boolean {
  if (value === undefined || typeof value === "boolean") return value ?? false;
  throw new InvalidInputError(
    parameter,
    "true or false",
    `is ${value === null ? "null" : `of type ${typeof value}`}`,
  );
}
