import type { Candle, CandleEvent } from "pairstream";
import type { Page } from "playwright-core";
import type { Subject } from "rxjs";
import { expect, it } from "vitest";
import { describeCharts } from "./chart-tab.js";

/** What the bundle is in a page. */
declare const page: typeof import("./chart-page.js");

/** What a test keeps in its page. */
declare const drawn: {
  readonly events: Subject<CandleEvent>;
  readonly calls: readonly string[][];
  readonly reported: readonly string[];
  readonly history: readonly Candle[];
};

describeCharts("a chart in a real browser", (openTab) => {
  it("takes a history in one call, and the running candle in one each frame", async () => {
    const { tab } = await openTab();
    const calls = await tab.evaluate(async () => {
      const { chart, candles, volume } = page.openChart();
      const events = new page.Subject<ReturnType<typeof page.eventOf>>();
      const calls = page.callsOf(candles);
      page.drawCandles(chart, candles, events, { volume });
      await page.settled();
      const history = page.historyOf(1_000);
      for (const candle of history) events.next(page.eventOf("new", candle));
      await page.settled();
      for (let at = 0; at < 50; at++) events.next(page.eventOf("updated", { ...history.at(-1)!, close: at }));
      await page.settled();
      return { calls, held: candles.data().length, columns: volume.data().length };
    });
    // The first one is for what the series held before.
    expect(calls).toEqual({
      calls: ["setData 0", "setData 1000", "update 1000"],
      held: 1_000,
      columns: 1_000,
    });
  });

  const inParts = async (tab: Page, parts: number, pause: number) => {
    // Once installed, the clock goes on with the real one until it is paused.
    await tab.clock.install({ time: 0 });
    await tab.clock.pauseAt(3_600_000);
    await tab.evaluate(() => {
      const { chart, candles, volume, line } = page.openChart();
      const events = new page.Subject<ReturnType<typeof page.eventOf>>();
      const calls = [candles, volume, line].map(page.callsOf);
      const reported: string[] = [];
      page.config.onUnhandledError = ({ message }) => reported.push(message);
      page.drawCandles(chart, candles, events, { volume });
      page.drawLine(chart, line, events, ({ candle }) => candle.close);
      Object.assign(globalThis, { drawn: { events, calls, reported, history: page.historyOf(1_300) } });
    });
    for (let part = 0; part < parts; part += 1) {
      await tab.clock.runFor(pause);
      await tab.evaluate((part) => {
        for (const candle of drawn.history.slice(100 * part, 100 * part + 100))
          drawn.events.next({ ...page.eventOf("new", candle), status: "final", live: false });
      }, part);
    }
  };

  it.each([
    { how: "an event of what can still change", end: "event", bars: 301 },
    { how: "the end of the events", end: "complete", bars: 300 },
    { how: "their error", end: "error", bars: 300 },
    { how: "a second of silence", end: undefined, bars: 300 },
  ] as const)("draws a history that comes in parts once, after $how", async ({ end, bars }) => {
    const { tab } = await openTab({ isOwn: true });
    await inParts(tab, 3, 900);
    await tab.clock.runFor(900);
    // What the series held before has gone.
    const early = await tab.evaluate(() => drawn.calls);
    expect(early).toEqual([["setData 0"], ["setData 0"], ["setData 0"]]);
    await tab.evaluate((end) => {
      const { events, history } = drawn;
      if (end === "event") events.next(page.eventOf("new", history[300]!));
      if (end === "complete") events.complete();
      if (end === "error") events.error(new Error("cut off"));
    }, end);
    await tab.clock.runFor(200);
    const calls = await tab.evaluate(() => drawn.calls);
    expect(calls).toEqual(early.map((before) => [...before, `setData ${bars}`]));
    // Two drawings have ended with the same error.
    expect(await tab.evaluate(() => drawn.reported)).toEqual(end === "error" ? ["cut off"] : []);
  });

  it("draws what there is of a long history every five seconds", async () => {
    const { tab } = await openTab({ isOwn: true });
    await inParts(tab, 13, 900);
    const [candles, volume, line] = await tab.evaluate(() => drawn.calls);
    expect(candles).toEqual(["setData 0", "setData 600", "setData 1200"]);
    expect([volume, line]).toEqual([candles, candles]);
  });

  it("folds on in a tab without frames, and draws once when they come", async () => {
    const { tab } = await openTab();
    const result = await tab.evaluate(async () => {
      // A hidden tab has none.
      const real = window.requestAnimationFrame.bind(window);
      const waiting: FrameRequestCallback[] = [];
      window.requestAnimationFrame = (callback) => waiting.push(callback);
      const { chart, candles, line } = page.openChart();
      const events = new page.Subject<ReturnType<typeof page.eventOf>>();
      const drawing = page.drawCandles(chart, candles, events, { keep: 1_000 });
      drawing.add(page.drawLine(chart, line, events, ({ candle }) => candle.close));
      const before = waiting.length;
      let draws = 0;
      candles.subscribeDataChanged(() => {
        draws += 1;
      });
      for (let at = 0; at < 100_000; at++) {
        events.next(page.eventOf("new", page.candleAt(page.START + at * 60_000, 100 + (at % 9))));
      }
      const queued = waiting.length - before;
      const drawn = draws;
      window.requestAnimationFrame = real;
      for (const callback of waiting) callback(performance.now());
      await page.settled();
      const data = candles.data();
      return { queued, drawn, draws, held: data.length, last: data.at(-1)!.time, line: line.data().length };
    });
    const last = 1_700_000_040 + 99_999 * 60;
    expect(result).toMatchObject({ queued: 0, drawn: 0, draws: 1, last });
    expect(result.held).toBeGreaterThanOrEqual(900);
    expect(result.held).toBeLessThanOrEqual(1_000);
    expect(result.line).toBeGreaterThanOrEqual(45_000);
    expect(result.line).toBeLessThanOrEqual(50_000);
  });

  it("draws nothing after it is unsubscribed", async () => {
    const { tab, errors } = await openTab();
    const result = await tab.evaluate(async () => {
      const { chart, candles, line } = page.openChart();
      const events = new page.Subject<ReturnType<typeof page.eventOf>>();
      const [first, ...rest] = page.historyOf(10);
      const drawing = page.drawCandles(chart, candles, events);
      drawing.add(page.drawLine(chart, line, events, ({ candle }) => candle.close));
      events.next(page.eventOf("new", first!));
      await page.settled();
      for (const candle of rest) events.next(page.eventOf("new", candle));
      drawing.unsubscribe();
      await page.settled();
      return { held: [candles.data().length, line.data().length], isHeard: events.observed };
    });
    expect(result).toEqual({ held: [1, 1], isHeard: false });
    expect(errors).toEqual([]);
  });

  it.each(["chart", "series"] as const)(
    "unsubscribes by itself once its %s has been removed",
    async (what) => {
      const { tab, errors } = await openTab();
      const isHeard = await tab.evaluate(async (what) => {
        const { chart, candles, volume, line } = page.openChart();
        const events = new page.Subject<ReturnType<typeof page.eventOf>>();
        const olderFrom = async () => [];
        const drawing = page.drawCandles(chart, candles, events, { volume, olderFrom });
        drawing.add(page.drawLine(chart, line, events, ({ candle }) => candle.close));
        const [first, second, third] = page.historyOf(3);
        events.next(page.eventOf("new", first!));
        await page.settled();
        events.next(page.eventOf("new", second!));
        if (what === "chart") chart.remove();
        else chart.removeSeries(candles);
        events.next(page.eventOf("new", third!));
        await page.settled();
        const isHeard = events.observed;
        drawing.unsubscribe();
        await page.settled();
        return isHeard;
      }, what);
      expect(isHeard).toBe(false);
      expect(errors).toEqual([]);
    },
  );

  it("draws candles on where the volume has been removed", async () => {
    const { tab, errors } = await openTab();
    const result = await tab.evaluate(async () => {
      const { chart, candles, volume } = page.openChart();
      const events = new page.Subject<ReturnType<typeof page.eventOf>>();
      page.drawCandles(chart, candles, events, { volume });
      const [first, second] = page.historyOf(2);
      events.next(page.eventOf("new", first!));
      await page.settled();
      chart.removeSeries(volume);
      events.next(page.eventOf("new", second!));
      await page.settled();
      return { held: candles.data().length, places: chart.timeScale().timeToIndex(candles.data()[1]!.time) };
    });
    expect(result).toEqual({ held: 2, places: 1 });
    expect(errors).toEqual([]);
  });

  it("is unsubscribed without a word after its chart was removed", async () => {
    const { tab, errors } = await openTab();
    await tab.evaluate(async () => {
      const { chart, candles } = page.openChart();
      const events = new page.Subject<ReturnType<typeof page.eventOf>>();
      const drawing = page.drawCandles(chart, candles, events, { olderFrom: async () => [] });
      for (const candle of page.historyOf(10)) events.next(page.eventOf("new", candle));
      chart.remove();
      drawing.unsubscribe();
      await page.settled();
    });
    expect(errors).toEqual([]);
  });

  it("refuses merged series, and keeps what it shows; what the events fail with is reported", async () => {
    const { tab } = await openTab();
    const result = await tab.evaluate(async () => {
      const reported: { name: string; message: string }[] = [];
      page.config.onUnhandledError = ({ name, message }) => reported.push({ name, message });
      const { chart, candles, line } = page.openChart();
      const merged = new page.Subject<ReturnType<typeof page.eventOf>>();
      const failing = new page.Subject<ReturnType<typeof page.eventOf>>();
      page.drawCandles(chart, candles, merged);
      page.drawLine(chart, line, failing, ({ candle }) => candle.close);
      const [first, second] = page.historyOf(2);
      merged.next(page.eventOf("new", first!));
      merged.next(page.eventOf("new", second!, { ...page.SERIES, timeframe: "5min" }));
      failing.next(page.eventOf("new", first!));
      failing.error(new Error("the source"));
      await page.settled();
      await new Promise((resolve) => setTimeout(resolve));
      return { reported, held: [candles.data().length, line.data().length] };
    });
    expect(result).toEqual({
      reported: [
        {
          name: "InvalidInputError",
          message:
            "events are of mainnet pair1 1min usd and mainnet pair1 5min usd; allowed: the events of one series",
        },
        { name: "Error", message: "the source" },
      ],
      held: [1, 1],
    });
  });

  it("ends, and says why, where the chart refuses what it is given", async () => {
    const { tab, errors } = await openTab();
    const isHeard = await tab.evaluate(async () => {
      const { chart, candles } = page.openChart();
      const events = new page.Subject<ReturnType<typeof page.eventOf>>();
      page.drawCandles(chart, candles, events);
      candles.setData = () => {
        throw new Error("refused");
      };
      for (const candle of page.historyOf(10)) events.next(page.eventOf("new", candle));
      await page.settled();
      await new Promise((resolve) => setTimeout(resolve));
      return events.observed;
    });
    expect(isHeard).toBe(false);
    expect(errors).toEqual(["refused"]);
  });

  it("shows as many decimals as a price needs, and leaves a format of the page alone", async () => {
    const { tab } = await openTab();
    const texts = await tab.evaluate(async () => {
      const { chart, candles, line, below } = page.openChart();
      below.applyOptions({ priceFormat: { type: "price", precision: 1, minMove: 0.1 } });
      const events = new page.Subject<ReturnType<typeof page.eventOf>>();
      page.drawCandles(chart, candles, events);
      page.drawLine(chart, line, events, ({ candle }) => -candle.close);
      page.drawLine(chart, below, events, ({ candle }) => candle.close);
      const texts: string[][] = [];
      const prices = [65_432.1, 12.3456, 0.003706, 0.0000085012, 1.23e-11, 99.5, 100.5, 98.5, 0];
      for (const [at, price] of prices.entries()) {
        const candle = { ...page.candleAt(page.START + at * 60_000), close: price };
        events.next(page.eventOf("new", candle));
        await page.frame();
        await page.frame();
        texts.push([candles, line, below].map((one) => one.priceFormatter().format(price)));
      }
      return texts;
    });
    expect(texts.map(([candle]) => candle)).toEqual([
      "65432.10",
      "12.3456",
      "0.0₂370600",
      "0.0₅850120",
      "0.0₁₀123000",
      "99.5000",
      // Around a power of ten nothing jumps.
      "100.5000",
      "98.5000",
      "0",
    ]);
    expect(texts.at(-1)![2]).toBe("0.0");
    // The line swings by 65,432.
    expect(texts[2]![1]).toBe("0.00");
  });

  it("refuses what it cannot take", async () => {
    const { tab } = await openTab();
    const messages = await tab.evaluate(() => {
      const { chart, candles, line } = page.openChart();
      const events = new page.Subject<ReturnType<typeof page.eventOf>>();
      const calls: (() => unknown)[] = [
        () => page.drawCandles({} as never, candles, events),
        () => page.drawCandles(chart, undefined as never, events),
        () => page.drawCandles(chart, candles, [] as never),
        () => page.drawCandles(chart, candles, events, { keeps: 1 } as never),
        () => page.drawCandles(chart, candles, events, { keep: 99 }),
        () => page.drawCandles(chart, candles, events, { volume: 1 as never }),
        () => page.drawCandles(chart, candles, events, { olderFrom: {} as never }),
        () => page.drawLine(chart, line, events, "close" as never),
        () => page.drawLine(chart, line, events, () => 1, { pipes: 1 } as never),
        () => page.drawLine(chart, line, events, () => 1, { pipe: 1 as never }),
      ];
      return calls.map((call) => {
        try {
          call();
          return "";
        } catch (error) {
          return (error as Error).message;
        }
      });
    });
    expect(messages.map((message) => message.split(" ")[0])).toEqual([
      ...["chart", "series", "events", "keeps", "keep", "volume", "olderFrom", "pick", "pipes", "pipe"],
    ]);
  });

  it("draws what a source gave that has ended at once, and every candle gone and back", async () => {
    const { tab, errors } = await openTab();
    const held = await tab.evaluate(async () => {
      const { chart, candles, volume, line } = page.openChart();
      const history = page.historyOf(10);
      page.drawLine(
        chart,
        line,
        page.of(...history.map((candle) => page.eventOf("new", candle))),
        ({ candle }) => candle.close,
      );
      const events = new page.Subject<ReturnType<typeof page.eventOf>>();
      page.drawCandles(chart, candles, events, { volume });
      const held: number[][] = [];
      for (const type of ["new", "removed", "new"] as const) {
        for (const candle of history) events.next(page.eventOf(type, candle));
        await page.settled();
        held.push([candles, volume, line].map((series) => series.data().length));
      }
      return held;
    });
    expect(held).toEqual([
      [10, 10, 10],
      [0, 0, 10],
      [10, 10, 10],
    ]);
    expect(errors).toEqual([]);
  });
});
