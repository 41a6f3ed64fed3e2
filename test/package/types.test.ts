import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import ts from "typescript";
import { describe, expect, inject, it } from "vitest";
import { ROOT } from "./commands.js";
import { compile, tryToCompile } from "./compile.js";

const { folders } = inject("shipped");
const programs = readdirSync(join(ROOT, "test/package/programs")).map((file) => basename(file, ".ts"));

describe("the declarations", () => {
  it.each([
    ["the project's TypeScript", "node16", "Node", ROOT, { types: ["node"] }],
    ["the project's TypeScript", "bundler", "a page and Node", ROOT, { lib: ["dom"], types: ["node"] }],
    ["an older TypeScript", "node16", "a page and Node", folders.all, { lib: ["dom"], types: ["node"] }],
    ["an older TypeScript", "bundler", "Node", folders.all, { types: ["node"] }],
  ] as const)("compile with %s, %s resolution and the names of %s, themselves included", (...given) => {
    const [, resolution, , typescript, names] = given;
    const folder = mkdtempSync(join(folders.all, "types-"));
    compile({ folder, programs, resolution, typescript, names });
  });

  it("compile with the names of a worker, and without exactOptionalPropertyTypes", () => {
    const folder = mkdtempSync(join(folders.all, "types-"));
    compile({
      folder,
      programs: ["root", "service", "sse", "no-names"],
      resolution: "bundler",
      names: { lib: ["webworker"] },
      exactOptionalPropertyTypes: false,
    });
  });

  it("name of a platform what each one has that has a timer, as RxJS needs it", () => {
    const folder = mkdtempSync(join(folders.all, "types-"));
    const problems = tryToCompile({
      folder,
      programs: ["no-names"],
      resolution: "bundler",
      names: {},
    });
    const missing = problems.map((problem) => {
      const [, owner, name] = /node_modules\/([\w-]+)\/.*Cannot find name '(\w+)'/.exec(problem) ?? [];
      return name === undefined ? problem : `${owner}: ${name}`;
    });
    expect([...new Set(missing)].sort()).toEqual([
      ...["pairstream: AbortSignal", "pairstream: Request", "pairstream: Response", "pairstream: URL"],
      "rxjs: setTimeout",
    ]);
  });

  it("leave no type open", () => {
    const folder = join(folders.root, "node_modules/pairstream/dist/types");
    const files = readdirSync(folder).filter((name) => /\.d\.c?ts$/.test(name));
    expect(files).toEqual(expect.arrayContaining(["index.d.ts", "service.d.cts"]));
    expect(files.flatMap((name) => openTypes(name, readFileSync(join(folder, name), "utf8")))).toEqual([]);
  });
});

/** Where declarations say `any`, or say nothing and mean it; one line each. */
function openTypes(name: string, text: string): string[] {
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (node.kind === ts.SyntaxKind.AnyKeyword || isUntyped(node)) {
      const line = file.getLineAndCharacterOfPosition(node.getStart()).line + 1;
      found.push(`${name}:${line}: ${node.parent.getText()}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return found;
}

function isUntyped(node: ts.Node): boolean {
  if (ts.isPropertyDeclaration(node) || ts.isVariableDeclaration(node)) {
    // A private member has no type in declarations; a constant may have its value in place of one.
    const isPrivate =
      ts.isPropertyDeclaration(node) && (ts.isPrivateIdentifier(node.name) || hasPrivate(node));
    return node.type === undefined && node.initializer === undefined && !isPrivate;
  }
  return (ts.isParameter(node) || ts.isPropertySignature(node)) && node.type === undefined;
}

function hasPrivate(node: ts.PropertyDeclaration): boolean {
  return node.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword) ?? false;
}

describe("the check of declarations", () => {
  it("finds any, said or meant, and no other types", () => {
    const text = [
      "declare const a: any;",
      "declare class A { #own; private own; open; readonly one = 1; method(b): string; }",
      "interface B { c; d: string }",
      "type C = (e: unknown) => Array<any>;",
    ].join("\n");
    expect(openTypes("a.d.ts", text)).toEqual([
      "a.d.ts:1: a: any",
      expect.stringContaining("a.d.ts:2: "),
      expect.stringContaining("a.d.ts:2: method"),
      expect.stringContaining("a.d.ts:3: "),
      "a.d.ts:4: Array<any>",
    ]);
  });
});
