import { type CandleEvent, type Series, watchCandles } from "pairstream";
import { merge, type Observable } from "rxjs";
import { beforeAll, describe, expect, it } from "vitest";
import {
  type Act,
  crash,
  HOUR,
  loadExports,
  loadRecipes,
  MINUTE,
  PAIRS,
  type Performance,
  programs,
  type Recipe,
  recipesIn,
  START,
  Stage,
} from "../documents/recipes.js";

/** Programs with closes or crossings on which nobody acts: they print, or look at the past. */
const NOT_ACTING = [
  "candles.subscribe(({ candle }) => console.log(candle.close));", // README.md
  'console.log("closed"', // docs/migrating.md
  "console.log(candle.close, trend", // docs/indicators.md
  'timeframe: "15min"', // docs/candles.md; test/candles/any-timeframe.test.ts watches such candles
  "replayCandles(", // docs/replay.md
  "assertNoLookahead(", // docs/replay.md
  "await backtest(", // docs/replay.md
  "export default ({ length, risk", // docs/backtest.md; test/examples/backtest.programs.test.ts runs it
  'log("closed", {', // docs/deploy.md; test/deploy runs it
  "await sweep(", // docs/backtest.md; test/examples/backtest/sweep.programs.test.ts runs such a sweep
];

let recipes: Recipe[];
beforeAll(async () => {
  recipes = await loadRecipes();
});

