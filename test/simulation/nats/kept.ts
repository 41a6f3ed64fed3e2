/** A message as it is kept. */
export interface Kept {
  readonly sequence: number;
  readonly subject: string;
  readonly text: string;
  readonly time: number;
}

/**
 * The messages that a stream keeps, in the order in which they were stored. Those of one feed, whose subjects differ
 * in their last part alone, are found without a look at the others: every collector reads each of its feeds by itself.
 */
export class KeptMessages {
  readonly #bySequence = new Map<number, Kept>();
  readonly #lasts = new Map<string, Kept>();
  /** By the parts of the subject before the last one. */
  readonly #families = new Map<string, Map<number, Kept>>();
  /** What the names of families begin with, and families may have been. */
  readonly #above = new Set<string>();

  get size(): number {
    return this.#bySequence.size;
  }

  /** The message with this sequence, if it is still kept. */
  at(sequence: number): Kept | undefined {
    return this.#bySequence.get(sequence);
  }

  /** The last message of a subject. */
  last(subject: string): Kept | undefined {
    return this.#lasts.get(subject);
  }

  /** Those that were stored first come first. */
  values(): Iterable<Kept> {
    return this.#bySequence.values();
  }

  /** Those on the subjects that fit a pattern. */
  matching(pattern: string): Kept[] {
    const found: Kept[] = [];
    for (const kept of this.#around(pattern)) if (matches(pattern, kept.subject)) found.push(kept);
    return found;
  }

  add(kept: Kept): void {
    this.#bySequence.set(kept.sequence, kept);
    this.#lasts.set(kept.subject, kept);
    const name = familyOf(kept.subject);
    const family = this.#families.get(name);
    if (family !== undefined) family.set(kept.sequence, kept);
    else {
      this.#families.set(name, new Map([[kept.sequence, kept]]));
      for (let above = familyOf(name); above !== ""; above = familyOf(above)) this.#above.add(above);
    }
  }

  remove(kept: Kept): void {
    this.#bySequence.delete(kept.sequence);
    if (this.#lasts.get(kept.subject) === kept) this.#lasts.delete(kept.subject);
    const name = familyOf(kept.subject);
    const family = this.#families.get(name);
    family?.delete(kept.sequence);
    if (family?.size === 0) this.#families.delete(name);
  }

  clear(): void {
    this.#bySequence.clear();
    this.#lasts.clear();
    this.#families.clear();
    this.#above.clear();
  }

  /** All that may fit a pattern, and no more than a family where no other one can. */
  #around(pattern: string): Iterable<Kept> {
    const name = familyOf(pattern);
    const isOfOne = !name.includes("*") && name !== "" && !(pattern.endsWith(">") && this.#above.has(name));
    return isOfOne ? (this.#families.get(name)?.values() ?? []) : this.#bySequence.values();
  }
}

/** A subject or a pattern without its last part; empty where it has but one. */
function familyOf(subject: string): string {
  return subject.slice(0, Math.max(0, subject.lastIndexOf(".")));
}

/** Whether a subject fits a pattern of NATS. */
export function matches(pattern: string, subject: string): boolean {
  if (pattern === ">" || pattern === subject) return true;
  // Most patterns leave at most the last part open, and thousands of messages are compared with each.
  const beginning = pattern.slice(0, -1);
  if (!beginning.includes("*")) {
    if (!subject.startsWith(beginning)) return false;
    return pattern.endsWith(".>") || (pattern.endsWith(".*") && !subject.includes(".", beginning.length));
  }
  const wanted = pattern.split(".");
  const parts = subject.split(".");
  for (const [at, part] of wanted.entries()) {
    if (part === ">") return parts.length > at;
    if (parts[at] === undefined || (part !== "*" && part !== parts[at])) return false;
  }
  return wanted.length === parts.length;
}
