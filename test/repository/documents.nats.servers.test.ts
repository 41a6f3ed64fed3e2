import type { NatsConnection } from "@nats-io/transport-node";
import { filter, map, type Observable, ReplaySubject, Subject, type Subscription } from "rxjs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  collect,
  type Publication,
  publishCandles,
  publishFeedStatus,
  publishSnipers,
  watchPublishedCandles,
  watchPublishedFeedStatus,
  watchPublishedSnipers,
} from "../../src/adapters/nats/index.js";
import { type CandleEvent, createClient, type FeedStatus, type SniperEvent } from "../../src/index.js";
import { createPairService, simulatedMarket } from "../../src/service/index.js";
import { connectTo, hasServer, type NatsServer, startServer, until } from "../adapters/nats/servers.js";
import { type Diagram, diagramOf, type Happening, nameOf, namesBelow } from "../documents/marbles.js";
import { eventOf, eventText, sniperEventOf, sniperText, statusOf, statusText } from "../documents/texts.js";
import { MINUTES, PAIR } from "../world.js";

/** What has come of a call, and what its diagram says. */
interface Played {
  readonly seen: readonly Happening[];
  readonly expected: readonly Happening[];
}

/**
 * Where time cannot be virtual a frame takes as long as what its marbles show: each begins with what is given, and ends
 * once all that is to have come so far has.
 */
async function play(
  diagram: Diagram,
  call: string,
  results: Observable<string>,
  give: (label: string, what: string) => unknown,
): Promise<Played> {
  const seen: Happening[] = [];
  const expected = diagram.happenings(call);
  const given = diagram.labels.filter((label) => label !== call);
  let frame = 0;
  let subscription: Subscription | undefined;
  const see = (what: string) => seen.push({ frame, what });
  for (; frame < diagram.frames; frame += 1) {
    for (const label of given) {
      for (const { what } of diagram.happenings(label).filter((each) => each.frame === frame)) {
        await give(label, what);
      }
    }
    subscription ??= results.subscribe({ next: see, error: () => see("#"), complete: () => see("|") });
    const due = expected.filter((each) => each.frame <= frame).length;
    // What stays away shows in the end.
    await until(`${due} of ${call}`, () => seen.length >= due, 10_000).catch(() => {});
  }
  subscription?.unsubscribe();
  return { seen, expected };
}

/** What is stored, and as what; on a busy machine a server may be asked again before it has answered. */
const stored = (publications: Observable<Publication>) =>
  publications.pipe(
    filter((publication) => publication.type !== "retried"),
    map(({ type, sequence }) => `${type} as ${sequence}`),
  );

/** Publishes one event after the other, and waits until each is stored. */
class Publisher<T> {
  readonly #events = new Subject<T>();
  readonly #running: Subscription;
  #stored = 0;

  constructor(publish: (events: Observable<T>) => Observable<Publication>) {
    this.#running = stored(publish(this.#events)).subscribe(() => {
      this.#stored += 1;
    });
  }

  async tell(event: T): Promise<void> {
    const before = this.#stored;
    this.#events.next(event);
    await until("what is published", () => this.#stored > before);
  }

  die(): void {
    this.#running.unsubscribe();
  }
}

/** What a test has of the server. */
interface Place {
  readonly connection: NatsConnection;
  /** Of streams of its own. */
  readonly name: string;
}

/** Plays the diagram of a call that publishes what the line `label` tells. */
function publishing<T>(
  label: string,
  read: (text: string) => T,
  publish: (place: Place, events: Observable<T>) => Observable<Publication>,
) {
  return (place: Place, call: string) => {
    const events = new ReplaySubject<T>();
    const results = stored(publish(place, events));
    const give = (_: string, what: string) => (what === "|" ? events.complete() : events.next(read(what)));
    return play(diagramOf(call, [label]), call, results, give);
  };
}

