// Runs in a page, bundled with the real chart and the loader of docs/tradingview.md.
import { type Chart, type DataLoader, init, type KLineData } from "klinecharts";
import type { Candle, CandleEvent, PairSource } from "pairstream";
import { createDatafeed, type Datafeed } from "pairstream/tradingview";
import { asyncScheduler } from "rxjs";
import { TestSource } from "../adapters/tradingview/test-source.js";
import { candleAt, dice, eventOf, frame, SERIES, START } from "./chart-page.js";

const MINUTE = 60_000;
const PAST = 900;

/** A pair of a simulated market, with a past. */
class Pair {
  readonly source: TestSource;
  readonly #random: () => number;
  #next = START + PAST * MINUTE;
  #swaps = 0;

  constructor(seed: number) {
    this.#random = dice(seed);
    this.source = new TestSource(asyncScheduler, () => 20 * this.#random());
    for (let timestamp = START; timestamp < this.#next; timestamp += MINUTE) {
      if (this.#random() < 0.9) this.#emit("new", timestamp, "final");
    }
  }

  /** A new candle, a change, a late candle or a removal. */
  happen(): void {
    const kind = this.#random();
    const near = this.#next - MINUTE * (1 + Math.floor(12 * this.#random()));
    const isKnown = this.source.fold.has(near);
    if (kind < 0.4) {
      this.#emit("new", this.#next);
      this.#next += MINUTE * (this.#random() < 0.1 ? 3 : 1);
    } else if (kind < 0.9) this.#emit(isKnown ? "updated" : "new", near);
    else if (isKnown) this.#emit("removed", near);
  }

  #emit(type: CandleEvent["type"], timestamp: number, status: CandleEvent["status"] = "closed"): void {
    const known = this.source.fold.get(timestamp);
    const candle =
      type === "removed"
        ? known!.candle
        : { ...candleAt(timestamp, 50 + 100 * this.#random()), swaps: ++this.#swaps };
    this.source.emit({ ...eventOf(type, candle), status });
  }
}

/** A chart on two pairs, and what the test does with it. */
export function open(seed: number, loaderOf: (datafeed: Datafeed, chart: Chart) => DataLoader) {
  const element = document.createElement("div");
  element.style.cssText = "width: 800px; height: 400px";
  document.body.append(element);
  const pairs = { ONE: new Pair(seed), TWO: new Pair(seed + 1) };
  const sourceOf = ({ pairAddress }: { pairAddress?: string }) =>
    (pairAddress === "pair1" ? pairs.ONE : pairs.TWO).source.source;
  const source: PairSource = {
    candles: (options) => sourceOf(options).candles(options),
    status: (options) => sourceOf(options).status(options),
    history: (query) => sourceOf(query).history(query),
    snipers: (options) => sourceOf(options).snipers(options),
    sniperReport: (options) => sourceOf(options).sniperReport(options),
  };
  const { network, currency } = SERIES;
  const symbols = ["ONE", "TWO"].map((name, at) => {
    return { name, network, pairAddress: `pair${at + 1}`, currency };
  });
  const chart = init(element)!;
  let resets = 0;
  let frames = 0;
  let busiest = 0;
  let resetsOfFrame = 0;
  const real = chart.resetData;
  chart.resetData = () => {
    resets += 1;
    resetsOfFrame += 1;
    busiest = Math.max(busiest, resetsOfFrame);
    real.call(chart);
  };
  const show = (ticker: "ONE" | "TWO") => chart.setSymbol({ ticker, pricePrecision: 4, volumePrecision: 2 });
  const datafeed = createDatafeed(source, { symbols });
  let pending = 0;
  const counted: Datafeed = {
    ...datafeed,
    getBars(symbol, resolution, period, onResult, onError) {
      pending += 1;
      const take: typeof onResult = (bars, meta) => {
        pending -= 1;
        onResult(bars, meta);
      };
      datafeed.getBars(symbol, resolution, period, take, onError);
    },
  };
  chart.setDataLoader(loaderOf(counted, chart));
  chart.setPeriod({ type: "minute", span: 1 });
  show("ONE");

  return {
    show,
    /** So many events of both pairs in so many frames. */
    async play(count: number): Promise<void> {
      for (let at = 0; at < count; at += 1) {
        pairs.ONE.happen();
        pairs.TWO.happen();
        if (at % 5 > 0) continue;
        await frame();
        frames += 1;
        resetsOfFrame = 0;
      }
    },
    /** To the left edge, where older bars are asked for. */
    scroll: () => chart.scrollToDataIndex(0),
    length: () => chart.getDataList().length,
    /** How many requests have not been answered. */
    pending: () => pending,
    told: () => ({ resets, busiest, frames }),
    /** Whether the chart holds what the events of a pair say, as far back as it goes. */
    isFold(ticker: "ONE" | "TWO"): boolean {
      const held = chart.getDataList();
      const [first] = held;
      if (first === undefined) return false;
      const fold = pairs[ticker].source.candles().filter(({ timestamp }) => timestamp >= first.timestamp);
      return JSON.stringify(held.map(brief)) === JSON.stringify(fold.map(brief));
    },
  };
}

function brief({ timestamp, open, high, low, close, volume }: Candle | KLineData) {
  return [timestamp, open, high, low, close, volume];
}
