// As many bare requests as a watcher sends polls: what has to pass until the last one can be sent, where all are sent in a
// row, and where each has a timer of its own that is due at the same instant, and another one for its timeout.
import { Agent } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import crossFetch from "cross-fetch";
import { asyncScheduler } from "rxjs";
import { addresses } from "./market.js";
import { givenOptions, tell } from "./processes.js";

export interface FloorOptions {
  readonly url: string;
  readonly count: number;
  readonly bursts: number;
}

/** In ms, burst by burst. */
export interface FloorTimes {
  readonly last: readonly number[];
  readonly lastByTimers: readonly number[];
}

/** ms between two bursts, after which the service has closed the connections, as after 10 s. */
const PAUSE = 7_000;
/** How long before they are due timers are set, and how long a request may take, in ms. */
const [LEAD, TIMEOUT] = [500, 10_000];

const { url, count, bursts } = givenOptions<FloorOptions>();
const agent = new Agent({ keepAlive: true });
const until = Math.floor(Date.now() / 1_000);
const query = `timeframe=10s&currency=usd&fromDate=${until - 60}&toDate=${until}&limit=8`;
const urls = addresses(count).map((pair) => `${url}/token/mainnet/pairs/${pair}/ohlcv?${query}`);

function ask(each: string): Promise<Response> {
  const { signal } = new AbortController();
  // The agent is node-fetch's option, unknown to the types, which are the browser's.
  return crossFetch(each, { headers: { "X-API-Key": "key" }, signal, agent } as RequestInit);
}

/** How long after it begins the last request of a burst is sent. */
async function inARow(): Promise<number> {
  const begin = Date.now();
  const answers = urls.map(ask);
  const took = Date.now() - begin;
  for (const answer of answers) await (await answer).text();
  return took;
}

/** The same after the instant at which all timers are due. */
async function byTimers(): Promise<number> {
  const due = Date.now() + LEAD;
  let took = 0;
  const answers = urls.map(
    (each) =>
      new Promise<Response>((resolve, reject) => {
        asyncScheduler.schedule(() => {
          const timeout = asyncScheduler.schedule(() => {}, TIMEOUT);
          const answer = ask(each);
          took = Date.now() - due;
          answer.finally(() => timeout.unsubscribe()).then(resolve, reject);
        }, due - Date.now());
      }),
  );
  for (const answer of answers) await (await answer).text();
  return took;
}

const last: number[] = [];
const lastByTimers: number[] = [];
for (let burst = 0; burst < bursts; burst += 1) {
  await sleep(PAUSE);
  last.push(await inARow());
  await sleep(PAUSE);
  lastByTimers.push(await byTimers());
}
tell({ last, lastByTimers } satisfies FloorTimes);
