import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path/posix";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

/** One ```ts block: the document and line that it begins at, and what it says. */
interface CodeBlock {
  document: string;
  line: number;
  code: string;
}

const root = fileURLToPath(new URL("..", import.meta.url));

/** The ts blocks of a Markdown text that begins at the given line of its document. */
function markdownBlocks(document: string, text: string, firstLine = 1): CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: { fence: string; indent: number; block: CodeBlock | undefined; lines: string[] } | undefined;
  text.split(/\r?\n/).forEach((line, at) => {
    const fence = /^(\s*)(`{3,}|~{3,})\s*([^\s`]*)/.exec(line);
    if (open === undefined) {
      if (fence === null) return;
      const isTs = ["ts", "typescript"].includes(fence[3]!);
      const block = isTs ? { document, line: firstLine + at + 1, code: "" } : undefined;
      open = { fence: fence[2]!, indent: fence[1]!.length, block, lines: [] };
    } else if (fence?.[2]?.startsWith(open.fence) && fence[3] === "") {
      if (open.block !== undefined) blocks.push({ ...open.block, code: open.lines.join("\n") });
      open = undefined;
    } else {
      open.lines.push(line.slice(Math.min(open.indent, line.length - line.trimStart().length)));
    }
  });
  if (open !== undefined) throw new Error(`${document}: a code block is not closed`);
  return blocks;
}

/** The ts blocks of the doc comments of a TypeScript file. */
function commentBlocks(document: string, text: string): CodeBlock[] {
  const file = ts.createSourceFile(document, text, ts.ScriptTarget.Latest, true);
  const comments = new Map<number, string>();
  const visit = (node: ts.Node): void => {
    for (const range of ts.getLeadingCommentRanges(text, node.getFullStart()) ?? []) {
      const comment = text.slice(range.pos, range.end);
      if (comment.startsWith("/**")) comments.set(range.pos, comment);
    }
    for (const child of node.getChildren(file)) visit(child);
  };
  visit(file);
  return [...comments].flatMap(([position, comment]) => {
    const prose = comment.replace(/^\/\*\*|\*\/$/g, "").replace(/^[ \t]*\* ?/gm, "");
    return markdownBlocks(document, prose, file.getLineAndCharacterOfPosition(position).line + 1);
  });
}

