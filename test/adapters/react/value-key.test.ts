import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { valueKey } from "../../../src/adapters/react/value-key.js";

const leaf = fc.oneof(
  fc.string(),
  fc.double(),
  fc.boolean(),
  fc.constantFrom(null, undefined, "1", 1, "null", "[]"),
  fc.date(),
);
const value = fc.letrec((tie) => ({
  any: fc.oneof({ depthSize: "small" }, leaf, tie("fields"), fc.array(tie("any"), { maxLength: 3 })),
  fields: fc.dictionary(fc.string({ maxLength: 3 }), tie("any"), { maxKeys: 4 }),
})).any;

/** The same once more: the fields in another order, other dates of the same instants, absent for undefined. */
function rewritten(one: unknown): unknown {
  if (one instanceof Date) return new Date(one.getTime());
  if (Array.isArray(one)) return one.map(rewritten);
  if (typeof one !== "object" || one === null) return one;
  const fields = Object.entries(one).filter(([, field]) => field !== undefined);
  return Object.fromEntries(fields.reverse().map(([name, field]) => [name, rewritten(field)]));
}

/** Its meaning, as something to compare by depth. */
function meaning(one: unknown): unknown {
  if (one instanceof Date) return one.getTime();
  if (Array.isArray(one)) return one.map(meaning);
  if (typeof one !== "object" || one === null) return one === 0 ? 0 : one;
  const fields = Object.entries(one).filter(([, field]) => field !== undefined);
  return new Map(fields.map(([name, field]) => [name, meaning(field)]));
}

describe("valueKey", () => {
  it("is the same for the same values, however they are written", () => {
    fc.assert(fc.property(value, (one) => valueKey(one) === valueKey(rewritten(one))));
  });

  it("differs where values differ", () => {
    fc.assert(
      fc.property(value, value, (one, other) => {
        let isSame = true;
        try {
          expect(meaning(one)).toEqual(meaning(other));
        } catch {
          isSame = false;
        }
        expect(valueKey(one) === valueKey(other)).toBe(isSame);
      }),
    );
  });

  it("takes a date for its instant", () => {
    expect(valueKey({ since: new Date(5) })).toBe(valueKey({ since: 5 }));
  });
});
