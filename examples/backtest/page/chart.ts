// What the page runs: draws the backtest that the page holds as JSON, and leads from trades to candles and back.
import {
  type AnyTimeframe,
  type Candle,
  type CandleEvent,
  intervalOf,
  replayCandles,
  resample,
} from "pairstream";
import { drawCandles, drawLine } from "pairstream/lightweight-charts";
import { type Observable, Subscription } from "rxjs";
import { legendElements } from "../../page/legend.js";
import { startTheme } from "../../page/theme.js";
import { lengthOf, TIMEFRAMES } from "../timeframes.js";
import type { PageData } from "./data.js";
import {
  chart,
  colour,
  container,
  drawdown,
  equity,
  held,
  markers,
  modeFor,
  moneyText,
  paintPanes,
  path,
  price,
} from "./panes.js";
import { arrowsOf, seconds, wayOf } from "./trade-arrows.js";
import { sortTrades } from "./trade-rows.js";

const data: PageData = JSON.parse(document.getElementById("data")!.textContent!);
const legend = document.getElementById("legend")!;

/** So many dots a candle needs, so that its direction can be seen. */
const DOTS = 4;
/** Candles around a trade that is shown. */
const AROUND = 40;
/** The chart takes over where its view should stand when it paints, which is after a drawing. */
const FRAMES = 4;
/** Arrows that are nearer to each other, in dots, are small. */
const NEAR = 16;

// What is drawn ---------------------------------------------------------------------------------------------

equity.priceScale().applyOptions({ mode: modeFor(data.curve.flatMap(([, own, hold]) => [own, hold])) });

let pair = 0;
let level: AnyTimeframe = data.pairs[0]!.series.timeframe;
let selected: number | undefined;
let drawing = new Subscription();
/** Ranges that the page itself sets lead to no other candles; the last one counts. */
let isMoving = false;
let moves = 0;
/** Whether the chart holds the candles of `level`. */
let isDrawn = false;

const candlesOf = (of: number): Candle[] =>
  data.pairs[of]!.candles.map(([timestamp, open, high, low, close, volume]) => {
    return { timestamp, open, high, low, close, volume, swaps: 0 };
  });
const startOf = (instant: number) => intervalOf(level, instant).start;
const first = () => startOf(data.pairs[pair]!.candles[0]![0]);

/** The point of the curve that was known at an instant. */
function pointAt(instant: number): PageData["curve"][number] | undefined {
  let [low, high] = [0, data.curve.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (data.curve[middle]![0] <= instant) low = middle + 1;
    else high = middle;
  }
  return data.curve[low - 1];
}

/** Draws candles of a length, and the curves at their ends, in the same range as before. */
function draw(next: AnyTimeframe, range: Range): void {
  // From here on places on the scale are of the new candles, and those in the chart of the old ones.
  isMoving = true;
  level = next;
  isDrawn = false;
  drawing.unsubscribe();
  const { series } = data.pairs[pair]!;
  const base = replayCandles(candlesOf(pair), series);
  const events: Observable<CandleEvent> = level === series.timeframe ? base : base.pipe(resample(level));
  price.priceScale().applyOptions({
    mode: modeFor(data.pairs[pair]!.candles.flatMap(([, , high, low]) => [high, low])),
  });
  drawing = drawCandles(chart, price, events, { keep: 1_000_000 });
  drawing.add(drawLine(chart, equity, events, ({ observedAt }) => pointAt(observedAt)?.[1]));
  drawing.add(drawLine(chart, held, events, ({ observedAt }) => pointAt(observedAt)?.[2]));
  const worst = new Map<number, number>();
  for (const [at, , , fall] of data.curve) {
    // A point is the end of a candle.
    const start = startOf(at - 1);
    if (start >= first()) worst.set(start, Math.min(worst.get(start) ?? 0, -100 * fall));
  }
  drawdown.setData([...worst].map(([at, value]) => ({ time: seconds(at), value })));
  mark();
  show(range);
}

/** In ms since the epoch. */
interface Range {
  readonly from: number;
  readonly to: number;
}

