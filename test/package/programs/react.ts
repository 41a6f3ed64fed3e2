// Takes the hooks, and what they give as the types that it should have.
import type { CandleEvent, FeedStatus, IndicatorEvent, PairSource, SniperReport } from "pairstream";
import { ema, withIndicators } from "pairstream";
import { useCandles, useSniperReport, useSnipers } from "pairstream/react";

const pairAddress = "pair";
const series = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;

export function useAll(
  source: PairSource,
): [readonly CandleEvent[], number | undefined, FeedStatus, SniperReport] {
  const plain = useCandles(source, series);
  const withValues = useCandles(source, series, {
    pipe: withIndicators({ fast: ema(9) }),
    key: 9,
    count: 10,
  });
  const events: readonly IndicatorEvent<{ fast: number | undefined }>[] = withValues.events;
  const { report } = useSnipers(source, { pairAddress });
  return [plain.events, events.at(-1)?.values.fast, plain.status, report];
}

console.log(
  JSON.stringify({
    useCandles: typeof useCandles,
    useSniperReport: typeof useSniperReport,
    useSnipers: typeof useSnipers,
  }),
);
