import type { CandleEvent } from "../candles/event.js";
import type { ReadOperand } from "./operand.js";

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

/** Looks at each candle of a series once, and tells where the upper line of two has become the lower one. */
export class CrossingDetector {
  private hasRead = false;
  /** The last side that was not level, through the final candles. */
  private side: Side = 0;
  /** Candles that have been looked at and are not final, ascending. */
  private readonly looked: Looked[] = [];
  /** The candles of crossings that were told, where they may change: one that goes and comes back is not told again. */
  private readonly told: Set<number>;

  /** `former`: what the series had before it began anew. */
  constructor(
    private readonly a: ReadOperand,
    private readonly b: ReadOperand,
    private readonly on: "closed" | "final",
    former?: CrossingDetector,
  ) {
    this.told = new Set(former?.told);
  }

  /** No event is about a candle that is final. */
  apply(event: CandleEvent): Sighting | undefined {
    if (!this.hasRead) this.read(event);
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
    const [a, b] = this.read(event);
    const side = sideOf(a, b);
    const before = this.sideBefore(at);
    if (known === undefined) looked.splice(at, 0, { timestamp, side });
    else known.side = side;
    const isCrossing = known === undefined && side !== 0 && before !== 0 && side !== before;
    const isTold = isCrossing && !this.told.has(timestamp);
    if (isTold) this.told.add(timestamp);
    if (event.status === "final") this.settle(at + 1, timestamp);
    if (!isTold) return undefined;
    return { direction: side > 0 ? "up" : "down", a: a!, b: b! };
  }

  /** Reads both, so that a wrong path is an error with the first event, whatever that says. */
  private read(event: CandleEvent): [number | undefined, number | undefined] {
    this.hasRead = true;
    return [this.a(event), this.b(event)];
  }

  private sideBefore(at: number): Side {
    for (let older = at - 1; older >= 0; older -= 1) {
      const { side } = this.looked[older]!;
      if (side !== 0) return side;
    }
    return this.side;
  }

  /** Folds up the oldest `count` candles, which cannot change any more: those until a final one. */
  private settle(count: number, finalUntil: number): void {
    for (const timestamp of this.told) if (timestamp <= finalUntil) this.told.delete(timestamp);
    this.side = this.sideBefore(count);
    this.looked.splice(0, count);
  }
}

function sideOf(a: number | undefined, b: number | undefined): Side {
  if (a === undefined || b === undefined) return 0;
  return a > b ? 1 : a < b ? -1 : 0;
}
