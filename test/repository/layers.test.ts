import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path/posix";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { rankOf, unitOf } from "./import-order.js";

/** A source file: its path below src, and its text. */
interface Source {
  path: string;
  text: string;
}

/** Units that may import no more than this, wherever they stand. */
const ONLY: Record<string, string[]> = {
  indicators: ["errors", "contract", "timeframe"],
  service: ["errors", "bounded-map", "closing", "contract", "timeframe"],
};
const PACKAGES = ["rxjs", "zod", "cross-fetch"];
const PACKAGES_OF: Record<string, string[]> = {
  "adapters/nats": ["@nats-io/transport-node", "@nats-io/jetstream"],
  "adapters/lightweight-charts": ["lightweight-charts"],
  "adapters/store": ["idb"],
  "adapters/react": ["react"],
  "adapters/otel": ["@opentelemetry/api"],
  service: ["hono", "@hono/node-server"],
};

/** A worker, which nothing imports: it loads the module of strategies that it is told. */
const LOADS_MODULES = "backtest/sweep-worker.ts";

/** Within a room, from the lowest up: a folder or file imports from those above its own, the rest of the room from all. */
const WITHIN: Record<string, string[]> = {
  candles: ["event", "rules", "longer-candle", "making", "lateness", "options", "read", "live", "view"],
};

/** What is wrong with the imports of these files, one line each. */
function importProblems(sources: readonly Source[]): string[] {
  const problems: string[] = [];
  for (const { path, text } of sources) {
    for (const specifier of importsOf(path, text)) {
      const target = fileOf(path, specifier);
      const problem =
        specifier === undefined
          ? path === LOADS_MODULES
            ? undefined
            : "an import whose target is not written out"
          : target === undefined
            ? packageProblem(unitOf(path), specifier)
            : fileProblem(path, target);
      if (problem !== undefined) problems.push(`${path}: ${problem}`);
    }
  }
  return [...problems, ...cycles(importGraph(sources))];
}

/** The file below src that an import names; `undefined` for a package. */
function fileOf(path: string, specifier: string | undefined): string | undefined {
  if (specifier === undefined || !/^\.\.?\//.test(specifier)) return undefined;
  return join(dirname(path), specifier).replace(/\.js$/, ".ts");
}

/** The files that each file imports. */
function importGraph(sources: readonly Source[]): Map<string, string[]> {
  const filesOf = ({ path, text }: Source) =>
    importsOf(path, text).flatMap((specifier) => fileOf(path, specifier) ?? []);
  return new Map(sources.map((source) => [source.path, filesOf(source)]));
}

/** The files that a file brings, itself included. */
function reachedFrom(path: string, graph: ReadonlyMap<string, readonly string[]>): string[] {
  const reached = new Set([path]);
  for (const file of reached) for (const next of graph.get(file) ?? []) reached.add(next);
  return [...reached];
}

function packageProblem(unit: string, specifier: string): string | undefined {
  const isAllowed = [...PACKAGES, ...(PACKAGES_OF[unit] ?? [])].some(
    (name) => specifier === name || specifier.startsWith(`${name}/`),
  );
  return isAllowed ? undefined : `package ${specifier}`;
}

function fileProblem(path: string, target: string): string | undefined {
  const unit = unitOf(path);
  const other = unitOf(target);
  if (other === "..") return `${target} is outside src`;
  if (other === unit) return problemWithin(unit, path, target);
  const only = ONLY[unit];
  if (only !== undefined) return only.includes(other) ? undefined : `${unit} may not import ${other}`;
  if (rankOf(unit) < 0) return `${unit} has no place in the order`;
  if (rankOf(other) < 0) return `${unit} may not import ${other}`;
  return rankOf(other) < rankOf(unit) ? undefined : `${unit} may not import ${other}`;
}

/** What is wrong with an import within a room that has an order of its own. */
function problemWithin(unit: string, path: string, target: string): string | undefined {
  const order = WITHIN[unit];
  if (order === undefined) return undefined;
  const partOf = (file: string) => file.split("/")[1]!.replace(/\.ts$/, "");
  const [part, other] = [partOf(path), partOf(target)];
  const rank = (name: string) => (order.includes(name) ? order.indexOf(name) : order.length);
  if (part === other || rank(other) < rank(part)) return undefined;
  return order.includes(part) ? `${unit}/${part} may not import ${unit}/${other}` : undefined;
}

/** The targets of all imports and re-exports, those of types included; `undefined` for a computed one. */
function importsOf(path: string, text: string): (string | undefined)[] {
  const found: (string | undefined)[] = [];
  const add = (node: ts.Node | undefined) =>
    found.push(node !== undefined && ts.isStringLiteralLike(node) ? node.text : undefined);
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) add(node.moduleSpecifier);
    else if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) add(node.moduleSpecifier);
    else if (ts.isExternalModuleReference(node)) add(node.expression);
    else if (ts.isModuleDeclaration(node) && ts.isStringLiteral(node.name)) add(node.name);
    else if (ts.isImportTypeNode(node)) {
      add(ts.isLiteralTypeNode(node.argument) ? node.argument.literal : undefined);
    } else if (ts.isCallExpression(node)) {
      const callee = node.expression;
      const isRequire = ts.isIdentifier(callee) && callee.text === "require";
      if (isRequire || callee.kind === ts.SyntaxKind.ImportKeyword) add(node.arguments[0]);
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true));
  return found;
}

