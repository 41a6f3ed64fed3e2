import type { Candle, CandleEvent, Series, SniperLook } from "pairstream";
import type { Marker } from "pairstream/lightweight-charts";
import { expect, it } from "vitest";
import { describeCharts } from "./chart-tab.js";

/** What the bundle is in a page. */
declare const page: typeof import("./chart-page.js");

/** What a test keeps in its page. */
declare const scene: ReturnType<typeof makeScene>;

/** A chart of 40 candles of a minute, of which that of minute 20 is missing, and markers that the test gives. */
function makeScene() {
  const opened = page.openChart();
  opened.chart.timeScale().applyOptions({ barSpacing: 14 });
  const events = new page.Subject<CandleEvent>();
  const markers = new page.Subject<readonly Marker[]>();
  const primitives = page.primitivesOf(opened.candles);
  const reported: string[] = [];
  page.config.onUnhandledError = (error) => reported.push(String((error as Error).message));
  const at = (minutes: number, rest: Partial<Marker> = {}): Marker => {
    return { timestamp: page.START + minutes * 60_000, position: "below", color: "#ff00ff", ...rest };
  };
  /** What is seen in magenta: minutes from the start, with `^` above the bar. */
  const seen = (colour = "#ff00ff") =>
    page
      .seenIn(opened, colour)
      .map(({ time, isAbove }) => `${(Number(time) * 1_000 - page.START) / 60_000}${isAbove ? "^" : ""}`);
  const emit = (candles: readonly Candle[], series?: Series) => {
    for (const candle of candles) events.next(page.eventOf("new", candle, series));
  };
  return { ...opened, events, markers, primitives, reported, at, seen, emit };
}

