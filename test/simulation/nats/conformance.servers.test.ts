import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Lease } from "../../../src/adapters/nats/lease.js";
import { LeaseBucket } from "../../../src/adapters/nats/lease-bucket.js";
import { VERSION } from "../../../src/adapters/nats/message.js";
import { readSnapshot } from "../../../src/adapters/nats/snapshot.js";
import { Store } from "../../../src/adapters/nats/store.js";
import { hasServer, type NatsServer, startCluster, startServer } from "../../adapters/nats/servers.js";
import { ofServers } from "./conformance-servers.js";
import { ofModel, type Subject } from "./conformance-subject.js";
import { isFrom, nameOf, VERSIONS, versionOf } from "./versions.js";

const LEASE: Lease = {
  ...{ version: VERSION, rules: { lease: 1_000, limit: null }, holder: "a", term: 1, beat: 1 },
  isQuiet: false,
};

function cases(subjectOf: () => Subject): void {
  let subject: Subject;
  let connection: NatsConnection;
  let store: Store;
  let number = 0;
  let name: string;
  const settings = () => ({ name, scheduler: subject.scheduler, replicas: undefined, retention: undefined });
  const subjects = () => ({ stream: name, subjects: `${name}.candles.>` });
  const at = (last: string) => `${name}.candles.${last}`;
  const open = async (more: object = {}) => {
    subject = subjectOf();
    number += 1;
    name = `case-${number}`;
    connection = await subject.connect();
    store = await subject.settled(Store.open(connection));
    await subject.settled(store.ensureStream(subjects(), { ...settings(), ...more }));
  };
  const put = (last: string, text: string, expected: number) =>
    subject.settled(store.publish(at(last), text, expected));
  const last = (of: string) => subject.settled(store.last(name, at(of)));
  /** What a snapshot gives, shortly, in the order of the stream. */
  const snapshot = async (of: string, since = -Infinity) => {
    const { signal } = new AbortController();
    const plan = { stream: name, filter: at(of), since, scheduler: subject.scheduler, signal };
    const read = [...(await subject.settled(readSnapshot(store, plan))).values()];
    return read
      .sort((a, b) => a.sequence - b.sequence)
      .map((one) => `${one.sequence} ${one.subject} ${one.text}`);
  };

  it("keeps the last message of a subject, and numbers all of a stream in one row", async () => {
    await open();
    expect(await last("a.1")).toBeUndefined();
    expect([await put("a.1", "one", 0), await put("a.2", "two", 0), await put("a.1", "three", 1)]).toEqual([
      1, 2, 3,
    ]);
    expect(await last("a.1")).toMatchObject({ sequence: 3, text: "three" });
    expect(await last("a.2")).toMatchObject({ sequence: 2, text: "two" });
    await put("b.1", "four", 0);
    // The last one of all that fit a pattern, too.
    expect(await last("a.*")).toMatchObject({ subject: at("a.1"), sequence: 3, text: "three" });
    expect(await last(">")).toMatchObject({ subject: at("b.1"), sequence: 4, text: "four" });
    const ofAll = await subject.settled(store.last(name, ">"));
    expect(ofAll).toMatchObject({ subject: at("b.1"), sequence: 4 });
    expect(await last("c.>")).toBeUndefined();
    await connection.close();
  });

  it("refuses what expects another message, and keeps what was there", async () => {
    await open();
    await put("a.1", "one", 0);
    await put("a.2", "two", 0);
    for (const expected of [0, 2, 7]) expect(await put("a.1", "wrong", expected)).toBeUndefined();
    expect(await put("a.3", "wrong", 1)).toBeUndefined();
    expect(await put("a.1", "right", 1)).toBe(3);
    await connection.close();
  });

  it("gives the last of each subject, or what was stored since an instant", async () => {
    await open();
    expect(await snapshot("a.>")).toEqual([]);
    for (const [at, text] of ["one", "two", "three"].entries()) await put("a.1", text, at);
    await put("a.2", "four", 0);
    await put("b.1", "five", 0);
    expect(await snapshot("a.>")).toEqual([`3 ${at("a.1")} three`, `4 ${at("a.2")} four`]);
    const { time } = (await last("a.2"))!;
    await subject.pass(20);
    await put("a.3", "six", 0);
    expect(await snapshot("a.*", time + 10)).toEqual([`6 ${at("a.3")} six`]);
    expect(await snapshot("a.*", time + 60_000)).toEqual([]);
    await connection.close();
  });

  it("tells what is stored on other subjects, and all who listen of what is sent", async () => {
    subject = subjectOf();
    number += 1;
    name = `case-${number}`;
    connection = await subject.connect();
    store = await subject.settled(Store.open(connection));
    const told: string[] = [];
    const sent: string[] = [];
    connection.subscribe(`${name}.told.candles.a.*`, {
      callback: (_, message) => {
        const place = ["Nats-Sequence", "Nats-Last-Sequence"].map((header) => message.headers?.get(header));
        told.push(`${message.subject} ${message.string()} ${place}`);
      },
    });
    connection.subscribe(at("a.*"), {
      callback: (_, message) => {
        sent.push(message.string());
      },
    });
    const told2 = `${name}.told.candles.>`;
    await subject.settled(store.ensureStream({ ...subjects(), told: told2 }, settings()));
    await put("a.1", "one", 0);
    await put("a.1", "two", 1);
    await put("a.1", "wrong", 1);
    await put("b.1", "other", 0);
    await subject.until(() => told.length === 2 && sent.length === 3);
    expect(told).toEqual([`${name}.told.candles.a.1 one 1,0`, `${name}.told.candles.a.1 two 2,1`]);
    expect(sent).toEqual(["one", "two", "wrong"]);
    await subject.settled(store.ensureStream({ ...subjects(), told: told2 }, settings()));
    const other = store.ensureStream({ ...subjects(), told: `${name}.other.>` }, settings());
    await expect(subject.settled(other)).rejects.toThrow(/does not republish/);
    await connection.close();
  });

  it("gives a long history whole and in order, with the flow control that its reader answers", async () => {
    await open();
    const texts = Array.from({ length: 300 }, (_, at) => `text ${at}`);
    await subject.settled(
      Promise.all(texts.map((text, at) => store.publish(`${name}.candles.a.${at}`, text, 0))),
    );
    const sequences = (await snapshot("a.>")).map((one) => Number(one.split(" ")[0]));
    expect(sequences).toEqual(texts.map((_, at) => at + 1));
    await connection.close();
  });

  it("forgets what was purged, but not how far it has counted", async () => {
    await open();
    await put("a.1", "one", 0);
    await put("a.2", "two", 0);
    await subject.settled(connection.request(`$JS.API.STREAM.PURGE.${name}`, "", { timeout: 5_000 }));
    expect(await last("a.1")).toBeUndefined();
    expect(await put("a.1", "wrong", 1)).toBeUndefined();
    expect(await put("a.1", "three", 0)).toBe(3);
    await connection.close();
  });

  it("has nobody to take a message once the stream is deleted, and says that it is gone", async () => {
    await open();
    await put("a.1", "one", 0);
    await subject.settled(connection.request(`$JS.API.STREAM.DELETE.${name}`, "", { timeout: 5_000 }));
    const untaken = await put("a.1", "two", 1).catch((error) => error);
    expect(store.isPassing(untaken)).toBe(true);
    const gone = await last("a.1").catch((error) => error);
    expect([store.isStreamGone(gone), store.isPassing(gone)]).toEqual([true, true]);
    const following = store.addConsumer(name, { name: "a", deliver_subject: store.inbox() });
    const unfollowed = await subject.settled(following).catch((error) => error);
    expect([store.isStreamGone(unfollowed), store.isPassing(unfollowed)]).toEqual([true, true]);
    await subject.settled(store.ensureStream(subjects(), settings()));
    expect(await put("a.1", "three", 1)).toBeUndefined();
    expect(await put("a.1", "four", 0)).toBe(1);
    await connection.close();
  });

  it("makes a stream once, changes its retention, and drops what is older", async () => {
    await open();
    await put("a.1", "one", 0);
    expect(await subject.settled(store.ensureStream(subjects(), settings()))).toBe(0);
    const short = { ...settings(), retention: 1_000 };
    expect(await subject.settled(store.ensureStream(subjects(), short))).toBe(1_000);
    expect(await subject.settled(store.ensureStream(subjects(), settings()))).toBe(1_000);
    await subject.pass(2_500);
    expect(await last("a.1")).toBeUndefined();
    expect(await put("a.1", "two", 0)).toBe(2);
    const other = { stream: name, subjects: "other.>" };
    await expect(subject.settled(store.ensureStream(other, settings()))).rejects.toThrow(
      "edit it, or choose another name",
    );
    await connection.close();
  });

  it("writes leases for the one alone who has read what is there", async () => {
    await open();
    const bucket = new LeaseBucket(store, settings(), "group");
    const other = new LeaseBucket(store, settings(), "group");
    const [first, second] = [await subject.settled(bucket.read()), await subject.settled(other.read())];
    expect([first, second]).toEqual([
      { lease: undefined, revision: 0 },
      { lease: undefined, revision: 0 },
    ]);
    expect(await subject.settled(bucket.write(LEASE, first.revision))).toBe(1);
    expect(await subject.settled(other.write(LEASE, second.revision))).toBeUndefined();
    const read = await subject.settled(other.read());
    expect(read).toEqual({ lease: LEASE, revision: 1 });
    expect(await subject.settled(other.write(LEASE, 1))).toBe(2);
    expect(await subject.settled(bucket.write(LEASE, 1))).toBeUndefined();
    await connection.close();
  });

  it("makes the leases again where their bucket is gone", async () => {
    await open();
    const bucket = new LeaseBucket(store, settings(), "group");
    await subject.settled(bucket.read());
    await subject.settled(bucket.write(LEASE, 0));
    const gone = connection.request(`$JS.API.STREAM.DELETE.KV_${name}-leases`, "", { timeout: 5_000 });
    await subject.settled(gone);
    const error = await subject.settled(bucket.read()).catch((failure) => failure);
    expect(store.isPassing(error)).toBe(true);
    expect(await subject.settled(bucket.read())).toEqual({ lease: undefined, revision: 0 });
    await connection.close();
  });

  it("passes questions to who listens, and says where nobody does", async () => {
    await open();
    const other = await subject.connect();
    const listening = other.subscribe(`${name}.alive.x`, {
      callback: (_, message) => void message.respond("yes"),
    });
    await subject.pass(50);
    const ask = () => connection.request(`${name}.alive.x`, "", { timeout: 1_000 });
    expect((await subject.settled(ask())).string()).toBe("yes");
    listening.unsubscribe();
    await subject.pass(50);
    await expect(subject.settled(ask())).rejects.toMatchObject({ name: "RequestError" });
    await Promise.all([connection.close(), other.close()]);
  });

  it("makes a consumer of a name once, and deletes it by its name", async () => {
    await open();
    await put("a.1", "one", 0);
    const config = {
      name: "chosen",
      deliver_policy: "last_per_subject",
      filter_subject: at("a.>"),
      ack_policy: "none",
      deliver_subject: store.inbox(),
      idle_heartbeat: 2e9,
      inactive_threshold: 30e9,
    } as const;
    connection.subscribe(config.deliver_subject, { callback: () => {} });
    await subject.pass(50);
    const { consumers } = await subject.settled(jetstreamManager(connection, { checkAPI: false }));
    const add = (more: object = {}) => subject.settled(consumers.add(name, { ...config, ...more }));
    const codeOf = (promise: Promise<unknown>) =>
      promise.then(
        () => undefined,
        ({ code }) => code,
      );
    const made = await add();
    expect(made.name).toBe("chosen");
    // What is stored has been sent when it is asked for again.
    await subject.pass(50);
    const again = await add();
    expect([again.name, again.created, again.num_pending]).toEqual(["chosen", made.created, 0]);
    const taken = await codeOf(add({ deliver_subject: store.inbox() }));
    expect(taken).toBe(isFrom(versionOf(connection), 10) ? 10_148 : 10_013);
    const remove = () => subject.settled(consumers.delete(name, "chosen"));
    expect(await remove()).toBe(true);
    expect(await codeOf(remove())).toBe(10_014);
    // From now on it is another one.
    expect(Date.parse((await add()).created)).toBeGreaterThan(Date.parse(made.created));
    expect(await remove()).toBe(true);
    await connection.close();
  });
}

