// Takes the datafeed, and what it gives as the types that it should have.
import { clientSource, createClient } from "pairstream";
import {
  type Bar,
  createDatafeed,
  type Datafeed,
  type DatafeedOptions,
  type LibrarySymbolInfo,
  type ResolutionString,
} from "pairstream/tradingview";

const client = createClient({ baseUrl: "http://localhost:1", apiKey: "key" });
const options: DatafeedOptions = {
  symbols: [{ name: "ONE", network: "mainnet", pairAddress: "pair", currency: "usd" }],
};
const datafeed: Datafeed = createDatafeed(clientSource(client), options);

export function closeOf({ close }: Bar): number {
  return close;
}

export function firstOf({ supported_resolutions }: LibrarySymbolInfo): ResolutionString | undefined {
  return supported_resolutions[0];
}

datafeed.onReady(({ supported_resolutions: all }) => console.log(JSON.stringify([all[0], all.at(-1)])));