/** Each cycle once, as a path from a file back to itself. */
function cycles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (file: string, trail: readonly string[]): void => {
    const at = trail.indexOf(file);
    if (at >= 0) found.push(`cycle: ${[...trail.slice(at), file].join(" → ")}`);
    if (at >= 0 || done.has(file)) return;
    for (const next of graph.get(file) ?? []) walk(next, [...trail, file]);
    done.add(file);
  };
  for (const file of graph.keys()) walk(file, []);
  return found;
}

const CLOCKS: Record<string, string[]> = { Date: ["now"], performance: ["now"], Math: ["random"] };
const TIMERS = ["setTimeout", "setInterval"];
/** May wait by a timer, of no length, where the platform has nothing else that comes after promises. */
const PASSES_TURNS = { path: "replay/event-loop.ts", name: "setTimeout" };

/**
 * Where these files read the time, wait or take chances past the scheduler that they are given, which neither
 * virtual time nor a replay could steer; one line each.
 */
const clockProblems = (sources: readonly Source[]) =>
  sources.flatMap((source) =>
    placesOf([source], (node) => {
      const name = clockName(node);
      return source.path === PASSES_TURNS.path && name === PASSES_TURNS.name ? undefined : name;
    }),
  );

/** Where these files run text as code, or reach for files or the environment; imports aside, which have a check. */
const reachProblems = (sources: readonly Source[]) => placesOf(sources, reachName);

/** The places that `nameOf` names something of, one line each. */
function placesOf(sources: readonly Source[], nameOf: (node: ts.Node) => string | undefined): string[] {
  return sources.flatMap(({ path, text }) => {
    const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
    const found: string[] = [];
    const visit = (node: ts.Node): void => {
      const name = nameOf(node);
      if (name !== undefined) {
        found.push(`${path}:${file.getLineAndCharacterOfPosition(node.getStart()).line + 1}: ${name}`);
      }
      ts.forEachChild(node, visit);
    };
    visit(file);
    return found;
  });
}

function clockName(node: ts.Node): string | undefined {
  if ((ts.isIdentifier(node) || ts.isStringLiteralLike(node)) && TIMERS.includes(node.text)) return node.text;
  if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && lastName(node.expression) === "Date") {
    return ts.isCallExpression(node) ? "Date()" : node.arguments?.length ? undefined : "new Date()";
  }
  return memberName(node, CLOCKS);
}

const EVALUATES = ["eval", "Function"];
/** What a client without a fetch of its own keeps its connections with. */
const CONNECTS = ["node:http", "node:https"];
/** What a sweep starts its workers with. */
const STARTS_WORKERS = ["node:worker_threads", "node:os"];

function reachName(node: ts.Node): string | undefined {
  if (ts.isIdentifier(node) && EVALUATES.includes(node.text) && !ts.isTypeNode(node.parent)) return node.text;
  if (
    ts.isStringLiteralLike(node) &&
    /^node:/.test(node.text) &&
    ![...CONNECTS, ...STARTS_WORKERS].includes(node.text)
  )
    return node.text;
  return memberName(node, { process: ["env"] });
}

/** The `OWNER.MEMBER` that a node takes, of those of a table. */
function memberName(node: ts.Node, table: Readonly<Record<string, string[]>>): string | undefined {
  const [owner, members] =
    ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node)
      ? [lastName(node.expression), [lastName(node)]]
      : ts.isVariableDeclaration(node) && node.initializer && ts.isObjectBindingPattern(node.name)
        ? [
            lastName(node.initializer),
            node.name.elements.map((element) => lastName(element.propertyName ?? element.name)),
          ]
        : [undefined, []];
  const member = members.find((one) => table[owner ?? ""]?.includes(one ?? ""));
  return member === undefined ? undefined : `${owner}.${member}`;
}

