import { expect, it } from "vitest";
import { describeCharts } from "./chart-tab.js";

/** What the bundle is in a page. */
declare const page: typeof import("./chart-page.js");

describeCharts("the view of a chart in a real browser", (openTab) => {
  it("holds the fold of 10,000 random events, and the view stays in every frame", async () => {
    const { tab, errors } = await openTab();
    const { problems, ...figures } = await tab.evaluate(() => page.play(7, 10_000));
    const { perDrawing, perPaint, drawings, bars } = figures;
    const each = `${perDrawing.toFixed(1)} ms a drawing of four series, ${perPaint.toFixed(1)} a paint`;
    console.info(`${drawings} drawings, ${bars} candles in the end: ${each}`);
    expect(problems.slice(0, 10)).toEqual([]);
    expect(figures.prepends).toBeGreaterThan(5);
    expect(figures.paints).toBeGreaterThan(400);
    expect(errors).toEqual([]);
  });

  it("shows the newest candles of another pair, and of the old one nothing", async () => {
    const { tab } = await openTab();
    const result = await tab.evaluate(async () => {
      const { chart, candles, volume } = page.openChart();
      const first = new page.Subject<ReturnType<typeof page.eventOf>>();
      const drawing = page.drawCandles(chart, candles, first, { volume });
      for (const candle of page.historyOf(500)) first.next(page.eventOf("new", candle));
      await page.settled();
      chart.timeScale().scrollToPosition(-300, false);
      await page.settled();
      drawing.unsubscribe();
      const series = { ...page.SERIES, pairAddress: "pair2" };
      const second = new page.Subject<ReturnType<typeof page.eventOf>>();
      page.drawCandles(chart, candles, second, { volume });
      await page.settled();
      const between = [candles.data().length, volume.data().length];
      for (const candle of page.historyOf(200)) second.next(page.eventOf("new", candle, series));
      await page.settled();
      return { between, held: candles.data().length, at: chart.timeScale().scrollPosition() };
    });
    expect(result).toEqual({ between: [0, 0], held: 200, at: 0 });
  });

  it("stays where it was when the same series is drawn anew", async () => {
    const { tab } = await openTab();
    const result = await tab.evaluate(async () => {
      const { chart, candles } = page.openChart();
      const ranges: (object | null)[] = [];
      let drawing: { unsubscribe(): void } | undefined;
      for (let time = 0; time < 3; time++) {
        drawing?.unsubscribe();
        const events = new page.Subject<ReturnType<typeof page.eventOf>>();
        drawing = page.drawCandles(chart, candles, events);
        if (time === 1) await page.settled();
        for (const candle of page.historyOf(500 + time)) events.next(page.eventOf("new", candle));
        await page.settled();
        if (time === 0) chart.timeScale().scrollToPosition(-300, false);
        await page.settled();
        ranges.push(chart.timeScale().getVisibleRange());
      }
      return ranges;
    });
    expect(result[1]).toEqual(result[0]);
    expect(result[2]).toEqual(result[0]);
  });

  it("asks for older candles once at a time, until there are none", async () => {
    const { tab } = await openTab();
    const asked = await tab.evaluate(async () => {
      const { chart, candles } = page.openChart();
      const events = new page.Subject<ReturnType<typeof page.eventOf>>();
      const asked: number[] = [];
      let atOnce = 0;
      let most = 0;
      page.drawCandles(chart, candles, events, {
        olderFrom: async (before, count) => {
          most = Math.max(most, ++atOnce);
          asked.push((before - page.START) / 60_000, count);
          await page.settled();
          atOnce -= 1;
          const beginning = page.START - 150 * 60_000;
          return page.historyOf(100, before).filter(({ timestamp }) => timestamp >= beginning);
        },
      });
      for (const candle of page.historyOf(300)) events.next(page.eventOf("new", candle));
      await page.settled();
      const untouched = asked.length;
      for (let turn = 0; turn < 20; turn++) {
        chart.timeScale().scrollToPosition(-5 - candles.data().length + 50, false);
        await page.frame();
      }
      await page.settled();
      return { untouched, asked, most, held: candles.data().length };
    });
    const counts = [0, 1_000, -100, 1_000, -150, 1_000];
    expect(asked).toEqual({ untouched: 0, asked: counts, most: 1, held: 450 });
  });

  it.each([
    ["stays where the chart is told not to follow", { shiftVisibleRangeOnNewBar: false }, false],
    ["follows where the newest candle is seen", {}, true],
    [
      "corrects where the chart joins bars",
      { enableConflation: true, minBarSpacing: 0.01, barSpacing: 0.2 },
      true,
    ],
  ])("%s", async (_, options, follows) => {
    const { tab, errors } = await openTab();
    const result = await tab.evaluate(async (options) => {
      const { chart, candles } = page.openChart();
      chart.timeScale().applyOptions(options);
      const events = new page.Subject<ReturnType<typeof page.eventOf>>();
      page.drawCandles(chart, candles, events);
      const history = page.historyOf(2_000);
      const [next, ...rest] = page.historyOf(5, page.START + 2_005 * 60_000);
      for (const candle of history) events.next(page.eventOf("new", candle));
      await page.settled();
      const before = chart.timeScale().getVisibleLogicalRange()!.to;
      events.next(page.eventOf("new", next!));
      await page.settled();
      events.next(page.eventOf("updated", { ...history[1_990]!, close: 1 }));
      await page.settled();
      for (const candle of rest) events.next(page.eventOf("new", candle));
      await page.settled();
      const data = candles.data();
      const moved = chart.timeScale().getVisibleLogicalRange()!.to - before;
      return { held: data.length, close: (data[1_990] as { close?: number }).close, moved };
    }, options);
    expect(result).toEqual({ held: 2_005, close: 1, moved: follows ? 5 : 0 });
    expect(errors).toEqual([]);
  });

  it("lets an animated scroll of the page come to its end while candles come", async () => {
    const { tab } = await openTab();
    const at = await tab.evaluate(async () => {
      const { chart, candles } = page.openChart();
      const events = new page.Subject<ReturnType<typeof page.eventOf>>();
      page.drawCandles(chart, candles, events);
      for (const candle of page.historyOf(500)) events.next(page.eventOf("new", candle));
      await page.settled();
      const scale = chart.timeScale();
      scale.scrollToPosition(3, true);
      // Its last frame is a step before its aim.
      for (let frames = 0; frames < 2_000 && scale.scrollPosition() < 2; frames++) {
        events.next(page.eventOf("updated", page.candleAt(page.START + 499 * 60_000, 100 + (frames % 5))));
        await page.frame();
      }
      return scale.scrollPosition();
    });
    expect(at).toBeGreaterThanOrEqual(2);
  });

  it("draws lines on over older candles, as over all candles at once", async () => {
    const { tab, errors } = await openTab();
    const result = await tab.evaluate(async () => {
      const { chart, candles, line, below } = page.openChart();
      const events = new page.Subject<ReturnType<typeof page.eventOf>>();
      const random = page.dice(7);
      let asked = 0;
      const drawing = page.drawCandles(chart, candles, events, {
        olderFrom: async (before) => {
          asked += 1;
          await page.frame();
          // The beginning is found at the fourth answer.
          return asked > 3 ? [] : page.historyOf(40, before).filter((_, at) => at % 7 !== 3);
        },
      });
      const pipe = page.withIndicators({ average: page.sma(5) });
      drawing.add(page.drawLine(chart, line, events, ({ values }) => values.average, { pipe }));
      drawing.add(page.drawLine(chart, below, events.pipe(pipe), ({ values }) => values.average));
      const history = page.historyOf(60);
      for (const candle of history)
        events.next({ ...page.eventOf("new", candle), status: "final", live: false });
      let next = page.START + 60 * 60_000;
      const open: { candle: (typeof history)[number]; life: number }[] = [];
      for (let turn = 0; turn < 120; turn += 1) {
        const price = 50 + 100 * random();
        if (turn % 3 === 0) {
          open.push({ candle: page.candleAt(next, price), life: turn });
          next += 60_000;
          events.next({ ...page.eventOf("new", open.at(-1)!.candle), status: "open" });
        } else if (turn % 13 === 0) {
          const [gone] = open.splice(-2, 1);
          events.next(page.eventOf("removed", gone!.candle));
        } else {
          const at = Math.floor(random() * open.length);
          open[at]!.candle = page.candleAt(open[at]!.candle.timestamp, price);
          events.next(page.eventOf("updated", open[at]!.candle));
        }
        if (open.length > 4)
          events.next({ ...page.eventOf("updated", open.shift()!.candle), status: "final" });
        if (turn % 30 === 10) chart.timeScale().scrollToPosition(-candles.data().length + 5, false);
        await page.frame();
      }
      await page.settled();
      const bars = candles.data() as readonly { time: number; close: number }[];
      const all = bars.map(({ time, close }) => ({ ...page.candleAt(1_000 * time), close }));
      const averages = page.indicatorColumns({ average: page.sma(5) }, all).average;
      const expected = bars.map(({ time }, at) => [time, averages[at]!.toFixed(6)]).slice(4);
      const pointsOf = (one: typeof line) =>
        one.data().map((point) => [point.time, (point as { value: number }).value.toFixed(6)]);
      drawing.unsubscribe();
      const isHeard = events.observed;
      return {
        asked,
        bars: bars.length,
        points: pointsOf(line),
        expected,
        below: below.data().length,
        isHeard,
      };
    });
    expect(result.asked).toBe(4);
    expect(result.points).toEqual(result.expected);
    // Where the values come with the events, the line begins with these.
    expect(result.below).toBe(result.bars - 3 * 34 - 4);
    expect(result.isHeard).toBe(false);
    expect(errors).toEqual([]);
  });

  it("asks for older candles once, where one answer is enough for the view", async () => {
    const { tab } = await openTab();
    const result = await tab.evaluate(async () => {
      const { chart, candles } = page.openChart();
      const events = new page.Subject<ReturnType<typeof page.eventOf>>();
      const asked: number[] = [];
      page.drawCandles(chart, candles, events, {
        olderFrom: async (before, count) => {
          asked.push(before);
          await page.frame();
          return Array.from({ length: count }, (_, at) => page.candleAt(before - (count - at) * 60_000));
        },
      });
      for (const candle of page.historyOf(300)) events.next(page.eventOf("new", candle));
      await page.settled();
      chart.timeScale().setVisibleLogicalRange({ from: 5, to: 105 });
      for (let turns = 0; turns < 8; turns += 1) await page.settled();
      return { asked: asked.length, held: candles.data().length };
    });
    expect(result).toEqual({ asked: 1, held: 1_300 });
  });

  it("asks for none while a history still comes", async () => {
    const { tab } = await openTab();
    const result = await tab.evaluate(async () => {
      const { chart, candles } = page.openChart();
      const events = new page.Subject<ReturnType<typeof page.eventOf>>();
      let asked = 0;
      page.drawCandles(chart, candles, events, {
        olderFrom: async () => {
          asked += 1;
          return [];
        },
      });
      const history = page.historyOf(2_000);
      const final = { status: "final", live: false } as const;
      for (const candle of history.slice(0, 30)) events.next({ ...page.eventOf("new", candle), ...final });
      await page.settled();
      const early = asked;
      for (const candle of history.slice(30)) events.next({ ...page.eventOf("new", candle), ...final });
      events.next(page.eventOf("updated", history.at(-1)!));
      for (let turns = 0; turns < 4; turns += 1) await page.settled();
      return { early, asked };
    });
    expect(result).toEqual({ early: 0, asked: 0 });
  });
});
