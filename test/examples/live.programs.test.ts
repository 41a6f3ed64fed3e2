import { connect } from "node:net";
import { join } from "node:path";
import {
  applyCandleEvent,
  applySniperEvent,
  type Candle,
  type CandleEvent,
  emptyReport,
  type FeedStatus,
  type SniperEvent,
} from "pairstream";
import { createPairService, listen, simulatedMarket } from "pairstream/service";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { clientOf, linesOf } from "../../examples/live/follow.js";
import { readOptions } from "../../examples/live/options.js";
import { openPlace } from "../../examples/live/place.js";
import { textPrinter } from "../../examples/live/printer.js";
import type { Choices } from "../../examples/live-chart/gateway.js";
import { UsageError } from "../../examples/terminal/command-line.js";
import { openStore } from "../../examples/terminal/store-file.js";
import { swapLine, tapeOf, temporaryFolder } from "./files.js";
import { endAll, expectRefusal, type Program, run } from "./program.js";

type PrintedEvent =
  | ({ stream: "candle" } & CandleEvent)
  | ({ stream: "sniper" } & SniperEvent)
  | ({ stream: "status"; of: "candles" | "snipers" } & FeedStatus);

const EXAMPLE = "examples/live.ts";

afterEach(endAll);

const live = (args: readonly string[] = [], environment?: NodeJS.ProcessEnv): Program =>
  run(EXAMPLE, args, environment);

const isCandle = (line: string) => /^\d\d:\d\d:\d\d (new|updated|removed) +(open|closed|final) /.test(line);

/** Ends it with a signal; gives how it ended. */
function stop(program: Program, signal: NodeJS.Signals = "SIGINT") {
  program.child.kill(signal);
  return program.ended;
}

describe("without arguments", () => {
  it("shows what is followed, candles, snipers and statuses; Ctrl-C ends it", async () => {
    const program = live();
    const chart = await program.line(() => true);
    expect(chart).toMatch(/^Chart at http:\/\/127\.0\.0\.1:\d+\/$/);
    const second = await program.line((line) => !line.startsWith("Chart at "));
    expect(second).toMatch(/^Following \S+ on mainnet: 10s candles in usd, and snipers$/);
    await program.line((line) => /^Served at http:\/\/127\.0\.0\.1:\d+ by a simulated market/.test(line));
    await program.line((line) => line === "Ctrl-C stops");
    await program.line((line) => /^A candle is open while .*, closed once .*, and final when /.test(line));
    await program.line((line) => /status +candles starting$/.test(line));
    await program.line((line) => /status +candles live, covered from .* until /.test(line));
    await program.line((line) => /status +snipers live, as of /.test(line));
    await program.line((line) => /^\d\d:\d\d:\d\d snipers \d+ so far: sniped for \$/.test(line));
    const candle = await program.line(isCandle);
    // Time, event, status, date and time of the candle, four prices, volume, swaps.
    expect(candle.trim().split(/ +/)).toHaveLength(11);
    expect(candle).not.toMatch(/\de[+-]?\d/);
    await program.line((line) => / updated open /.test(line));
    expect(program.lines.join("\n")).not.toContain("\u001b[");

    expect(await stop(program)).toBe(0);
    expect(program.errors()).toBe("");
    expect(program.lines.at(-1)).toMatch(
      /^Followed for \d+ s: \d+ candles, \d+ closed live, \d+ corrected, \d+ removed; \d+ snipers; \d+ requests, [\d,]+ units$/,
    );
  });

  it("shows times that go on while the service's clock is learned, and follow a clock that is set back", () => {
    const start = Date.UTC(2026, 0, 1, 12);
    const series = { network: "mainnet", pairAddress: "p", timeframe: "1min", currency: "usd" } as const;
    let now: number | undefined;
    const print = textPrinter(series, () => now);
    const times = [undefined, 0, -900, 1_000, 300, -3_600_000].map((offset, failures) => {
      now = offset === undefined ? undefined : start + offset;
      const state = failures % 2 === 0 ? "stalled" : "live";
      return print({ stream: "status", of: "candles", state, failures }).map((line) => line.slice(0, 8));
    });
    expect(times.flat()).toEqual(["        ", "12:00:00", "12:00:00", "12:00:01", "12:00:01", "11:00:00"]);
  });

  it("ends at SIGTERM, and at a second Ctrl-C while it ends", async () => {
    const terminated = live();
    await terminated.line(isCandle);
    expect(await stop(terminated, "SIGTERM")).toBe(0);

    const interrupted = live();
    await interrupted.line(isCandle);
    interrupted.child.kill("SIGINT");
    expect(await stop(interrupted)).toBe(0);
    expect(terminated.errors() + interrupted.errors()).toBe("");
  });

  it("ends when the pipe is closed", async () => {
    const program = live();
    await program.line(isCandle);
    program.child.stdout?.destroy();
    expect(await program.ended).toBe(0);
    expect(program.errors()).toBe("");
  });
});

