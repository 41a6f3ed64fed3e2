// One run of bench/nats/series.ts, in a process of its own: a group of collectors and a subscriber in virtual time.
import { createClient, type FetchLike, VirtualClock } from "pairstream";
import { collect, natsSource } from "pairstream/nats";
import { Subscription } from "rxjs";
import { natsLibrary } from "../../../src/adapters/nats/nats.js";
import { ModelConnection, Servers, type Wire } from "../../../test/simulation/nats/servers.js";
import { addresses, createdBefore, madeUpService, type Trading } from "./market.js";

const MINUTE = 60_000;
/** Ten seconds before a minute, so that the candles of a minute are all closed before the next part of a run. */
const START = Date.UTC(2026, 0, 1, 0, 0, 50);
/** The minutes of each part. */
const MINUTES = { start: 3, steady: 4, death: 2, departure: 2 } as const;
/** One way, in ms. */
const WAYS = { service: 50, servers: 1 } as const;

/** What a process is to measure. */
export interface Order {
  readonly series: number;
  readonly collectors: number;
  /** Of the key. */
  readonly limit: { readonly requests: number; readonly per: number };
  readonly trading: Trading;
}

/** What requests are for. */
export type Purpose = "closings" | "first polls" | "histories" | "searches";
export type Requests = Readonly<Record<Purpose, number>>;

export interface Part {
  readonly name: keyof typeof MINUTES;
  readonly minutes: number;
  readonly requests: Requests;
  /** How often a collector has begun to work on a feed. */
  readonly begun: number;
  /** Of all answers of the service. */
  readonly answerBytes: number;
  readonly messages: number;
  /** How many messages more the stream keeps at the end. */
  readonly added: number;
  /** Of all messages, subjects included. */
  readonly messageBytes: number;
  /** How long after the end of their intervals closed candles came to the subscriber, in ms. */
  readonly closes: readonly number[];
  /** Of one processor, in ms: all collectors, the servers' model, the service and the subscriber. */
  readonly cpu: number;
}

export interface Measured {
  readonly parts: readonly Part[];
  /** When the last feed was live, in ms after the start. */
  readonly liveAfter: number;
  /** The most requests that the service has seen in any window of the limit. */
  readonly worstWindow: number;
  /** Bytes a series on the heap: of the one collector that is left, and of the subscriber. */
  readonly heap: { readonly collector: number; readonly subscriber: number };
}

const order: Order = JSON.parse(process.argv[2]!);
const clock = new VirtualClock(START);
const servers = new Servers(clock);
const pairs = addresses(order.series);
const service = madeUpService({
  trading: order.trading,
  pairs: order.series,
  createdAt: createdBefore(START),
  now: () => clock.now(),
});
const requests: Record<Purpose, number> = { closings: 0, "first polls": 0, histories: 0, searches: 0 };
const arrivals: number[] = [];
const count = { begun: 0, answerBytes: 0, messages: 0, added: 0, messageBytes: 0 };
let closes: number[] = [];
let liveAfter = Number.NaN;
let connections = 0;

servers.noteStored = ({ subject, text }, before) => {
  // The leases take a few messages a second, however many series there are.
  if (subject.startsWith("$KV.")) return;
  count.messages += 1;
  if (before === undefined) count.added += 1;
  count.messageBytes += subject.length + text.length;
};

function connectionToServers(): ModelConnection {
  connections += 1;
  const wire: Wire = {
    up: (arrive) => clock.schedule(arrive, WAYS.servers),
    down: (arrive) => clock.schedule(arrive, WAYS.servers),
  };
  return new ModelConnection(servers, wire, clock, connections);
}

/** By the limit of its page a search is told from what reads candles. */
const SEARCH = /\/snipers|limit=[123]$/;

function purposeOf(url: string, priority: string): Purpose {
  if (SEARCH.test(url)) return "searches";
  if (priority === "history") return "histories";
  return priority === "close" ? "closings" : "first polls";
}

const fetchFromAfar: FetchLike = (url, init) =>
  new Promise((resolve, reject) => {
    const { signal } = init ?? {};
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    clock.schedule(async () => {
      arrivals.push(clock.now());
      const answer = await service(url);
      count.answerBytes += (await answer.text()).length;
      clock.schedule(() => resolve(answer), WAYS.service);
    }, WAYS.service);
  });

interface Collector {
  readonly isLeading: boolean;
  /** It goes as a process does that is killed. */
  die(): void;
  /** It hands its work over. */
  leave(): void;
}

