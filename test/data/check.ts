// Runs what docs/data.md shows on files of candles: `npm run check:data`. DuckDB is installed by this command alone.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";
import type { Candle } from "pairstream";
import { FORMATS } from "../../examples/history/formats.js";
import { readCandleFile } from "../../examples/history/read-file.js";
import { openDatabase } from "../../examples/terminal/sqlite.js";
import { type Block, markdownBlocks } from "../documents/blocks.js";
import { read } from "../documents/files.js";
import { ROOT, run } from "../package/commands.js";

const HERE = fileURLToPath(new URL(".", import.meta.url));
/** What it installs stays there, until the lock changes. */
const HOME = join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "pairstream-data");
const DOCUMENT = "docs/data.md";
const RANGE = ["--from", "2025-01-03", "--to", "2025-01-06"];
const [HOUR, HALF_AN_HOUR] = [3_600_000, 1_800_000];

/** What is used of `@duckdb/node-api`. */
interface DuckDb {
  readonly DuckDBInstance: {
    create(): Promise<{
      connect(): Promise<{
        runAndReadAll(sql: string): Promise<{ getRowObjectsJson(): Record<string, unknown>[] }>;
      }>;
    }>;
  };
}

type Rows = Record<string, unknown>[];
type Query = (sql: string) => Promise<Rows> | Rows;

async function installed(): Promise<DuckDb> {
  const lock = readFileSync(join(HERE, "package-lock.json"), "utf8");
  const stamp = join(HOME, "installed.lock");
  mkdirSync(HOME, { recursive: true });
  if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== lock) {
    for (const file of ["package.json", "package-lock.json"]) cpSync(join(HERE, file), join(HOME, file));
    const options = ["--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline"];
    const { status, output } = await run("npm", ["ci", ...options], HOME);
    if (status !== 0) throw new Error(`npm ci:\n${output}`);
    writeFileSync(stamp, lock);
  }
  const path = createRequire(join(HOME, "package.json")).resolve("@duckdb/node-api");
  return (await import(pathToFileURL(path).href)) as DuckDb;
}

/** The blocks of a section, in order. */
function blocksOf(section: string, language: string): Block[] {
  const text = read(DOCUMENT).split(`\n## ${section}\n`)[1]?.split("\n## ")[0];
  if (text === undefined) throw new Error(`${DOCUMENT} has no section ${section}`);
  return markdownBlocks(DOCUMENT, text).filter((block) => block.language === language);
}

/** Hours as the documents ask for them, and silences, the longest first. */
function expectedOf(candles: readonly Candle[]) {
  const hours = new Map<number, Candle>();
  for (const candle of candles) {
    const hour = candle.timestamp - (candle.timestamp % HOUR);
    const { open, high, low, volume, swaps } = hours.get(hour) ?? { ...candle, volume: 0, swaps: 0 };
    hours.set(hour, {
      timestamp: hour,
      open,
      high: Math.max(high, candle.high),
      low: Math.min(low, candle.low),
      close: candle.close,
      volume: volume + candle.volume,
      swaps: swaps + candle.swaps,
    });
  }
  const silences = candles
    .slice(1)
    .map(({ timestamp }, at) => [candles[at]!.timestamp, timestamp] as const)
    .filter(([after, until]) => until - after > HALF_AN_HOUR)
    .sort((a, b) => b[1] - b[0] - (a[1] - a[0]) || a[0] - b[0]);
  return { hours: [...hours.values()], silences };
}

/** An instant as ms, whatever gives it. */
const instantOf = (value: unknown) =>
  typeof value === "string" && !/^\d+$/.test(value)
    ? Date.parse(value.replace(" ", "T").replace(/\+00$/, "Z"))
    : Number(value);

/** Sums of doubles depend on their order. */
const rounded = (value: unknown) => Number(Number(value).toPrecision(12));

const hourOf = (row: Record<string, unknown>) => [
  instantOf(row.hour ?? row.timestamp),
  ...["open", "high", "low", "close", "swaps"].map((name) => Number(row[name])),
  rounded(row.volume),
];
const silenceOf = (row: Record<string, unknown>) => [instantOf(row.after), instantOf(row.until)];

let passed = 0;
let failed = 0;
function check(name: string, isRight: boolean): void {
  console.log(`${isRight ? "passed" : "FAILED"}: ${name}`);
  if (isRight) passed += 1;
  else failed += 1;
}

/** Runs a block, and holds what it gives to the candles, where it is a question about them. */
async function runBlock(
  query: Query,
  block: Block,
  candles: readonly Candle[],
  where: string,
): Promise<void> {
  const name = `${where}: ${block.code.split("\n")[0]}`;
  const { hours, silences } = expectedOf(candles);
  try {
    const rows = await query(block.code);
    const names = Object.keys(rows[0] ?? {});
    if (names.includes("hour"))
      check(
        name,
        isDeepStrictEqual(
          rows.map(hourOf),
          hours.map((hour) => hourOf({ ...hour })),
        ),
      );
    else if (names.includes("after")) check(name, isDeepStrictEqual(rows.map(silenceOf), silences));
    else if (names.includes("time")) check(name, rows.length === candles.length);
    else check(name, /^(CREATE|SET)/.test(block.code) || rows.length > 0);
  } catch (error) {
    console.error(error);
    check(name, false);
  }
}

