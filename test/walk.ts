// Prints the walk of one poll and of one option through `src`, from a run: `npm run walk`; `npm run walk -- DIRECTORY`
// for another copy of the repository.
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import ts from "typescript";
import type { Swap } from "../src/service/index.js";
import { rankOf, unitOf } from "./repository/import-order.js";

const here = fileURLToPath(new URL("..", import.meta.url));
const root = resolve(process.argv[2] ?? here);
const source = join(root, "src");
/** The service and the clock stand for the world outside. */
const OUTSIDE = /^(?:service|replay)\//;

/** A function that was entered, and what called it; `caller` is absent where a timer, a promise or the network did. */
interface Entry {
  readonly file: string;
  readonly caller: string | undefined;
  /** Whether RxJS called it, on behalf of `caller`. */
  readonly isEmission: boolean;
  readonly holdsMark: boolean;
}

const MARK = 1_234;
const entries: Entry[] = [];
let isRecording = false;
let filesByLine: (string | undefined)[] = [];

/** Every function of `src` calls this first. */
function enter(file: string, parameters: readonly unknown[]): void {
  if (!isRecording) return;
  // Without this function, the one above it, and the function that was entered.
  const frames = callSites().slice(3);
  let isEmission = false;
  let caller: string | undefined;
  for (const frame of frames) {
    if (frame.isAsync()) break;
    const path = frame.getFileName() ?? "";
    if (path.includes("/rxjs/")) isEmission = true;
    caller = path.includes("walk-of-src") ? filesByLine[frame.getLineNumber()! - 1] : undefined;
    if (caller !== undefined) break;
  }
  if (caller !== undefined && OUTSIDE.test(caller)) caller = undefined;
  entries.push({ file, caller, isEmission, holdsMark: parameters.some((value) => holdsMark(value, 3)) });
}

/** The files on the stack, from the first caller on, those included that wait for this one. */
function filesOnStack(): string[] {
  const files = callSites().map((site) =>
    site.getFileName()?.includes("walk-of-src") ? filesByLine[site.getLineNumber()! - 1] : undefined,
  );
  return files.filter((file) => file !== undefined && !OUTSIDE.test(file)).reverse() as string[];
}

function callSites(): NodeJS.CallSite[] {
  const { prepareStackTrace, stackTraceLimit } = Error;
  Error.stackTraceLimit = 100;
  Error.prepareStackTrace = (_, sites) => sites;
  const { stack } = new Error() as unknown as { stack: NodeJS.CallSite[] };
  Object.assign(Error, { prepareStackTrace, stackTraceLimit });
  return stack;
}

function holdsMark(value: unknown, depth: number): boolean {
  if (value === MARK) return true;
  if (typeof value !== "object" || value === null || depth === 0) return false;
  return Object.values(value).some((inner) => holdsMark(inner, depth - 1));
}

/** The text of a file, each of its functions with a call of `enter` at its beginning. */
function instrumented(text: string, file: string): string {
  const inserts: { at: number; text: string }[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
      const body = node.body as ts.Block | ts.Expression;
      const names = node.parameters.flatMap(({ name }) => namesIn(name)).filter((name) => name !== "this");
      const call = `globalThis.enterOfWalk(${JSON.stringify(file)}, [${names.join(", ")}])`;
      const isDerived = ts.isConstructorDeclaration(node) && node.parent.heritageClauses !== undefined;
      if (!ts.isBlock(body)) {
        inserts.push({ at: body.getStart(), text: `(${call}, ` }, { at: body.end, text: ")" });
      } else if (!isDerived) inserts.push({ at: body.getStart() + 1, text: `${call};` });
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  let result = text;
  for (const { at, text: inserted } of inserts.sort((a, b) => b.at - a.at)) {
    result = result.slice(0, at) + inserted + result.slice(at);
  }
  return result;
}

function namesIn(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) => (ts.isOmittedExpression(element) ? [] : namesIn(element.name)));
}

type Library = typeof import("../src/index.js") & typeof import("../src/service/index.js");