describeCharts("markers in a real browser", (openTab) => {
  const openScene = async () => {
    const { tab, errors } = await openTab();
    await tab.addScriptTag({ content: `${makeScene.toString()}; var scene = makeScene();` });
    return { tab, errors };
  };

  it("stand above and below the bars that contain them, and wait for those that are missing", async () => {
    const { tab, errors } = await openScene();
    const result = await tab.evaluate(async () => {
      const { chart, candles, events, markers, at, seen, emit } = scene;
      const drawing = page.drawMarkers(chart, candles, markers);
      drawing.add(page.drawCandles(chart, candles, events));
      const looks: string[][] = [];
      const look = async () => {
        await page.settled();
        looks.push(seen());
      };
      markers.next([-5, 0, 10.5, 20, 39.9, 40.1, 55].map((minutes) => at(minutes)));
      await look();
      const history = page.historyOf(40);
      emit(history.filter((_, minute) => minute !== 20));
      await look();
      emit(page.historyOf(1, page.START + 41 * 60_000));
      await look();
      emit([history[20]!]);
      await look();
      events.next(page.eventOf("removed", history[10]!));
      await look();
      markers.next([at(5, { position: "above" }), at(6, { shape: "circle" }), at(7, { shape: "square" })]);
      await look();
      markers.next([]);
      await look();
      return looks;
    });
    expect(result).toEqual([
      [],
      ["0", "10", "39"],
      ["0", "10", "39", "40"],
      ["0", "10", "20", "39", "40"],
      ["0", "20", "39", "40"],
      ["5^", "6", "7"],
      [],
    ]);
    expect(errors).toEqual([]);
  });

  it("follow to another timeframe, and to older bars when these come", async () => {
    const { tab, errors } = await openScene();
    const result = await tab.evaluate(async () => {
      const { chart, candles, events, markers, at, seen } = scene;
      page.drawMarkers(chart, candles, markers);
      markers.next([at(-70), at(-12), at(3), at(9), at(59)]);
      let drawing = page.drawCandles(chart, candles, events, {
        olderFrom: async (before) => (before < page.START - 60_000 ? [] : page.historyOf(30, before)),
      });
      scene.emit(page.historyOf(30));
      await page.settled();
      const looks = [seen()];
      chart.timeScale().setVisibleLogicalRange({ from: 0, to: 29 });
      for (let turns = 0; turns < 5; turns += 1) await page.settled();
      chart.timeScale().fitContent();
      await page.settled();
      looks.push(seen());
      drawing.unsubscribe();
      const fives = new page.Subject<CandleEvent>();
      drawing = page.drawCandles(chart, candles, fives);
      const series = { ...page.SERIES, timeframe: "5min" } as const;
      // It starts at a full five minutes.
      const first = Math.ceil((page.START - 4_000_000) / 300_000) * 300_000;
      for (let start = first; start < page.START + 4_000_000; start += 300_000)
        fives.next(page.eventOf("new", page.candleAt(start), series));
      for (let turns = 0; turns < 2; turns += 1) await page.settled();
      chart.timeScale().fitContent();
      await page.settled();
      looks.push(seen());
      return looks;
    });
    const five = (minutes: number) =>
      Math.floor((1_700_000_040 + minutes * 60) / 300) * 5 - 1_700_000_040 / 60;
    expect(result[0]).toEqual(["3", "9"]);
    expect(result[1]).toEqual(["-12", "3", "9"]);
    expect(result[2]).toEqual([...new Set([-12, 3, 9, 59].map((at) => String(five(at))))]);
    expect(errors).toEqual([]);
  });

  it("of one bar and side are one with a number, and those of several drawings are stacked", async () => {
    const { tab, errors } = await openScene();
    const result = await tab.evaluate(async () => {
      const { chart, candles, events, markers, at, seen, primitives } = scene;
      page.drawCandles(chart, candles, events);
      scene.emit(page.historyOf(40));
      const first = page.drawMarkers(chart, candles, markers);
      const other = at(30, { color: "#00ffff", text: "other" });
      const second = page.drawMarkers(chart, candles, page.of([other]));
      markers.next([at(30), at(30.5), at(30.9), at(31, { text: "ann" }), at(31.2, { text: "ann" })]);
      await page.settled();
      const texts = (await page.textsOf(scene)).filter((text) => /^(3|other|ann ×2)$/.test(text));
      const both = [seen(), seen("#00ffff"), primitives.size];
      first.unsubscribe();
      await page.settled();
      const one = [seen(), seen("#00ffff"), primitives.size];
      second.unsubscribe();
      await page.settled();
      const none = [seen(), seen("#00ffff"), primitives.size];
      return { texts, both, one, none, isHeard: markers.observed };
    });
    expect(result).toEqual({
      texts: ["3", "ann ×2", "other"],
      both: [["30", "31"], ["30"], 1],
      one: [[], ["30"], 1],
      none: [[], [], 0],
      isHeard: false,
    });
    expect(errors).toEqual([]);
  });

  it("are arrows for snipes and sales, and go with what is taken back", async () => {
    const { tab, errors } = await openScene();
    const result = await tab.evaluate(async () => {
      const { chart, candles, events, seen } = scene;
      candles.applyOptions({ ...{ upColor: "#00aa00", downColor: "#aa0000" }, borderVisible: false });
      candles.applyOptions({ wickUpColor: "#000000", wickDownColor: "#000000" });
      page.drawCandles(chart, candles, events);
      // All rise: what is red is an arrow.
      scene.emit(page.historyOf(40));
      const trades = (...minutes: number[]) =>
        minutes.map((at) => ({ transactionHash: `${at}`, transactionTimestamp: page.START + at * 60_000 }));
      const lookOf = (snipes: number[], sales: number[]) => {
        const wallet = {
          ...{ walletAddress: "ann", snipedTransactions: trades(...snipes) },
          sellTransactions: trades(...sales),
        };
        return { report: { result: [wallet] } } as unknown as SniperLook;
      };
      const looks = new page.Subject<SniperLook>();
      const label = ({ walletAddress }: { walletAddress: string }) => walletAddress.toUpperCase();
      const drawing = page.drawSnipers(chart, candles, looks, { label });
      looks.next(lookOf([2.5], [12, 25.2]));
      await page.settled();
      const sold = [seen("#aa0000")];
      const texts = (await page.textsOf(scene)).filter((text) => text.startsWith("ANN"));
      looks.next(lookOf([2.5], [12]));
      await page.settled();
      sold.push(seen("#aa0000"));
      candles.applyOptions({ downColor: "#0000aa" });
      await page.settled();
      sold.push(seen("#aa0000"), seen("#0000aa"));
      looks.complete();
      await page.settled();
      sold.push(seen("#0000aa"));
      drawing.unsubscribe();
      await page.settled();
      sold.push(seen("#0000aa"));
      return { sold, texts };
    });
    expect(result.sold).toEqual([["12^", "25^"], ["12^"], [], ["12^"], ["12^"], []]);
    expect(result.texts).toEqual(["ANN"]);
    expect(errors).toEqual([]);
  });

  it("stay when their stream fails, which is told once, and leave a chart that is removed", async () => {
    const { tab, errors } = await openScene();
    const result = await tab.evaluate(async () => {
      const { chart, candles, line, events, markers, at, seen, reported } = scene;
      page.drawCandles(chart, candles, events);
      scene.emit(page.historyOf(40));
      const failing = page.drawMarkers(chart, candles, markers);
      markers.next([at(4)]);
      await page.settled();
      markers.next([{ ...at(5), position: "top" as never }]);
      await page.settled();
      const kept = [seen(), markers.observed, failing.closed];
      failing.unsubscribe();
      const others = new page.Subject<readonly Marker[]>();
      const onLine = page.drawMarkers(chart, line, others);
      chart.removeSeries(line);
      others.next([at(6)]);
      await page.settled();
      const ended = [onLine.closed, others.observed];
      const last = page.drawMarkers(chart, candles, others);
      chart.remove();
      others.next([at(6)]);
      await page.settled();
      last.unsubscribe();
      await new Promise((resolve) => setTimeout(resolve));
      return { kept, ended, isHeard: others.observed, reported };
    });
    expect(result).toEqual({
      kept: [["4"], false, false],
      ended: [true, false],
      isHeard: false,
      reported: ['position is "top"; allowed: above, below'],
    });
    expect(errors).toEqual([]);
  });
});
