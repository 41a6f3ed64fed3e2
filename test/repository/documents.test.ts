import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path/posix";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { type Block, markdownBlocks } from "../documents/blocks.js";
import { commentBlocks } from "../documents/comments.js";
import { filesBelow, read, root } from "../documents/files.js";

/** All documents: those of the root, and those of the folders that have some. */
function documentPaths(): string[] {
  return [
    ...readdirSync(root).filter((name) => name.endsWith(".md")),
    ...["docs", "examples", "bench", "test"].flatMap((folder) => filesBelow(folder, ".md")),
  ];
}

/** What TypeScript has to say about blocks, each a module of its own; with document and line. */
function problemsOf(blocks: readonly (Omit<Block, "language"> & Partial<Block>)[]): string[] {
  const config = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, root);
  // A name in the root, so that packages and tsconfig's paths are found as they are from the project.
  const modules = new Map(
    blocks.map((block, at) => {
      const ending = block.language === "tsx" ? "tsx" : "ts";
      return [join(root, `document-block-${at}.${ending}`), block];
    }),
  );
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
  const angular = join(root, "test/documents/angular.d.ts");
  const settings = { ...options, jsx: ts.JsxEmit.ReactJSX };
  const program = ts.createProgram([...modules.keys(), angular], settings, host);
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
const OTHER_LANGUAGES = [
  ...["", "bash", "diff", "html", "json", "marbles", "mermaid", "sh", "text", "yaml"],
  // Of docs/data.md, by `check:data`.
  ...["python", "sql"],
  // Compiled and run by test/browser/frameworks.test.ts.
  ...["svelte", "vue"],
];

const isTypeScript = ({ language }: Block) => ["ts", "tsx", "typescript"].includes(language);
const placeOf = ({ document, line, language }: Block) => `${document}:${line}: ${language}`;

describe("the documents", () => {
  const documents = documentPaths();
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
    // Those of `check:runtimes`, whose runners have globals that no types here know.
    const isForRunner = ({ document, language }: Block) =>
      document === "docs/testing.md" && language === "js";
    const others = all.filter((block) => !isTypeScript(block) && !isForRunner(block));
    expect(others.filter(({ language }) => !OTHER_LANGUAGES.includes(language)).map(placeOf)).toEqual([]);
  });

  it("name only tests that there are", () => {
    const tests = new Set(filesBelow("test", ".ts"));
    const named = documents.flatMap((path) => [...read(path).matchAll(/`(test\/[a-z\d./-]+\.ts)`/g)]);
    expect(named.length).toBeGreaterThan(10);
    expect(named.map(([, path]) => path!).filter((path) => !tests.has(path))).toEqual([]);
  });

  it("hold only examples that compile", () => {
    expect(problemsOf(blocks)).toEqual([]);
  });
});

describe("the README", () => {
  const text = read("README.md");
  const [screen = ""] = text.split("\n## ");
  const blocks = markdownBlocks("README.md", screen);

  it("says on its first screen what this is, shows it light and dark, and has a program of ten lines", () => {
    expect(screen.split("\n").length).toBeLessThanOrEqual(45);
    expect(screen).toMatch(/^# pairstream\n\n[^#<]+\.\n\n/);
    const pictures = [...screen.matchAll(/"(docs\/pictures\/[\w-]+\.png)"/g)].map(([, path]) => path!);
    expect(pictures).toHaveLength(2);
    for (const path of pictures) expect(statSync(join(root, path)).size).toBeLessThan(60_000);
    const [program] = blocks.filter(isTypeScript);
    expect(program!.code).toContain("demoService()");
    expect(program!.code.split("\n").length).toBeLessThanOrEqual(10);
  });

  it("says before its first program how to see it and how to install it, and later how to test it", () => {
    const commands = (shown: readonly Block[]) =>
      shown.filter(({ language }) => language === "sh").map(({ code }) => code.replace(/ +#.*/, ""));
    expect(commands(blocks)).toEqual(["npm ci && npm start", "npm install pairstream rxjs"]);
    expect(commands(markdownBlocks("README.md", text)).slice(2)).toEqual(["npm ci && npm test"]);
  });

  it("is short: 180 lines, and programs of at most ten", () => {
    expect(text.trimEnd().split("\n").length).toBeLessThanOrEqual(180);
    const programs = markdownBlocks("README.md", text).filter(isTypeScript);
    expect(programs.length).toBeGreaterThanOrEqual(6);
    expect(programs.filter(({ code }) => code.split("\n").length > 10).map(placeOf)).toEqual([]);
  });

  it("gives the figures that are measured, as they are", () => {
    const figures = [...text.matchAll(/\d+\.\d (?:%|s|kB)(?= )/g)].map(([figure]) => figure);
    expect(figures.length).toBeGreaterThanOrEqual(6);
    const measured = read("docs/performance.md");
    expect(figures.filter((figure) => !measured.includes(figure))).toEqual([]);
  });
});

describe("the links of the documents", () => {
  const documents = documentPaths();

  /** The anchors of a document, as GitHub makes them of its headings. */
  const anchorsOf = (path: string): Set<string> => {
    const prose = read(path).replace(/^```[\s\S]*?^```/gm, "");
    return new Set([...prose.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => anchorOf(heading!)));
  };
  const anchorOf = (heading: string) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, "")
      .replaceAll(" ", "-");

  it("lead to a file that there is, and to a heading of it", () => {
    const broken: string[] = [];
    for (const path of documents) {
      const prose = read(path).replace(/^```[\s\S]*?^```/gm, "");
      for (const [, link = ""] of prose.matchAll(/\]\(\s*([^)\s]+)\s*\)/g)) {
        if (/^[a-z]+:/.test(link)) continue;
        const [file = "", anchor] = link.split("#");
        const target = file === "" ? path : join(dirname(path), file);
        const isThere = existsSync(join(root, target));
        if (!isThere || (anchor !== undefined && !anchorsOf(target).has(anchor)))
          broken.push(`${path}: ${link}`);
      }
    }
    expect(broken).toEqual([]);
  });

  it("lead from the README to every guide", () => {
    const text = read("README.md");
    const guides = filesBelow("docs", ".md").filter((path) => !text.includes(`(${path}`));
    expect(guides).toEqual([]);
  });
});

describe("the guide to the service", () => {
  it("shows a SwapSource as the door has it", () => {
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

describe("the type check", () => {
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
