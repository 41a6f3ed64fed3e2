import {
  applySniperEvent,
  type CandleEvent,
  ema,
  emptyReport,
  type FeedStatus,
  rsi,
  type SniperReport,
  withIndicators,
} from "pairstream";
import { fromServerSentEvents, isCandleEvent, isFeedStatus, isSniperEvent } from "pairstream/sse";
import { defer, filter, merge, type Observable, retry, Subject, share, switchMap, tap, timer } from "rxjs";
import type { Choices, Selection } from "../gateway.js";
import { amountText, decimalsFor, priceText, shortened, timeText } from "./figures.js";
import { PriceChart } from "./price-chart.js";
import { queryOf, startSelectors } from "./selectors.js";
import { type Correction, ShownCandles } from "./shown-candles.js";
import { SniperTable } from "./sniper-table.js";
import { StatusBadge } from "./status-badge.js";
import { startTheme } from "./theme.js";

/** What the page shows: for its tests, and for whoever looks at it in the console, as `__pairstream`. */
export interface PageHook {
  readonly selection: Selection | undefined;
  readonly status: FeedStatus | undefined;
  /** The candles, ascending, with their status and values. */
  readonly candles: ReturnType<ShownCandles["all"]>;
  /** What the chart has been given of them. */
  readonly drawn: PriceChart["drawn"];
  readonly corrections: readonly Correction[];
  readonly report: SniperReport;
}

declare global {
  interface Window {
    __pairstream: PageHook;
  }
}

/** ms until a stream that has failed for good is tried again. */
const PAUSE = 5_000;
const INDICATORS = { fast: ema(9), slow: ema(21), strength: rsi(14) };

const element = <T extends HTMLElement>(id: string) => document.querySelector<T>(`#${id}`)!;
const legend = element("legend");
const correctionList = element("corrections");
const badge = new StatusBadge(element("status"));
const table = new SniperTable(element("snipers"), element("snipers-count"), element("snipers-note"));
const chart = new PriceChart(element("chart"), (timestamp) => {
  hovered = timestamp;
  drawLegend();
});
const selections = new Subject<Selection>();

let selection: Selection | undefined;
let status: FeedStatus | undefined;
let shown = new ShownCandles();
let report = emptyReport;
let hovered: number | undefined;
let isDrawingDue = false;
let isFirstDrawing = true;

Object.defineProperty(window, "__pairstream", {
  value: {
    get selection() {
      return selection;
    },
    get status() {
      return status;
    },
    get candles() {
      return shown.all();
    },
    get drawn() {
      return chart.drawn;
    },
    get corrections() {
      return shown.corrections;
    },
    get report() {
      return report;
    },
  } satisfies PageHook,
});

startTheme(element<HTMLButtonElement>("theme"), () => {
  chart.paint();
  chart.draw(shown, "all");
});
selections.pipe(switchMap(follow)).subscribe();
const answer = await fetch("choices");
startSelectors((await answer.json()) as Choices, (chosen) => {
  isFirstDrawing = chosen.timeframe !== selection?.timeframe || chosen.pairAddress !== selection.pairAddress;
  selection = chosen;
  document.title = `${shortened(chosen.pairAddress)} ${chosen.timeframe} · pairstream`;
  chart.setTimeframe(chosen.timeframe);
  badge.reset();
  begin();
  schedule();
  selections.next(chosen);
});

/** Draws one series until another one is chosen. */
function follow(chosen: Selection): Observable<unknown> {
  let hasSourceFailed = false;
  let finalUntil = Number.NEGATIVE_INFINITY;
  return defer(() => {
    hasSourceFailed = false;
    finalUntil = Number.NEGATIVE_INFINITY;
    begin();
    const failed = () => {
      hasSourceFailed = true;
    };
    const events = fromServerSentEvents(`events?${queryOf(chosen)}`).pipe(tap({ error: failed }), share());
    return merge(
      events.pipe(filter(isCandleEvent), tap(expectOrder), withIndicators(INDICATORS), tap(take)),
      events.pipe(filter(isSniperEvent), tap(takeSniper)),
      events.pipe(filter(isFeedStatus), tap(takeStatus)),
    );
  }).pipe(
    retry({
      delay: (error: unknown) => {
        if (!hasSourceFailed) return timer(0);
        badge.fail(error);
        return timer(PAUSE);
      },
    }),
  );

  /** A gateway that has begun anew may correct what was final, which the indicators leave out: the page begins anew, too. */
  function expectOrder({ type, status, candle: { timestamp } }: CandleEvent): void {
    if (timestamp <= finalUntil) throw new Error("a candle that was final has changed");
    if (status === "final" && type !== "removed") finalUntil = timestamp;
  }

  function take(event: Parameters<ShownCandles["take"]>[0]): void {
    shown.take(event);
    schedule();
  }

  function takeSniper(event: Parameters<SniperTable["announce"]>[0]): void {
    report = applySniperEvent(report, event);
    table.announce(event);
    schedule();
  }

  function takeStatus(told: FeedStatus): void {
    status = told;
    badge.show(told, Date.now());
  }
}

/** Forgets what is held; what is drawn stays until there is something else. */
function begin(): void {
  shown = new ShownCandles();
  report = emptyReport;
  status = undefined;
}

/** Many events come at once; a frame draws what has become of them. */
function schedule(): void {
  if (isDrawingDue) return;
  isDrawingDue = true;
  requestAnimationFrame(() => {
    isDrawingDue = false;
    chart.draw(shown, shown.drain());
    if (isFirstDrawing && shown.newest !== undefined) {
      isFirstDrawing = false;
      chart.toNewest();
    }
    table.draw(report, Date.now());
    drawLegend();
    drawCorrections();
  });
}

function drawLegend(): void {
  const row = (hovered === undefined ? undefined : shown.at(hovered)) ?? shown.newest;
  if (row === undefined) {
    legend.replaceChildren();
    return;
  }
  const { candle, values } = row;
  const decimals = decimalsFor(candle.close);
  const price = (value: number | undefined) => (value === undefined ? "–" : priceText(value, decimals));
  const trend = candle.close < candle.open ? "loss" : "gain";
  const entries: [label: string, text: string, style: string][] = [
    ["O", price(candle.open), trend],
    ["H", price(candle.high), trend],
    ["L", price(candle.low), trend],
    ["C", price(candle.close), trend],
    ["Vol", amountText(candle.volume), ""],
    ["EMA 9", price(values.fast), "fast"],
    ["EMA 21", price(values.slow), "slow"],
    ["RSI 14", values.strength?.toFixed(1) ?? "–", "strength"],
  ];
  legend.replaceChildren(
    ...entries.map(([label, text, style]) => {
      const entry = document.createElement("span");
      const value = document.createElement("b");
      value.textContent = text;
      value.className = style;
      entry.append(label, " ", value);
      return entry;
    }),
  );
}

const LISTED = 4;

function drawCorrections(): void {
  const { corrections } = shown;
  const listed = corrections.slice(-LISTED).reverse();
  correctionList.replaceChildren(
    ...listed.map(({ timestamp, kind, observedAt }) => {
      const entry = document.createElement("span");
      entry.className = kind;
      entry.textContent = `${timeText(timestamp)} ${kind} at ${timeText(observedAt)}`;
      return entry;
    }),
  );
}
