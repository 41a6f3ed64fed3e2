import { Kvm } from "@nats-io/kv";
import type { NatsConnection } from "@nats-io/transport-node";
import { map, type Observable, type Subscription } from "rxjs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { collect, natsSource } from "../../src/adapters/nats/index.js";
import { candleSubjects } from "../../src/adapters/nats/subjects.js";
import { createClient } from "../../src/index.js";
import { createPairService, simulatedMarket } from "../../src/service/index.js";
import { HandPublisher } from "../adapters/nats/hand-publisher.js";
import { connectTo, hasServer, type NatsServer, startServer, until } from "../adapters/nats/servers.js";
import { type Diagram, diagramOf, type Happening, nameOf, namesBelow } from "../documents/marbles.js";
import { eventOf, eventText } from "../documents/texts.js";
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

/** What a test has of the server. */
interface Place {
  readonly connection: NatsConnection;
  /** Of streams of its own. */
  readonly name: string;
}

/** Plays the diagram of what is read of collectors, each in a later run than the one before. */
async function reading({ connection, name }: Place, call: string) {
  const labels = ["first publisher", "second publisher"];
  const publishers = new Map<string, HandPublisher>();
  const open = async (label: string) => {
    const epoch = labels.indexOf(label) + 1;
    const publisher = await HandPublisher.open(connection, candleSubjects(name, MINUTES), epoch, { name });
    publishers.set(label, publisher);
    // Nothing is told of a run before its first status.
    publisher.status();
    return publisher;
  };
  const give = async (label: string, what: string) => {
    const publisher = publishers.get(label) ?? (await open(label));
    if (what === "dies") return publisher.die();
    publisher.candle(eventOf(what));
    await publisher.whenStored();
  };
  const results = natsSource(connection, { name }).candles(MINUTES).pipe(map(eventText));
  const played = await play(diagramOf(call, labels), call, results, give);
  for (const publisher of publishers.values()) publisher.die();
  return played;
}

/** Plays the diagram of a collector whose lease is lost to another one. */
function collecting({ connection, name }: Place, call: string) {
  const begin = () => {
    const source = simulatedMarket({ seed: 1, pairs: [PAIR], createdAt: Date.now() - 60_000 });
    const { fetch } = createPairService({ source });
    const client = createClient({ baseUrl: "http://localhost", apiKey: "any", fetch });
    return collect(connection, client, [MINUTES], { name, lease: 2_000 });
  };
  const others: Subscription[] = [];
  const give = async (_: string, what: string) => {
    if (what === "begins") others.push(begin().subscribe());
    else {
      const bucket = await new Kvm(connection).open(`${name}-leases`);
      const lease = (await bucket.get("default"))!.json<object>();
      await bucket.put("default", JSON.stringify({ ...lease, holder: "another", term: Date.now() + 60_000 }));
    }
  };
  const results = begin().pipe(map(({ type }) => type));
  return play(diagramOf(call, ["another collector"]), call, results, give).finally(() => {
    for (const other of others) other.unsubscribe();
  });
}

const CALLS: Record<string, (place: Place, call: string) => Promise<Played>> = {
  "natsSource(connection).candles(watch)": reading,
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
