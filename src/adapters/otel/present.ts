import type { Attributes } from "@opentelemetry/api";

/** How many there are now, by their attributes. What was there once and is gone counts as 0, or it would stay as it was. */
export class PresentCounts {
  readonly #counts = new Map<string, { readonly attributes: Attributes; count: number }>();

  /** Begins to count anew. */
  clear(): void {
    for (const each of this.#counts.values()) each.count = 0;
  }

  add(attributes: Attributes, count: number): void {
    const key = JSON.stringify(Object.entries(attributes));
    const known = this.#counts.get(key);
    if (known === undefined) this.#counts.set(key, { attributes, count });
    else known.count += count;
  }

  /** Every count, with its attributes. */
  *[Symbol.iterator](): Iterator<readonly [count: number, attributes: Attributes]> {
    for (const { count, attributes } of this.#counts.values()) yield [count, attributes];
  }
}