describe("--json", () => {
  it("prints nothing but events, which fold into candles and snipers", async () => {
    const program = live(["--json", "--timeframe", "1s", "--every", "250", "--since", "20"]);
    const isLiveClose = (line: string) => /"stream":"candle".*"status":"closed".*"live":true/.test(line);
    await program.line(isLiveClose);
    await program.line((line) => line.includes('"stream":"sniper"'));
    await program.line((line) => /"stream":"status","of":"snipers","state":"live"/.test(line));
    expect(await stop(program)).toBe(0);

    const events = program.lines.map((line): PrintedEvent => JSON.parse(line));
    const candles = new Map<number, Candle>();
    let report = emptyReport;
    for (const event of events) {
      if (event.stream === "candle") {
        expect(candles.get(event.candle.timestamp)).toEqual(
          event.type === "updated" ? event.previous : undefined,
        );
        applyCandleEvent(candles, event);
      } else if (event.stream === "sniper") {
        report = applySniperEvent(report, event);
      } else {
        expect(event).toMatchObject({ stream: "status", failures: 0 });
      }
    }
    expect(candles.size).toBeGreaterThan(10);
    expect(report.result.length).toBeGreaterThan(3);
    expect(program.errors()).toMatch(/^Chart at \S+\nFollowing /);
  });

  it("shows errors by name and message", async () => {
    const { baseUrl, close } = await serve("key");
    const program = live(["--json", "--base-url", baseUrl, "--pair", "pair1", "--every", "250"], {
      PAIRSTREAM_API_KEY: "key",
    });
    await program.line((line) => line.includes('"of":"candles","state":"live"'));
    await close();
    const stalled = await program.line((line) => /"of":"candles","state":"stalled".*"lastError"/.test(line));
    expect(JSON.parse(stalled)).toMatchObject({
      lastError: { name: "NetworkError", message: expect.stringContaining("got no answer") },
    });
    expect(await stop(program)).toBe(0);
  });
});

describe("the page", () => {
  it("answers at the address that is printed, with the page, its script, and the events of the pair", async () => {
    const program = live();
    const line = await program.line((one) => one.startsWith("Chart at "));
    const url = line.replace("Chart at ", "");
    const page = await fetch(url);
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    const script = /<script [^>]*src="([^"]+\.js)"/.exec(await page.text())?.[1];
    expect((await fetch(new URL(script!, url))).headers.get("content-type")).toMatch(/^text\/javascript/);

    const choices = (await (await fetch(new URL("choices", url))).json()) as Choices;
    const { pairAddress, timeframe, currency } = choices.first;
    expect(choices.pairs[0]).toBe(pairAddress);
    const leave = new AbortController();
    const query = new URLSearchParams({ network: choices.network, pairAddress, timeframe, currency });
    const { body } = await fetch(new URL(`candles?${query}`, url), leave);
    const decoder = new TextDecoder();
    let text = "";
    for await (const piece of body!) {
      text += decoder.decode(piece, { stream: true });
      if (text.includes("event: candle") && text.includes("event: ready")) break;
    }
    leave.abort();
    expect(await stop(program)).toBe(0);
    expect(program.errors()).toBe("");
  });

  it("ends with viewers connected, and in the middle of its build", async () => {
    const program = live();
    const url = (await program.line((one) => one.startsWith("Chart at "))).replace("Chart at ", "");
    // A server that is polite waits a minute for the rest of this.
    const halfRequest = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {});
    halfRequest.write("GET / HTTP/1.1\r\n");
    const { network, first } = (await (await fetch(new URL("choices", url))).json()) as Choices;
    const query = new URLSearchParams({ network, ...first });
    const events = await fetch(new URL(`candles?${query}`, url));
    const page = fetch(url).catch(() => undefined);
    expect(await stop(program)).toBe(0);
    await Promise.all([page, events.text().catch(() => {})]);
  });

  it("is not there with --no-page; is where --page-port says, or the program is not", async () => {
    const without = live(["--no-page"]);
    await without.line(isCandle);
    expect(await stop(without)).toBe(0);
    expect(without.lines.filter((line) => line.startsWith("Chart"))).toEqual([]);

    const program = live();
    const { port } = new URL((await program.line((one) => one.startsWith("Chart at "))).slice(9));
    await expectRefusal(live(["--page-port", port]), /the chart cannot be served: .*EADDRINUSE/);
    expect(await stop(program)).toBe(0);
    const again = live(["--page-port", port]);
    await again.line((line) => line === `Chart at http://127.0.0.1:${port}/`);
    expect(await stop(again)).toBe(0);
  });
});

