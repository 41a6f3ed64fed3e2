import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { expect, it } from "vitest";
import { EventReader } from "../../../src/adapters/sse/event-reader.js";

const value = fc.string({ unit: fc.constantFrom("a", "ü", " ", ":", "日", "7"), maxLength: 4 });
const name = fc.constantFrom("data", "event", "id", "retry", "", "datas", "dat");
const line = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.tuple(name, fc.constantFrom(":", ": ", ""), value).map((parts) => parts.join("")),
  },
  { weight: 2, arbitrary: fc.constant("") },
);
const stream = fc.array(fc.tuple(line, fc.constantFrom("\n", "\r", "\r\n")), { maxLength: 60, size: "max" });

/** The same text in pieces, the first of them of these lengths. */
function cut(text: string, lengths: readonly number[]): readonly string[] {
  let rest = text;
  const pieces = lengths.map((length) => {
    const piece = rest.slice(0, length);
    rest = rest.slice(length);
    return piece;
  });
  return [...pieces, rest];
}

it("reads what another reader of the format reads, in pieces of any length", () => {
  let total = 0;
  fc.assert(
    fc.property(stream, fc.array(fc.nat(9), { maxLength: 40 }), (lines, lengths) => {
      const text = lines.map((parts) => parts.join("")).join("");
      const expected: object[] = [];
      let retry: number | undefined;
      const parser = createParser({
        onEvent: ({ id, event, data }) => expected.push({ id, event: event || undefined, data }),
        onRetry: (told) => {
          retry = told;
        },
      });
      const reader = new EventReader();
      const read: object[] = [];
      // The other one waits for what may follow a return; so a line feed is the end here.
      for (const piece of cut(`${text}\n`, lengths)) {
        parser.feed(piece);
        for (const { id, event, data } of reader.read(piece))
          read.push({ id, event: event || undefined, data });
      }
      expect(read).toEqual(expected);
      expect(reader.retry).toBe(retry);
      total += read.length;
    }),
    { numRuns: 1_000 },
  );
  expect(total).toBeGreaterThan(500);
});
