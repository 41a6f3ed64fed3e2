// Lists the candles of the service behind this page's own address, each with the value of an indicator.
import { createClient, ema, watchCandles, withIndicators } from "pairstream";
import { gatewaySource } from "pairstream/sse";

const list = document.querySelector("ol")!;
const parameters = new URLSearchParams(location.search);
const pairAddress = parameters.get("pair")!;
const gateway = parameters.get("gateway");

const client = createClient({ baseUrl: `${location.origin}/service`, apiKey: "key" });
const series = { network: "mainnet", pairAddress, timeframe: "1s", currency: "usd" } as const;
const watched = { ...series, since: { candles: 5 } };
const polled = watchCandles(client, watched);
const relayed = (url: string) => gatewaySource(url).candles(watched);

(gateway === null ? polled : relayed(gateway))
  .pipe(withIndicators({ fast: ema(3) }))
  .subscribe(({ candle, live, values }) => {
    const item = document.createElement("li");
    item.dataset.live = String(live);
    item.textContent = JSON.stringify({ candle, fast: values.fast });
    list.append(item);
  });