describe("the programs of the documents", () => {
  it("export what acts, so that it is run here", () => {
    const acting = programs().filter(({ code }) => /\b(closes|crosses)\(/.test(code));
    const untried = acting.filter(
      (block) => recipesIn(block).length === 0 && !NOT_ACTING.some((text) => block.code.includes(text)),
    );
    expect(untried.map(({ document, line }) => `${document}:${line}`)).toEqual([]);
    expect(recipes.map(({ name }) => name)).toEqual(
      expect.arrayContaining([
        "docs/candles.md: decisions",
        "docs/bot.md: decisions",
        "docs/bot.md: entries",
      ]),
    );
  });
});

const isDecisions = (name: string) => name.endsWith(": decisions");

/** What holds of whatever acts, in any trouble. */
function expectHonest(acts: ReadonlyMap<string, readonly Act[]>): void {
  for (const [name, acted] of acts) {
    expect(duplicates(acted), name).toEqual([]);
    const wrong = acted.filter(
      ({ event }) => !event.live || event.status === "open" || event.type === "removed",
    );
    expect(wrong, name).toEqual([]);
  }
}

function duplicates(acts: readonly Act[]): string[] {
  const keys = acts.map(({ key }) => key);
  return keys.filter((key, at) => keys.indexOf(key) !== at);
}

/** The keys of what was acted on from an instant on. */
const keysOf = (acts: readonly Act[], from = 0) =>
  acts
    .filter(({ at }) => at >= from)
    .map(({ key }) => key)
    .sort();

const inTime = (performance: Performance) =>
  [...performance.firstCloses().values()].filter(({ event }) => event.live);

describe("a recipe of the documents", () => {
  it("acts on each candle of both pairs once, as it closes", async () => {
    const stage = new Stage();
    const performance = stage.perform(recipes);
    await stage.clock.advanceBy(3 * HOUR + 5_000);
    performance.end();
    expect(performance.errors).toEqual([]);
    expectHonest(performance.acts);
    const minutes = Array.from({ length: 180 }, (_, at) => START + at * MINUTE);
    const all = PAIRS.flatMap((pair) => minutes.map((minute) => `${pair} ${minute}`)).sort();
    for (const [name, acts] of performance.acts) {
      if (isDecisions(name)) expect(keysOf(acts, START + MINUTE), name).toEqual(all);
      const late = acts.filter(({ at, event }) => {
        return event.status === "closed" && at > event.candle.timestamp + MINUTE + 5_000;
      });
      expect(late, name).toEqual([]);
    }
    expect(stage.clock.pending).toBe(0);
  });

  it("acts once on a candle that is corrected, removed, or comes back", async () => {
    const stage = new Stage({ isUnsettled: true });
    const performance = stage.perform(recipes);
    await stage.clock.advanceBy(6 * HOUR);
    performance.end();
    const seen = performance.raw.map(({ event }) => event);
    expect(seen.filter(({ type }) => type === "removed").length).toBeGreaterThan(0);
    const corrections = seen.filter((event) => event.type === "updated" && event.status === "closed");
    expect(corrections.length).toBeGreaterThan(200);
    expectHonest(performance.acts);
    for (const [name, acts] of performance.acts) {
      if (isDecisions(name)) expect(keysOf(acts), name).toEqual(keysOf(inTime(performance)));
    }
  });

  it("acts after two hours without network at most on the newest close of each pair", async () => {
    const outage = [START + HOUR, START + 3 * HOUR] as const;
    const stage = new Stage({ outage, isUnsettled: true });
    const performance = stage.perform(recipes);
    await stage.clock.advanceBy(4 * HOUR);
    performance.end();
    expectHonest(performance.acts);
    const missed = performance.raw.filter(
      ({ at, event }) => at >= outage[1] && event.candle.timestamp < outage[1],
    );
    expect(missed.length).toBeGreaterThan(200);
    for (const [name, acts] of performance.acts) {
      for (const pair of PAIRS) {
        const caughtUp = acts.filter(
          ({ at, event }) =>
            event.series.pairAddress === pair &&
            at >= outage[0] + 5_000 &&
            event.candle.timestamp < outage[1] - MINUTE,
        );
        expect(caughtUp.length, `${name}, ${pair}`).toBeLessThanOrEqual(name.includes("final") ? 3 : 1);
      }
    }
  });

  it("acts when it starts late only on what has just closed", async () => {
    const stage = new Stage();
    const client = stage.client();
    const early = stage.perform(recipes, client);
    for (const late of [3_000, 39_000]) {
      await stage.clock.advanceTo(START + Math.ceil((stage.clock.now() - START) / HOUR + 0.5) * HOUR + late);
      const joined = stage.clock.now();
      const performance = stage.perform(recipes, client);
      await stage.clock.advanceBy(10 * MINUTE);
      performance.end();
      expectHonest(performance.acts);
      for (const [name, acts] of performance.acts) {
        const stale = acts.filter(
          ({ event }) => event.status === "closed" && event.candle.timestamp < joined - 2 * MINUTE,
        );
        expect(stale, name).toEqual([]);
        const closed = keysOf(early.acts.get(name)!, joined + MINUTE).filter(
          (key) => Number(key.split(" ")[1]) > joined,
        );
        if (isDecisions(name)) expect(keysOf(acts)).toEqual(expect.arrayContaining(closed));
      }
    }
    early.end();
  });

  it("acts after a restart on nothing that it has acted on, and on all that closes from then on", async () => {
    for (const pause of [5_000, 20 * MINUTE]) {
      const stage = new Stage({ isUnsettled: true });
      const before = stage.perform(recipes);
      await stage.clock.advanceBy(HOUR + 2_500);
      before.end();
      await stage.clock.advanceBy(pause);
      const restarted = stage.clock.now();
      const after = stage.perform(recipes);
      await stage.clock.advanceBy(HOUR);
      after.end();
      for (const [name, acts] of before.acts) {
        const both = [...acts, ...after.acts.get(name)!];
        expectHonest(new Map([[name, both]]));
        const old = after.acts
          .get(name)!
          .filter(({ event }) => event.candle.timestamp < restarted - 2 * MINUTE);
        expect(
          old.filter(({ event }) => event.status === "closed"),
          name,
        ).toEqual([]);
        if (isDecisions(name)) expect(keysOf(after.acts.get(name)!), name).toEqual(keysOf(inTime(after)));
      }
    }
  });

  it("acts through twelve hours of faults on every candle that closed in time, as without them", async () => {
    const rates = { delay: 0.05, reset: 0.15, "5xx": 0.15, html: 0.05, cutOff: 0.05, "429": 0.02 };
    const [clean, faulty] = await Promise.all(
      [{}, { rates }].map(async (trouble) => {
        const stage = new Stage(trouble);
        const performance = stage.perform(recipes);
        await stage.clock.advanceBy(12 * HOUR);
        performance.end();
        return performance;
      }),
    );
    expectHonest(faulty!.acts);
    const closes = inTime(faulty!);
    const finals = faulty!.raw.filter(({ event }) => event.live && event.status === "final");
    expect(closes.length).toBeGreaterThan(1_000);
    expect(closes.length).toBeLessThan(faulty!.firstCloses().size - 1_000);
    for (const [name, acts] of clean!.acts) {
      expect(acts.length, name).toBeGreaterThan(0);
      const onFinal = acts.every(({ event }) => event.status === "final");
      const told = new Set(keysOf(onFinal ? finals : closes));
      expect(keysOf(faulty!.acts.get(name)!), name).toEqual(keysOf(acts).filter((key) => told.has(key)));
    }
  });
});

describe("the stop of the documents", () => {
  it("sees a crash in the last seconds of a candle, which only its close shows", async () => {
    const program = programs().find(({ code }) => code.includes("export const stops"))!;
    const { stops } = (await loadExports(program)) as {
      stops(events: Observable<CandleEvent>, stopOf: (series: Series) => number | undefined): typeof events;
    };
    const stage = new Stage({ source: crash });
    await stage.clock.advanceBy(5_000);
    const client = stage.client();
    // Each pair is polled at seconds of its own; the last look of some is before the crash.
    const pairs = Array.from({ length: 12 }, (_, at) => `pair-${at}`);
    const watches = pairs.map((pairAddress) =>
      watchCandles(client, {
        network: "mainnet",
        pairAddress,
        timeframe: "1min",
        currency: "usd",
        every: 10_000,
      }),
    );
    const first = new Map<string, CandleEvent>();
    const bot = stops(merge(...watches), () => 9).subscribe((event) => {
      if (!first.has(event.series.pairAddress)) first.set(event.series.pairAddress, event);
    });
    await stage.clock.advanceBy(5 * MINUTE);
    bot.unsubscribe();
    const stopped = pairs.map((pair) => first.get(pair));
    const expected = { type: "updated", live: true, candle: { timestamp: START, close: 5 } };
    expect(stopped).toMatchObject(pairs.map(() => expected));
    expect(stopped.map((event) => event!.status)).toContain("closed");
  });
});
