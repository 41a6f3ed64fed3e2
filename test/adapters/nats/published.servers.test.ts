import { jetstreamManager } from "@nats-io/jetstream";
import { concat, EMPTY, from, lastValueFrom, Subject, throwError, toArray } from "rxjs";
import { describe, expect, it } from "vitest";
import {
  type Publication,
  publishCandles,
  publishFeedStatus,
  watchPublishedCandles,
  watchPublishedFeedStatus,
} from "../../../src/adapters/nats/index.js";
import { writeMessage } from "../../../src/adapters/nats/message.js";
import {
  applyCandleEvent,
  type Candle,
  type CandleEvent,
  createClient,
  type FeedStatus,
  fetchCandles,
  VirtualClock,
  watchCandles,
} from "../../../src/index.js";
import { createPairService, type Swap } from "../../../src/service/index.js";
import { MINUTE } from "../../candles/minute-candles.js";
import { event, live, type OnServer, onServer, SERIES } from "./published-world.js";
import { openWay } from "./rig.js";
import { connectTo, hasServer, until } from "./servers.js";

const short = ({ type, candle, status, live: isLive }: CandleEvent) =>
  `${type} ${candle.timestamp / MINUTE}=${candle.close} ${status}${isLive ? "" : " history"}`;

/** One swap in each of these minutes, at a price of its own. */
const swapsAt = (start: number, minutes: readonly number[]) =>
  minutes.map((minute): Swap => {
    const timestamp = start + minute * MINUTE + 9_000;
    const common = { walletAddress: "wallet", side: "buy", tokenAmount: 1, nativeAmount: 1 } as const;
    return { ...common, blockNumber: minute, timestamp, transactionHash: `${minute}`, usdAmount: 1 + minute };
  });

