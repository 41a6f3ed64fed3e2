// As many bare requests in a row as a watcher sends polls: what has to pass until the last one can be sent.
import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import crossFetch from "cross-fetch";
import { addresses } from "./market.js";
import { givenOptions, tell } from "./processes.js";

export interface FloorOptions {
  readonly url: string;
  readonly count: number;
  readonly bursts: number;
}

/** ms between two bursts, after which the service has closed the connections, as after 10 s. */
const PAUSE = 7_000;

const { url, count, bursts } = givenOptions<FloorOptions>();
const agent = new Agent({ keepAlive: true });
const until = Math.floor(Date.now() / 1_000);
const query = `timeframe=10s&currency=usd&fromDate=${until - 60}&toDate=${until}&limit=8`;
const urls = addresses(count).map((pair) => `${url}/token/mainnet/pairs/${pair}/ohlcv?${query}`);

const last: number[] = [];
for (let burst = 0; burst < bursts; burst += 1) {
  await sleep(PAUSE);
  const begin = Date.now();
  const answers = urls.map((each) => {
    const { signal } = new AbortController();
    // The agent is node-fetch's option, unknown to the types, which are the browser's.
    return crossFetch(each, { headers: { "X-API-Key": "key" }, signal, agent } as RequestInit);
  });
  last.push(Date.now() - begin);
  for (const answer of answers) await (await answer).text();
}
tell({ last });
