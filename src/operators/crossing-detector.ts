import type { CandleEvent } from "../candles/event.js";
import type { ReadOperand } from "./operand.js";

/** Which of two lines is above: the first (1) or the second (−1). It is 0 if they are level or one is unknown. */
type Sign = 1 | 0 | -1;

/** A candle that has been looked at and may still change. */
interface Looked {
  readonly timestamp: number;
  side: Sign;
}

/** What one event says of two lines. */
export interface Sighting {
  readonly direction: "up" | "down";
  readonly a: number;
  readonly b: number;
}

/** Looks at each candle of a series once, and finds the candles at which two lines change sides. */
export class CrossingDetector {
  private hasRead = false;
  /** The last side of the final candles that was not level. */
  private side: Sign = 0;
  /** Candles that have been looked at and are not final, ascending. */
  private readonly looked: Looked[] = [];
  /**
   * The candles with a crossing that are not final yet. If one is removed and comes back, its crossing is not told
   * again.
   */
  private readonly told: Set<number>;

  /** `former`: the detector of the same series before it began anew. */
  constructor(
    private readonly a: ReadOperand,
    private readonly b: ReadOperand,
    private readonly on: "closed" | "final",
    former?: CrossingDetector,
  ) {
    this.told = new Set(former?.told);
  }

  /** No event may be about a candle that is already final. */
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
    const isCrossing = known === undefined && side !== 0 && before !== 0 && side !== before;
    const isTold = isCrossing && !this.told.has(timestamp);
    if (isTold) this.told.add(timestamp);
    if (event.status === "final") {
      this.settle(known === undefined ? at : at + 1, timestamp);
      this.side = side === 0 ? before : side;
    } else if (known === undefined) looked.splice(at, 0, { timestamp, side });
    else known.side = side;
    if (!isTold) return undefined;
    return { direction: side === 1 ? "up" : "down", a: a!, b: b! };
  }

  /** Reads both lines. The first event is always read, so that a wrong path fails at once. */
  private read(event: CandleEvent): [number | undefined, number | undefined] {
    this.hasRead = true;
    return [this.a(event), this.b(event)];
  }

  private sideBefore(at: number): Sign {
    for (let older = at - 1; older >= 0; older -= 1) {
      const { side } = this.looked[older]!;
      if (side !== 0) return side;
    }
    return this.side;
  }

  /** Forgets the oldest `count` candles, and crossings up to a final one: those can no longer change. */
  private settle(count: number, finalUntil: number): void {
    for (const timestamp of this.told) if (timestamp <= finalUntil) this.told.delete(timestamp);
    if (count > 0) this.looked.splice(0, count);
  }
}

/** An unknown value counts as `NaN`, which is neither above nor below anything. */
function sideOf(a = Number.NaN, b = Number.NaN): Sign {
  return a > b ? 1 : a < b ? -1 : 0;
}
