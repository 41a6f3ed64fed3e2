import { jetstreamManager } from "@nats-io/jetstream";
import { lastValueFrom, type Observable, of, Subscription } from "rxjs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  collect,
  publishFeedStatus,
  watchPublishedCandles,
  watchPublishedFeedStatus,
  watchPublishedSnipers,
} from "../../../src/adapters/nats/index.js";
import { candleBody, statusBody, walletBody, writeMessage } from "../../../src/adapters/nats/message.js";
import { candleSubjects, sniperSubjects } from "../../../src/adapters/nats/subjects.js";
import { createClient, type FeedStatus } from "../../../src/index.js";
import { createPairService, simulatedMarket } from "../../../src/service/index.js";
import { flatCandle } from "../../candles/minute-candles.js";
import { seriesOf, WATCH } from "./busy-service.js";
import { withMore } from "./newer.js";
import { live, type OnServer, onServer } from "./published-world.js";
import { hasServer, until } from "./servers.js";
import { walletOf } from "./wallets.js";

const createdAt = Math.floor(Date.now() / 60_000) * 60_000 - 3_600_000;
const market = simulatedMarket({ seed: 7, createdAt, pairs: 1 });
const service = createPairService({ source: market });
const pairAddress = market.pairs[0]!;
const series = seriesOf(pairAddress);

const candleAt = (second: number) => {
  const timestamp = createdAt + 1_000 * second;
  const candle = flatCandle(timestamp);
  return [timestamp, candleBody({ candle, status: "final", isRemoved: false })] as const;
};
const walletAt = (number: number) => {
  const wallet = walletOf(`wallet-${number}`, number);
  return [wallet.walletAddress, walletBody({ wallet, isRemoved: false })] as const;
};

/** Both kinds of feeds: a message of each, and how they are read and collected. */
const FEEDS = [
  {
    kind: "candles",
    feed: series,
    subjectsIn: (name: string) => candleSubjects(name, series),
    messageOf: candleAt,
    read: ({ watching, name }: OnServer): Observable<unknown> =>
      watchPublishedCandles(watching, series, { name, since: 0 }),
    watch: { ...series, ...WATCH, since: { candles: 10 } },
  },
  {
    kind: "snipers",
    feed: { pairAddress },
    subjectsIn: (name: string) => sniperSubjects(name, { pairAddress }),
    messageOf: walletAt,
    read: ({ watching, name }: OnServer): Observable<unknown> =>
      watchPublishedSnipers(watching, { pairAddress }, { name }),
    watch: { pairAddress, every: 500 },
  },
] as const;

/** What a later version keeps beside what is known: under a name like that of a wallet, under a longer one, and numbered. */
const BESIDE = ["summary", "summary.1", "9.summary"];

describe.skipIf(!hasServer).each(FEEDS)(
  "a feed of $kind to which a later version adds fields and messages of other kinds",
  ({ feed, subjectsIn, messageOf, read, watch }) => {
    let world = {} as OnServer;
    onServer((given) => {
      world = given;
    });
    let running: Subscription;
    let errors: unknown[];
    const error = (failure: unknown) => void errors.push(failure);
    beforeEach(async () => {
      running = new Subscription();
      errors = [];
      // Makes the stream.
      await lastValueFrom(publishFeedStatus(world.publishing, feed, of(live(0, 1)), { name: world.name }));
    });
    afterEach(() => running.unsubscribe());

    const put = async (last: string | number, text: string) => {
      const manager = await jetstreamManager(world.publishing);
      await manager.jetstream().publish(`${subjectsIn(world.name).key}.${last}`, text);
    };
    /** Stores what is known, with more in each object, and what is not known. */
    const putAll = async (number: number) => {
      for (const last of BESIDE) await put(last, JSON.stringify({ version: 2, low: number }));
      const [last, body] = messageOf(number);
      const stamp = { epoch: 1, observedAt: createdAt, revision: number };
      await put(last, JSON.stringify(withMore(JSON.parse(writeMessage({ ...stamp, body })))));
      const told = { publisher: "me", takeovers: [{ epoch: 1, at: 0 }], from: undefined };
      const status = statusBody({ status: live(0, number + 2), ...told });
      await put("status", JSON.stringify(withMore(JSON.parse(writeMessage({ ...stamp, body: status })))));
    };

    it("is read as if they were not there, stored or coming", async () => {
      await putAll(1);
      const told: unknown[] = [];
      running.add(read(world).subscribe({ next: (event) => told.push(event), error }));
      await until("what is stored", () => told.length > 0 || errors.length > 0);
      expect(errors).toEqual([]);
      const stored = told.length;
      await putAll(2);
      await until("what comes", () => told.length > stored || errors.length > 0);
      expect(errors).toEqual([]);
    });

    it("stands as its publisher says", async () => {
      const { watching, name } = world;
      await putAll(1);
      const told: FeedStatus[] = [];
      const statuses = watchPublishedFeedStatus(watching, feed, { name, heartbeat: 60_000 });
      running.add(statuses.subscribe({ next: (status) => told.push(status), error }));
      await until("it is there", () => told.length > 0 || errors.length > 0);
      await putAll(2);
      await until("it is told", () => told.at(-1)?.coveredUntil === live(0, 4).coveredUntil || errors.length);
      expect(errors).toEqual([]);
    });

    it("is collected, and what is not known is left as it is", async () => {
      const { publishing, watching, name } = world;
      await putAll(1);
      const client = createClient({ baseUrl: "https://service.test", apiKey: "key", fetch: service.fetch });
      const collecting = collect(publishing, client, [watch], { name, slots: 1 });
      const failed = (activity: { type: string }) =>
        void (activity.type === "failed" && errors.push(activity));
      running.add(collecting.subscribe({ next: failed, error }));
      let status: FeedStatus | undefined;
      const statuses = watchPublishedFeedStatus(watching, feed, { name });
      running.add(statuses.subscribe({ next: (next) => (status = next), error }));
      const isLive = () => status?.state === "live" && status.coveredUntil !== live(0, 3).coveredUntil;
      await until("it is live", () => isLive() || errors.length > 0);
      expect(errors).toEqual([]);
      const manager = await jetstreamManager(publishing);
      const { key, stream } = subjectsIn(name);
      for (const last of BESIDE) {
        const kept = await manager.streams.getMessage(stream, { last_by_subj: `${key}.${last}` });
        expect(kept?.json()).toEqual({ version: 2, low: 1 });
      }
    });
  },
);