describe("--tape", () => {
  it("shows history, then goes on live on the tape's clock", async () => {
    const from = Date.UTC(2021, 4, 6, 7, 8, 0);
    // One swap a second, the price a little higher each time; a speck of dust among them.
    const swaps = Array.from({ length: 180 }, (_, at) =>
      swapLine(from - 60_000 + at * 1_000, at, 2 + at / 100),
    );
    swaps.splice(30, 0, swapLine(from - 30_500, 1_000, 999_999, 1e-10));
    const file = await tapeOf(swaps);
    const program = live([
      ...["--tape", file, "--from", "2021-05-06T07:08:00Z", "--timeframe", "1s", "--every", "500"],
      ...["--since", "2021-05-06T07:07:30Z", "--minimum-usd", "0.01"],
    ]);
    await program.line((line) => line.includes("a tape of 180 swaps"));
    const first = await program.line(isCandle);
    expect(first).toMatch(/^07:08:\d\d new +final +05-06 07:07:30 +2\.30000 +2\.30000 /);
    await program.line((line) => /candles live, covered from 2021-05-06 07:07:30 until /.test(line));
    await program.line((line) => /new +open +05-06 07:08:0\d /.test(line));
    await program.line((line) => /updated closed 05-06 07:08:0\d /.test(line));
    expect(program.lines.filter((line) => line.includes("999999"))).toEqual([]);
    expect(await stop(program)).toBe(0);
    expect(program.errors()).toBe("");
  });

  it("has no snipers on devnet", async () => {
    const file = await tapeOf([swapLine(Date.UTC(2021, 4, 6), 1, 2)]);
    const program = live(["--tape", file, "--from", "2021-05-06T00:00:01Z", "--network", "devnet"]);
    await program.line((line) => /candles live/.test(line));
    expect(await stop(program)).toBe(0);
    expect(program.lines[1]).toMatch(/on devnet: 10s candles in usd$/);
    expect(program.lines.filter((line) => line.includes("sniper"))).toEqual([]);
  });

  it("that is wrong ends it with one line", async () => {
    const file = await tapeOf([swapLine(Date.UTC(2021, 4, 6), 1, 2), "{}"]);
    await expectRefusal(live(["--tape", file, "--from", "2021-05-06"]), /line 2: /);
  });

  it.each([
    ["that is not there", ["--tape", "no-such-file", "--from", "2021-05-06"], /cannot be read: ENOENT/],
    ["without a start", ["--tape", "FILE"], /needs --from.* 2021-05-06 00:00:00 to 2021-05-06 00:00:00/],
    ["that leaves nothing", ["--tape", "FILE", "--from", "2021-05-06", "--minimum-usd", "99"], /no swaps$/],
  ])("is refused %s", async (_, args, message) => {
    const file = await tapeOf([swapLine(Date.UTC(2021, 4, 6), 1, 2)]);
    const options = readOptions(
      args.map((arg) => (arg === "FILE" ? file : arg)),
      {},
    );
    await expect(openPlace(options)).rejects.toMatchObject({
      constructor: UsageError,
      message: expect.stringMatching(message),
    });
  });
});

