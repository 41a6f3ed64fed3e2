import chalk from "chalk";
import type { Cost, Series } from "pairstream";
import { costText } from "../terminal/cost.js";
import { type Note, type Verdict, verdictOf } from "./notes.js";

/** A question, and what its answer shows. */
export interface Told {
  readonly question: string;
  readonly notes: readonly Note[];
}

interface Beginning extends Cost {
  readonly baseUrl: string;
  readonly series: Series;
  readonly questions: number;
}

const COLOURS = { fits: chalk.green, kindly: chalk.yellow, wrong: chalk.red, "not asked": chalk.red };
const WIDTH = Math.max(...Object.keys(COLOURS).map(({ length }) => length));

/** Writes what a check finds, for people or, as JSON, for programs. */
export class Report {
  readonly #write: (line: string) => void;
  readonly #isJson: boolean;
  readonly #counts: Record<Verdict, number> = { fits: 0, kindly: 0, wrong: 0, "not asked": 0 };

  constructor(write: (line: string) => void, isJson: boolean) {
    this.#write = write;
    this.#isJson = isJson;
  }

  /** Whether a client can do with all that was asked. */
  get isSound(): boolean {
    return this.#counts.wrong === 0 && this.#counts["not asked"] === 0;
  }

  begin({ baseUrl, series, questions, requests, units }: Beginning): void {
    if (this.#isJson) {
      this.#write(JSON.stringify({ type: "cost", baseUrl, series, questions, requests, units }));
      return;
    }
    const { network, pairAddress, timeframe, currency } = series;
    this.#write(`${baseUrl}, ${pairAddress} on ${network}, ${timeframe} candles in ${currency}`);
    this.#write(`${questions} questions: at most ${costText({ requests, units })}`);
  }

  add({ question, notes }: Told): void {
    const verdict = verdictOf(notes);
    this.#counts[verdict] += 1;
    if (this.#isJson) {
      this.#write(JSON.stringify({ type: "answer", question, verdict, notes }));
      return;
    }
    notes.forEach((note, at) => {
      const word = COLOURS[note.verdict](note.verdict.padEnd(WIDTH));
      this.#write(`${word}  ${at === 0 ? question : "…"}: ${note.text}`);
    });
  }

  end(spent: Cost): void {
    const { fits, kindly, wrong, "not asked": unasked } = this.#counts;
    if (this.#isJson) {
      this.#write(JSON.stringify({ type: "summary", fits, kindly, wrong, unasked, ...spent }));
      return;
    }
    const left = unasked === 0 ? "" : `, ${unasked} not asked`;
    this.#write(`${fits} fit, ${kindly} read kindly, ${wrong} wrong${left}; ${costText(spent)}`);
  }
}
