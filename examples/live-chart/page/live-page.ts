import { type Candle, emptyReport, type FeedStatus, type PairSource, type SniperReport } from "pairstream";
import { distinctUntilChanged, Subject, switchMap } from "rxjs";
import { amountText, shortened, timeText } from "../../page/figures.js";
import { legendElements } from "../../page/legend.js";
import { startTheme } from "../../page/theme.js";
import type { Choices, Selection } from "../gateway.js";
import { drawMarkLegend } from "./chart-marks.js";
import { follow, followPast } from "./follow.js";
import { drawHeadline, startCopy } from "./header.js";
import type { SwitchId } from "./indicators.js";
import { PriceChart } from "./price-chart.js";
import { DAY, joined, MINUTE, type PricePoint, pathOf, volumeFrom, withPoint } from "./price-path.js";
import { searchOf, selectionFrom, storedLook, storeLook } from "./settings.js";
import { type Correction, type Row, ShownCandles } from "./shown-candles.js";
import { type SniperSwap, swapsOf } from "./sniper-order.js";
import { SniperTable } from "./sniper-table.js";
import { StatusBadge } from "./status-badge.js";
import { drawSwaps } from "./swap-feed.js";
import { startToolbar } from "./toolbar.js";

/** What the page shows: for its tests, and for whoever looks at it in the console, as `__pairstream`. */
interface PageHook {
  readonly selection: Selection | undefined;
  readonly status: FeedStatus | undefined;
  /** The candles, ascending, with their status and values. */
  readonly candles: ReturnType<ShownCandles["all"]>;
  /** What the chart has been given of them. */
  readonly drawn: PriceChart["drawn"];
  readonly seen: PriceChart["seen"];
  readonly corrections: readonly Correction[];
  readonly report: SniperReport;
  /** How many times the page was drawn. */
  readonly frames: number;
}

declare global {
  interface Window {
    __pairstream: PageHook;
  }
}

const element = <T extends HTMLElement>(id: string) => document.querySelector<T>(`#${id}`)!;
const FIVE_MINUTES = 5 * MINUTE;
const WORDS = {
  corrected: "was corrected after it had closed",
  late: "came late",
  removed: "was removed",
} as const;

