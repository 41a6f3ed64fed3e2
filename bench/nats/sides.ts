// One of the processes of bench/nats/load.ts: the collector, or one of the subscribers.
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { type CandleEvent, createClient, type Series } from "pairstream";
import { collect, natsSource } from "pairstream/nats";
import { interval, map, mergeMap, type Observable, range } from "rxjs";
import { Lanes } from "../../src/adapters/nats/lanes.js";
import { candleSubjects } from "../../src/adapters/nats/subjects.js";
import { HandPublisher } from "../../test/adapters/nats/hand-publisher.js";
import { liquidService, now } from "./service.js";

/** How the collector comes to its events. */
export type Source =
  /** It polls every series at the same instants, `every` ms apart. */
  | { readonly kind: "polled"; readonly every: number }
  /** So many a second are made up, evenly. */
  | { readonly kind: "even"; readonly perSecond: number }
  /** The next round of all series is made up once the last one is stored. */
  | { readonly kind: "flood" };

/** What a process is to do until it is ended. */
export interface Order {
  readonly server: string;
  readonly series: number;
  /** Absent for a subscriber. */
  readonly source?: Source;
}

/** From the process that measures. */
export type Request = "begin" | "end";
/** To it: that the process is at work, that it has begun to measure, and what it has measured since. */
export type Answer = "ready" | "begun" | Measured;

export interface Measured {
  /** Of one processor, in ms. */
  readonly cpu: number;
  /** From the collector's event to the subscriber's, in ms. */
  readonly latencies: Float64Array;
}

const SERIES = { network: "mainnet", timeframe: "1min", currency: "usd" } as const;
const MINUTE = 60_000;

const order: Order = JSON.parse(process.argv[2]!);
const answer = (given: Answer) => process.send!(given);
const seriesOf = (number: number): Series => ({ ...SERIES, pairAddress: `pair-${number}` });

const latencies: number[] = [];
let before = process.cpuUsage();
process.on("disconnect", () => process.exit());
process.on("message", (request: Request) => {
  if (request === "begin") {
    latencies.length = 0;
    before = process.cpuUsage();
    answer("begun");
    return;
  }
  const { user, system } = process.cpuUsage(before);
  answer({ cpu: (user + system) / 1_000, latencies: Float64Array.from(latencies) });
});

/** Follows all series; ready once it has heard of each. */
function subscribe(connection: NatsConnection): void {
  const heard = new Set<string>();
  const source = natsSource(connection);
  range(0, order.series)
    .pipe(mergeMap((number) => source.candles(seriesOf(number))))
    .subscribe(({ candle, series }) => {
      // Candles that are over carry no stamp.
      if (candle.volume > 1) latencies.push(now() - candle.volume);
      if (heard.size === order.series) return;
      if (heard.add(series.pairAddress).size === order.series) answer("ready");
    });
}

async function startCollector(connection: NatsConnection, source: Source): Promise<void> {
  if (source.kind === "polled") {
    const client = createClient({
      baseUrl: "https://service.test",
      apiKey: "key",
      fetch: liquidService("1min"),
      rateLimit: false,
    });
    const watches = Array.from({ length: order.series }, (_, at) => ({
      ...seriesOf(at),
      every: source.every,
    }));
    collect(connection, client, watches).subscribe();
  } else if (source.kind === "even") {
    const publish = await publishing(connection);
    evenly(source.perSecond).subscribe((event) => void publish(event));
  } else {
    void flood(await publishing(connection));
  }
  answer("ready");
}

/** An event of a series' running candle, which carries its instant as the volume. */
function eventOf(number: number): CandleEvent {
  const at = now();
  const timestamp = Math.floor(at / MINUTE) * MINUTE;
  const candle = { timestamp, open: 1.5, high: 1.75, low: 1.25, close: 1.5, volume: at, swaps: 9 };
  return {
    type: "new",
    candle,
    status: "open",
    revision: 0,
    live: true,
    lateBy: 0,
    observedAt: at,
    series: seriesOf(number),
  };
}

const TICK = 10;

function evenly(perSecond: number): Observable<CandleEvent> {
  const begun = now();
  let made = 0;
  return interval(TICK).pipe(
    mergeMap(() => {
      const due = Math.floor(((now() - begun) * perSecond) / 1_000) - made;
      made += due;
      return range(made - due, due);
    }),
    map((number) => eventOf(number % order.series)),
  );
}

/** Publishes events of all series; resolves once one is stored. */
async function publishing(connection: NatsConnection): Promise<(event: CandleEvent) => Promise<void>> {
  const lanes = new Lanes(256);
  const publishers = new Map<string, HandPublisher>();
  for (let number = 0; number < order.series; number += 1) {
    const series = seriesOf(number);
    const publisher = await HandPublisher.open(connection, candleSubjects("pairstream", series), 1, {
      lanes,
    });
    publisher.status();
    publishers.set(series.pairAddress, publisher);
  }
  return async (event) => {
    const publisher = publishers.get(event.series.pairAddress)!;
    publisher.candle(event);
    await publisher.whenStored();
  };
}

async function flood(publish: (event: CandleEvent) => Promise<void>): Promise<void> {
  for (;;) {
    await Promise.all(Array.from({ length: order.series }, (_, number) => publish(eventOf(number))));
  }
}

const connection = await connect({ servers: order.server, maxReconnectAttempts: -1 });
if (order.source === undefined) subscribe(connection);
else await startCollector(connection, order.source);