/** Plays the diagram of a call that watches what publishers tell, each under a newer lease than the one before. */
function watching<T>(
  labels: readonly string[],
  read: (text: string) => T,
  publish: (place: Place, events: Observable<T>, epoch: number) => Observable<Publication>,
  watch: (place: Place) => Observable<string>,
) {
  return async (place: Place, call: string) => {
    const publishers = labels.map((_, epoch) => new Publisher<T>((events) => publish(place, events, epoch)));
    const give = (label: string, what: string) => {
      const publisher = publishers[labels.indexOf(label)]!;
      return what === "dies" ? publisher.die() : publisher.tell(read(what));
    };
    const played = await play(diagramOf(call, labels), call, watch(place), give);
    for (const publisher of publishers) publisher.die();
    return played;
  };
}

/** Plays the diagram of a collector that shares its work with another one. */
function collecting({ connection, name }: Place, call: string) {
  const begin = () => {
    const source = simulatedMarket({ seed: 1, pairs: [PAIR], createdAt: Date.now() - 60_000 });
    const { fetch } = createPairService({ source });
    const client = createClient({ baseUrl: "http://localhost", apiKey: "any", fetch });
    return collect(connection, client, [MINUTES], { name });
  };
  let other: Subscription | undefined;
  const give = (_: string, what: string) => {
    if (what === "begins") other = begin().subscribe();
    else other?.unsubscribe();
  };
  const results = begin().pipe(
    map((activity) => (activity.type === "slots" ? `holds ${activity.held.length} slots` : activity.type)),
  );
  return play(diagramOf(call, ["another collector"]), call, results, give);
}

const CALLS: Record<string, (place: Place, call: string) => Promise<Played>> = {
  "publishCandles(connection, events)": publishing<CandleEvent>(
    "events",
    eventOf,
    ({ connection, name }, events) => publishCandles(connection, events, { name }),
  ),
  "publishSnipers(connection, events)": publishing<SniperEvent>(
    "events",
    sniperEventOf,
    ({ connection, name }, events) => publishSnipers(connection, events, { name }),
  ),
  "publishFeedStatus(connection, feed, statuses)": publishing<FeedStatus>(
    "statuses",
    statusOf,
    ({ connection, name }, statuses) => publishFeedStatus(connection, MINUTES, statuses, { name }),
  ),
  "watchPublishedCandles(connection, series)": watching<CandleEvent>(
    ["first publisher", "second publisher"],
    eventOf,
    ({ connection, name }, events, epoch) => publishCandles(connection, events, { name, epoch }),
    ({ connection, name }) => watchPublishedCandles(connection, MINUTES, { name }).pipe(map(eventText)),
  ),
  "watchPublishedSnipers(connection, query)": watching<SniperEvent>(
    ["publisher"],
    sniperEventOf,
    ({ connection, name }, events) => publishSnipers(connection, events, { name }),
    ({ connection, name }) =>
      watchPublishedSnipers(connection, { pairAddress: PAIR }, { name }).pipe(map(sniperText)),
  ),
  "watchPublishedFeedStatus(connection, feed)": watching<FeedStatus>(
    ["first publisher", "second publisher"],
    statusOf,
    ({ connection, name }, statuses, epoch) =>
      publishFeedStatus(connection, MINUTES, statuses, { name, epoch }),
    ({ connection, name }) =>
      watchPublishedFeedStatus(connection, MINUTES, { name, heartbeat: 250 }).pipe(map(statusText)),
  ),
  "collect(connection, client, feeds)": collecting,
};

describe.skipIf(!hasServer)("the marbles over a server", () => {
  let server: NatsServer;
  let connection: NatsConnection;

  beforeAll(async () => {
    server = await startServer();
    connection = await connectTo([server]);
  });
  afterAll(async () => {
    await connection?.close();
    await server?.remove();
  });

  it.each(Object.entries(CALLS))("%s", async (call, play) => {
    const { seen, expected } = await play({ connection, name: nameOf(call) }, call);
    expect(seen).toEqual(expected);
  });
});

describe("the marbles of pairstream/nats", () => {
  it("are all played", () => {
    expect(Object.keys(CALLS).map(nameOf).sort()).toEqual(namesBelow("src/adapters/nats/").sort());
  });
});
