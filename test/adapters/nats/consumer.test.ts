import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { type ConsumerPlan, consume } from "../../../src/adapters/nats/consumer.js";
import { natsLibrary } from "../../../src/adapters/nats/nats.js";
import { Store } from "../../../src/adapters/nats/store.js";
import { VirtualClock } from "../../../src/index.js";
import { ModelConnection, Servers } from "../../simulation/nats/servers.js";
import { V2_9, V2_10 } from "../../simulation/nats/versions.js";

const WAY = 5;
/** How long its creation is waited for, in ms. */
const TIMEOUT = 1_000;
const STREAM = "kept";

/** A reader of a stream, whose messages to the servers and back take as long as a test says; for ever: they are lost. */
async function openWorld(version = V2_9) {
  const clock = new VirtualClock(Date.UTC(2026, 0, 1));
  const servers = new Servers(clock, version);
  const takes = { up: WAY, down: WAY };
  /** How many messages of the servers still come before one is lost. */
  let before = Number.POSITIVE_INFINITY;
  const loseAfter = (count: number) => {
    before = count;
  };
  const carry = (direction: "up" | "down") => (arrive: () => void) => {
    if (direction === "down") before -= 1;
    const isLost = direction === "down" && before === -1;
    if (!isLost && takes[direction] !== Number.POSITIVE_INFINITY) clock.schedule(arrive, takes[direction]);
  };
  const wire = { up: carry("up"), down: carry("down") };
  const connection = new ModelConnection(servers, wire, clock, 1).asConnection;
  const store = await Store.open(connection);
  const subjects = { stream: STREAM, subjects: "kept.>" };
  const settings = { name: "x", scheduler: clock, replicas: undefined, retention: undefined };
  const made = store.ensureStream(subjects, settings);
  await clock.advanceBy(100);
  await made;
  /** What the servers are asked about consumers: numbered, in the order in which these were asked for first. */
  const asked: string[] = [];
  const names: string[] = [];
  let most = 0;
  servers.noteTaken = ({ subject, text }) => {
    const [, , family, verb, , name = JSON.parse(text).config?.name] = subject.split(".");
    if (family !== "CONSUMER") return;
    if (!names.includes(name)) names.push(name);
    asked.push(`${verb} ${names.indexOf(name)}`);
    most = Math.max(most, servers.jetstream.consumers);
  };
  const signals: string[] = [];
  /** The sequences that came before all was said to have come. */
  const read = new Map<string, number>();
  const follow = (plan: Partial<ConsumerPlan> & Pick<ConsumerPlan, "from">) =>
    consume(store, { stream: STREAM, filter: "kept.>", scheduler: clock, ...plan }).subscribe((signal) => {
      const isOver = signals.includes("caught-up");
      if (signal.type === "message" && !isOver) read.set(signal.subject, signal.sequence);
      signals.push(signal.type === "message" ? signal.subject : signal.type);
    });
  const put = async (subject: string, expected = 0) => {
    const putting = store.publish(subject, "{}", expected);
    await Promise.all([putting.catch(() => {}), clock.advanceBy(8_000)]);
  };
  const consumers = () => servers.jetstream.consumers;
  return {
    clock,
    servers,
    store,
    takes,
    loseAfter,
    asked,
    follow,
    put,
    read,
    signals,
    consumers,
    most: () => most,
  };
}

beforeAll(async () => {
  await natsLibrary();
});

