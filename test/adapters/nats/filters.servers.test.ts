import { from, lastValueFrom, Subscription, toArray } from "rxjs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  publishCandles,
  watchPublishedCandles,
  watchPublishedFeedStatus,
} from "../../../src/adapters/nats/index.js";
import { natsLibrary } from "../../../src/adapters/nats/nats.js";
import { VirtualClock } from "../../../src/index.js";
import { ModelConnection, Servers } from "../../simulation/nats/servers.js";
import { isFrom, V2_9, V2_10, type Version, versionOf } from "../../simulation/nats/versions.js";
import { event, SERIES } from "./published-world.js";
import { connectTo, hasServer, type NatsServer, startServer, until } from "./servers.js";

const ALL = 50;
const ROUNDS = 5;
const seriesAt = (number: number) => ({ ...SERIES, pairAddress: `pair-${number}` });
const candlesOf = (minute: number) =>
  Array.from({ length: ALL }, (_, number) => event("new", minute, number, { series: seriesAt(number) }));

describe("a connection to servers of version 2.10", () => {
  /** A world of 50 series, of which each has one new candle a round. */
  async function openModel(version?: Version) {
    await natsLibrary();
    const clock = new VirtualClock(Date.UTC(2026, 0, 1));
    const servers = new Servers(clock, version);
    const way = (arrive: () => void) => void clock.schedule(arrive, 1);
    const connect = (number: number) => new ModelConnection(servers, { up: way, down: way }, clock, number);
    const [publishing, watching] = [connect(1), connect(2)];
    const options = { name: "p", scheduler: clock };
    let minute = 0;
    const events: string[] = [];
    const following: Subscription[] = [];
    const round = async () => {
      minute += 1;
      publishCandles(publishing.asConnection, from(candlesOf(minute)), options).subscribe();
      await clock.advanceBy(1_000);
    };
    const watch = (number: number) => {
      const series = seriesAt(number);
      const watched = watchPublishedCandles(watching.asConnection, series, options);
      following.push(
        watched.subscribe(({ candle }) => events.push(`${number} ${candle.timestamp / 60_000}`)),
      );
    };
    /** Plays some rounds; gives how many messages came a round, apart from heartbeats and the like. */
    const play = async () => {
      await clock.advanceBy(3_000);
      const before = watching.received;
      events.length = 0;
      for (let at = 0; at < ROUNDS; at += 1) await round();
      return (watching.received - before) / ROUNDS;
    };
    await round();
    return { servers, clock, watching, watch, play, events, following };
  }
  const consumersOf = ({ servers }: Awaited<ReturnType<typeof openModel>>) => servers.jetstream.consumers;

  it("gets the messages of the series alone that it asks for in one go", async () => {
    const world = await openModel(V2_10);
    for (const number of [3, 7, 20]) world.watch(number);
    expect(await world.play()).toBe(3);
    expect(world.events).toHaveLength(3 * ROUNDS);
    expect(consumersOf(world)).toBe(1);
  });

  it("gets all messages where it asks for many, and those of a series once more where others come later", async () => {
    const many = await openModel(V2_10);
    for (let number = 0; number < 40; number += 1) many.watch(number);
    expect(await many.play()).toBe(ALL);
    expect(many.events).toHaveLength(40 * ROUNDS);
    const later = await openModel(V2_10);
    later.watch(3);
    expect(await later.play()).toBe(1);
    for (const number of [3, 4, 5]) later.watch(number);
    expect(await later.play()).toBe(ALL + 1);
    expect(later.events).toHaveLength(4 * ROUNDS);
    for (const one of later.following.slice(0, 2)) one.unsubscribe();
    expect(await later.play()).toBe(ALL);
    expect(later.events).toHaveLength(2 * ROUNDS);
    expect(consumersOf(later)).toBe(1);
  });

  it("asks for one filter where it is connected to an older server since", async () => {
    const world = await openModel(V2_10);
    for (const number of [3, 7]) world.watch(number);
    expect(await world.play()).toBe(2);
    world.servers.version = V2_9;
    world.watching.disconnect();
    world.servers.jetstream.forgetConsumers();
    world.watching.reconnect();
    expect(await world.play()).toBe(ALL);
    expect(world.events).toHaveLength(2 * ROUNDS);
  });

  it("gets the messages of one series alone, or else all, from a server of version 2.9", async () => {
    const one = await openModel();
    one.watch(3);
    expect(await one.play()).toBe(1);
    const two = await openModel();
    for (const number of [3, 7]) two.watch(number);
    expect(await two.play()).toBe(ALL);
    expect(two.events).toHaveLength(2 * ROUNDS);
  });
});

describe.skipIf(!hasServer)("a connection to a server", () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server?.remove());

  it.each([1, 20])(
    "that watches %i of 50 series gets the messages of those alone, or of all",
    async (count) => {
      const ROUNDS = 10;
      const [publishing, watching] = [await connectTo([server]), await connectTo([server])];
      const options = { name: `of-${count}` };
      const store = (minute: number) =>
        lastValueFrom(publishCandles(publishing, from(candlesOf(minute)), options).pipe(toArray()));
      await store(1);
      let events = 0;
      const following = new Subscription();
      for (let number = 0; number < count; number += 1) {
        const series = seriesAt(number);
        const watched = watchPublishedCandles(watching, series, { ...options, since: 0 });
        following.add(watched.subscribe(() => (events += 1)));
        const asked = { ...options, heartbeat: 60_000 };
        following.add(watchPublishedFeedStatus(watching, series, asked).subscribe());
      }
      await until("the history", () => events === count);
      await watching.flush();
      const before = watching.stats().inMsgs;
      for (let minute = 2; minute <= 1 + ROUNDS; minute += 1) await store(minute);
      await until("what follows", () => events === (1 + ROUNDS) * count);
      const canName = count === 1 || isFrom(versionOf(watching), 10);
      const came = () => watching.stats().inMsgs - before;
      // Messages of other series may come after the last event.
      await until("all messages", () => came() >= ROUNDS * (canName ? count : ALL));
      // Besides: heartbeats, the ends of the consumers that have read what was stored, and the questions who is alive.
      if (canName) expect(came()).toBeLessThan(ROUNDS * count + 20 + 3 * count);
      following.unsubscribe();
      await Promise.all([publishing.close(), watching.close()]);
    },
  );
});
