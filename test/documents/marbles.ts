import { TestScheduler } from "rxjs/testing";
import type { Block } from "./blocks.js";
import { sourceBlocks } from "./comments.js";

/**
 * The marbles of a doc comment: lines of `label  marbles`, then, after an empty line, `x: what it stands for`, several in
 * a line where two spaces part them.
 */
export class Diagram {
  readonly document: string;
  /** By label. */
  readonly #lines: ReadonlyMap<string, string>;
  readonly #legend: Readonly<Record<string, string>>;

  constructor({ document, line, code }: Block) {
    this.document = document;
    const refuse = (text: string): never => {
      throw new Error(`${document}:${line}: not understood: ${text}`);
    };
    const [marbles = "", legend = "", ...rest] = code.split("\n\n");
    if (rest.length > 0) refuse(rest.join("\n\n"));
    const parts = (text: string, pattern: RegExp): [string, string] => {
      const [, name, meaning] = pattern.exec(text) ?? refuse(text);
      return [name!, meaning!];
    };
    this.#lines = new Map(marbles.split("\n").map((text) => parts(text, /^(\S.*?) {2,}(\S+)$/)));
    const entries = legend.split(/\n| {2,}(?=\S: )/).filter((text) => text !== "");
    this.#legend = Object.fromEntries(entries.map((text) => parts(text, /^(\S): +((?!.* \S: )\S.*)$/)));
    const letters = [...this.#lines.values()].join("");
    for (const letter of Object.keys(this.#legend)) {
      if (!letters.includes(letter)) refuse(`${letter}, which is in no line`);
    }
    for (const letter of letters.match(/[A-Za-z]/g) ?? []) {
      if (!(letter in this.#legend)) refuse(`${letter}, of which nothing is told`);
    }
  }

  get labels(): string[] {
    return [...this.#lines.keys()];
  }

  /** The marbles of a line. */
  line(label: string): string {
    const marbles = this.#lines.get(label);
    if (marbles === undefined) throw new Error(`no line ${label} among ${this.labels.join(", ")}`);
    return marbles;
  }

  /** What a letter stands for; a digit is a number where the legend is silent. */
  #meaning(letter: string): string {
    return this.#legend[letter] ?? letter;
  }

  /** The values of a line's letters, made of what they stand for. */
  values<T>(label: string, make: (meaning: string) => T): Record<string, T> {
    const letters = this.line(label).replace(/[^A-Za-z0-9]/g, "");
    return Object.fromEntries([...letters].map((letter) => [letter, make(this.#meaning(letter))]));
  }

  /** What happens along a line: in which frame, and what that stands for; `|` where it completes, `#` where it fails. */
  happenings(label: string): Happening[] {
    const values = this.values(label, (meaning) => meaning);
    const messages = TestScheduler.parseMarbles(this.line(label), values, undefined, false, true);
    return messages.map(({ frame, notification }) => ({
      frame: frame / TestScheduler.frameTimeFactor,
      what: notification.kind === "N" ? notification.value : notification.kind === "C" ? "|" : "#",
    }));
  }

  /** How many frames the longest line has. */
  get frames(): number {
    return Math.max(...[...this.#lines.values()].map((marbles) => marbles.length));
  }

  /** How long one frame is, in ms. */
  get frame(): number {
    const [, count, unit] = /^(\d+) (ms|s|min)$/.exec(this.#meaning("-")) ?? [];
    return Number(count) * { ms: 1, s: 1_000, min: 60_000 }[unit as "ms" | "s" | "min"];
  }
}

export interface Happening {
  readonly frame: number;
  readonly what: string;
}

/** Every marble diagram of the library, by the name of what it is about. */
const diagrams: ReadonlyMap<string, Diagram> = new Map(
  sourceBlocks()
    .filter(({ language }) => language === "marbles")
    .map((block) => [block.owner ?? `${block.document}:${block.line}`, new Diagram(block)]),
);

/** The names of the diagrams about what is below a folder. */
export function namesBelow(folder: string): string[] {
  return [...diagrams].filter(([, { document }]) => document.startsWith(folder)).map(([name]) => name);
}

/** What a call such as `latest(2)` is of. */
export const nameOf = (call: string) => call.split("(")[0]!;

/** The diagram of a call, which has a line for it, and these above it. */
export function diagramOf(call: string, given: readonly string[]): Diagram {
  const diagram = diagrams.get(nameOf(call));
  const [found, wanted] = [diagram?.labels.join(" | "), [...given, call].join(" | ")];
  if (diagram === undefined || found !== wanted) throw new Error(`has the lines ${found}, not ${wanted}`);
  return diagram;
}