describe.skipIf(!hasServer)("published over a server", () => {
  let { server, publishing, watching, name } = {} as OnServer;
  onServer((world) => {
    ({ server, publishing, watching, name } = world);
  });

  /** Stores events and waits for that. */
  const store = (events: readonly CandleEvent[], options: { epoch?: number; retention?: number } = {}) =>
    lastValueFrom(publishCandles(publishing, from(events), { name, ...options }).pipe(toArray()));
  /** What a subscriber is told, as it comes. */
  const watched = (since?: number | { candles: number }, connection = watching) => {
    const told: CandleEvent[] = [];
    let error: unknown;
    const following = watchPublishedCandles(connection, SERIES, {
      name,
      ...(since === undefined ? {} : { since }),
    }).subscribe({
      next: (one) => told.push(one),
      error: (failure) => {
        error = failure;
      },
    });
    return { told, lines: () => told.map(short), error: () => error, leave: () => following.unsubscribe() };
  };

  describe("candles", () => {
    it("come as a history that ascends, then live", async () => {
      await store([
        event("new", 3, 3),
        event("new", 1, 1, { status: "final" }),
        event("new", 2, 2, { status: "closed" }),
        event("updated", 3, 4),
      ]);
      const { told, lines, leave } = watched(0);
      await until("the history", () => told.length === 3);
      await store([
        event("updated", 3, 5, { observedAt: 4 * MINUTE }),
        event("new", 4, 6),
        event("removed", 4, 6, { observedAt: 5 * MINUTE }),
      ]);
      await until("what follows", () => lines().includes("updated 3=5 open"));
      expect(lines().slice(0, 3)).toEqual([
        "new 1=1 final history",
        "new 2=2 closed history",
        "new 3=4 open history",
      ]);
      expect(told.find((event) => event.type === "updated")!.previous).toBe(told[2]!.candle);
      expect(told[0]!.series).toEqual(SERIES);
      leave();
    });

    it("of many series come to all who ask for them at once", async () => {
      const numbers = Array.from({ length: 120 }, (_, at) => at);
      const seriesAt = (number: number) => ({ ...SERIES, pairAddress: `pair-${number}` });
      await store(numbers.map((number) => event("new", 1, number, { series: seriesAt(number) })));
      const told = new Map<number, string[]>();
      const following = numbers.map((number) => {
        told.set(number, []);
        return watchPublishedCandles(watching, seriesAt(number), { name, since: 0 }).subscribe((one) => {
          told.get(number)!.push(short(one));
          // Some leave while others are still read for.
          if (number % 7 === 0) following[number]!.unsubscribe();
        });
      });
      await until("all", () => [...told.values()].every(({ length }) => length > 0));
      await store([event("new", 2, 7, { series: seriesAt(118) })]);
      await until("what follows", () => told.get(118)!.length === 2);
      expect([...told.values()].map(([first]) => first)).toEqual(
        numbers.map((number) => `new 1=${number} open history`),
      );
      expect([...told.values()].filter(({ length }) => length > 1)).toHaveLength(1);
      for (const one of following) one.unsubscribe();
    });

    it("are waited for where there is no stream yet", async () => {
      const { told, lines, leave } = watched(0);
      await store([event("new", 1, 1)]);
      await until("the candle", () => told.length === 1);
      expect(lines()).toEqual([expect.stringContaining("new 1=1 open")]);
      leave();
    });

    it("of a filled stream are filled for its readers, also after its publisher was away", async () => {
      const start = Date.UTC(2026, 0, 1);
      const clock = new VirtualClock(start + 3 * MINUTE);
      const all = swapsAt(start, [0, 2, 3, 7, 8, 12, 19, 31, 33]);
      const swaps = ({ from, to, asOf }: Record<"from" | "to" | "asOf", number>) =>
        all.filter(({ timestamp }) => timestamp >= from && timestamp < to && timestamp <= asOf);
      const pair = { tokenAddress: "token", createdAt: start, swaps };
      const service = createPairService({ source: { pair: () => pair }, clock: () => clock.now() });
      const client = createClient({
        baseUrl: "http://localhost",
        apiKey: "k",
        fetch: service.fetch,
        scheduler: clock,
      });
      const { told, leave } = watched(start);
      for (const [since, until] of [
        [start, 22],
        [start + 5 * MINUTE, 40],
      ] as const) {
        await clock.advanceTo(start + (until - 10) * MINUTE);
        const events: CandleEvent[] = [];
        const watching = watchCandles(client, { ...SERIES, since, fillGaps: true });
        const following = watching.subscribe((one) => events.push(one));
        await clock.advanceTo(start + until * MINUTE + 2_000);
        following.unsubscribe();
        await store(events);
      }
      const candles = new Map<number, Candle>();
      const filled = lastValueFrom(
        fetchCandles(client, { ...SERIES, from: start, fillGaps: true }).pipe(toArray()),
      );
      await clock.advanceBy(MINUTE / 2);
      await until("the last close", () =>
        told.some(({ candle, status }) => candle.timestamp === start + 39 * MINUTE && status === "closed"),
      );
      for (const one of told) applyCandleEvent(candles, one);
      expect((await filled).length).toBe(40);
      expect([...candles.values()].sort((a, b) => a.timestamp - b.timestamp).slice(0, 40)).toEqual(
        await filled,
      );
      leave();
    });

    it("that were lost while a subscriber was away are not taken for known", async () => {
      const way = await openWay(server);
      const distant = await connectTo([way]);
      await store([
        event("new", 1, 1, { status: "final" }),
        event("new", 2, 2, { status: "closed" }),
        event("new", 3, 3),
      ]);
      const tell = (status: FeedStatus) =>
        lastValueFrom(publishFeedStatus(publishing, SERIES, from([status]), { name }));
      await tell(live(1, 3));
      const { told, lines, leave } = watched(0, distant);
      await until("all of it", () => told.length === 3);
      way.cut();
      const manager = await jetstreamManager(publishing);
      await manager.streams.purge(name);
      await store([event("new", 90, 9)]);
      await tell(live(80, 90));
      way.mend();
      await until("what is there now", () =>
        told.some(({ type, candle }) => type === "removed" && candle.close === 3),
      );
      // By the time of the newest candle these removals are more than an hour late.
      expect(lines().slice(3)).toEqual([
        "new 90=9 open",
        "removed 2=2 closed history",
        "removed 3=3 open history",
      ]);
      leave();
      await distant.close();
      await way.close();
    });

    it("of another version end the stream", async () => {
      await store([event("new", 1, 1)]);
      const { error, leave } = watched(0);
      const manager = await jetstreamManager(publishing);
      const body = '{"candle":{"timestamp":120000},"status":"open"}';
      const text = writeMessage({ epoch: 0, observedAt: 0, revision: 0, body });
      await manager.jetstream().publish(`${name}.candles.mainnet.pair%002ewith-dots.1min.usd.120000`, text);
      await until("the error", error);
      expect(error()).toMatchObject({ name: "ContractError", path: ["candle", "open"] });
      leave();
    });
  });

  describe("the streams", () => {
    it("keep one message a subject, in files, for ever, on one node, unless told otherwise", async () => {
      await store([event("new", 1, 1)]);
      const manager = await jetstreamManager(publishing);
      const { config } = await manager.streams.info(name);
      expect(config).toMatchObject({
        subjects: [`${name}.candles.>`],
        max_msgs_per_subject: 1,
        storage: "file",
        retention: "limits",
        discard: "old",
        max_age: 0,
        num_replicas: 1,
      });
      await store([event("new", 1, 1)], { retention: 90_000 });
      expect((await manager.streams.info(name)).config.max_age).toBe(90_000 * 1e6);
      await store([event("new", 1, 1)]);
      expect((await manager.streams.info(name)).config.max_age).toBe(90_000 * 1e6);
    });

    it("that are there and keep something else are left alone", async () => {
      const manager = await jetstreamManager(publishing);
      await manager.streams.add({ name, subjects: [`${name}.other`] });
      await expect(store([event("new", 1, 1)])).rejects.toMatchObject({
        name: "PairstreamError",
        message: expect.stringContaining(name),
      });
      await manager.streams.delete(name);
    });

    it("are made again where they were deleted, with what is still to be stored", async () => {
      const source = new Subject<CandleEvent>();
      const told: Publication[] = [];
      const running = publishCandles(publishing, source, { name }).subscribe((one) => told.push(one));
      source.next(event("new", 1, 1));
      await until("the first", () => told.length === 1);
      const manager = await jetstreamManager(publishing);
      await manager.streams.delete(name);
      source.next(event("updated", 1, 2, { observedAt: 9 * MINUTE }));
      await until("the second", () => told.at(-1)?.type === "stored" && told.length > 1);
      running.unsubscribe();
    });
  });

  describe("publishing", () => {
    it("completes once all is stored, and errors as its source does", async () => {
      const told = await store([event("new", 1, 1), event("new", 2, 1)]);
      expect(told.map(({ type }) => type)).toEqual(["stored", "stored"]);
      const failure = new Error("the source failed");
      const source = concat(
        from([event("new", 3, 1)]),
        throwError(() => failure),
      );
      const stored: Publication[] = [];
      await expect(
        new Promise((resolve, reject) => {
          publishCandles(publishing, source, { name }).subscribe({
            next: (one) => stored.push(one),
            error: reject,
            complete: () => resolve(undefined),
          });
        }),
      ).rejects.toBe(failure);
      expect(stored).toHaveLength(1);
      await expect(
        lastValueFrom(publishCandles(publishing, EMPTY, { name }), { defaultValue: "none" }),
      ).resolves.toBe("none");
    });

    it("errors where the connection is closed, as watching does", async () => {
      const connection = await connectTo([server]);
      const errors: unknown[] = [];
      const error = (failure: unknown) => errors.push(failure);
      const source = new Subject<CandleEvent>();
      publishCandles(connection, source, { name }).subscribe({ error });
      watchPublishedCandles(connection, SERIES, { name }).subscribe({ error });
      watchPublishedFeedStatus(connection, SERIES, { name }).subscribe({ error });
      await store([event("new", 1, 1)]);
      await connection.close();
      source.next(event("new", 2, 1));
      await until("three errors", () => errors.length === 3);
      expect(errors.map((one) => (one as Error).name)).toEqual(Array(3).fill("NetworkError"));
    });
  });
});