async function instrumentedLibrary(): Promise<Library> {
  const { outputFiles } = await build({
    stdin: {
      contents: 'export * from "./src/index.ts"; export { createPairService } from "./src/service/index.ts";',
      resolveDir: root,
      loader: "ts",
    },
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    plugins: [
      {
        name: "instrument",
        setup: ({ onLoad }) => {
          onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => {
            const file = relative(source, path);
            const text = await readFile(path, "utf8");
            return { contents: OUTSIDE.test(file) ? text : instrumented(text, file), loader: "ts" };
          });
        },
      },
    ],
  });
  const bundle = outputFiles[0]!.text;
  let file: string | undefined;
  // Before each module esbuild names its file, relative to where it runs.
  filesByLine = bundle.split("\n").map((line) => {
    const path = /^\/\/ (.*\.ts)$/.exec(line)?.[1];
    if (path !== undefined) file = relative(source, resolve(path));
    return file;
  });
  // Below node_modules, where the packages are found.
  const outputs = join(here, "node_modules/.cache");
  await mkdir(outputs, { recursive: true });
  const output = join(outputs, `walk-of-src-${process.pid}.mjs`);
  await writeFile(output, bundle);
  try {
    return (await import(pathToFileURL(output).href)) as Library;
  } finally {
    await rm(output);
  }
}

const START = Date.UTC(2024, 0, 5, 12, 0, 10);
const MINUTE = 60_000;
const SERIES = { network: "devnet", pairAddress: "pair", timeframe: "1min", currency: "usd" } as const;

/** Records one subscription up to its first candle, then one poll long after. */
async function run({ createClient, createPairService, VirtualClock, watchCandles }: Library) {
  const clock = new VirtualClock(START);
  const swaps = Array.from(
    { length: 600 },
    (_, at): Swap => ({
      ...{ blockNumber: at, timestamp: START + (at - 100) * 10_000, transactionHash: `hash-${at}` },
      ...{ walletAddress: "wallet", side: "buy", tokenAmount: 1, usdAmount: at + 1, nativeAmount: 1 },
    }),
  );
  const service = createPairService({
    clock: () => clock.now(),
    source: {
      pair: () => ({
        tokenAddress: "token",
        createdAt: START - 1_000_000,
        swaps: ({ from, to, asOf }) =>
          swaps.filter(({ timestamp }) => timestamp >= from && timestamp < to && timestamp <= asOf),
      }),
    },
  });
  let events = 0;
  let stacks: string[][] = [];
  const client = createClient({
    baseUrl: "http://localhost",
    apiKey: "a-key-that-is-long-enough",
    scheduler: clock,
    fetch: (url, init) => {
      stacks.push(filesOnStack());
      return service.fetch(url, init);
    },
  });
  isRecording = true;
  watchCandles(client, { ...SERIES, every: "close", settle: MARK }).subscribe(() => {
    events += 1;
    stacks.push(filesOnStack());
  });
  await clock.advanceBy(100);
  isRecording = false;
  const option = entries.splice(0);
  await clock.advanceTo(START + 20 * MINUTE);
  const before = events;
  stacks = [];
  isRecording = true;
  await clock.advanceBy(MINUTE);
  isRecording = false;
  if (events === before) throw new Error("the poll has brought no event");
  return { option, poll: entries.splice(0), stacks };
}

const roomOf = (file: string) => (file.includes("/") ? file.slice(0, file.lastIndexOf("/")) : file);

function printFiles(title: string, all: Iterable<string>): void {
  const files = [...new Set(all)];
  const rooms = new Set(files.map(roomOf));
  console.log(`${title}: ${files.length} files, ${rooms.size} rooms\n  ${files.join("\n  ")}`);
}

/** Calls from a lower room into a higher one, which go through a callback that was handed down. */
function printClimbs(title: string, walk: readonly Entry[]): void {
  const isClimb = ({ file, caller }: Entry) =>
    caller !== undefined && rankOf(unitOf(file)) > rankOf(unitOf(caller));
  const climbs = walk.filter(isClimb).map(({ file, caller, isEmission }) => {
    return `${isEmission ? "through RxJS" : "by a call"}: ${caller} → ${file}`;
  });
  const found = [...new Set(climbs)].sort();
  console.log(`${title}: ${found.length} climbs${found.map((climb) => `\n  ${climb}`).join("")}`);
}

Object.assign(globalThis, { enterOfWalk: enter });
const { option, poll, stacks } = await run(await instrumentedLibrary());
const operators = poll.filter(({ isEmission }) => isEmission).map(({ file }) => file);
printFiles("One poll, from its timer to the request, and from the poll to the subscriber", [
  ...stacks.flat(),
  ...operators,
]);
printFiles(
  "One poll, every file of which a function runs",
  poll.map(({ file }) => file),
);
printClimbs("One poll", poll);
const handed = option.filter((entry) => entry.holdsMark);
printFiles(
  "One option, `settle`, where a function is handed it",
  handed.map(({ file }) => file),
);
printClimbs("One option", handed);
