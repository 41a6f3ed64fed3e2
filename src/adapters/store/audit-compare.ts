import type { FinalPart } from "../../candles/read/forward.js";
import { show } from "../../contract/input.js";
import type { Candle } from "../../contract/model.js";
import { flawOf } from "../../replay/candle-flaw.js";
import type { Span } from "../../spans.js";
import type { Finding } from "./audit-finding.js";

/** What both sides have of `[from, to)`. */
export interface BothSides extends Span {
  /** Ascending by timestamp, which may repeat or begin no interval. */
  readonly stored: readonly Candle[];
  /** What the store covers, ascending. */
  readonly covered: readonly Span[];
  /** Ascending, one an interval. */
  readonly served: readonly Candle[];
  /** Intervals of `[from, to)` of which the service's row cannot be read. */
  readonly unreadable: ReadonlySet<number>;
  /** Whether the service has no candle but these; if not, no candle of the store is one too many. */
  readonly isWhole: boolean;
}

/** What of an answer is compared. */
type Answer = Pick<FinalPart, "candles" | "unreadable" | "hasUnplaced">;

/** One side, and what answers of the service show of its span: a candle that one of them lacks may be in another. */
export function withServed(
  { from, to, stored, covered }: Omit<BothSides, "served" | "unreadable" | "isWhole">,
  answers: readonly Answer[],
): BothSides {
  const isIn = (timestamp: number) => timestamp >= from && timestamp < to;
  const served = new Map<number, Candle>();
  for (const { candles } of answers)
    for (const candle of candles) if (isIn(candle.timestamp)) served.set(candle.timestamp, candle);
  const unreadable = answers.flatMap((answer) => [...answer.unreadable]);
  return {
    from,
    to,
    stored,
    covered,
    served: [...served.values()].sort((a, b) => a.timestamp - b.timestamp),
    unreadable: new Set(unreadable.filter((timestamp) => isIn(timestamp) && !served.has(timestamp))),
    isWhole: answers.every(({ hasUnplaced }) => !hasUnplaced),
  };
}

const FIELDS = ["open", "high", "low", "close", "volume", "swaps"] as const;

/** In what two sides differ, and which candles cannot be; ascending. `isStart`: whether an instant begins an interval. */
export function compareCandles(sides: BothSides, isStart: (instant: number) => boolean): Finding[] {
  const findings: Finding[] = [];
  const held = new Map<number, Candle>();
  const holds = coverageOf(sides.covered);
  for (const candle of sides.stored) {
    const { timestamp } = candle;
    const misplaced = !isStart(timestamp)
      ? "timestamp begins no interval"
      : held.has(timestamp)
        ? "timestamp is that of the candle before"
        : holds(timestamp)
          ? undefined
          : "timestamp lies outside of what is covered";
    if (misplaced === undefined) held.set(timestamp, candle);
    const issue = misplaced ?? issueOf(candle);
    if (issue !== undefined) findings.push({ type: "impossible", timestamp, side: "stored", issue, candle });
  }
  const covers = coverageOf(sides.covered);
  for (const served of sides.served) {
    const { timestamp } = served;
    const issue = issueOf(served);
    if (issue !== undefined)
      findings.push({ type: "impossible", timestamp, side: "served", issue, candle: served });
    const stored = held.get(timestamp);
    held.delete(timestamp);
    if (stored === undefined) {
      if (covers(timestamp)) findings.push({ type: "missing", timestamp, served });
    } else if (FIELDS.some((field) => stored[field] !== served[field])) {
      findings.push({ type: "differs", timestamp, stored, served });
    }
  }
  const unread = (timestamp: number, issue: string) =>
    findings.push({ type: "impossible", timestamp, side: "served", issue });
  if (!sides.isWhole) unread(sides.from, "from here on an answer cannot be read in full");
  for (const timestamp of sides.unreadable) unread(timestamp, "the row of this interval cannot be read");
  for (const [timestamp, stored] of held) {
    if (sides.isWhole && !sides.unreadable.has(timestamp))
      findings.push({ type: "extra", timestamp, stored });
  }
  return sortedFindings(findings);
}

/** Ascending; of one instant in the order given. */
export function sortedFindings(findings: readonly Finding[]): Finding[] {
  return [...findings].sort((a, b) => a.timestamp - b.timestamp).map((finding) => Object.freeze(finding));
}

/** What of `[from, to)` ascending spans leave out. */
export function holesIn(covered: readonly Span[], { from, to }: Span): Span[] {
  const holes: Span[] = [];
  let reached = from;
  for (const span of covered) {
    if (span.from > reached) holes.push({ from: reached, to: Math.min(span.from, to) });
    reached = Math.max(reached, span.to);
    if (reached >= to) return holes;
  }
  holes.push({ from: reached, to });
  return holes;
}

/** Whether ascending spans cover an instant, for instants that are asked for in ascending order. */
function coverageOf(spans: readonly Span[]): (instant: number) => boolean {
  let at = 0;
  return (instant) => {
    while (at < spans.length && spans[at]!.to <= instant) at++;
    return at < spans.length && spans[at]!.from <= instant;
  };
}

/** Why the numbers of a candle are not those of one. */
function issueOf(candle: Candle): string | undefined {
  const flaw = flawOf(candle, -Infinity);
  if (flaw !== undefined) return `${flaw.field} ${flaw.problem}`;
  const { open, high, low, close } = candle;
  if (open < low || open > high) return `open is ${show(open)}, outside of ${low} to ${high}`;
  if (close < low || close > high) return `close is ${show(close)}, outside of ${low} to ${high}`;
  return undefined;
}
