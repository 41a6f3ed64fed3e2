import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createPairService, listen, simulatedMarket } from "pairstream/service";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { readOptions } from "../../examples/check-service/options.js";
import { UsageError } from "../../examples/terminal/command-line.js";
import { endAll, expectRefusal, run } from "./program.js";

const KEY = "key-0815";
const check = (args: readonly string[], environment = {}) =>
  run("examples/check-service.ts", args, environment);

afterEach(endAll);

describe("a check", () => {
  it("of the simulated market says first what it spends, and ends with 0", async () => {
    const program = check([]);
    expect({ code: await program.ended, errors: program.errors() }).toEqual({ code: 0, errors: "" });
    const [place, cost, ...rest] = program.lines;
    expect(place).toMatch(/^http:\/\/localhost, \w+ on mainnet, 1min candles in usd$/);
    expect(cost).toBe("12 questions: at most 14 requests, 2,000 units");
    expect(rest.slice(0, -1).filter((line) => !/^fits {7}[^:]+: /.test(line))).toEqual([]);
    expect(rest.at(-1)).toMatch(/^12 fit, 0 read kindly, 0 wrong; 1[34] requests, [\d,]+ units$/);
  });

  it("of a remote service asks with the key of the environment, and is cut short where that is wrong", async () => {
    const source = simulatedMarket({ seed: 5, createdAt: Date.now() - 86_400_000, pairs: ["pair1"] });
    const service = createPairService({ source, apiKeys: [KEY], quirks: { trades: true } });
    const { url, close } = await listen(service, { port: 0 });
    onTestFinished(close);
    const args = ["--base-url", url, "--pair", "pair1", "--json"];
    const program = check(args, { PAIRSTREAM_API_KEY: KEY });
    expect(await program.ended).toBe(0);
    const told = program.lines.map((line) => JSON.parse(line));
    expect(told[0]).toMatchObject({ type: "cost", baseUrl: url, questions: 12, requests: 14, units: 2_000 });
    expect(told.at(-1)).toMatchObject({ type: "summary", kindly: 2, wrong: 0, unasked: 0 });
    const locked = check(args, { PAIRSTREAM_API_KEY: "another-key" });
    expect(await locked.ended).toBe(1);
    expect(JSON.parse(locked.lines.at(-1)!)).toEqual({
      ...{ type: "summary", fits: 0, kindly: 0, wrong: 1, unasked: 11 },
      ...{ requests: 1, units: 150 },
    });
    expect([...locked.lines, locked.errors()].join("\n")).not.toContain("another-key");
  });

  it("of a wrong server of ten lines ends with 1, and says of each question why", async () => {
    const server = createServer((request, response) => {
      const url = new URL(request.url!, "http://server.test");
      response.end(
        JSON.stringify({
          pairAddress: url.pathname.split("/")[4],
          timeframe: url.searchParams.get("timeframe"),
          result: [{ time: Date.now(), open: 1, high: 1, low: 1, close: 1, volume: "a lot" }],
        }),
      );
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const args = ["--base-url", `http://127.0.0.1:${port}`, "--pair", "pair1"];
    const program = check(args, { PAIRSTREAM_API_KEY: KEY });
    expect(await program.ended).toBe(1);
    expect(program.lines[2]).toBe(
      "wrong      the newest candles: The answer breaks the contract at page: not a number",
    );
    expect(program.lines).toContain(
      "wrong      snipers: The answer breaks the contract at result[0].walletAddress: not a string",
    );
    expect(program.lines.at(-1)).toMatch(
      /^1 fit, 3 read kindly, 6 wrong, 2 not asked; 10 requests, 1,400 units$/,
    );
  });
});

describe("what cannot be checked", () => {
  it.each([
    [["--pair", "pair1"], /^--pair needs --base-url: /],
    [["--base-url", "https://service.test"], /needs --pair/],
    [["--timeframe", "15min"], /Allowed choices are 1s, 10s/],
    [["now"], /too many arguments/],
  ])("is refused: %j", (args, message) => {
    expect(() => readOptions(args, { PAIRSTREAM_API_KEY: KEY })).toThrow(
      expect.objectContaining({ constructor: UsageError, message: expect.stringMatching(message) }),
    );
  });

  it("ends with 2 and one line where the options are to blame", async () => {
    await expectRefusal(
      check(["--base-url", "https://service.test", "--pair", "p"]),
      /set PAIRSTREAM_API_KEY/,
    );
  });
});