/** What matters where several nodes keep each message. */
function casesOfNodes(subjectOf: () => Subject): void {
  const WRITERS = 10;
  const ROUNDS = 10;
  let number = 0;

  /** Many who each write to the same stream, and have connections of their own. */
  async function open() {
    number += 1;
    const name = `nodes-${number}`;
    const subject = subjectOf();
    const writers: { connection: NatsConnection; store: Store }[] = [];
    while (writers.length < WRITERS) {
      const connection = await subject.connect();
      writers.push({ connection, store: await subject.settled(Store.open(connection)) });
    }
    const [{ connection, store }] = writers as [(typeof writers)[0]];
    const settings = { name, scheduler: subject.scheduler, replicas: 3, retention: undefined };
    await subject.settled(store.ensureStream({ stream: name, subjects: `${name}.candles.>` }, settings));
    /** How many of a round have written, where servers may let more than one do so that expect the same message. */
    const expectWinners = (counts: readonly number[]) => {
      expect(Math.min(...counts)).toBe(1);
      if (isFrom(versionOf(connection), 9, 21)) expect(Math.max(...counts)).toBe(1);
      // The first one is fenced.
      else expect(counts[0]).toBe(1);
    };
    const close = () => Promise.all(writers.map((one) => one.connection.close()));
    return { subject, settings, store, stores: writers.map((one) => one.store), expectWinners, close };
  }

  it("stores one of many messages that expect the same, or several before 2.9.21, and lets the others come again", async () => {
    const { subject, settings, store, stores, expectWinners, close } = await open();
    const { name } = settings;
    const on = `${name}.candles.a`;
    const counts: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const expected = (await subject.settled(store.last(name, on)))?.sequence ?? 0;
      const publish = async (one: Store, at: number) => {
        const failure = (error: unknown) => (one.isPassing(error) ? undefined : Promise.reject(error));
        return one.publish(on, `text ${at}`, expected).catch(failure);
      };
      const published = await subject.settled(Promise.all(stores.map(publish)));
      const sequences = published.filter((sequence) => sequence !== undefined);
      counts.push(sequences.length);
      const kept = await subject.settled(store.last(name, on));
      const last = Math.max(...sequences);
      expect(kept).toMatchObject({ sequence: last, text: `text ${published.indexOf(last)}` });
    }
    expectWinners(counts);
    await close();
  });

  it("deletes a consumer by its name as soon as its creation was answered", async () => {
    const { subject, settings, stores, close } = await open();
    const makeAndDelete = async ({ connection }: Store, at: number) => {
      const { consumers } = await jetstreamManager(connection, { checkAPI: false });
      const deleted: boolean[] = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        const { name } = await consumers.add(settings.name, {
          name: `c${at}-${round}`,
          deliver_policy: "new",
          ack_policy: "none",
          deliver_subject: `inbox.${at}`,
          idle_heartbeat: 2e9,
          inactive_threshold: 30e9,
          mem_storage: true,
          num_replicas: 1,
        });
        deleted.push(await consumers.delete(settings.name, name));
      }
      return deleted;
    };
    const deleted = await subject.settled(Promise.all(stores.map(makeAndDelete)));
    expect(deleted.flat()).toEqual(Array.from({ length: WRITERS * ROUNDS }, () => true));
    await close();
  });

  it("writes leases for one alone of many that write at once, or for several before 2.9.21", async () => {
    const { subject, settings, stores, expectWinners, close } = await open();
    const buckets = stores.map((one) => new LeaseBucket(one, settings, "group"));
    for (const bucket of buckets) await subject.settled(bucket.read());
    const counts: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const { revision } = await subject.settled(buckets[0]!.read());
      const written = await subject.settled(Promise.all(buckets.map((one) => one.write(LEASE, revision))));
      counts.push(written.filter((revision) => revision !== undefined).length);
    }
    expectWinners(counts);
    await close();
  });
}

describe.each(VERSIONS.map((version) => ({ version, name: nameOf(version) })))(
  "the model does as JetStream $name does",
  ({ version }) => {
    cases(() => ofModel(version));
    casesOfNodes(() => ofModel(version));
  },
);

describe.skipIf(!hasServer)("JetStream does as the model of its version does", () => {
  let server: NatsServer;
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server?.remove());
  cases(() => ofServers([server]));
});

describe.skipIf(!hasServer)("JetStream on three nodes does as the model of its version does", () => {
  let servers: readonly NatsServer[] = [];
  beforeAll(async () => {
    servers = await startCluster();
  });
  afterAll(() => Promise.all(servers.map((server) => server.remove())));
  casesOfNodes(() => ofServers(servers));
});
