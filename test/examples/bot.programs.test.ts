import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path/posix";
import { createPairService, listen, type SwapSource } from "pairstream/service";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { pacedMarket } from "../../bench/store/starts.js";
import { ndjsonLog } from "../../examples/bot/log.js";
import { stateFile } from "../../examples/bot/state-file.js";
import { freePort } from "../free-port.js";
import { endAll, expectRefusal, run } from "./program.js";

const EXAMPLE = "examples/bot.ts";
const MINUTE = 60_000;
const QUICK = ["--timeframe", "1s", "--longer", "10s", "--trend", "1min", "--every", "500"];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "bot-"));
});
afterEach(async () => {
  await endAll();
  rmSync(folder, { recursive: true });
});

/** A service of this process, and what it is asked for. */
async function countedService() {
  const asked: { readonly pair: string; readonly from: number }[] = [];
  const source = pacedMarket(Date.now() - 24 * 60 * MINUTE, 20_000);
  const counting: SwapSource = {
    pair: (network, pair) => {
      const found = source.pair(network, pair)!;
      return {
        ...found,
        swaps: (range) => {
          asked.push({ pair, from: range.from });
          return found.swaps(range);
        },
      };
    },
  };
  const { url, close } = await listen(createPairService({ source: counting }), { port: 0 });
  onTestFinished(close);
  return { url, asked };
}

const eventsOf = (lines: readonly string[]) =>
  lines.map((line) => JSON.parse(line) as Record<string, unknown>);

describe("the bot's program", () => {
  it("tells its cost, follows five pairs, and ends by itself with a summary", async () => {
    const program = run(EXAMPLE, [...QUICK, "--for", "6", "--state", join(folder, "state.json")]);
    expect(await program.ended).toBe(0);
    expect(program.errors()).toBe("");
    const [cost, start, ...events] = eventsOf(program.lines);
    expect(cost).toMatchObject({ event: "cost", requests: 864_000, perDay: true });
    expect(start).toMatchObject({ event: "start", timeframes: ["1s", "10s"], every: 500, positions: {} });
    expect(start!.pairs).toHaveLength(5);
    // One line for all pairs; one of them has a line of its own only if something was wrong, as on a slow machine.
    const calm = events.filter(({ event }) => !["order", "fill", "status"].includes(event as string));
    expect(calm.map(({ event }) => event)).toEqual(["live", "summary"]);
    const firsts = new Map<unknown, unknown>();
    for (const { event, series, state } of events) {
      if (event === "status" && !firsts.has(series)) firsts.set(series, state);
    }
    expect([...firsts.values()]).toEqual(Array(firsts.size).fill("stalled"));
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
    const args = ["--base-url", `http://127.0.0.1:${await freePort()}`, "--pair", "pair"];
    const key = { PAIRSTREAM_API_KEY: "any" };
    const program = run(EXAMPLE, [...QUICK, ...args, "--state", join(folder, "state.json")], key);
    const status = JSON.parse(await program.line((line) => /"status".*"error"/.test(line)));
    expect(status).toMatchObject({ series: "pair 1s", error: { name: "NetworkError" } });
    expect(status.failures).toBeGreaterThan(0);
    program.child.kill("SIGINT");
    expect(await program.ended).toBe(0);
  });

  it("asks for what is missing alone when it starts again with its store", async () => {
    const { url, asked } = await countedService();
    const pairs = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
    const args = [
      ...["--base-url", url, "--pair", ...pairs],
      // 21 candles of the trend: 630 of what is polled.
      ...["--timeframe", "1min", "--longer", "5min", "--trend", "30min", "--every", "60000"],
      ...["--state", join(folder, "state.json"), "--store", join(folder, "candles.db")],
    ];
    const key = { PAIRSTREAM_API_KEY: "any" };
    const follow = async () => {
      const program = run(EXAMPLE, args, key);
      const live = JSON.parse(await program.line((line) => line.includes('"live"')));
      program.child.kill("SIGINT");
      expect(await program.ended).toBe(0);
      expect(program.lines.filter((line) => line.includes('"store"'))).toEqual([]);
      expect(live.units).toBe(150 * live.requests);
      return { reads: asked.splice(0), requests: live.requests as number };
    };
    const first = await follow();
    const oldest = Math.min(...first.reads.map(({ from }) => from));
    expect(Date.now() - oldest).toBeGreaterThan(600 * MINUTE);
    const again = await follow();
    // One a pair; more where the minute has ended meanwhile, but nothing that was final.
    expect(new Set(again.reads.map(({ pair }) => pair)).size).toBe(pairs.length);
    expect(Date.now() - Math.min(...again.reads.map(({ from }) => from))).toBeLessThan(10 * MINUTE);
    expect(first.requests).toBeGreaterThanOrEqual(2 * pairs.length);
    expect(again.requests).toBeGreaterThanOrEqual(pairs.length);
  });

  it("refuses a state that is none, a service without a key, and a store that is none", async () => {
    const state = join(folder, "state.json");
    writeFileSync(state, "[1]");
    const program = run(EXAMPLE, ["--state", state]);
    expect(await program.ended).toBe(1);
    expect(program.errors()).toMatch(/^error: .*state\.json does not hold the state of this bot.*\n$/);
    expect(readFileSync(state, "utf8")).toBe("[1]");
    await expectRefusal(run(EXAMPLE, ["--base-url", "https://example.com"]), /needs a key/);
    await expectRefusal(run(EXAMPLE, ["--pair", "one"]), /--pair needs --base-url/);
    await expectRefusal(run(EXAMPLE, ["--store", folder]), /cannot be used as a store/);
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
      expect(() => store.read(), text).toThrow("does not hold the state of this bot");
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
