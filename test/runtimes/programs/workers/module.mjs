// On workerd: a client and a channel at the top of a module, which only a Durable Object may have.
import { createClient, watchCandles } from "pairstream";
import { createEventChannel } from "pairstream/sse";

const client = createClient({ baseUrl: "https://api.example.com", apiKey: "key" });
const series = { network: "mainnet", pairAddress: "pair", timeframe: "1s", currency: "usd" };
const channel = createEventChannel({ candles: watchCandles(client, series), heartbeat: 100 });

/** The configuration names one. */
export class Feed {}

export default { fetch: (request) => channel.respond(request) };
