// An hour of candles from a service in this page, through faults, in virtual time, onto a chart.
import { CandlestickSeries, createChart, type UTCTimestamp } from "lightweight-charts";
import { closes, createClient, VirtualClock, watchCandles } from "pairstream";
import { createPairService, listen, simulatedMarket, withFaults } from "pairstream/service";

async function show() {
  const clock = new VirtualClock(Date.UTC(2025, 0, 1, 1));
  const market = simulatedMarket({ seed: 1, createdAt: "2025-01-01" });
  const service = createPairService({ source: market, clock: () => clock.now() });
  const rates = { delay: 0.1, reset: 0.1, "5xx": 0.1 };
  const fetch = withFaults(service.fetch, { seed: 7, scheduler: clock, rates });
  const client = createClient({ baseUrl: "http://localhost", apiKey: "any", fetch, scheduler: clock });
  const chart = createChart(document.querySelector("main")!);
  const bars = chart.addSeries(CandlestickSeries);
  const [pairAddress] = market.pairs as [string];
  const series = { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;
  const watch = watchCandles(client, series)
    .pipe(closes())
    .subscribe(({ candle: { timestamp, open, high, low, close } }) =>
      bars.update({ time: (timestamp / 1_000) as UTCTimestamp, open, high, low, close }),
    );
  await clock.advanceBy(3_600_000);
  watch.unsubscribe();
  const bitmap = chart.takeScreenshot();
  const pixels = bitmap.getContext("2d")!.getImageData(0, 0, bitmap.width, bitmap.height).data;
  const colours = new Set(new Uint32Array(pixels.buffer));
  const refusal = await listen(service, { port: 0 }).catch(String);
  return { bars: bars.data().length, isDrawn: colours.size > 10, pending: clock.pending, refusal };
}

Object.assign(globalThis, { shown: show() });