describe("a remote service", () => {
  it("is followed with the key of the environment, by the URL of either", async () => {
    const { baseUrl } = await serve("key");
    const byOption = live(["--base-url", baseUrl, "--pair", "pair1"], { PAIRSTREAM_API_KEY: "key" });
    const byEnvironment = live(["--pair", "pair1"], {
      PAIRSTREAM_API_KEY: "key",
      PAIRSTREAM_BASE_URL: baseUrl,
    });
    for (const program of [byOption, byEnvironment]) {
      await program.line((line) => line === `Served at ${baseUrl} by a remote service`);
      await program.line(isCandle);
      await program.line((line) => /snipers live/.test(line));
      expect(await stop(program)).toBe(0);
    }
  });

  it("is asked for what is missing alone where a store has the rest", async () => {
    const { baseUrl } = await serve("key");
    const file = join(await temporaryFolder(), "candles.db");
    const args = ["--base-url", baseUrl, "--pair", "pair1", "--since", "100", "--no-page", "--store", file];
    const key = { PAIRSTREAM_API_KEY: "key" };
    const first = live(args, key);
    await first.line((line) => /candles live, covered from/.test(line));
    await first.line(isCandle);
    expect(await stop(first)).toBe(0);
    const store = await openStore(file);
    const { candles, covered } = await store.read(
      {
        ...{ service: baseUrl, network: "mainnet", pairAddress: "pair1", timeframe: "10s", currency: "usd" },
        weekStart: "monday",
      },
      { from: 0, to: Date.now() },
    );
    store.close();
    expect(covered).toHaveLength(1);
    expect(candles.length).toBeGreaterThan(50);
    const second = live(args, key);
    await second.line(isCandle);
    expect(await stop(second)).toBe(0);
    expect(first.errors() + second.errors()).not.toContain("store");
  });

  it("ends it with exit code 1 where it refuses the key, which is not shown", async () => {
    const { baseUrl } = await serve("key");
    const program = live(["--base-url", baseUrl, "--pair", "pair1"], { PAIRSTREAM_API_KEY: "wrong-0815" });
    expect(await program.ended).toBe(1);
    expect(program.errors()).toMatch(
      /^error: “Unauthorized: .*”: GET \/token\/.* status 401; check apiKey$/m,
    );
    expect(program.errors().split("\n")).toHaveLength(2);
    expect(program.lines.join("\n") + program.errors()).not.toContain("wrong-0815");
  });
});

describe("options that cannot be taken", () => {
  it("end with exit code 2 and one line", async () => {
    const place = ["--base-url", "https://service.test", "--pair", "pair1"];
    await expectRefusal(live(place), /needs a key: set PAIRSTREAM_API_KEY/);
  });

  it.each([
    [["--since", "yesterday"], /a number of candles, or an instant with a zone/],
    [["--from", "2024-01-01"], /^--from needs --tape, /],
    [["--minimum-usd", "1"], /^--minimum-usd needs --tape, /],
    [["--store", "candles.db"], /^--store needs --base-url: /],
    [["--store", "candles.db", "--tape", "file", "--from", "2024-01-01"], /^--store needs --base-url: /],
    [["--page-port", "70000"], /It has to be a port, from 0 to 65535/],
    [["--base-url", "https://service.test"], /needs --pair/],
    [["--seed", "1", "--tape", "file"], /cannot be used with/],
    [["--no-such-option"], /unknown option '--no-such-option'$/],
  ])("%j are refused where they are read", (args, message) => {
    expect(() => readOptions(args, { PAIRSTREAM_API_KEY: "wrong-0815" })).toThrow(
      expect.objectContaining({ constructor: UsageError, message: expect.stringMatching(message) }),
    );
  });

  it.each([
    [["--timeframe", "7min"], /7min does not nest in a day; allowed: what divides a day /],
    [["--network", "testnet"], /allowed: mainnet, devnet$/],
    [["--currency", "eur"], /allowed: usd, native$/],
    [["--every", "100"], /allowed: "close", or a number of ms of at least 250$/],
  ])("%j are refused before anything is asked for", (args, message) => {
    const place = { baseUrl: "http://localhost", apiKey: "key", pair: "pair1", pairs: ["pair1"] };
    const opened = { ...place, isLocal: true, title: "a service", close: async () => {} };
    expect(() => linesOf(opened, readOptions(args, {}), clientOf(opened))).toThrow(message);
  });
});

describe("--help", () => {
  it("names the options and the environment", async () => {
    const program = live(["--help"]);
    expect(await program.ended).toBe(0);
    const text = program.lines.join("\n");
    for (const name of ["tape", "base-url", "store"]) expect(text).toContain(`--${name}`);
    expect(text).toContain("PAIRSTREAM_API_KEY");
    expect(program.errors()).toBe("");
  });
});

/** A service of this process that lets one key in; its pair is `pair1`. */
async function serve(apiKey: string) {
  const source = simulatedMarket({ seed: 3, createdAt: Date.now() - 3_600_000, pairs: ["pair1"] });
  const { url, close } = await listen(createPairService({ source, apiKeys: [apiKey] }), { port: 0 });
  onTestFinished(close);
  return { baseUrl: url, close };
}
