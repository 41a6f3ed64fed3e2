import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path/posix";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ndjsonLog } from "../../examples/bot/log.js";
import { stateFile } from "../../examples/bot/state-file.js";
import { endAll, expectRefusal, run } from "./program.js";

const EXAMPLE = "examples/bot.ts";
const QUICK = ["--timeframe", "1s", "--longer", "10s", "--trend", "1min", "--every", "500"];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bot-"));
});
afterEach(async () => {
  await endAll();
  rmSync(folder, { recursive: true });
});

/** A port at which nothing listens any more. */
async function closedPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

const eventsOf = (lines: readonly string[]) =>
  lines.map((line) => JSON.parse(line) as Record<string, unknown>);

describe("the bot's program", { timeout: 60_000 }, () => {
  it("tells its cost, follows five pairs, and ends by itself with a summary", async () => {
    const program = run(EXAMPLE, [...QUICK, "--for", "6", "--state", join(folder, "state.json")]);
    expect(await program.ended).toBe(0);
    expect(program.errors()).toBe("");
    const [cost, start, ...events] = eventsOf(program.lines);
    expect(cost).toMatchObject({ event: "cost", requests: 864_000, perDay: true });
    expect(start).toMatchObject({ event: "start", every: 500, stopLoss: 0.05, positions: {} });
    expect(start!.pairs).toHaveLength(5);
    const live = events.filter(({ event, state }) => event === "status" && state === "live");
    expect(new Set(live.map(({ series }) => series)).size).toBe(5);
    expect(events.at(-1)).toMatchObject({
      event: "summary",
      buys: expect.any(Number),
      profit: expect.any(Number),
    });
    expect(events.at(-1)!.closed).toBeGreaterThan(0);
  });

  it("ends at Ctrl-C with a summary, and has its positions back when it starts anew", async () => {
    const state = join(folder, "state.json");
    const first = run(EXAMPLE, [...QUICK, "--state", state]);
    const start = JSON.parse(await first.line((line) => line.includes('"start"'))) as { pairs: string[] };
    await first.line((line) => line.includes('"live"'));
    first.child.kill("SIGINT");
    expect(await first.ended).toBe(0);
    expect(eventsOf(first.lines).at(-1)).toMatchObject({ event: "summary" });

    const series = `${start.pairs[0]} 1s`;
    const position = { price: 1e9, quantity: 1 };
    writeFileSync(state, JSON.stringify({ [series]: { actedOn: 0, position } }));
    const second = run(EXAMPLE, [...QUICK, "--state", state]);
    const again = JSON.parse(await second.line((line) => line.includes('"start"')));
    expect(again.positions).toEqual({ [series]: position });
    // Bought far above: the running candle is at the stop as soon as it is seen.
    const fill = JSON.parse(await second.line((line) => line.includes('"fill"')));
    expect(fill).toMatchObject({ series, side: "sell" });
    second.child.kill("SIGINT");
    expect(await second.ended).toBe(0);
    expect(JSON.parse(readFileSync(state, "utf8"))[series].position).toBeUndefined();
  });

  it("says why an address does not answer, before anything was live", async () => {
    const args = ["--base-url", `http://127.0.0.1:${await closedPort()}`, "--pair", "pair"];
    const key = { PAIRSTREAM_API_KEY: "any" };
    const program = run(EXAMPLE, [...QUICK, ...args, "--state", join(folder, "state.json")], key);
    const status = JSON.parse(await program.line((line) => /"status".*"error"/.test(line)));
    expect(status).toMatchObject({ series: "pair 1s", error: { name: "NetworkError" } });
    expect(status.failures).toBeGreaterThan(0);
    program.child.kill("SIGINT");
    expect(await program.ended).toBe(0);
  });

  it("refuses a state that is none, a timeframe that is none, and a service without a key", async () => {
    const state = join(folder, "state.json");
    writeFileSync(state, "[1]");
    const program = run(EXAMPLE, ["--state", state]);
    expect(await program.ended).toBe(1);
    expect(program.errors()).toMatch(/^error: .*state\.json is no state of this bot.*\n$/);
    expect(readFileSync(state, "utf8")).toBe("[1]");
    await expectRefusal(run(EXAMPLE, ["--timeframe", "7min"]), /allowed: 1s/);
    await expectRefusal(run(EXAMPLE, ["--base-url", "https://example.com"]), /needs a key/);
  });
});

describe("the bot's files", () => {
  it("keep the state whole: it is put in place once it is written", () => {
    const store = stateFile(join(folder, "deep", "state.json"));
    expect(store.read()).toEqual({});
    const state = { "pair 1min": { actedOn: 5, position: { price: 1, quantity: 2 } } };
    store.write(state);
    expect(store.read()).toEqual(state);
    expect(existsSync(join(folder, "deep", "state.json.next"))).toBe(false);
    for (const text of ["", "[1]", '{"pair":{"actedOn":null}}', '{"pair":{"actedOn":1,"position":{}}}']) {
      writeFileSync(join(folder, "deep", "state.json"), text);
      expect(() => store.read(), text).toThrow("is no state of this bot");
    }
  });

  it("log one JSON object a line, in which nothing turns to null", () => {
    const lines: string[] = [];
    const log = ndjsonLog(
      (line) => lines.push(line),
      () => 0,
    );
    log("test", {
      low: -Infinity,
      none: Number.NaN,
      error: new TypeError("no network"),
      inner: { high: Infinity },
    });
    log("bare");
    expect(lines).toEqual([
      '{"at":"1970-01-01T00:00:00.000Z","event":"test","low":"-Infinity","none":"NaN","error":{"name":"TypeError","message":"no network"},"inner":{"high":"Infinity"}}\n',
      '{"at":"1970-01-01T00:00:00.000Z","event":"bare"}\n',
    ]);
  });
});
