import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { asyncBufferFromFile, parquetMetadataAsync } from "hyparquet";
import { parquetWriteFile } from "hyparquet-writer";
import Libsql from "libsql";
import { replayExchanges } from "pairstream";
import { sqliteStore } from "pairstream/store";
import { describe, expect, it } from "vitest";
import { stateFile } from "../../examples/bot/state-file.js";
import { parquetContents, readParquet, writeParquet } from "../../examples/history/parquet-file.js";
import { readCandleMessage, VERSION } from "../../src/adapters/nats/message.js";
import { readMessage, WIRE_VERSION } from "../../src/adapters/sse/wire.js";
import { TAPE_VERSION } from "../../src/replay/tape.js";
import { read } from "../documents/files.js";
import { temporaryFolder } from "../examples/files.js";

const GUIDE = read("docs/deploy.md");

/** What the guide says of a thing that is written: its version, and what becomes of another one. */
function rowOf(what: string): readonly [version: string, fate: string] {
  const row = GUIDE.split("\n").find((line) => line.startsWith(`| ${what} `))!;
  const [, , version, fate] = row.split("|").map((cell) => cell.trim());
  return [version!, fate!];
}
const quoteIn = (fate: string) => /“(.+)”/.exec(fate)![1]!;
async function said(attempt: () => unknown): Promise<string> {
  try {
    await attempt();
    return "nothing";
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
}

const KEY = {
  ...({ service: "s", network: "mainnet", pairAddress: "p", timeframe: "1min" } as const),
  ...({ currency: "usd", weekStart: "monday" } as const),
};

describe("what docs/deploy.md says of an upgrade", () => {
  it("is what becomes of a SQLite store of an older and of a newer release", async () => {
    const [version, fate] = rowOf("a SQLite store");
    for (const other of [Number(version) - 1, Number(version) + 1]) {
      const file = join(await temporaryFolder(), "candles.db");
      const ours = sqliteStore(new Libsql(file));
      await ours.write(KEY, { from: 0, to: 60_000, candles: [] });
      ours.close();
      const database = new Libsql(file);
      expect(database.prepare("PRAGMA user_version").all()).toEqual([{ user_version: Number(version) }]);
      database.exec(`PRAGMA user_version = ${other}`);
      const store = sqliteStore(database);
      const refusal = `PairstreamError: ${quoteIn(fate).replace("3", String(other))}`;
      expect(await said(() => store.read(KEY, { from: 0, to: 60_000 }))).toBe(refusal);
      expect(await said(() => store.write(KEY, { from: 0, to: 60_000, candles: [] }))).toBe(refusal);
      expect(database.prepare("PRAGMA user_version").all()).toEqual([{ user_version: other }]);
      store.close();
    }
  });

  it("is what becomes of a tape", async () => {
    const [version, fate] = rowOf("a tape");
    expect(Number(version)).toBe(TAPE_VERSION);
    for (const other of [TAPE_VERSION - 1, TAPE_VERSION + 1]) {
      const replay = () => replayExchanges([`{"v":${other},"request":{}}`]).run();
      expect(await said(replay)).toContain(quoteIn(fate).replace("2", String(other)));
    }
  });

  it("is what becomes of server-sent events and of messages over NATS", async () => {
    const reads = [
      ["server-sent events", WIRE_VERSION, (text: string) => readMessage("hello", text)],
      ["messages and leases over NATS", VERSION, readCandleMessage],
    ] as const;
    for (const [what, ours, readIt] of reads) {
      const [version, fate] = rowOf(what);
      expect(Number(version)).toBe(ours);
      const wire = { epoch: 1, observedAt: 1, revision: 0 };
      for (const other of [ours - 1, ours + 1]) {
        const refusal = await said(() => readIt(JSON.stringify({ version: other, ...wire })));
        expect(refusal).toMatch(/^ContractError: /);
        expect(refusal).toContain(quoteIn(fate));
      }
    }
  });

  it("is what becomes of a Parquet file with more in it, and of one that says nothing", async () => {
    const folder = await temporaryFolder();
    const [ours, other, foreign] = ["ours", "other", "foreign"].map((name) =>
      join(folder, `${name}.parquet`),
    );
    const candle = { timestamp: 60_000, open: 1, high: 3, low: 1, close: 2, volume: 4, swaps: 5 };
    const series = { network: "mainnet", pairAddress: "p", timeframe: "1min", currency: "usd" } as const;
    const candles = (async function* () {
      yield candle;
    })();
    await writeParquet(ours!, candles, { series, covered: { from: 0, to: 120_000 } });
    const { key_value_metadata: kvMetadata } = await parquetMetadataAsync(await asyncBufferFromFile(ours!));
    const columns = Object.entries({ buys: 3, ...candle }).map(([name, value]) => ({
      name,
      data: [name === "timestamp" || name === "swaps" ? BigInt(value) : value],
    }));
    parquetWriteFile({ filename: other!, columnData: columns, kvMetadata: kvMetadata! });
    parquetWriteFile({ filename: foreign!, columnData: columns });
    const rows = [];
    for await (const row of readParquet(other!)) rows.push(row);
    expect(rows).toEqual([candle]);
    expect((await parquetContents(other!)).series).toEqual(series);
    expect(await said(() => parquetContents(foreign!))).toMatch(/does not say which series it holds/);
  });

  it("is what becomes of the state of the bot", async () => {
    const file = join(await temporaryFolder(), "bot-state.json");
    writeFileSync(file, '{"version":2,"series":{}}');
    expect(await said(() => stateFile(file).read())).toMatch(/does not hold the state of this bot/);
  });
});
