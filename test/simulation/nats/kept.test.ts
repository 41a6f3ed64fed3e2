import fc from "fast-check";
import { expect, it } from "vitest";
import { type Kept, KeptMessages, matches } from "./kept.js";

const part = fc.constantFrom("a", "b", "c");
const subjects = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("."));
const patterns = fc
  .tuple(fc.array(fc.constantFrom("a", "b", "c", "*"), { maxLength: 4 }), fc.constantFrom("a", "*", ">"))
  .map(([parts, last]) => [...parts, last].join("."));
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant("store" as const), subject: subjects }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("remove" as const), at: fc.nat(40) }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant("clear" as const) }) },
  ),
  { maxLength: 60 },
);

it("what fits a pattern is all that a look at every message finds, in the same order", () => {
  fc.assert(
    fc.property(steps, fc.boolean(), fc.array(patterns, { minLength: 1 }), (taken, isOneEach, asked) => {
      const messages = new KeptMessages();
      let plain: Kept[] = [];
      for (const [at, step] of taken.entries()) {
        if (step.kind === "clear") {
          messages.clear();
          plain = [];
          continue;
        }
        const last = step.kind === "store" && isOneEach ? messages.last(step.subject) : undefined;
        const gone = step.kind === "remove" ? plain[step.at] : last;
        if (gone !== undefined) {
          messages.remove(gone);
          plain = plain.filter((kept) => kept !== gone);
        }
        if (step.kind === "remove") continue;
        const kept = { sequence: at + 1, subject: step.subject, text: "", time: at };
        messages.add(kept);
        plain.push(kept);
      }
      expect([...messages.values()]).toEqual(plain);
      for (const pattern of asked) {
        expect(messages.matching(pattern)).toEqual(plain.filter(({ subject }) => matches(pattern, subject)));
      }
    }),
  );
});

it("whoever reads one feed looks at no message of another", () => {
  const messages = new KeptMessages();
  let looks = 0;
  const add = (sequence: number, of: string) => {
    const kept = { sequence, text: "", time: sequence };
    messages.add({
      ...kept,
      get subject() {
        looks += 1;
        return of;
      },
    });
  };
  for (let feed = 0; feed < 1_000; feed += 1) {
    for (const last of ["1", "2", "status"]) add(messages.size + 1, `p.candles.pair${feed}.usd.${last}`);
  }
  looks = 0;
  expect(messages.matching("p.candles.pair7.usd.>")).toHaveLength(3);
  expect(messages.matching("p.candles.pair7.usd.*")).toHaveLength(3);
  expect(messages.matching("p.candles.pair7.usd.status")).toHaveLength(1);
  expect(looks).toBeLessThanOrEqual(11);
});