/** `c` of `c`, `a.b.c` and `a.b["c"]`. */
function lastName(node: ts.Node): string | undefined {
  if (ts.isIdentifier(node) || ts.isStringLiteralLike(node)) return node.text;
  if (ts.isPropertyAccessExpression(node)) return node.name.text;
  if (ts.isElementAccessExpression(node)) return lastName(node.argumentExpression);
  return undefined;
}

const root = fileURLToPath(new URL("../../src", import.meta.url));
const SOURCES: Source[] = readdirSync(root, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
  .map((entry) => join(entry.parentPath, entry.name))
  .map((file) => ({ path: relative(root, file), text: readFileSync(file, "utf8") }));

describe("src", () => {
  it("is found", () => {
    expect(SOURCES.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["errors.ts", "contract/model.ts", "index.ts", "snipers/diff.ts"]),
    );
  });

  it("imports along the written order, from allowed packages, without cycles", () => {
    expect(importProblems(SOURCES)).toEqual([]);
  });

  it("leaves the code of every adapter, stores too, to those who import its door", () => {
    const reached = reachedFrom("index.ts", importGraph(SOURCES));
    expect(reached).toContain("candles/read/forward.ts");
    expect(reached.filter((path) => path.startsWith("adapters/"))).toEqual([]);
  });

  it("takes time and chance from what it is given", () => {
    expect(clockProblems(SOURCES)).toEqual([]);
  });

  it("runs no text as code, and reaches for no file and no environment variable", () => {
    expect(reachProblems(SOURCES)).toEqual([]);
  });
});

describe("the import check", () => {
  const check = (path: string, text: string) => importProblems([{ path, text }]);

  it.each([
    ["contract.ts", 'import { E } from "./errors.js";'],
    ["candles/watch.ts", 'import { poll } from "../poll.js"; import * as z from "zod"; import "./book.js";'],
    [
      "client/limits/budget.ts",
      'import type { A } from "../contract.js"; import { of } from "rxjs/operators";',
    ],
    [
      "service/listen.ts",
      'const node = await import("@hono/node-server"); import { C } from "../timeframe.js";',
    ],
    ["indicators/averages.ts", 'import type { Candle } from "../contract.js"; import "./windows.js";'],
    ["candles/view/view.ts", 'import "../read/book.js"; import "../event.js"; import "./gap-filler.js";'],
    ["candles/fetch.ts", 'import "./read/slices.js"; import "./watch.js";'],
    ["adapters/sse.ts", 'export { replay } from "../replay/index.js";'],
    ["index.ts", 'export * from "./operators/closes.js"; export type { A } from "./replay/tape.js";'],
    ["poll.ts", '// import "./candles.js"\nconst text = \'import "./candles.js"\';'],
  ])("lets %s through: %s", (path, text) => {
    expect(check(path, text)).toEqual([]);
  });

  it.each([
    ["errors.ts", 'import { A } from "./contract.js";', "errors may not import contract"],
    ["errors.ts", 'import type { A } from "./contract.js";', "errors may not import contract"],
    ["errors.ts", 'export * from "./contract.js";', "errors may not import contract"],
    ["errors.ts", 'export type { A } from "./contract.js";', "errors may not import contract"],
    ["errors.ts", 'type A = import("./contract.js").A;', "errors may not import contract"],
    ["errors.ts", 'const a = () => import("./contract.js");', "errors may not import contract"],
    ["errors.ts", 'import a = require("./contract.js");', "errors may not import contract"],
    ["errors.ts", 'const a = require("./contract.js");', "errors may not import contract"],
    ["errors.ts", 'declare module "./contract.js" {}', "errors may not import contract"],
    ["contract.ts", 'import "./timeframe.js";', "contract may not import timeframe"],
    ["candles/watch.ts", 'import "../snipers/diff.js";', "candles may not import snipers"],
    ["snipers/watch.ts", 'import "../candles.js";', "snipers may not import candles"],
    ["indicators/vwap.ts", 'import "../client/core.js";', "indicators may not import client"],
    [
      "candles/read/pages.ts",
      'import "../live/poll-candles.js";',
      "candles/read may not import candles/live",
    ],
    ["candles/live/poll-candles.ts", 'import "../watch.js";', "candles/live may not import candles/watch"],
    ["service/index.ts", 'import "../client/request.js";', "service may not import client"],
    ["service/index.ts", 'import "../index.js";', "service may not import index"],
    ["replay/tape.ts", 'import "../service/index.js";', "replay may not import service"],
    ["index.ts", 'export * from "./service/index.js";', "index may not import service"],
    ["adapters/nats/watch.ts", 'import "../sse/events.js";', "adapters/nats may not import adapters/sse"],
    ["adapters/wire/model.ts", 'import "../sse/wire.js";', "adapters/wire may not import adapters/sse"],
    ["adapters/sse/link.ts", 'import "@nats-io/jetstream";', "package @nats-io/jetstream"],
    ["client/send/request.ts", 'import "../../newcomer.js";', "client may not import newcomer"],
    ["newcomer.ts", 'import "./errors.js";', "newcomer has no place in the order"],
    ["poll.ts", 'import "../test/fixture.js";', "../test/fixture.ts is outside src"],
    ["poll.ts", 'import "pairstream";', "package pairstream"],
    ["poll.ts", 'import "hono";', "package hono"],
    ["poll.ts", 'import "rxjs-more";', "package rxjs-more"],
    ["client/send/request.ts", 'import { Agent } from "node:https";', "package node:https"],
    ["service/listen.ts", 'import { createServer } from "http";', "package http"],
    ["poll.ts", "const a = await import(name);", "an import whose target is not written out"],
  ])("stops %s: %s", (path, text, problem) => {
    expect(check(path, text)).toEqual([`${path}: ${problem}`]);
  });

  it("stops a cycle inside a folder, of types too, and no diamond", () => {
    const sources = [
      { path: "client/a.ts", text: 'import "./b.js"; import "./c.js";' },
      { path: "client/b.ts", text: 'import "./c.js";' },
      { path: "client/c.ts", text: "export {};" },
    ];
    expect(importProblems(sources)).toEqual([]);
    sources[2] = { path: "client/c.ts", text: 'import type { A } from "./a.js";' };
    expect(importProblems(sources)).toEqual(["cycle: client/a.ts → client/b.ts → client/c.ts → client/a.ts"]);
    expect(importProblems([{ path: "poll.ts", text: 'import "./poll.js";' }])).toEqual([
      "cycle: poll.ts → poll.ts",
    ]);
  });
});

