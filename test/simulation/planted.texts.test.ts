import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { PLANTED_FAULTS } from "./planted-faults.js";

it.each(PLANTED_FAULTS)("the place of “$name” occurs once in $file", ({ file, find }) => {
  const text = readFileSync(new URL(`../../src/${file}`, import.meta.url), "utf8");
  expect(text.split(find)).toHaveLength(2);
});
