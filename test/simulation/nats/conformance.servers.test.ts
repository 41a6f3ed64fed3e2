import { jetstreamManager } from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type ConsumerPlan, type ConsumerSignal, consume } from "../../../src/adapters/nats/consumer.js";
import { LeaseBucket } from "../../../src/adapters/nats/lease-bucket.js";
import { emptyTable } from "../../../src/adapters/nats/leases.js";
import { Store } from "../../../src/adapters/nats/store.js";
import { hasServer, type NatsServer, startCluster, startServer } from "../../adapters/nats/servers.js";
import { ofServers } from "./conformance-servers.js";
import { ofModel, type Subject } from "./conformance-subject.js";
import { isFrom, nameOf, VERSIONS, versionOf } from "./versions.js";

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
  /** Follows a plan; what is told is named shortly. */
  const follow = (plan: Pick<ConsumerPlan, "filter" | "from">) => {
    const told: string[] = [];
    const show = (signal: ConsumerSignal) => {
      if (signal.type === "attached") return `attached ${signal.stored}`;
      return signal.type === "message"
        ? `${signal.sequence} ${signal.subject} ${signal.text()}`
        : signal.type;
    };
    const following = consume(store, { ...plan, stream: name, scheduler: subject.scheduler }).subscribe(
      (signal) => told.push(show(signal)),
    );
    /** What was told without `attached`, which may come before the first messages or after them. */
    const messages = () => told.filter((one) => !one.startsWith("attached"));
    return { told, messages, following };
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

  it("gives the last of each subject, then what is stored from now on", async () => {
    await open();
    for (const [at, text] of ["one", "two", "three"].entries()) await put("a.1", text, at);
    await put("a.2", "four", 0);
    await put("b.1", "five", 0);
    const { told, messages, following } = follow({ from: "stored", filter: at("a.>") });
    await subject.until(() => told.includes("caught-up"));
    await put("b.1", "six", 5);
    await put("a.2", "seven", 4);
    await subject.until(() => told.length === 5);
    expect(told).toContain("attached 2");
    expect(messages()).toEqual([
      `3 ${at("a.1")} three`,
      `4 ${at("a.2")} four`,
      "caught-up",
      `7 ${at("a.2")} seven`,
    ]);
    following.unsubscribe();
    await connection.close();
  });

  it("gives what is stored from a sequence on, and what is new alone", async () => {
    await open();
    for (const [at, text] of ["one", "two", "three"].entries()) await put(`a.${at}`, text, 0);
    const fromTwo = follow({ from: 2 });
    const fromNow = follow({ from: "now" });
    await subject.until(() => fromNow.told.length === 2 && fromTwo.told.length === 4);
    await put("a.9", "four", 0);
    await subject.until(() => fromNow.told.length === 3 && fromTwo.told.length === 5);
    expect(fromTwo.told).toContain("attached 2");
    expect(fromTwo.messages()).toEqual([
      `2 ${at("a.1")} two`,
      `3 ${at("a.2")} three`,
      "caught-up",
      `4 ${at("a.9")} four`,
    ]);
    expect(fromNow.told).toEqual(["attached 0", "caught-up", `4 ${at("a.9")} four`]);
    fromTwo.following.unsubscribe();
    fromNow.following.unsubscribe();
    await connection.close();
  });

  it("gives a long history whole and in order, with the flow control that its reader answers", async () => {
    await open();
    const texts = Array.from({ length: 300 }, (_, at) => `text ${at}`);
    await subject.settled(
      Promise.all(texts.map((text, at) => store.publish(`${name}.candles.a.${at}`, text, 0))),
    );
    const { told, messages, following } = follow({ from: "stored", filter: at("a.>") });
    // From version 2.10 on the answer that attaches it may come after all messages.
    await subject.until(() => told.length === 302);
    expect(told).toContain("caught-up");
    expect(
      messages()
        .slice(0, -1)
        .map((one) => Number(one.split(" ")[0])),
    ).toEqual(texts.map((_, at) => at + 1));
    following.unsubscribe();
    await connection.close();
  });

  it("says caught-up of a stream without messages", async () => {
    await open();
    const { told, following } = follow({ from: "stored", filter: ">" });
    await subject.until(() => told.length === 2);
    expect(told).toEqual(["attached 0", "caught-up"]);
    following.unsubscribe();
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
    await expect(subject.settled(store.ensureStream(other, settings()))).rejects.toThrow("edit the stream");
    await connection.close();
  });

  it("writes leases for the one alone who has read what is there", async () => {
    await open();
    const bucket = new LeaseBucket(store, settings(), "group");
    const other = new LeaseBucket(store, settings(), "group");
    const table = emptyTable({ slots: 2, lease: 1_000, limit: null });
    const [first, second] = [await subject.settled(bucket.read()), await subject.settled(other.read())];
    expect([first, second]).toEqual([
      { table: undefined, revision: 0 },
      { table: undefined, revision: 0 },
    ]);
    expect(await subject.settled(bucket.write(table, first.revision))).toBe(true);
    expect(await subject.settled(other.write(table, second.revision))).toBe(false);
    const read = await subject.settled(other.read());
    expect(read).toEqual({ table, revision: 1 });
    expect(await subject.settled(other.write(table, 1))).toBe(true);
    expect(await subject.settled(bucket.write(table, 1))).toBe(false);
    await connection.close();
  });

  it("makes the leases again where their bucket is gone", async () => {
    await open();
    const bucket = new LeaseBucket(store, settings(), "group");
    await subject.settled(bucket.read());
    const table = emptyTable({ slots: 2, lease: 1_000, limit: null });
    await subject.settled(bucket.write(table, 0));
    const gone = connection.request(`$JS.API.STREAM.DELETE.KV_${name}-leases`, "", { timeout: 5_000 });
    await subject.settled(gone);
    const error = await subject.settled(bucket.read()).catch((failure) => failure);
    expect(store.isPassing(error)).toBe(true);
    expect(await subject.settled(bucket.read())).toEqual({ table: undefined, revision: 0 });
    await connection.close();
  });

  it("goes on after a consumer was lost, with what was stored meanwhile", async () => {
    await open();
    const { told, following } = follow({ from: "now" });
    await subject.until(() => told.length === 2);
    await put("a.1", "one", 0);
    await subject.until(() => told.length === 3);
    const list = await subject.settled(
      connection.request(`$JS.API.STREAM.INFO.${name}`, "", { timeout: 5_000 }),
    );
    expect((list.json() as { state: object }).state).toMatchObject({
      consumer_count: 1,
      last_seq: 1,
      messages: 1,
    });
    await subject.settled(connection.request(`$JS.API.STREAM.DELETE.${name}`, "", { timeout: 5_000 }));
    await subject.settled(store.ensureStream(subjects(), settings()));
    await put("a.2", "two", 0);
    await subject.until(() => told.some((one) => one.endsWith("two")));
    following.unsubscribe();
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

  it("gives the subjects of several filters alone from version 2.10 on, and all of them before", async () => {
    await open();
    await put("a.1", "one", 0);
    const { told, messages, following } = follow({ from: "now", filter: [at("a.>"), at("b.>")] });
    await subject.until(() => told.length === 2);
    await put("a.2", "two", 0);
    await put("c.1", "three", 0);
    await put("b.1", "four", 0);
    const isAll = !isFrom(versionOf(connection), 10);
    const seen = [`2 ${at("a.2")} two`, ...(isAll ? [`3 ${at("c.1")} three`] : []), `4 ${at("b.1")} four`];
    await subject.until(() => told.length === 2 + seen.length);
    // A new consumer reads again what came in the last minute.
    await subject.settled(subject.reconnect(connection));
    await put("c.1", "five", 3);
    await put("a.1", "six", 1);
    await subject.until(() => told.at(-1)!.endsWith("six"));
    const again = [
      `1 ${at("a.1")} one`,
      ...seen,
      ...(isAll ? [`5 ${at("c.1")} five`] : []),
      `6 ${at("a.1")} six`,
    ];
    expect(messages().slice(0, 1 + seen.length)).toEqual(["caught-up", ...seen]);
    expect(new Set(messages())).toEqual(new Set(["caught-up", ...again]));
    following.unsubscribe();
    await connection.close();
  });

  it.each([
    ["one filter", false],
    ["several filters", true],
  ])("makes a consumer of a name once, and deletes it by its name, with %s", async (_, isSeveral) => {
    await open();
    await put("a.1", "one", 0);
    const filters = [at("a.>"), at("b.>")];
    // Servers before 2.10 know only one.
    const canSeveral = isSeveral && isFrom(versionOf(connection), 10);
    const config = {
      name: "chosen",
      deliver_policy: canSeveral ? "new" : "last_per_subject",
      ...(canSeveral ? { filter_subjects: filters } : { filter_subject: filters[0]! }),
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

  it("takes filters of one kind, none of which holds another, from version 2.10 on, and knows only one before", async () => {
    await open();
    const given = {
      deliver_policy: "new",
      ack_policy: "none",
      idle_heartbeat: 2e9,
      inactive_threshold: 30e9,
    };
    const ask = async (filters: object) => {
      const config = { ...given, deliver_subject: store.inbox(), ...filters };
      const text = JSON.stringify({ stream_name: name, config });
      const asking = connection.request(`$JS.API.CONSUMER.CREATE.${name}`, text, { timeout: 5_000 });
      const answer: { error?: { err_code: number } } = (await subject.settled(asking)).json();
      return answer.error?.err_code;
    };
    const [a, b] = [at("a.>"), at("b.>")];
    const told = [
      await ask({ filter_subjects: [a, b] }),
      await ask({ filter_subject: a, filter_subjects: [b] }),
      await ask({ filter_subjects: [a, at("a.1")] }),
    ];
    expect(told).toEqual(
      isFrom(versionOf(connection), 10) ? [undefined, 10_136, 10_138] : [undefined, undefined, undefined],
    );
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
    const table = emptyTable({ slots: 2, lease: 1_000, limit: null });
    const counts: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const { revision } = await subject.settled(buckets[0]!.read());
      const written = await subject.settled(Promise.all(buckets.map((one) => one.write(table, revision))));
      counts.push(written.filter((isWritten) => isWritten).length);
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
