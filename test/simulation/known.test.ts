import { expect, it } from "vitest";
import { KNOWN_CASES } from "./known.js";

it.each(KNOWN_CASES)("it is known, and still so: $name", async ({ sees, play }) => {
  expect(await play()).toMatch(sees);
});