async function checkDuckDb(folder: string, candles: readonly Candle[]): Promise<void> {
  const { DuckDBInstance } = await installed();
  const connection = await (await DuckDBInstance.create()).connect();
  const query = async (sql: string) => (await connection.runAndReadAll(sql)).getRowObjectsJson();
  await query(`SET file_search_path = '${folder.replaceAll("'", "''")}'`);
  const blocks = blocksOf("DuckDB", "sql");
  const views = blocks.filter(({ code }) => code.startsWith("CREATE"));
  const others = blocks.filter((block) => !views.includes(block));
  check("a view of each kind of file that DuckDB reads", views.length === FORMATS.length - 1);
  for (const view of views) {
    const [, file = ""] = /'(candles\.\w+)'/.exec(view.code) ?? [];
    await runBlock(query, view, candles, file);
    const [counted] = await query("SELECT count(*) AS count FROM candles");
    check(`${file}: all of its candles`, Number(counted!.count) === candles.length);
    for (const block of others) await runBlock(query, block, candles, file);
  }
}

async function checkSqlite(folder: string, candles: readonly Candle[]): Promise<void> {
  const database = await openDatabase(join(folder, "candles.db"));
  const query = (sql: string) => database.prepare(sql).all() as Rows;
  for (const block of blocksOf("SQLite", "sql")) await runBlock(query, block, candles, "candles.db");
  database.close?.();
}

/** What Python prints: the candles as they were read, as rows in the order of `Candle`, and what was asked of them. */
const PYTHON_ANSWERS = {
  pandas: `
rows = [[round(at.timestamp() * 1000), *row] for at, row in zip(candles.index, candles.values.tolist())]
hours = [[round(at.timestamp() * 1000), *row] for at, row in zip(hours.index, hours.values.tolist())]
silences = [[round(at.timestamp() * 1000), round((at + wait).timestamp() * 1000)] for at, wait in silences.items()]`,
  polars: `
rows, hours, silences = (
    [[round(cell.timestamp() * 1000) if hasattr(cell, "timestamp") else cell for cell in row] for row in frame.rows()]
    for frame in (candles, hours, silences.select("timestamp", "until"))
)`,
};
const COLUMNS = ["timestamp", "open", "high", "low", "close", "volume", "swaps"] as const;
const rowOf = (candle: Candle) => COLUMNS.map((name) => candle[name]);

/** Runs the lines for a library of Python, those after the readers once for each of them, where it is installed. */
function checkPython(library: keyof typeof PYTHON_ANSWERS, folder: string, candles: readonly Candle[]): void {
  const python = (code: string) =>
    spawnSync(process.env.PYTHON ?? "python3", ["-c", code], {
      cwd: folder,
      encoding: "utf8",
      maxBuffer: 1e8,
    });
  if (python(`import ${library}`).status !== 0) {
    console.log(`passed over: ${library}, which is not installed`);
    return;
  }
  const codes = blocksOf(library, "python").map((block) => block.code);
  const readers = codes.filter((code) => code.startsWith("import"));
  const questions = codes.filter((code) => !readers.includes(code));
  check(`${library}: a way to read each kind of file`, readers.length === FORMATS.length);
  const { hours, silences } = expectedOf(candles);
  const sorted = (rows: readonly (readonly number[])[]) => [...rows].sort((a, b) => a[0]! - b[0]!);
  const roundedVolume = (row: readonly number[]) => row.with(5, rounded(row[5]));
  for (const reader of readers) {
    const [file = ""] = /candles\.(?:csv|db|ndjson|parquet)/.exec(reader) ?? [];
    const printing = `import json\nprint(json.dumps([rows, hours, silences]))`;
    const code = [reader, ...questions, PYTHON_ANSWERS[library], printing].join("\n");
    const { stdout, stderr } = python(code);
    const lacking = /^ImportError: (.*)/m.exec(stderr);
    if (lacking !== null) {
      console.log(`passed over: ${library} with ${file}: ${lacking[1]}`);
      continue;
    }
    let said: number[][][] = [];
    try {
      said = JSON.parse(stdout);
    } catch {
      console.error(stderr);
    }
    const [rows = [], saidHours = [], saidSilences = []] = said;
    check(
      `${library} with ${file}: each number is that of the candle`,
      isDeepStrictEqual(rows, candles.map(rowOf)),
    );
    const expectedHours = hours.map(rowOf).map(roundedVolume);
    check(`${library} with ${file}: hours`, isDeepStrictEqual(saidHours.map(roundedVolume), expectedHours));
    check(`${library} with ${file}: silences`, isDeepStrictEqual(sorted(saidSilences), sorted(silences)));
  }
}

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "pairstream-data-"));
  try {
    for (const format of FORMATS) {
      const output = ["--output", join(folder, `candles.${format}`)];
      const args = ["--import", "tsx", "examples/history.ts", ...RANGE, ...output];
      const { status, output: said } = await run(process.execPath, args, ROOT);
      if (status !== 0) throw new Error(said);
    }
    const candles: Candle[] = [];
    for await (const candle of readCandleFile(join(folder, "candles.ndjson"))) candles.push(candle);
    await checkDuckDb(folder, candles);
    await checkSqlite(folder, candles);
    for (const library of ["pandas", "polars"] as const) checkPython(library, folder, candles);
  } finally {
    rmSync(folder, { recursive: true });
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}

await main();
