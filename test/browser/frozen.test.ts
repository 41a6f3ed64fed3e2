import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { root } from "../documents/files.js";
import { findChromium } from "./chromium.js";
import { openRawTab, type RawTab } from "./raw-tab.js";

const executablePath = findChromium();
const isRequired = process.env.CI === "true";
const DEADLINE = 60_000;
const SECOND = 1_000;
const SLEEP = 600 * SECOND;
/** When a candle is due after its end: the default. */
const SETTLE = SECOND;

/** What is told of a candle of one second. */
interface Told {
  readonly timestamp: number;
  readonly type: "new" | "updated" | "removed";
  readonly isOver: boolean;
  readonly live: boolean;
}

/** Follows the same candles with a source that pauses and one that does not; the clock can be set forward. */
const PROGRAM = `
  import { clientSource, createClient, pauseWhileHidden } from "pairstream";
  import { demoService } from "pairstream/service";

  const tell = Date.now.bind(Date);
  const state = { slept: 0, asked: 0, life: [], told: { plain: [], pausing: [] } };
  globalThis.state = state;
  Date.now = () => tell() + state.slept;
  for (const name of ["freeze", "resume"]) document.addEventListener(name, () => state.life.push(name));
  const { pairs, clientOptions } = demoService();
  const open = () => clientSource(createClient({
    ...clientOptions,
    fetch: (...call) => {
      state.asked += 1;
      return clientOptions.fetch(...call);
    },
  }));
  const sources = { plain: open(), pausing: pauseWhileHidden(open(), { after: 0 }) };
  const watch = { network: "mainnet", pairAddress: pairs[0], timeframe: "1s", currency: "usd", fillGaps: true };
  for (const [name, source] of Object.entries(sources)) {
    source.candles({ ...watch, since: { candles: 5 } }).subscribe(({ candle, type, status, live }) =>
      state.told[name].push({ timestamp: candle.timestamp, type, isOver: status !== "open", live }));
  }
`;

describe.skipIf(executablePath === undefined && !isRequired)("a tab that was frozen", () => {
  let tab: RawTab;

  /** Until both streams have gone on past an instant. */
  const goOn = (past: number) =>
    expect
      .poll(
        () =>
          tab.evaluate(`Math.min(...Object.values(state.told).map((told) =>
      told.findLast(({ live, isOver }) => live && isOver)?.timestamp ?? 0))`),
        { timeout: DEADLINE },
      )
      .toBeGreaterThan(past);
  const toldBy = (name: "plain" | "pausing") => tab.evaluate(`state.told.${name}`) as Promise<Told[]>;
  const now = () => tab.evaluate("Date.now()") as Promise<number>;

  beforeAll(async () => {
    if (executablePath === undefined) throw new Error("No Chromium: install it, or set CHROMIUM_PATH");
    const { outputFiles } = await build({
      stdin: { contents: PROGRAM, loader: "ts", resolveDir: root },
      alias: { "pairstream/service": `${root}/src/service/browser.ts` },
      bundle: true,
      write: false,
      format: "iife",
      absWorkingDir: root,
    });
    tab = await openRawTab(executablePath);
    await tab.send("Page.addScriptToEvaluateOnNewDocument", { source: outputFiles[0]!.text });
  });
  afterAll(() => tab?.close());

  it("is told once what it missed while the machine slept, and nothing of that is live", {
    timeout: 2 * DEADLINE,
  }, async () => {
    await tab.send("Page.reload");
    await expect.poll(() => tab.evaluate("typeof state"), { timeout: DEADLINE }).toBe("object");
    await goOn(0);
    await tab.hide(true);
    await tab.send("Page.setWebLifecycleState", { state: "frozen" });
    await expect.poll(() => tab.evaluate("state.life"), { timeout: DEADLINE }).toEqual(["freeze"]);
    const frozenAt = await now();
    const before = { plain: await toldBy("plain"), pausing: await toldBy("pausing") };
    await tab.evaluate(`state.slept = ${SLEEP}`);
    const wokeAt = await now();
    await tab.send("Page.setWebLifecycleState", { state: "active" });
    await tab.hide(false);
    await expect.poll(() => tab.evaluate("document.visibilityState"), { timeout: DEADLINE }).toBe("visible");
    const backAt = await now();
    expect(await tab.evaluate("state.life")).toEqual(["freeze", "resume"]);
    await goOn(backAt);
    for (const name of ["plain", "pausing"] as const) {
      const told = (await toldBy(name)).slice(before[name].length);
      const missed = told.filter(({ timestamp }) => timestamp > frozenAt && timestamp < wokeAt - 10 * SECOND);
      const born = missed.filter(({ type }) => type === "new").map(({ timestamp }) => timestamp);
      expect(born.length).toBeGreaterThan(580);
      expect(born).toEqual(born.map((_, at) => born[0]! + at * SECOND));
      expect(missed.filter(({ type }) => type === "removed")).toEqual([]);
      expect(missed.filter(({ live }) => live)).toEqual([]);
      // As `closes` has it: the first event of each that says so.
      const closes = new Map<number, Told>();
      for (const one of told) if (one.isOver && !closes.has(one.timestamp)) closes.set(one.timestamp, one);
      const wasDue = ({ timestamp }: Told) => timestamp + SECOND + SETTLE < wokeAt;
      const late = [...closes.values()].filter((one) => one.live && wasDue(one));
      expect(late.length).toBeLessThanOrEqual(1);
    }
  });

  it("is loaded anew where it was discarded, and its history is not live", {
    timeout: 2 * DEADLINE,
  }, async () => {
    await tab.send("Page.reload");
    await expect.poll(() => tab.evaluate("state.life"), { timeout: DEADLINE }).toEqual([]);
    const backAt = await now();
    await goOn(backAt);
    for (const name of ["plain", "pausing"] as const) {
      const old = (await toldBy(name)).filter(({ timestamp }) => timestamp < backAt - 10 * SECOND);
      expect(old.filter(({ live }) => live)).toEqual([]);
      const born = old.filter(({ type }) => type === "new").map(({ timestamp }) => timestamp);
      expect(new Set(born).size).toBe(born.length);
    }
  });
});