const whole = (): Range => {
  const { candles, series } = data.pairs[pair]!;
  const to = candles.at(-1)![0] + lengthOf(series.timeframe);
  const margin = (to - candles[0]![0]) / 60;
  return { from: candles[0]![0] - margin, to: to + margin };
};

function rangeShown(): Range | undefined {
  const logical = chart.timeScale().getVisibleLogicalRange();
  const at = (place: number) => first() + place * lengthOf(level);
  return logical === null ? undefined : { from: at(logical.from), to: at(logical.to) };
}

/** One candle an interval: a place on the scale is a time. */
function show({ from, to }: Range): void {
  isMoving = true;
  moves += 1;
  const move = moves;
  const place = (instant: number) => (instant - first()) / lengthOf(level);
  let frames = FRAMES;
  const step = () => {
    if (move !== moves) return;
    chart.timeScale().setVisibleLogicalRange({ from: place(from), to: place(to) });
    if (isDrawn) frames -= 1;
    if (frames > 0) {
      requestAnimationFrame(step);
      return;
    }
    isMoving = false;
    container.dataset.level = level;
    mark();
  };
  requestAnimationFrame(step);
}

/** The shortest candles that can be told apart in a range. */
function levelFor({ from, to }: Range): AnyTimeframe {
  const shortest = lengthOf(data.pairs[pair]!.series.timeframe);
  const dots = chart.timeScale().width() || container.clientWidth;
  const fitting = TIMEFRAMES.filter((each) => lengthOf(each) >= shortest && each !== "1M");
  return fitting.find((each) => (dots * lengthOf(each)) / (to - from) >= DOTS) ?? fitting.at(-1)!;
}

function go(range: Range): void {
  const next = levelFor(range);
  if (next === level) show(range);
  else draw(next, range);
}

chart.timeScale().subscribeVisibleLogicalRangeChange(() => {
  const range = rangeShown();
  if (isMoving || range === undefined) return;
  const next = levelFor(range);
  if (next !== level) draw(next, range);
});

// Trades ----------------------------------------------------------------------------------------------------

function mark(): void {
  const trades = [...data.trades.entries()].filter(([, trade]) => trade.pair === pair);
  const shown = rangeShown() ?? whole();
  const inView = trades.filter(([, { from, to = from }]) => to >= shown.from && from <= shown.to);
  const size = container.clientWidth / inView.length < NEAR ? 0.6 : 1;
  const colours = { selected: colour("text"), other: colour("accent") };
  markers.setMarkers(arrowsOf(trades, { startOf, selected, size, colours }));
  const trade = selected === undefined ? undefined : data.trades[selected];
  path.setData(trade === undefined || trade.pair !== pair ? [] : wayOf(trade, startOf));
  path.applyOptions({ color: colour((trade?.gain ?? 0) < 0 ? "down" : "up") });
}

function select(at: number | undefined, { move = false } = {}): void {
  selected = at;
  for (const row of document.querySelectorAll<HTMLElement>("[data-trade]")) {
    const isIt = row.dataset.trade === String(at);
    row.ariaSelected = String(isIt);
    // The table alone: who clicks in the chart is looking at it.
    const box = row.closest(".scroll");
    if (isIt && !move && box !== null) box.scrollTop = row.offsetTop - box.clientHeight / 2;
  }
  const trade = at === undefined ? undefined : data.trades[at];
  if (trade === undefined || !move) {
    mark();
    return;
  }
  const isOther = trade.pair !== pair;
  pair = trade.pair;
  const shortest = lengthOf(data.pairs[pair]!.series.timeframe);
  const end = trade.to ?? whole().to;
  const margin = Math.max((end - trade.from) / 2, AROUND * shortest);
  const range = { from: trade.from - margin, to: end + margin };
  if (isOther) draw(levelFor(range), range);
  else {
    mark();
    go(range);
  }
  for (const choice of document.querySelectorAll<HTMLSelectElement>("#pair")) choice.value = String(pair);
  container.scrollIntoView({ block: "nearest" });
}