/** Shows what a source has, in the document as `index.html` has it. */
export function startPage(source: PairSource, choices: Choices): void {
  const { selection: first, unknownPair } = selectionFrom(location.search, choices);
  let selection = first;
  let look = storedLook();
  let status: FeedStatus | undefined;
  let shown = new ShownCandles();
  let report = emptyReport;
  let swaps: readonly SniperSwap[] = [];
  let path: readonly PricePoint[] = [];
  let day: readonly Candle[] | undefined;
  /** By how much the service's clock is ahead of the one here, in ms. */
  let ahead = Number.NEGATIVE_INFINITY;
  let hovered: number | undefined;
  let isDrawingDue = false;
  let frames = 0;

  const legend = element("legend");
  const badge = new StatusBadge(element("status"), element("notice"), element("market"));
  const table = new SniperTable(
    element<HTMLTableElement>("snipers"),
    element("snipers-count"),
    element("snipers-note"),
    schedule,
  );
  const chart = new PriceChart(
    element("chart"),
    (timestamp) => {
      hovered = timestamp;
      drawLegend();
    },
    schedule,
  );
  const selections = new Subject<Selection>();

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
      get seen() {
        return chart.seen;
      },
      get corrections() {
        return shown.corrections;
      },
      get report() {
        return report;
      },
      get frames() {
        return frames;
      },
    } satisfies PageHook,
  });

  const showControls = startToolbar(choices, {
    selection: () => selection,
    select(part) {
      selection = { ...selection, ...part };
      showInAddress(selection);
      element("unknown").textContent = "";
      choose(!("timeframe" in part && Object.keys(part).length === 1));
    },
    look: () => look,
    setLook(part) {
      look = { ...look, ...part };
      storeLook(look);
      showLook();
    },
    toPresent: () => chart.toPresent(),
    scrollBy: (bars) => chart.scrollBy(bars),
    zoomBy: (factor) => chart.zoomBy(factor),
  });
  startCopy(element<HTMLButtonElement>("copy"), () => selection.pairAddress);
  startTheme(element<HTMLButtonElement>("theme"), () => {
    chart.paint();
    schedule();
  });
  selections
    .pipe(
      switchMap((chosen) =>
        follow(source, choices, chosen, {
          begin,
          draw: (events, looks, olderFrom) => chart.draw(events, looks, olderFrom),
          candle(event) {
            shown.take(event);
            ahead = Math.max(event.observedAt, now()) - Date.now();
            const { newest } = shown;
            if (newest !== undefined)
              path = withPoint(path, { at: event.observedAt, price: newest.candle.close });
            schedule();
          },
          snipers(news) {
            report = news.report;
            swaps = swapsOf(report);
            for (const event of news.events) table.announce(event);
            schedule();
          },
          status(told) {
            status = told;
            badge.show(told, Date.now(), look.zone);
          },
          failed: (error) => badge.fail(error),
        }),
      ),
    )
    .subscribe();
  selections
    .pipe(
      // The past of a price is the same in candles of any length.
      distinctUntilChanged((a, b) => a.pairAddress === b.pairAddress && a.currency === b.currency),
      switchMap((chosen) => followPast(source, choices, chosen)),
    )
    .subscribe(([lastDay, lastHour]) => {
      day = lastDay;
      path = joined(pathOf(lastDay, FIVE_MINUTES), pathOf(lastHour, MINUTE), path);
      schedule();
    });
  if (unknownPair !== undefined) {
    element("unknown").textContent = `The pair ${unknownPair} is not offered here. This is another one.`;
  }
  choose(true);
  showLook();

  /** Shows what has been chosen; `isOther`: another pair or currency, whose price has another past. */
  function choose(isOther: boolean): void {
    document.title = `${shortened(selection.pairAddress)} ${selection.timeframe} · pairstream`;
    element("address").textContent = choices.network;
    element("address").title = selection.pairAddress;
    chart.setTimeframe(selection.timeframe);
    badge.reset();
    if (isOther) {
      path = [];
      day = undefined;
    }
    showControls();
    selections.next(selection);
    schedule();
  }

  function showLook(): void {
    const isOn = (id: SwitchId) => look.on.includes(id);
    chart.show({ isOn, isLog: look.isLog, zone: look.zone });
    drawMarkLegend(element("marks"), isOn);
    showControls();
    schedule();
  }

  /** Forgets what is held. */
  function begin(): void {
    shown = new ShownCandles();
    report = emptyReport;
    swaps = [];
    status = undefined;
    ahead = Number.NEGATIVE_INFINITY;
  }

  function now(): number {
    return Date.now() + ahead;
  }

  /** Many events come at once; a frame draws what has become of them. */
  function schedule(): void {
    if (isDrawingDue) return;
    isDrawingDue = true;
    requestAnimationFrame(() => {
      isDrawingDue = false;
      frames += 1;
      const at = Number.isFinite(ahead) ? now() : Date.now();
      chart.mark(shown.corrections);
      table.draw(report, at, look.zone);
      drawSwaps(element("swaps"), swaps, at, look.zone);
      drawHeadline({ selection, path, volume: volumeOfDay(at), report, now: at });
      drawLegend();
      tellCorrections();
    });
  }

  function volumeOfDay(at: number): number | undefined {
    if (day === undefined) return undefined;
    const end = day.length === 0 ? 0 : day.at(-1)!.timestamp + FIVE_MINUTES;
    // Candles of a length that fits go on where the closed ones of five minutes end.
    const isFine = /s$|^[15]min$/.test(selection.timeframe);
    const since = isFine ? volumeFrom(shown.candles(), Math.max(end, at - DAY)) : 0;
    return volumeFrom(day, at - DAY) + since;
  }

  function drawLegend(): void {
    const row = hovered === undefined ? shown.newest : (shown.at(hovered) ?? chart.hovered());
    const correction = hovered === undefined ? undefined : shown.correctionAt(hovered);
    const entries = row === undefined ? [] : entriesOf(row, (id) => look.on.includes(id));
    const news = correction === undefined ? [] : [correction];
    legend.replaceChildren(
      ...legendElements(entries.map(([label, text, style]) => [label, text, style])),
      ...news.map(({ kind, observedAt }) => {
        const entry = document.createElement("span");
        entry.className = "correction";
        entry.textContent = `This candle ${WORDS[kind]}, at ${timeText(observedAt, look.zone)}`;
        return entry;
      }),
    );
  }

  function entriesOf({ candle, values }: Pick<Row, "candle" | "values">, isOn: (id: SwitchId) => boolean) {
    const price = (value: number | undefined) => (value === undefined ? "–" : chart.priceText(value));
    const trend = candle.close < candle.open ? "loss" : "gain";
    const { fast, slow, bands, vwap, strength } = values;
    const entries: [label: string, text: string, style: string, by?: SwitchId][] = [
      ["", chart.timeText(candle.timestamp), "when"],
      ["Open", price(candle.open), trend],
      ["High", price(candle.high), trend],
      ["Low", price(candle.low), trend],
      ["Close", price(candle.close), trend],
      ["Volume", amountText(candle.volume), "", "volume"],
      ["EMA 9", price(fast), "fast", "fast"],
      ["EMA 21", price(slow), "slow", "slow"],
      [
        "Bollinger",
        bands === undefined ? "–" : `${price(bands.lower)} to ${price(bands.upper)}`,
        "bands",
        "bands",
      ],
      ["VWAP", price(vwap), "vwap", "vwap"],
      ["RSI 14", strength?.toFixed(1) ?? "–", "strength", "strength"],
    ];
    return entries.filter(([, , , by]) => by === undefined || isOn(by));
  }

  /** In words, for whoever does not see the marks. */
  function tellCorrections(): void {
    const text = shown.corrections
      .slice(-1)
      .map(({ timestamp, kind, observedAt }) => {
        return `The candle of ${timeText(timestamp, look.zone)} ${WORDS[kind]}, at ${timeText(observedAt, look.zone)}`;
      })
      .join("");
    const told = element("corrections");
    if (told.textContent !== text) told.textContent = text;
  }
}

function showInAddress(selection: Selection): void {
  try {
    history.replaceState(null, "", searchOf(selection));
  } catch {
    // A page that was opened as a file may not.
  }
}