describe("the clock check", () => {
  const check = (text: string) => clockProblems([{ path: "poll.ts", text }]);

  it.each([
    ["Date.now()", "Date.now"],
    ["globalThis.Date.now()", "Date.now"],
    ['Date["now"]()', "Date.now"],
    ["const clock = Date.now;", "Date.now"],
    ["const { now } = Date;", "Date.now"],
    ["const { now: clock } = globalThis.performance;", "performance.now"],
    ["performance.now()", "performance.now"],
    ["new Date()", "new Date()"],
    ["new Date", "new Date()"],
    ["Date()", "Date()"],
    ["Math.random()", "Math.random"],
    ["setTimeout(f, 1)", "setTimeout"],
    ["window.setInterval(f, 1)", "setInterval"],
    ['globalThis["setTimeout"](f, 1)', "setTimeout"],
  ])("stops %s", (text, name) => {
    expect(check(`\n${text}`)).toEqual([`poll.ts:2: ${name}`]);
  });

  it("lets turns of the event loop pass by a timer, and takes no time there", () => {
    const text = "setTimeout(f); setInterval(f, 1); Date.now();";
    const found = clockProblems([{ path: "replay/event-loop.ts", text }]);
    expect(found).toEqual(["replay/event-loop.ts:1: setInterval", "replay/event-loop.ts:1: Date.now"]);
  });

  it.each([
    "// Date.now() and setTimeout drift",
    "/** Math.random */",
    'const text = "not setTimeout, nor Date.now()";',
    "scheduler.now(); new Date(0); Date.parse(text); Date.UTC(2024, 0); Math.max(1, 2);",
    "const { max } = Math;",
  ])("lets through: %s", (text) => {
    expect(check(text)).toEqual([]);
  });
});

describe("the check of what is reached for", () => {
  const check = (text: string) => reachProblems([{ path: "poll.ts", text }]);

  it.each([
    ["eval(text)", "eval"],
    ["(0, eval)(text)", "eval"],
    ['new Function("a", text)', "Function"],
    ["globalThis.Function(text)", "Function"],
    ["process.env.KEY", "process.env"],
    ["const { env } = globalThis.process;", "process.env"],
    ['process.getBuiltinModule("node:fs")', "node:fs"],
  ])("stops %s", (text, name) => {
    expect(check(`\n${text}`)).toEqual([`poll.ts:2: ${name}`]);
  });

  it.each([
    "// eval(process.env)",
    "let work: Function;",
    'typeof work === "function"; process.nextTick(work);',
    'process.getBuiltinModule("node:http")',
  ])("lets through: %s", (text) => {
    expect(check(text)).toEqual([]);
  });
});
