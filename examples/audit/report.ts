import chalk from "chalk";
import type { Candle, Cost } from "pairstream";
import type { Finding } from "pairstream/store";
import { costText } from "../terminal/cost.js";

type Counts = ReadonlyMap<Finding["type"], number>;

const FIELDS = ["open", "high", "low", "close", "volume", "swaps"] as const;
const PLURALS: Partial<Record<Finding["type"], string>> = { hole: "holes", outlier: "outliers" };

/** Writes the findings of an audit and what they come to, for people or, as JSON, for programs. */
export class Report {
  readonly #write: (line: string) => void;
  readonly #isJson: boolean;
  readonly #counts = new Map<Finding["type"], number>();

  constructor(write: (line: string) => void, { json }: { json: boolean }) {
    this.#write = write;
    this.#isJson = json;
  }

  /** Whether anything but outliers was found: those may be true. */
  get isWrong(): boolean {
    return [...this.#counts.keys()].some((type) => type !== "outlier");
  }

  begin(what: string, cost: Cost): void {
    if (this.#isJson) {
      this.#write(JSON.stringify({ type: "cost", ...cost }));
      return;
    }
    this.#write(`${what}: at most ${costText(cost)}`);
    this.#write(chalk.underline("time                 finding     stored → served"));
  }

  add(finding: Finding): void {
    this.#counts.set(finding.type, (this.#counts.get(finding.type) ?? 0) + 1);
    this.#write(this.#isJson ? JSON.stringify(finding) : rowOf(finding));
  }

  end(spent: Cost): void {
    this.#write(
      this.#isJson
        ? JSON.stringify({ type: "summary", found: Object.fromEntries(this.#counts), ...spent })
        : `${countsText(this.#counts)}; ${costText(spent)}`,
    );
  }
}

export function timeText(instant: number): string {
  return new Date(instant).toISOString().slice(0, 19).replace("T", " ");
}

function rowOf(finding: Finding): string {
  const { type } = finding;
  const text = type.padEnd(10);
  const shown = type === "outlier" ? chalk.yellow(text) : chalk.red(text);
  return `${timeText(finding.timestamp)}  ${shown}  ${detailOf(finding)}`;
}

function detailOf(finding: Finding): string {
  switch (finding.type) {
    case "differs":
      return changesText(finding.stored, finding.served);
    case "missing":
      return `nothing → ${candleText(finding.served)}`;
    case "extra":
      return `${candleText(finding.stored)} → nothing`;
    case "hole":
      return `not covered until ${timeText(finding.to)}`;
    case "impossible":
      return `${finding.side}: ${finding.issue}`;
    case "outlier": {
      const { field, before, served, score } = finding;
      return `served: ${field} ${served[field]} after a close of ${before.close}, score ${score.toFixed(1)}`;
    }
  }
}

function changesText(stored: Candle, served: Candle): string {
  const changed = FIELDS.filter((field) => stored[field] !== served[field]);
  return changed.map((field) => `${field} ${stored[field]} → ${served[field]}`).join(", ");
}

function candleText({ close, volume, swaps }: Candle): string {
  return `close ${close}, volume ${volume}, ${swaps} ${swaps === 1 ? "swap" : "swaps"}`;
}

function countsText(counts: Counts): string {
  const found = [...counts].map(
    ([type, count]) => `${count} ${count === 1 ? type : (PLURALS[type] ?? type)}`,
  );
  return found.length === 0 ? "nothing is wrong" : found.join(", ");
}
