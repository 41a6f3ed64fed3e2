import { InvalidInputError } from "../errors.js";
import type { IndicatorEvent } from "./indicator-event.js";
import { SeriesGuard } from "./series-guard.js";

/**
 * Which of two lines is above: the first (1) or the second (−1); 0 where they are level, or one is not known.
 */
type Side = 1 | 0 | -1;

/** A candle that has been looked at and may still change. */
interface Looked {
  readonly timestamp: number;
  side: Side;
}

/** What one event says of two lines. */
export interface Sighting {
  readonly direction: "up" | "down";
  readonly a: number;
  readonly b: number;
}

/** One of two lines: a value by its name, or a level. */
export type Line = string | number;

/** Looks at each candle once, and tells where the upper line of two has become the lower one. */
export class CrossingDetector {
  private readonly guard = new SeriesGuard();
  private hasSeenValues = false;
  /** The last side that was not level, through the final candles. */
  private side: Side = 0;
  /** Candles that have been looked at and are not final, ascending. */
  private readonly looked: Looked[] = [];

  constructor(
    private readonly a: Line,
    private readonly b: Line,
    private readonly on: "closed" | "final",
  ) {}

  apply(event: IndicatorEvent): Sighting | undefined {
    this.guard.admit(event);
    if (!this.hasSeenValues) this.checkValues(event);
    const { looked } = this;
    const { timestamp } = event.candle;
    if (event.status === "open" || (this.on === "final" && event.status !== "final")) return undefined;
    let at = looked.length;
    while (at > 0 && looked[at - 1]!.timestamp >= timestamp) at -= 1;
    const known = looked[at]?.timestamp === timestamp ? looked[at] : undefined;
    if (event.type === "removed") {
      if (known !== undefined) looked.splice(at, 1);
      return undefined;
    }
    const a = readLine("a", this.a, event);
    const b = readLine("b", this.b, event);
    const side = sideOf(a, b);
    const before = this.sideBefore(at);
    if (known === undefined) looked.splice(at, 0, { timestamp, side });
    else known.side = side;
    if (event.status === "final") this.settle(at + 1);
    if (known !== undefined || side === 0 || before === 0 || side === before) return undefined;
    return { direction: side > 0 ? "up" : "down", a: a!, b: b! };
  }

  private sideBefore(at: number): Side {
    for (let older = at - 1; older >= 0; older -= 1) {
      const { side } = this.looked[older]!;
      if (side !== 0) return side;
    }
    return this.side;
  }

  /** Folds up the oldest `count` candles, which cannot change any more. */
  private settle(count: number): void {
    this.side = this.sideBefore(count);
    this.looked.splice(0, count);
  }

  private checkValues({ values }: IndicatorEvent): void {
    if (typeof values !== "object" || values === null) {
      throw new InvalidInputError("events", "what withIndicators emits", "have no values");
    }
    const names = Object.keys(values);
    for (const [parameter, line] of Object.entries({ a: this.a, b: this.b })) {
      if (typeof line === "number" || names.includes(line)) continue;
      throw new InvalidInputError(parameter, `a number, ${names.join(", ")}`, `is "${line}"`);
    }
    this.hasSeenValues = true;
  }
}

function readLine(parameter: string, line: Line, { values }: IndicatorEvent): number | undefined {
  if (typeof line === "number") return line;
  const value = values[line];
  if (value === undefined || typeof value === "number") return value;
  throw new InvalidInputError(
    parameter,
    "a value that is a number",
    `is "${line}", whose value is ${typeof value}`,
  );
}

function sideOf(a: number | undefined, b: number | undefined): Side {
  if (a === undefined || b === undefined) return 0;
  return a > b ? 1 : a < b ? -1 : 0;
}