document.getElementById("trades")?.addEventListener("click", ({ target }) => {
  const row = (target as Element).closest<HTMLElement>("[data-trade]");
  if (row !== null) select(Number(row.dataset.trade), { move: true });
});

/** An arrow, or else the trade in whose time the click falls. */
chart.subscribeClick(({ hoveredObjectId, hoveredInfo, time }) => {
  const object = hoveredInfo?.objectId ?? hoveredObjectId;
  if (typeof object === "string" && /^\d+$/.test(object)) {
    select(Number(object));
    return;
  }
  if (typeof time !== "number") return;
  const instant = time * 1_000;
  const at = data.trades.findIndex((trade) => {
    return trade.pair === pair && startOf(trade.from) <= instant && instant <= (trade.to ?? instant);
  });
  select(at < 0 ? undefined : at);
});

// Around it -------------------------------------------------------------------------------------------------

function tell(instant: number | undefined): void {
  const { candles } = data.pairs[pair]!;
  const last = candles.at(-1)![0];
  const start = startOf(instant ?? last);
  const end = intervalOf(level, start).end;
  const inside = candles.filter(([at]) => at >= start && at < end);
  const [one, other] = [inside[0], inside.at(-1)];
  const point = pointAt(end);
  if (one === undefined || other === undefined || point === undefined) return;
  const text = (value: number) => price.priceFormatter().format(value);
  const high = Math.max(...inside.map(([, , value]) => value));
  const low = Math.min(...inside.map(([, , , value]) => value));
  const date = new Date(start).toISOString().slice(0, 16).replace("T", " ");
  const trend = other[4] < one[1] ? "loss" : "gain";
  const entries = legendElements([
    ["", `${date} UTC, ${level}`, "when"],
    ["Open", text(one[1]), trend],
    ["High", text(high), trend],
    ["Low", text(low), trend],
    ["Close", text(other[4]), trend],
    ["Strategy", moneyText(point[1]), ""],
    ["Buy and hold", moneyText(point[2]), ""],
    ["Drawdown", `${(100 * point[3]).toFixed(1)} %`, ""],
  ]);
  legend.replaceChildren(...entries);
}
chart.subscribeCrosshairMove(({ time }) => tell(typeof time === "number" ? time * 1_000 : undefined));
price.subscribeDataChanged(() => {
  isDrawn = true;
  tell(undefined);
});

for (const button of document.querySelectorAll<HTMLElement>("[data-days]")) {
  button.addEventListener("click", () => {
    const days = Number(button.dataset.days);
    const { from, to } = whole();
    go(days === 0 ? { from, to } : { from: to - days * 86_400_000, to });
  });
}
document.querySelector<HTMLSelectElement>("#pair")?.addEventListener("change", ({ target }) => {
  pair = Number((target as HTMLSelectElement).value);
  select(undefined);
  draw(levelFor(whole()), whole());
});

function paint(): void {
  paintPanes();
  mark();
}
// Paper is white, and takes a picture: a canvas would be as wide as the screen.
const print = document.getElementById("print")!;
const page = document.documentElement;
let theme = page.dataset.theme;
addEventListener("beforeprint", () => {
  theme = page.dataset.theme;
  page.dataset.theme = "light";
  paint();
  const picture = chart.takeScreenshot();
  picture.style.cssText = "width: 100%; height: auto";
  print.replaceChildren(picture);
});
addEventListener("afterprint", () => {
  page.dataset.theme = theme;
  print.replaceChildren();
  paint();
});

/** For whoever wants to see what is drawn. */
declare global {
  interface Window {
    __backtest: { readonly drawn: () => object };
  }
}
window.__backtest = {
  drawn: () => ({
    level,
    selected,
    isMoving,
    range: rangeShown(),
    width: chart.timeScale().width(),
    candles: price.data(),
    equity: equity.data(),
    held: held.data(),
    drawdown: drawdown.data(),
    markers: markers.markers(),
    way: path.data(),
  }),
};

const trades = document.querySelector<HTMLTableElement>("#trades");
if (trades !== null) sortTrades(trades);
startTheme(document.querySelector<HTMLButtonElement>("#theme")!, paint);
draw(levelFor(whole()), whole());