describe("a consumer", () => {
  it("is created once and deleted once where all goes well", async () => {
    const { clock, asked, follow, consumers } = await openWorld();
    const reading = follow({ from: "now" });
    await clock.advanceBy(60_000);
    expect(consumers()).toBe(1);
    reading.unsubscribe();
    await clock.advanceBy(1_000);
    expect(asked).toEqual(["CREATE 0", "DELETE 0"]);
    expect(consumers()).toBe(0);
  });

  it.each([
    ["one filter", V2_9, "kept.>"],
    ["several filters", V2_10, ["kept.a", "kept.b"]],
  ])(
    "is deleted before the next one is tried if its creation is never answered, with %s",
    async (_, version, filter) => {
      const { clock, takes, asked, follow, consumers, most } = await openWorld(version);
      takes.down = Number.POSITIVE_INFINITY;
      follow({ from: "now", filter });
      await clock.advanceBy(2_500);
      expect(asked).toEqual(["CREATE 0", "DELETE 0", "CREATE 1", "DELETE 1", "CREATE 2"]);
      takes.down = WAY;
      await clock.advanceBy(5_000);
      expect(asked.slice(5)).toEqual(["DELETE 2", "CREATE 3"]);
      expect([consumers(), most()]).toEqual([1, 1]);
    },
  );

  it("is deleted if it is created after it was given up", async () => {
    const { clock, takes, follow, consumers, most } = await openWorld();
    takes.up = 3_000;
    const reading = follow({ from: "now" });
    await clock.advanceBy(20_000);
    expect(most()).toBe(1);
    reading.unsubscribe();
    await clock.advanceBy(5_000);
    expect(consumers()).toBe(0);
  });

  it("is deleted if the servers have not found it at first, as they still created it", async () => {
    const { clock, takes, asked, follow, consumers } = await openWorld();
    // It comes after the message that deletes it, and before the second one.
    takes.up = TIMEOUT + 1.5 * WAY;
    const reading = follow({ from: "now" });
    takes.up = WAY;
    reading.unsubscribe();
    await clock.advanceBy(TIMEOUT + 5 * WAY);
    expect(asked).toEqual(["DELETE 0", "CREATE 0", "DELETE 0"]);
    expect(consumers()).toBe(0);
  });

  it.each([
    ["is answered", WAY],
    ["is not answered in time", 1_500],
    ["is never answered", Number.POSITIVE_INFINITY],
  ])("is deleted if its reader has left when its creation %s", async (_, down) => {
    const { clock, takes, asked, follow, consumers } = await openWorld();
    takes.down = down;
    const reading = follow({ from: "now" });
    await clock.advanceBy(1);
    reading.unsubscribe();
    await clock.advanceBy(2_000);
    expect(asked).toEqual(["CREATE 0", "DELETE 0"]);
    expect(consumers()).toBe(0);
  });

  it("is not deleted if the servers have refused it", async () => {
    const { clock, asked, follow } = await openWorld();
    const reading = follow({ from: "now", stream: "none" });
    await clock.advanceBy(2_000);
    reading.unsubscribe();
    await clock.advanceBy(2_000);
    expect(asked.length).toBeGreaterThan(1);
    expect(asked.filter((one) => one.startsWith("DELETE"))).toEqual([]);
  });
  it.each([0, 1])("is created again where it has lost the message after %i", async (count) => {
    const { clock, loseAfter, follow, put, signals } = await openWorld();
    await put("kept.a");
    await put("kept.b");
    // The first answer says what the leader has.
    loseAfter(1 + count);
    follow({ from: "stored" });
    await clock.advanceBy(10_000);
    const all = ["kept.a", "kept.b"];
    expect(signals.filter((signal) => signal.startsWith("kept.")).slice(-2)).toEqual(all);
    expect(signals.indexOf("caught-up")).toBeGreaterThan(signals.indexOf("kept.b"));
    // One that is new: its acknowledgement is the first of two messages.
    loseAfter(count);
    await put("kept.c");
    expect(signals).toContain("kept.c");
  });
});

