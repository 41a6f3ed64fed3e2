import type { IChartApi, ISeriesApi } from "lightweight-charts";
import {
  bollinger,
  type CandleEvent,
  ema,
  type Indicator,
  type IndicatorEvent,
  rsi,
  vwap,
  withIndicators,
} from "pairstream";
import { drawLine } from "pairstream/lightweight-charts";
import type { Observable, Subscription } from "rxjs";

/** What is worked out for every candle. */
const INDICATORS = {
  fast: ema(9),
  slow: ema(21),
  bands: bollinger(20, 2),
  vwap: vwap(),
  strength: rsi(14),
};

/** The values of one candle. */
export type Values = ReturnType<typeof valuesOf>;
const through = withIndicators(INDICATORS);
const valuesOf = (event: Through) => event.values;
type Through = ReturnType<typeof through> extends Observable<infer E> ? E : never;
export type ValuedEvent = IndicatorEvent<Values>;
export const withValues = through;

/** What can be switched on and off in the chart. */
export interface Switch {
  readonly id: SwitchId;
  readonly label: string;
  /** What it is, in one sentence. */
  readonly title: string;
  /** Whether it is on at first. */
  readonly isOn: boolean;
}

export type SwitchId = keyof typeof INDICATORS | "volume" | "snipers" | "corrections";

export const SWITCHES: readonly Switch[] = [
  { id: "fast", label: "EMA 9", title: "The average price, mostly of the last 9 candles", isOn: true },
  { id: "slow", label: "EMA 21", title: "The average price, mostly of the last 21 candles", isOn: true },
  {
    id: "bands",
    label: "Bollinger 20, 2",
    title: "The average price of 20 candles, and two standard deviations around it",
    isOn: false,
  },
  {
    id: "vwap",
    label: "VWAP",
    title: "The average price of this day (UTC), weighted by volume",
    isOn: false,
  },
  {
    id: "strength",
    label: "RSI 14",
    title: "Rises as a share of all movement in 14 candles, 0 to 100",
    isOn: true,
  },
  { id: "volume", label: "Volume", title: "How much was traded in each candle", isOn: true },
  { id: "snipers", label: "Snipers", title: "▲ a sniper bought, ▼ a sniper sold", isOn: true },
  {
    id: "corrections",
    label: "Corrections",
    title: "● a closed candle was corrected or came late, ■ one was removed",
    isOn: true,
  },
];

/** One line of the chart. */
export interface ChartLine {
  readonly id: LineId;
  /** What switches it. */
  readonly by: keyof typeof INDICATORS;
  readonly draw: (
    chart: IChartApi,
    series: ISeriesApi<"Line">,
    events: Observable<CandleEvent>,
  ) => Subscription;
}

export type LineId = "fast" | "slow" | "upper" | "middle" | "lower" | "vwap" | "strength";

/** Each line has a pipe of its own, so that it goes on over older candles. */
function drawn<Value>(
  indicator: Indicator<Value>,
  pick: (value: Value) => number | undefined,
): ChartLine["draw"] {
  const pipe = withIndicators({ it: indicator });
  return (chart, series, events) =>
    drawLine(
      chart,
      series,
      events,
      ({ values: { it } }: IndicatorEvent<{ it: Value | undefined }>) =>
        it === undefined ? undefined : pick(it),
      {
        pipe: pipe as (
          events: Observable<CandleEvent>,
        ) => Observable<IndicatorEvent<{ it: Value | undefined }>>,
      },
    );
}

const itself = (value: number) => value;

export const LINES: readonly ChartLine[] = [
  { id: "fast", by: "fast", draw: drawn(INDICATORS.fast, itself) },
  { id: "slow", by: "slow", draw: drawn(INDICATORS.slow, itself) },
  { id: "upper", by: "bands", draw: drawn(INDICATORS.bands, ({ upper }) => upper) },
  { id: "middle", by: "bands", draw: drawn(INDICATORS.bands, ({ middle }) => middle) },
  { id: "lower", by: "bands", draw: drawn(INDICATORS.bands, ({ lower }) => lower) },
  { id: "vwap", by: "vwap", draw: drawn(INDICATORS.vwap, itself) },
  { id: "strength", by: "strength", draw: drawn(INDICATORS.strength, itself) },
];
