import { readdirSync, statSync } from "node:fs";
import { join } from "node:path/posix";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { type Block, commentBlocks, filesBelow, markdownBlocks, read, root } from "./documents/blocks.js";

/** What TypeScript has to say about blocks, each a module of its own; with document and line. */
function problemsOf(blocks: readonly Pick<Block, "document" | "line" | "code">[]): string[] {
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

/** What a block that is no TypeScript may say it is; a program in JavaScript would be checked by nobody. */
const OTHER_LANGUAGES = ["", "bash", "diff", "html", "json", "marbles", "mermaid", "sh", "text", "yaml"];

const isTypeScript = ({ language }: Block) => ["ts", "typescript"].includes(language);
const placeOf = ({ document, line, language }: Block) => `${document}:${line}: ${language}`;

describe("the documents", () => {
  const documents = [
    ...readdirSync(root).filter((name) => name.endsWith(".md")),
    ...["docs", "examples", "bench"].flatMap((folder) => filesBelow(folder, ".md")),
  ];
  const programs = ["src", "examples", "bench"].flatMap((folder) => filesBelow(folder, ".ts"));
  const all = [
    ...documents.flatMap((path) => markdownBlocks(path, read(path))),
    ...programs.flatMap((path) => commentBlocks(path, read(path))),
  ];
  const blocks = all.filter(isTypeScript);

  it("hold examples", () => {
    expect(blocks.map(({ document }) => document)).toEqual(
      expect.arrayContaining(["README.md", "docs/sse.md", "src/operators/closes.ts"]),
    );
  });

  it("hold programs in TypeScript alone", () => {
    const others = all.filter((block) => !isTypeScript(block));
    expect(others.filter(({ language }) => !OTHER_LANGUAGES.includes(language)).map(placeOf)).toEqual([]);
  });

  it("name only tests that there are", () => {
    const tests = new Set(filesBelow("test", ".ts"));
    const named = documents.flatMap((path) => [...read(path).matchAll(/`(test\/[a-z\d./-]+\.ts)`/g)]);
    expect(named.length).toBeGreaterThan(10);
    expect(named.map(([, path]) => path!).filter((path) => !tests.has(path))).toEqual([]);
  });

  it("hold only examples that compile", { timeout: 300_000 }, () => {
    expect(problemsOf(blocks)).toEqual([]);
  });
});

describe("the README's first screen", () => {
  const [screen = ""] = read("README.md").split("\n## ");
  const blocks = markdownBlocks("README.md", screen);

  it("says what this is, shows it light and dark, starts it, tests it, and has a program of ten lines", () => {
    expect(screen.split("\n").length).toBeLessThanOrEqual(40);
    expect(screen).toMatch(/^# pairstream\n\n[^#<]+\.\n\n/);
    const pictures = [...screen.matchAll(/"(docs\/pictures\/[\w-]+\.png)"/g)].map(([, path]) => path!);
    expect(pictures).toHaveLength(2);
    for (const path of pictures) expect(statSync(join(root, path)).size).toBeLessThan(60_000);
    expect(blocks[0]!.code).toMatch(/^npm ci && npm start.*\nnpm ci && npm test$/);
    const [program] = blocks.filter(isTypeScript);
    expect(program!.code).toContain("demoService()");
    expect(program!.code.split("\n").length).toBeLessThanOrEqual(12);
  });
});

describe("the guide to the service", () => {
  it("shows a SwapSource as the door has it", { timeout: 300_000 }, () => {
    const shown = markdownBlocks("docs/testing.md", read("docs/testing.md"))
      .filter(isTypeScript)
      .find(({ code }) => code.startsWith("interface SwapSource"))!;
    const check = [
      'import type * as door from "pairstream/service";',
      "type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;",
      "const swaps: Same<{ [K in keyof Swap]: Swap[K] }, { [K in keyof door.Swap]: door.Swap[K] }> = true;",
      "export const there = (source: SwapSource): door.SwapSource => source;",
      "export const back = (source: door.SwapSource): SwapSource => source;",
      "export const pairs = (pair: Required<door.SwapPair>): Required<SwapPair> => pair;",
      "console.log(swaps);",
    ];
    expect(problemsOf([{ ...shown, code: [shown.code, ...check].join("\n") }])).toEqual([]);
  });
});

describe("the examples", () => {
  it("are run by a test, each program of them", () => {
    const isProgram = (path: string) =>
      /^examples\/[^/]+$/.test(path) || read(path).includes("await runProgram(");
    const programs = filesBelow("examples", ".ts").filter(isProgram);
    const tests = filesBelow("test/examples", ".test.ts").map(read).join("\n");
    expect(programs).toEqual(expect.arrayContaining(["examples/live.ts", "examples/backtest/run.ts"]));
    expect(programs.filter((path) => !tests.includes(`"${path}"`))).toEqual([]);
  });
});

describe("the extractor", () => {
  it("finds blocks, their languages and their lines", () => {
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
      { document: "a.md", line: 3, language: "ts", code: "const a = 1;\n\nconst b = `x`;" },
      { document: "a.md", line: 8, language: "sh", code: "npm test" },
      { document: "a.md", line: 12, language: "ts", code: "if (a) {\n  b();\n}" },
      { document: "a.md", line: 17, language: "md", code: "```ts\nnot checked\n```" },
    ]);
  });

  it("does not pass over a block that is never closed", () => {
    expect(() => markdownBlocks("a.md", "```ts\nconst a = 1;")).toThrow("a.md: a code block is not closed");
  });

  it("finds the blocks of doc comments, of members and at the end too, their owners, and no other text", () => {
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
      { document: "a.ts", line: 4, language: "ts", code: "first();", owner: "A" },
      { document: "a.ts", line: 10, language: "ts", code: "if (b) {\n  second();\n}", owner: "b" },
      { document: "a.ts", line: 24, language: "ts", code: "third();" },
    ]);
  });
});

describe("the type check", { timeout: 300_000 }, () => {
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
