import ts from "typescript";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../src/index.js";
import { filesBelow, read } from "../documents/files.js";

const sources = filesBelow("src", ".ts").map((path) =>
  ts.createSourceFile(path, read(path), ts.ScriptTarget.Latest, true),
);

function* nodesOf(node: ts.Node): Generator<ts.Node> {
  yield node;
  for (const child of node.getChildren()) yield* nodesOf(child);
}

const nodes = sources.flatMap((source) => [...nodesOf(source)]);

/** The texts below a node as they are written, with `…` for what is filled in. */
function textsOf(node: ts.Node): string[] {
  return [...nodesOf(node)].flatMap((each) => {
    if (ts.isStringLiteral(each) || ts.isNoSubstitutionTemplateLiteral(each)) return [each.text];
    if (!ts.isTemplateExpression(each)) return [];
    return [each.head.text + each.templateSpans.map(({ literal }) => `…${literal.text}`).join("")];
  });
}

/** What a name stands for in its file; the node itself if it is no name. */
function meaningOf(node: ts.Expression): ts.Node {
  if (!ts.isIdentifier(node)) return node;
  const made = [...nodesOf(node.getSourceFile())].find(
    (each) => ts.isVariableDeclaration(each) && each.name.getText() === node.text,
  );
  return (made as ts.VariableDeclaration | undefined)?.initializer ?? node;
}

const callsOf = (name: string) =>
  nodes.filter(
    (node): node is ts.CallExpression => ts.isCallExpression(node) && node.expression.getText() === name,
  );

/** All that is said of an input that is refused. */
const refusals = nodes.flatMap((node) =>
  ts.isNewExpression(node) && node.expression.getText() === "InvalidInputError"
    ? node.arguments!.slice(1, 3).flatMap((said) => textsOf(meaningOf(said)))
    : [],
);

describe("the message of a refused input", () => {
  it("is looked at: there are many", () => {
    expect(refusals.length).toBeGreaterThan(150);
  });

  it("says what was wrong, and does not leave that to a pronoun", () => {
    const vague =
      /\b(is|are|gives|gave|holds?|has|makes|returns) (none|neither|nothing|something else|one of them)$|\bof them$/;
    expect(refusals.filter((said) => vague.test(said))).toEqual([]);
  });
});

describe("the allowed values of an option in ms", () => {
  /** The options whose doc comment gives ms as their unit. */
  const inMs = new Set(
    nodes
      .filter((node) => ts.isPropertySignature(node))
      .filter(({ type }) => /^(number|"close"|undefined|[\s|])+$/.test(type?.getText() ?? ""))
      .filter((node) => ts.getJSDocCommentsAndTags(node).some((doc) => /\bms\b/.test(doc.getText())))
      .map((node) => node.name.getText()),
  );
  const checks = callsOf("checkNumber").flatMap(({ arguments: [name, , range] }) => {
    const option = name === undefined ? "" : (textsOf(name).at(-1)?.split(/[.…]/).at(-1) ?? "");
    return inMs.has(option) && range !== undefined ? [[option, meaningOf(range).getText()] as const] : [];
  });

  /** And the rules that stand in a table, by the name of the option. */
  const rules = nodes
    .filter((node) => ts.isPropertyAssignment(node))
    .filter(({ name, initializer }) => inMs.has(name.getText()) && /^\{ min: /.test(initializer.getText()))
    .map(({ name, initializer }) => [name.getText(), initializer.getText()] as const);

  it.each([...checks, ...rules])("name it: %s", (_, range) => {
    expect(range).toContain("unit:");
  });

  it("are looked at", () => {
    expect(checks.map(([option]) => option)).toEqual(
      expect.arrayContaining(["timeout", "lease", "settle", "maxAge", "heartbeat", "linger", "latency"]),
    );
    expect(rules.map(([option]) => option)).toEqual(expect.arrayContaining(["baseDelay", "maxDelay", "per"]));
    expect(() => new VirtualClock(Number.NaN)).toThrow("allowed: a number of ms since the epoch");
  });
});
