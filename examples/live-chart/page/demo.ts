// The page with its service in it: a simulated market, and nobody is asked for anything.
import { clientSource, createClient } from "pairstream";
import { demoService } from "pairstream/service";
import { CURRENCIES, TIMEFRAMES } from "../choices.js";
import { startPage } from "./live-page.js";

const { pairs, clientOptions } = demoService({ pairs: 4 });
startPage(clientSource(createClient(clientOptions)), {
  network: "mainnet",
  pairs,
  timeframes: TIMEFRAMES,
  currencies: CURRENCIES,
  first: { pairAddress: pairs[0], timeframe: "10s", currency: "usd" },
  watch: { since: { candles: 300 }, every: 1_000 },
  snipers: { every: 2_000 },
});
