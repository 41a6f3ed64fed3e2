import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { InvalidInputError, PairstreamError, type Series } from "pairstream";
import {
  backtest,
  type Order,
  type Statistics,
  SweepError,
  type SweepOptions,
  type SweepResult,
  sweep,
} from "pairstream/backtest";
import { map, take, tap } from "rxjs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../documents/files.js";
import { marketOf } from "../indicators/random-candles.js";
import { MINUTE, series } from "./bars.js";
import type { SweepProgram } from "./sweep-program.js";
import crossing, { type Parameters } from "./swept-strategy.js";

const candles = marketOf(5, 600);
const feeds = [{ series, candles }];
const grid = { fast: [3, 5], slow: [9, 21] };
const LIST = [
  { fast: 3, slow: 9 },
  { fast: 3, slow: 21 },
  { fast: 5, slow: 9 },
  { fast: 5, slow: 21 },
];
const swept = (more: Partial<SweepOptions<Parameters>> = {}) =>
  sweep<Parameters>({ feeds, strategy: crossing, parameters: LIST, ...more });
const failureOf = (more: object) =>
  swept(more as never).then(
    () => expect.fail("it has not failed"),
    (error: unknown) => error,
  );

describe("a sweep", () => {
  it("tries every combination in order, the last name fastest, and any list as it is", async () => {
    const [byName, listed] = [await sweep({ feeds, strategy: crossing, parameters: grid }), await swept()];
    expect(byName.rows.map(({ parameters }) => parameters)).toEqual(LIST);
    expect(listed).toEqual(byName);
  });

  it("gives before the cut what a backtest of that part gives", async () => {
    const { rows, windows } = await swept();
    const cut = 420 * MINUTE;
    expect(windows[0]).toMatchObject({
      inSample: { from: 0, to: cut },
      outOfSample: { from: cut, to: 600 * MINUTE },
    });
    for (const { parameters, windows: figures } of rows) {
      const alone = await backtest({
        feeds: [{ series, candles: candles.slice(0, 420) }],
        strategy: crossing(parameters),
      });
      expect(figures[0]!.inSample).toEqual(alone.statistics);
      expect(windows[0]!.buyAndHold.inSample).toEqual(alone.buyAndHold.statistics);
    }
  });

  it("gives after the cut what an account does that begins there, of a strategy that has seen all", async () => {
    const { rows } = await swept();
    for (const { parameters, windows } of rows) {
      const strategy = crossing(parameters);
      const cut = 420 * MINUTE;
      const late = await backtest({
        feeds,
        // What is decided before the cut is held back.
        strategy: (events, account) => {
          let now = 0;
          const seen = events.pipe(
            tap((event) => {
              now = event.observedAt;
            }),
          );
          return strategy(seen, account).pipe(
            map((order) => (now < cut ? { type: "cancel" as const, id: "none" } : order)),
          );
        },
      });
      expect(windows[0]!.outOfSample).toMatchObject({
        from: cut,
        to: 600 * MINUTE,
        end: late.statistics.end,
        trades: late.statistics.trades,
        fees: late.statistics.fees,
      });
    }
  });

  it("walks forward: windows of one length, whose later parts follow one another up to the end", async () => {
    const { windows, rows } = await swept({ split: { walkForward: 3, inSample: 0.5 } });
    const minutes = windows.map(({ inSample, outOfSample }) =>
      [inSample.from, inSample.to, outOfSample.from, outOfSample.to].map((at) => at / MINUTE),
    );
    expect(minutes).toEqual([
      [0, 150, 150, 300],
      [150, 300, 300, 450],
      [300, 450, 450, 600],
    ]);
    for (const { windows: figures } of rows) expect(figures).toHaveLength(3);
  });

  it("names the best row of each window by what came before the cut, and by any score", async () => {
    const { rows, windows } = await swept({ split: { walkForward: 3, inSample: 0.5 } });
    windows.forEach(({ best }, window) => {
      const returns = rows.map(({ windows: figures }) => figures[window]!.inSample.totalReturn);
      expect(returns[best]).toBe(Math.max(...returns));
    });
    const few = await swept({ score: ({ trades }) => -trades });
    const trades = few.rows.map(({ windows: figures }) => figures[0]!.inSample.trades);
    expect(trades[few.windows[0]!.best]).toBe(Math.min(...trades));
    // Without a number it is the last.
    expect((await swept({ score: ({ sharpe }) => sharpe.value })).windows[0]!.best).toBe(0);
  });

  it("reads several series, an async one among them, and fills nothing with a candle across the cut", async () => {
    const hour: Series = { ...series, timeframe: "1h" };
    const hours = Array.from({ length: 10 }, (_, at) => ({
      ...candles[at * 60]!,
      timestamp: at * 60 * MINUTE,
    }));
    async function* later() {
      yield* candles;
    }
    const both = [
      { series: hour, candles: hours },
      { series, candles: later() },
    ];
    const buy = { type: "market", side: "buy", series: hour, size: { quantity: 1 } } as const;
    const { rows } = await sweep({
      feeds: both,
      parameters: [1],
      // Half past four lies within the fifth hour.
      split: { inSample: 0.45 },
      strategy: () => (events) => events.pipe(map(() => buy)),
      broker: { cash: 1e9 },
    });
    const [{ inSample, outOfSample }] = rows[0]!.windows as [(typeof rows)[0]["windows"][0]];
    expect(inSample.to).toBe(270 * MINUTE);
    expect(outOfSample.from).toBe(270 * MINUTE);
    // Orders of the first minutes are filled at one, two, three; those of before five at five.
    expect(inSample.turnover.value).toBeGreaterThan(0);
    expect(outOfSample.fees).toBeGreaterThan(0);
  });

  it("says how many orders were refused, and why, which are nobody's figures", async () => {
    const order = (share: number) =>
      map((): Order => ({ type: "market", side: "buy", series, size: { equity: share } }));
    const { rows } = await sweep({
      feeds,
      strategy: ({ share, until }: { share: number; until: number }) => {
        return (events) => events.pipe(take(until), order(share));
      },
      parameters: [
        { share: 0.01, until: 3 },
        { share: Number.NaN, until: 5 },
        { share: 0.9, until: 4 },
      ],
    });
    expect(rows.map(({ orders, rejections }) => ({ orders, rejections }))).toEqual([
      { orders: 3, rejections: {} },
      { orders: 5, rejections: { invalid: 5 } },
      { orders: 4, rejections: { "insufficient-funds": 3 } },
    ]);
    expect(Object.isFrozen(rows[0]!.rejections)).toBe(true);
  });

  it("chooses none whose score is none, or is no number, where any other has one", async () => {
    const scores = [undefined, Number.NaN, -Infinity, -5, 7, 7, Number.NaN, undefined];
    const parameters = scores.map((score) => ({ ...LIST[0]!, score }));
    let at = 0;
    const { windows } = await sweep({
      ...{ feeds, strategy: crossing, parameters },
      score: () => scores[at++],
    });
    expect(windows[0]!.best).toBe(4);
    const none = await swept({ score: () => Number.NaN });
    expect(none.windows[0]!.best).toBe(0);
  });

  it("gives the same twice, frozen", async () => {
    const [first, second] = [await swept(), await swept()];
    expect(second).toEqual(first);
    for (const part of [
      first,
      first.rows,
      first.rows[0],
      first.windows[0],
      first.rows[0]!.windows[0]!.inSample,
    ])
      expect(Object.isFrozen(part)).toBe(true);
  });

  it("tells how far it is, and ends with the reason of its signal", async () => {
    const progress: string[] = [];
    await swept({ onProgress: (done, all) => progress.push(`${done}/${all}`) });
    expect(progress).toEqual(["1/4", "2/4", "3/4", "4/4"]);
    const reason = new Error("enough");
    const controller = new AbortController();
    let last = 0;
    const aborted = swept({
      signal: controller.signal,
      onProgress: (done) => {
        last = done;
        // As a page would: from elsewhere.
        setImmediate(() => controller.abort(reason));
      },
    });
    await expect(aborted).rejects.toBe(reason);
    expect(last).toBeLessThan(4);
    await expect(swept({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});

describe("a sweep in trouble", () => {
  it.each([
    ["throws", "no such strategy", RangeError],
    ["later", "at the first order", Error],
    ["makes none", "strategy", TypeError],
    ["looks ahead", "looks ahead", PairstreamError],
  ] as const)(
    "names the parameters of a strategy that %s, and keeps the cause",
    async (trouble, text, cause) => {
      const bad = { fast: 3, slow: 9, trouble };
      const error = (await failureOf({ parameters: [LIST[0]!, bad, { ...bad, fast: 4 }] })) as SweepError;
      expect(error).toBeInstanceOf(SweepError);
      expect(error.parameters).toEqual(bad);
      expect(error.message).toContain(JSON.stringify(bad));
      expect(error.message).toContain(text);
      expect(error.cause).toBeInstanceOf(cause);
    },
  );

  it("refuses a strategy that does not end with its events", async () => {
    const error = (await failureOf({ strategy: () => () => new Promise(() => {}) })) as SweepError;
    expect(error.cause).toBeInstanceOf(InvalidInputError);
  });

  it.each([
    [{ parameters: [] }, "parameters"],
    [{ parameters: { fast: [] } }, "parameters"],
    [{ parameters: { fast: 3 } }, "parameters.fast"],
    [{ parameters: undefined }, "parameters"],
    [{ strategy: "./strategy.js" }, "strategy"],
    [{ split: { inSample: 1 } }, "split.inSample"],
    [{ split: { inSample: 0 } }, "split.inSample"],
    [{ split: { walkForward: 1, inSample: 0.5 } }, "split.walkForward"],
    [{ split: { outOfSample: 0.3 } }, "split.outOfSample"],
    [{ workers: 2 }, "workers"],
    [{ strategy: new URL("file:///none.js"), workers: 0 }, "workers"],
    [{ strategy: new URL("file:///none.js"), parameters: [() => {}] }, "parameters[0]"],
    [{ score: 5 }, "score"],
    [{ score: ({ sharpe }: Statistics) => sharpe }, "score"],
    [{ score: async () => 1 }, "score"],
    [{ score: () => null }, "score"],
    [{ onProgress: "yes" }, "onProgress"],
    [{ broker: { cash: 0 } }, "broker.cash"],
    [{ feeds: [] }, "feeds"],
    [{ feeds: [{ series, candles: [] }] }, "feeds"],
    [{ sweeps: 1 }, "sweeps"],
  ])("names the option: %j", async (more, parameter) => {
    const error = await failureOf(more);
    expect(error).toBeInstanceOf(InvalidInputError);
    expect((error as InvalidInputError).parameter).toBe(parameter);
  });
});

interface Told {
  readonly told: SweepResult<Parameters> & {
    readonly errors: readonly string[];
    readonly isOurs: boolean;
    readonly parameters: unknown;
  };
  readonly progress: readonly string[];
  readonly left: readonly string[];
}

describe("a sweep in workers", () => {
  let folder: string;

  beforeAll(async () => {
    // Below node_modules, where the packages that a bundle imports are found.
    const cache = join(root, "node_modules/.cache");
    await mkdir(cache, { recursive: true });
    folder = await mkdtemp(join(cache, "pairstream-sweep-"));
    // Each thread loads a few files, and not all of the sources.
    await build({
      absWorkingDir: root,
      entryPoints: [
        "src/backtest/sweep-worker.ts",
        ...["bars", "sweep-program", "swept-strategy"].map((name) => `test/backtest/${name}.ts`),
      ],
      entryNames: "[name]",
      outdir: folder,
      outExtension: { ".js": ".mjs" },
      bundle: true,
      splitting: true,
      packages: "external",
      platform: "node",
      format: "esm",
      target: "node20",
      logLevel: "error",
    });
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** In a process of its own. */
  async function program(given: Partial<SweepProgram>): Promise<Told> {
    const usual = { parameters: LIST, workers: 2, candles: 600, module: "./swept-strategy.mjs" };
    const whole: SweepProgram = { ...usual, ...given };
    const args = [join(folder, "sweep-program.mjs"), JSON.stringify(whole)];
    const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 1e8 });
    return JSON.parse(stdout) as Told;
  }

  it("gives what one in this thread gives, whatever their number", async () => {
    const here = JSON.parse(JSON.stringify(await swept())) as object;
    for (const workers of [1, 3]) {
      const { told, progress, left } = await program({ workers });
      expect(told).toEqual(here);
      expect(progress).toEqual(["1 of 4", "2 of 4", "3 of 4", "4 of 4"]);
      expect(left).toEqual([]);
    }
  });

  it.each([
    ["throws", ["RangeError: no such strategy", "Error: the reason"]],
    ["later", ["Error: at the first order"]],
    ["looks ahead", [expect.stringMatching(/^PairstreamError: The operator looks ahead/)]],
    ["exits", ["Error: its worker thread has ended with exit code 3"]],
  ] as const)(
    "names the parameters of a strategy that %s, the first of them, and leaves nothing",
    async (trouble, causes) => {
      const bad = { fast: 3, slow: 9, trouble };
      const parameters = [LIST[0]!, bad, { ...bad, fast: 4 }, LIST[1]!];
      const { told, left } = await program({ parameters });
      expect(told.errors).toEqual([
        expect.stringMatching(/^SweepError: The strategy failed with the parameters \{"fast":3/),
        ...causes,
      ]);
      expect(told.isOurs).toBe(true);
      expect(told.parameters).toMatchObject(bad);
      expect(left).toEqual([]);
    },
  );

  it.each([
    ["of the first in the list, though it is the last to fail", "throws at last", "RangeError: at last", 0],
    ["once what comes before it has gone well", "is slow", "RangeError: no such strategy", 1],
  ] as const)("rejects with the failure %s", async (_, trouble, cause, blamed) => {
    // The first waits until the sweep has heard that the second has failed.
    const parameters: Parameters[] = [
      { fast: 3, slow: 9, trouble },
      { fast: 4, slow: 9, trouble: "throws" },
    ];
    const { told, progress, left } = await program({ parameters });
    expect(told.errors[1]).toBe(cause);
    expect(told.parameters).toMatchObject(parameters[blamed]!);
    expect(progress).toEqual(blamed === 0 ? [] : ["1 of 2"]);
    expect(left).toEqual([]);
  });

  it("takes the answer of a worker that has ended since", async () => {
    const [parameters] = LIST;
    const { told } = await program({ parameters: [{ ...parameters!, trouble: "ends after" }], workers: 1 });
    const { rows } = await swept({ parameters: [parameters!] });
    expect(told.rows[0]!.windows).toEqual(JSON.parse(JSON.stringify(rows[0]!.windows)));
  });

  it("ends with its signal, however long a strategy takes", async () => {
    const parameters: Parameters[] = [LIST[0]!, { fast: 3, slow: 9, trouble: "takes long" }];
    const { told, left } = await program({ parameters, isAborted: true });
    expect(told.errors).toEqual(["Error: enough"]);
    expect(left).toEqual([]);
  });

  it("says why a worker has failed that has tried nothing yet", async () => {
    const { told, left } = await program({ module: "data:text/javascript,process.exit(4)" });
    const reason = "its worker thread has ended with exit code 4";
    expect(told.errors).toEqual([
      `PairstreamError: A worker thread of the sweep has failed: ${reason}`,
      `Error: ${reason}`,
    ]);
    expect(left).toEqual([]);
  });

  it.each(["./no-such-module.mjs", "./bars.mjs"])("says that a module cannot be used: %s", async (module) => {
    const { told, left } = await program({ module });
    expect(told.errors[0]).toMatch(/^InvalidInputError: strategy \(file:.*\) cannot be used/);
    expect(told.errors).toHaveLength(2);
    expect(left).toEqual([]);
  });
});
