import { readFileSync } from "node:fs";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { PLANTED_FAULTS } from "./planted-faults.js";

const sourceOf = (file: string) => readFileSync(new URL(`../../src/${file}`, import.meta.url), "utf8");

/** The names that a text of code reads and does not declare, private ones with their mark; types and fields aside. */
function undeclaredIn(code: string): ReadonlySet<string> {
  const [read, declared] = [new Set<string>(), new Set<string>()];
  const look = (node: ts.Node): void => {
    if (ts.isTypeNode(node)) return;
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) {
      const { parent } = node;
      const isName = "name" in parent && parent.name === node;
      const isField = ts.isPropertyAccessExpression(parent) || ts.isPropertyAssignment(parent);
      if (isName && !isField) declared.add(node.text);
      else if (!isName || ts.isPrivateIdentifier(node)) read.add(node.text);
    }
    ts.forEachChild(node, look);
  };
  look(ts.createSourceFile("planted.ts", code, ts.ScriptTarget.Latest, true));
  return new Set([...read].filter((name) => !declared.has(name)));
}

describe.each(PLANTED_FAULTS)("“$name”, in $file", ({ file, find, replace }) => {
  const source = sourceOf(file);

  it("has one place", () => {
    expect(source.split(find)).toHaveLength(2);
  });

  // One that names what is not there throws, and would be caught for that alone.
  it("is made of names that the file knows, and can be compiled", () => {
    const planted = source.replace(find, () => replace);
    const { diagnostics } = ts.transpileModule(planted, { reportDiagnostics: true });
    expect(diagnostics!.map(({ messageText }) => messageText)).toEqual([]);
    const before = undeclaredIn(source);
    const unknown = [...undeclaredIn(planted)].filter((name) => !before.has(name) && !(name in globalThis));
    expect(unknown).toEqual([]);
  });
});

it("a name that is not there is noticed, whatever it is", () => {
  expect([
    ...undeclaredIn("class A { #b = 1; c(d) { const { e } = d; return this.#f + g + e.h + this.#b; } }"),
  ]).toEqual(["#f", "g"]);
});