/** What TypeScript has to say about blocks, each a module of its own; with document and line. */
function problemsOf(blocks: readonly CodeBlock[]): string[] {
  const config = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, root);
  // A name in the root, so that packages and tsconfig's paths are found as they are from the project.
  const modules = new Map(blocks.map((block, at) => [join(root, `document-block-${at}.ts`), block]));
  const host = ts.createCompilerHost(options, true);
  const { fileExists, readFile, getSourceFile } = host;
  const textOf = (name: string) => {
    const block = modules.get(name);
    return block === undefined ? undefined : `${block.code}\nexport {};\n`;
  };
  host.fileExists = (name) => modules.has(name) || fileExists.call(host, name);
  host.readFile = (name) => textOf(name) ?? readFile.call(host, name);
  host.getSourceFile = (name, languageVersion, ...rest) => {
    const text = textOf(name);
    return text === undefined
      ? getSourceFile.call(host, name, languageVersion, ...rest)
      : ts.createSourceFile(name, text, languageVersion, true);
  };
  const program = ts.createProgram([...modules.keys()], options, host);
  return [...modules].flatMap(([name, { document, line }]) => {
    const file = program.getSourceFile(name)!;
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map(
      ({ start, messageText }) => {
        const offset = start === undefined ? 0 : file.getLineAndCharacterOfPosition(start).line;
        return `${document}:${line + offset}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
      },
    );
  });
}

function filesBelow(folder: string, ending: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

const read = (path: string) => readFileSync(join(root, path), "utf8");

describe("the documents", () => {
  const documents = [
    ...filesBelow("docs", ".md"),
    ...(existsSync(join(root, "README.md")) ? ["README.md"] : []),
  ];
  const blocks = [
    ...documents.flatMap((path) => markdownBlocks(path, read(path))),
    ...filesBelow("src", ".ts").flatMap((path) => commentBlocks(path, read(path))),
  ];

  it("hold examples", () => {
    expect(blocks.map((block) => block.document)).toContain("src/operators/closes.ts");
  });

  it("hold only examples that compile", { timeout: 120_000 }, () => {
    expect(problemsOf(blocks)).toEqual([]);
  });
});

describe("the extractor", () => {
  it("finds ts blocks and their lines, and no others", () => {
    const text = [
      "# Title",
      "```ts",
      "const a = 1;",
      "",
      "const b = `x`;",
      "```",
      "```sh",
      "npm test",
      "```",
      "- item",
      "  ```ts",
      "  if (a) {",
      "    b();",
      "  }",
      "  ```",
      "````md",
      "```ts",
      "not checked",
      "```",
      "````",
    ].join("\n");
    expect(markdownBlocks("a.md", text)).toEqual([
      { document: "a.md", line: 3, code: "const a = 1;\n\nconst b = `x`;" },
      { document: "a.md", line: 12, code: "if (a) {\n  b();\n}" },
    ]);
  });

  it("does not pass over a block that is never closed", () => {
    expect(() => markdownBlocks("a.md", "```ts\nconst a = 1;")).toThrow("a.md: a code block is not closed");
  });

  it("finds the blocks of doc comments, of members and at the end too, and of no other text", () => {
    const text = [
      "/**",
      " * First.",
      " * ```ts",
      " * first();",
      " * ```",
      " */",
      "export class A {",
      "  /**",
      "   * ```ts",
      "   * if (b) {",
      "   *   second();",
      "   * }",
      "   * ```",
      "   */",
      "  b = `/** ```ts\nno();\n``` */`;",
      "  /* ```ts\nno();\n``` */",
      "  c = 1;",
      "}",
      "/** ```ts",
      " * third();",
      " * ```",
      " */",
    ].join("\n");
    expect(commentBlocks("a.ts", text)).toEqual([
      { document: "a.ts", line: 4, code: "first();" },
      { document: "a.ts", line: 10, code: "if (b) {\n  second();\n}" },
      { document: "a.ts", line: 24, code: "third();" },
    ]);
  });
});

describe("the type check", { timeout: 120_000 }, () => {
  it("fails what does not compile, with its document and line, and passes what does", () => {
    const problems = problemsOf([
      { document: "type.md", line: 10, code: 'const a = 1;\nconst b: number = "one";' },
      { document: "syntax.md", line: 1, code: "const = 1;" },
      { document: "name.md", line: 5, code: 'import { noSuchName } from "pairstream";\nnoSuchName();' },
      { document: "package.md", line: 1, code: 'import "no-such-package";' },
      {
        document: "good.md",
        line: 1,
        code: [
          'import { type Candle, PairstreamError } from "pairstream";',
          'import { firstValueFrom, of } from "rxjs";',
          "const candle: Partial<Candle> = await firstValueFrom(of({ open: 1 }));",
          "console.log(candle, PairstreamError);",
        ].join("\n"),
      },
      { document: "same-name.md", line: 1, code: "const candle = 1;\nconsole.log(candle);" },
    ]);
    expect(problems).toEqual(
      expect.arrayContaining([
        "type.md:11: Type 'string' is not assignable to type 'number'.",
        expect.stringMatching(/^syntax\.md:1: /),
        expect.stringMatching(/^name\.md:5: .*no exported member 'noSuchName'/),
        expect.stringMatching(/^package\.md:1: Cannot find module .*'no-such-package'/),
      ]),
    );
    expect(problems.filter((problem) => /^(good|same-name)/.test(problem))).toEqual([]);
  });
});
