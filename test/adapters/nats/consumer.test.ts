import { beforeAll, describe, expect, it } from "vitest";
import { consume } from "../../../src/adapters/nats/consumer.js";
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
  const read = (filter: string | string[] = "kept.>", stream = STREAM) =>
    consume(store, { stream, filter, from: "stored", scheduler: clock }).subscribe((signal) => {
      signals.push(signal.type === "message" ? signal.subject : signal.type);
    });
  const put = async (subject: string) => {
    const putting = store.publish(subject, "{}", 0);
    await Promise.all([putting.catch(() => {}), clock.advanceBy(8_000)]);
  };
  const consumers = () => servers.jetstream.consumers;
  return { clock, takes, loseAfter, asked, read, put, signals, consumers, most: () => most };
}

beforeAll(async () => {
  await natsLibrary();
});

describe("a consumer", () => {
  it("is created once and deleted once where all goes well", async () => {
    const { clock, asked, read, consumers } = await openWorld();
    const reading = read();
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
      const { clock, takes, asked, read, consumers, most } = await openWorld(version);
      takes.down = Number.POSITIVE_INFINITY;
      read(filter);
      await clock.advanceBy(2_500);
      expect(asked).toEqual(["CREATE 0", "DELETE 0", "CREATE 1", "DELETE 1", "CREATE 2"]);
      takes.down = WAY;
      await clock.advanceBy(5_000);
      expect(asked.slice(5)).toEqual(["DELETE 2", "CREATE 3"]);
      expect([consumers(), most()]).toEqual([1, 1]);
    },
  );

  it("is deleted if it is created after it was given up", async () => {
    const { clock, takes, read, consumers, most } = await openWorld();
    takes.up = 3_000;
    const reading = read();
    await clock.advanceBy(20_000);
    expect(most()).toBe(1);
    reading.unsubscribe();
    await clock.advanceBy(5_000);
    expect(consumers()).toBe(0);
  });

  it("is deleted if the servers have not found it at first, as they still created it", async () => {
    const { clock, takes, asked, read, consumers } = await openWorld();
    // It comes after the message that deletes it, and before the second one.
    takes.up = TIMEOUT + 1.5 * WAY;
    const reading = read();
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
    const { clock, takes, asked, read, consumers } = await openWorld();
    takes.down = down;
    const reading = read();
    await clock.advanceBy(1);
    reading.unsubscribe();
    await clock.advanceBy(2_000);
    expect(asked).toEqual(["CREATE 0", "DELETE 0"]);
    expect(consumers()).toBe(0);
  });

  it("is not deleted if the servers have refused it", async () => {
    const { clock, asked, read } = await openWorld();
    const reading = read("kept.>", "none");
    await clock.advanceBy(2_000);
    reading.unsubscribe();
    await clock.advanceBy(2_000);
    expect(asked.length).toBeGreaterThan(1);
    expect(asked.filter((one) => one.startsWith("DELETE"))).toEqual([]);
  });
  it.each([0, 1])("is created again where it has lost the message after %i", async (count) => {
    const { clock, loseAfter, read, put, signals } = await openWorld();
    await put("kept.a");
    await put("kept.b");
    loseAfter(count);
    read();
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
