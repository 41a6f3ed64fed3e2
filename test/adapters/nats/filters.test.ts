import { from, lastValueFrom, type Subscription, toArray } from "rxjs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  publishCandles,
  watchPublishedCandles,
  watchPublishedFeedStatus,
} from "../../../src/adapters/nats/index.js";
import { natsLibrary } from "../../../src/adapters/nats/nats.js";
import { VirtualClock } from "../../../src/index.js";
import { ModelConnection, Servers, V2_9, V2_10, type Version } from "../../simulation/nats/servers.js";
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

describe.skipIf(!hasServer)("a connection that watches one of 50 series", () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server?.remove());

  it("gets the messages of that series alone", async () => {
    const [publishing, watching] = [await connectTo([server]), await connectTo([server])];
    const store = (minute: number) =>
      lastValueFrom(publishCandles(publishing, from(candlesOf(minute))).pipe(toArray()));
    await store(1);
    const events: number[] = [];
    const following = watchPublishedCandles(watching, seriesAt(7), { since: 0 }).subscribe(({ candle }) =>
      events.push(candle.close),
    );
    following.add(watchPublishedFeedStatus(watching, seriesAt(7), { heartbeat: 60_000 }).subscribe());
    await until("the history", () => events.length === 1);
    await watching.flush();
    const before = watching.stats().inMsgs;
    for (let minute = 2; minute <= 11; minute += 1) await store(minute);
    await until("what follows", () => events.length === 11);
    // Besides: heartbeats, the ends of the consumers that have read what was stored, and the question who is alive.
    expect(watching.stats().inMsgs - before).toBeLessThan(10 + 20);
    following.unsubscribe();
    await Promise.all([publishing.close(), watching.close()]);
  });
});