describe("a consumer on a server that is behind", () => {
  /** A stream of which one server has only the first of some messages. */
  async function openBehind(there: readonly string[], lacking: readonly string[]) {
    const world = await openWorld();
    const { servers, put } = world;
    for (const subject of there) await put(subject);
    servers.jetstream.fallBehind();
    for (const subject of lacking) await put(subject);
    return world;
  }

  it.each(["stored", 1] as const)("tells that all has come only once that is so, from %s", async (from) => {
    for (const late of [0, 1, 50, 400, 600, 2_000, 10_000]) {
      const { clock, servers, follow, read, signals } = await openBehind(["kept.a"], ["kept.b", "kept.c"]);
      follow({ from });
      await clock.advanceBy(late);
      servers.jetstream.catchUp();
      await clock.advanceBy(5_000);
      expect(signals).toContain("caught-up");
      expect([...read.keys()].sort()).toEqual(["kept.a", "kept.b", "kept.c"]);
    }
  });

  it("is made again ever later while each one skips a message, and soon once one has lasted", async () => {
    const { clock, servers, loseAfter, asked, follow, put, read, signals } = await openWorld();
    for (const subject of ["kept.a", "kept.b", "kept.c"]) await put(subject);
    const { noteTaken } = servers;
    let isLossy = true;
    servers.noteTaken = (taken) => {
      noteTaken?.(taken);
      // One message comes, and the next one is lost.
      if (isLossy && taken.subject.includes("CONSUMER.CREATE")) loseAfter(1);
    };
    follow({ from: 1 });
    await clock.advanceBy(10_000);
    const created = () => asked.filter((one) => one.startsWith("CREATE")).length;
    // 50 ms, 100, 200, 400, 800, then a second each time.
    expect(created()).toBeGreaterThan(8);
    expect(created()).toBeLessThan(16);
    isLossy = false;
    await clock.advanceBy(2_000);
    expect([...read.keys()]).toEqual(["kept.a", "kept.b", "kept.c"]);
    expect(signals).toContain("caught-up");

    await clock.advanceBy(60_000);
    const before = created();
    loseAfter(0);
    await put("kept.d");
    await put("kept.e");
    expect(created()).toBe(before + 1);
  });

  it("makes room for one on another server after half a second", async () => {
    const { clock, servers, asked, follow, signals, most } = await openBehind(["kept.a"], ["kept.b"]);
    let placed = 0;
    servers.isPlacedBehind = () => {
      placed += 1;
      return placed < 3;
    };
    follow({ from: "stored" });
    await clock.advanceBy(1_500);
    expect(asked).toEqual(["CREATE 0", "DELETE 0", "CREATE 1", "DELETE 1", "CREATE 2"]);
    expect(signals.slice(-3)).toEqual(["kept.a", "kept.b", "caught-up"]);
    expect(signals.filter((signal) => signal === "caught-up")).toHaveLength(1);
    expect(most()).toBe(1);
  });

  it("waits for nothing that is purged, or has begun anew, while it reads", async () => {
    for (const isDeleted of [false, true]) {
      const { clock, servers, follow, signals } = await openBehind(["kept.a"], ["kept.b", "kept.c"]);
      let isGone = false;
      const gone = () => {
        isGone = true;
      };
      follow({ from: 2, gone });
      await clock.advanceBy(100);
      if (isDeleted) servers.jetstream.drop(STREAM);
      else servers.jetstream.streams.get(STREAM)!.purge();
      await clock.advanceBy(10_000);
      expect(isGone).toBe(isDeleted);
      if (!isDeleted) expect(signals.at(-1)).toBe("caught-up");
    }
  });

  it("waits for nothing that was stored before the sequence from which it reads", async () => {
    const { clock, follow, signals } = await openBehind(["kept.a", "kept.b"], []);
    follow({ from: 3, filter: "kept.a" });
    await clock.advanceBy(100);
    expect(signals).toEqual(["attached", "caught-up"]);
  });

  it("waits for no message that one with an earlier time has replaced", async () => {
    const { clock, servers, store, follow, signals } = await openBehind(["kept.a"], ["kept.b"]);
    follow({ from: "stored" });
    await clock.advanceBy(100);
    servers.ahead = -3_600_000;
    void store.publish("kept.b", "{}", 2);
    await clock.advanceBy(100);
    servers.jetstream.catchUp();
    await clock.advanceBy(2_000);
    expect(signals).toContain("caught-up");
  });

  it("has given what was stored when it was asked for, whatever comes meanwhile", async () => {
    const subject = fc.constantFrom("kept.a", "kept.b", "kept.c", "kept.d");
    const step = fc.oneof(
      fc.record({ kind: fc.constant("put" as const), subject }),
      fc.record({ kind: fc.constant("behind" as const) }),
      fc.record({ kind: fc.constant("there" as const) }),
      fc.record({ kind: fc.constant("pass" as const), ms: fc.constantFrom(3, 12, 200, 700) }),
    );
    const steps = fc.array(step, { maxLength: 12 });
    const placements = fc.array(fc.boolean(), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(steps, steps, placements, async (before, after, placed) => {
        const { clock, servers, store, follow, read, signals } = await openWorld();
        const { jetstream } = servers;
        const messages = jetstream.streams.get(STREAM)!.messages;
        let count = 0;
        servers.isPlacedBehind = () => placed[count++ % placed.length]!;
        const play = async (of: typeof before) => {
          for (const one of of) {
            if (one.kind === "behind") jetstream.fallBehind();
            else if (one.kind === "there") jetstream.catchUp();
            else if (one.kind === "pass") await clock.advanceBy(one.ms);
            else {
              const put = store.publish(one.subject, "{}", messages.last(one.subject)?.sequence ?? 0);
              await Promise.all([put, clock.advanceBy(2 * WAY)]);
            }
          }
        };
        await play(before);
        const stored = [...messages.values()];
        follow({ from: "stored" });
        await play(after);
        jetstream.catchUp();
        await clock.advanceBy(5_000);
        expect(signals).toContain("caught-up");
        for (const { subject, sequence } of stored) {
          // What has replaced a message meanwhile may come after the others.
          if (messages.last(subject)?.sequence === sequence) expect(read.get(subject)).toBe(sequence);
        }
      }),
      { numRuns: 100 },
    );
  });
});