function startCollector(): Collector {
  const connection = connectionToServers();
  const { limit } = order;
  const client = createClient({
    baseUrl: "https://service.test",
    apiKey: "key",
    fetch: fetchFromAfar,
    rateLimit: limit,
    scheduler: clock,
    warn: false,
  });
  let isLeading = false;
  const running = new Subscription();
  running.add(
    client.activity.subscribe((activity) => {
      if (activity.type === "request") requests[purposeOf(activity.url, activity.priority)] += 1;
    }),
  );
  const stopping = new AbortController();
  const watches = pairs.map((pairAddress) => ({ ...seriesOf(pairAddress), since: { candles: 10 } }));
  running.add(
    collect(connection.asConnection, client, watches, {
      signal: stopping.signal,
    }).subscribe(({ type }) => {
      if (type === "started") count.begun += 1;
      if (type === "leading" || type === "standing-by") isLeading = type === "leading";
    }),
  );
  return {
    get isLeading() {
      return isLeading;
    },
    die: () => {
      connection.drop();
      running.unsubscribe();
    },
    leave: () => stopping.abort(),
  };
}

function seriesOf(pairAddress: string) {
  return { network: "mainnet", pairAddress, timeframe: "1min", currency: "usd" } as const;
}

/** Follows all series over one connection. */
function subscribe(): Subscription {
  const source = natsSource(connectionToServers().asConnection, { scheduler: clock });
  const following = new Subscription();
  const closedUntil = new Map<string, number>();
  for (const pairAddress of pairs) {
    following.add(
      source.candles(seriesOf(pairAddress)).subscribe(({ candle: { timestamp }, status }) => {
        if (status === "open" || timestamp <= (closedUntil.get(pairAddress) ?? 0)) return;
        closedUntil.set(pairAddress, timestamp);
        closes.push(clock.now() - timestamp - MINUTE);
      }),
    );
  }
  return following;
}

/** Notes when every feed has told for the first time that it is live. */
function watchForLive(): void {
  const live = new Set<string>();
  const note = servers.noteStored;
  servers.noteStored = (kept, before) => {
    note(kept, before);
    if (!kept.subject.endsWith(".status") || !kept.text.includes('"live"')) return;
    if (live.add(kept.subject).size < order.series) return;
    liveAfter = clock.now() - START;
    servers.noteStored = note;
  };
}

async function measure(name: Part["name"]): Promise<Part> {
  const before = { requests: { ...requests }, ...count };
  const cpuBefore = process.cpuUsage();
  closes = [];
  await clock.advanceBy(MINUTES[name] * MINUTE);
  const { user, system } = process.cpuUsage(cpuBefore);
  const purposes = Object.keys(requests) as Purpose[];
  const sent = purposes.map((purpose) => [purpose, requests[purpose] - before.requests[purpose]]);
  return {
    name,
    minutes: MINUTES[name],
    requests: Object.fromEntries(sent) as Requests,
    begun: count.begun - before.begun,
    answerBytes: count.answerBytes - before.answerBytes,
    messages: count.messages - before.messages,
    added: count.added - before.added,
    messageBytes: count.messageBytes - before.messageBytes,
    closes,
    cpu: (user + system) / 1_000,
  };
}

function worstWindow(): number {
  const instants = arrivals.sort((a, b) => a - b);
  let worst = 0;
  let first = 0;
  for (const [last, at] of instants.entries()) {
    while (instants[first]! <= at - order.limit.per) first += 1;
    worst = Math.max(worst, last - first + 1);
  }
  return worst;
}

/** Of what is left once those who have gone are forgotten. */
async function heapUsed(): Promise<number> {
  await clock.advanceBy(2_000);
  globalThis.gc!();
  return process.memoryUsage().heapUsed;
}

// What is imported when it is needed takes turns of the event loop, the first time.
await natsLibrary();
watchForLive();
const collectors = Array.from({ length: order.collectors }, startCollector);
/** The one that leads, which is then none of them any more. */
const leader = () => {
  const [one] = collectors.splice(
    collectors.findIndex(({ isLeading }) => isLeading),
    1,
  );
  return one!;
};
const subscriber = subscribe();
const parts = [await measure("start"), await measure("steady")];
// At the worst moment: as a minute ends.
const AT_THE_END = 10_000;
clock.schedule(() => leader().die(), AT_THE_END);
parts.push(await measure("death"));
clock.schedule(() => leader().leave(), AT_THE_END);
parts.push(await measure("departure"));
const worst = worstWindow();
arrivals.length = 0;
const full = await heapUsed();
subscriber.unsubscribe();
const withoutSubscriber = await heapUsed();
for (const collector of collectors.splice(0)) collector.leave();
const bare = await heapUsed();
const heap = {
  collector: (withoutSubscriber - bare) / order.series,
  subscriber: (full - withoutSubscriber) / order.series,
};
// It ends once the other side has read that.
process.once("disconnect", () => process.exit());
process.send!({ parts, liveAfter, worstWindow: worst, heap } satisfies Measured);
