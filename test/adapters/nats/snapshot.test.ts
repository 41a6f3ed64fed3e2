import { beforeAll, describe, expect, it } from "vitest";
import { natsLibrary } from "../../../src/adapters/nats/nats.js";
import { readSnapshot } from "../../../src/adapters/nats/snapshot.js";
import { Store } from "../../../src/adapters/nats/store.js";
import { VirtualClock } from "../../../src/index.js";
import { ModelConnection, Servers } from "../../simulation/nats/servers.js";

const STREAM = "things";
/** What may be lost on its way from the servers: those messages whose number, from 0 on, is in `lost`. */
async function stage(lost: readonly number[] = []) {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const servers = new Servers(clock);
  let delivered = 0;
  const wire = { up: (arrive: () => void) => arrive(), down: (arrive: () => void) => arrive() };
  const connection = new ModelConnection(servers, wire, clock, 0);
  const store = await Store.open(connection.asConnection);
  const settings = { name: STREAM, scheduler: clock, replicas: undefined, retention: undefined };
  const now = async <T>(work: Promise<T>) => {
    await clock.advanceBy(10);
    return work;
  };
  await now(store.ensureStream({ stream: STREAM, subjects: "things.>" }, settings));
  const push = connection.push.bind(connection);
  connection.push = (to, packet) => {
    if (packet.reply?.startsWith("$JS.ACK.")) {
      delivered += 1;
      if (lost.includes(delivered - 1)) return;
    }
    push(to, packet);
  };
  const put = (last: string, text: string) => now(store.publish(`things.${last}`, text, undefined as never));
  const troubles: string[] = [];
  const stopping = new AbortController();
  const read = (since = -Infinity) =>
    readSnapshot(store, {
      ...{ stream: STREAM, filter: "things.*", since, scheduler: clock, signal: stopping.signal },
      onTrouble: (error) => troubles.push(String(error)),
    }).then((rows) => [...rows.values()].map(({ subject, text }) => `${subject.slice(7)} ${text}`));
  return { clock, servers, store, put, read, troubles, stopping, reads: () => delivered };
}

beforeAll(() => natsLibrary());

describe("what is stored in a stream", () => {
  it("is the last message of each subject, with its time, and nothing where there is none", async () => {
    const { clock, put, read } = await stage();
    const nothing = read();
    await clock.advanceBy(100);
    expect(await nothing).toEqual([]);
    await put("a", "1");
    await put("b", "1");
    await put("a", "2");
    const all = read();
    await clock.advanceBy(100);
    expect((await all).sort()).toEqual(["a 2", "b 1"]);
  });

  it("is read from an instant on, which may be after all of it", async () => {
    const { clock, put, read } = await stage();
    await put("a", "1");
    await clock.advanceBy(60_000);
    const since = clock.now();
    await put("b", "1");
    const some = read(since);
    await clock.advanceBy(100);
    expect(await some).toEqual(["b 1"]);
    const none = read(clock.now() + 1_000);
    await clock.advanceBy(100);
    expect(await none).toEqual([]);
  });

  it.each([
    ["in the midst", 1],
    ["at the end", 2],
  ])("is read again where a message is lost on its way: %s", async (_, number) => {
    const { clock, put, read, reads } = await stage([number]);
    for (const last of ["a", "b", "c"]) await put(last, "1");
    const all = read();
    await clock.advanceBy(20_000);
    expect((await all).sort()).toEqual(["a 1", "b 1", "c 1"]);
    expect(reads()).toBe(6);
  });

  it("is read again where a server answers that lacks the newest of it", async () => {
    const { clock, servers, put, read } = await stage();
    await put("a", "1");
    servers.jetstream.fallBehind();
    await put("b", "1");
    const all = read();
    let isRead = false;
    void all.then(() => {
      isRead = true;
    });
    await clock.advanceBy(5_000);
    expect(isRead).toBe(false);
    servers.isPlacedBehind = () => false;
    await clock.advanceBy(5_000);
    expect((await all).sort()).toEqual(["a 1", "b 1"]);
  });

  it("is waited for while the servers have no leader, and given up where nobody wants it any more", async () => {
    const { clock, servers, put, read, troubles, stopping } = await stage();
    await put("a", "1");
    servers.hasLeader = false;
    const all = read();
    await clock.advanceBy(5_000);
    expect(troubles.length).toBeGreaterThan(1);
    servers.hasLeader = true;
    await clock.advanceBy(3_000);
    expect(await all).toEqual(["a 1"]);
    servers.hasLeader = false;
    const given = expect(read()).rejects.toThrow("enough");
    stopping.abort(new Error("enough"));
    await clock.advanceBy(5_000);
    await given;
  });
});
