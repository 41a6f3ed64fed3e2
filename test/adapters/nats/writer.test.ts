import { describe, expect, it } from "vitest";
import { Lanes } from "../../../src/adapters/nats/lanes.js";
import type { Store, StoredMessage } from "../../../src/adapters/nats/store.js";
import { candleSubjects, STATUS } from "../../../src/adapters/nats/subjects.js";
import { type Offer, Writer } from "../../../src/adapters/nats/writer.js";
import { VirtualClock } from "../../../src/index.js";
import { seriesOf } from "./busy-service.js";

const FEED = candleSubjects("pairstream", seriesOf("pair"));
const EPOCH = 7;

/** A stream in memory that a test can have refuse, or change. */
class FakeStream {
  readonly kept = new Map<string, StoredMessage>();
  readonly log: string[] = [];
  /** What the next messages fail with. */
  readonly failures: Error[] = [];
  setUps = 0;
  #sequence = 0;

  put(last: string, text: string): void {
    this.#sequence += 1;
    const subject = `${FEED.key}.${last}`;
    this.kept.set(subject, { subject, sequence: this.#sequence, time: 0, text });
  }

  /** As the writer takes it. */
  get store(): Store {
    const publish = async (subject: string, text: string, expected: number) => {
      const failure = this.failures.shift();
      if (failure !== undefined) throw failure;
      if ((this.kept.get(subject)?.sequence ?? 0) !== expected) return undefined;
      const last = subject.slice(FEED.key.length + 1);
      const { number, body, revision } = JSON.parse(text);
      this.log.push(`${number}: ${last} ${body}${revision > 0 ? ` r${revision}` : ""}`);
      this.put(last, text);
      return this.#sequence;
    };
    const last = async (_: string, subject: string) => this.kept.get(subject);
    const isPassing = (error: unknown) => error instanceof Error && error.message === "passing";
    return { publish, last, isPassing } as unknown as Store;
  }
}

function stage({ lanes = 256, mayWrite = () => true }: { lanes?: number; mayWrite?: () => boolean } = {}) {
  const clock = new VirtualClock(0);
  const stream = new FakeStream();
  const told: string[] = [];
  const means = {
    ...{ store: stream.store, scheduler: clock, lanes: new Lanes(lanes), mayWrite },
    ensureStream: async () => {
      stream.setUps += 1;
    },
    tell: (outcome: string) => told.push(outcome),
  };
  const events = {
    fail: (error: unknown) => told.push(String(error)),
    lost: () => told.push("lost"),
    outranked: (epoch: number) => told.push(`outranked by ${epoch}`),
  };
  const read = (_: string, text: string) => JSON.parse(text);
  const writer = new Writer(means, events, { feed: FEED, epoch: EPOCH, read });
  let statuses = 0;
  const status = () => {
    writer.offerStatus(() => {
      statuses += 1;
      return JSON.stringify({ body: `status${statuses}` });
    });
  };
  const offer = (last: string, body: string, more: Partial<Offer> = {}) => {
    const text = JSON.stringify({ body });
    writer.offer(last, { body: text, observedAt: 0, isRemoval: false, isOver: false, ...more });
  };
  return { clock, stream, told, writer, status, offer };
}
const passing = (count: number) => Array.from({ length: count }, () => new Error("passing"));

describe("the writer of a feed", () => {
  it("stores a status first, and each later one after all that was offered before it", async () => {
    const { clock, stream, status, offer, writer } = stage({ lanes: 1 });
    offer("1", "a");
    status();
    offer("2", "b");
    status();
    offer("3", "c");
    await clock.advanceBy(0);
    expect(stream.log).toEqual(["1: status status1", "2: 1 a", "3: 2 b", "4: 3 c", "5: status status2 r1"]);
    expect(writer.stored).toBe(5);
  });

  it("stores only the newest of what waits, and nothing that is stored already by this run", async () => {
    const { clock, stream, status, offer } = stage();
    offer("1", "a");
    offer("1", "b");
    status();
    await clock.advanceBy(0);
    offer("1", "b");
    await clock.advanceBy(0);
    expect(stream.log).toEqual(["1: status status1", "2: 1 b"]);
  });

  it("keeps a place for what changes all the time, so that a status need not wait for ever", async () => {
    const { clock, stream, status, offer } = stage({ lanes: 1 });
    status();
    offer("1", "a");
    offer("2", "a");
    status();
    offer("3", "a");
    offer("1", "b");
    await clock.advanceBy(0);
    expect(stream.log.slice(1)).toEqual(["2: 1 b", "3: 2 a", "4: 3 a", "5: status status2 r1"]);
  });

  it("counts revisions on from what an earlier run has stored, and begins anew after a removal", async () => {
    const { clock, stream, status, offer, writer } = stage();
    for (const [last, isRemoval] of [
      ["1", false],
      ["2", true],
      ["3", false],
    ] as const) {
      stream.put(
        last,
        JSON.stringify({ epoch: 1, revision: 4, body: '{"body":"old"}', isRemoval, observedAt: 0 }),
      );
    }
    writer.learn("1", {
      sequence: 1,
      epoch: 1,
      revision: 4,
      body: '{"body":"old"}',
      isRemoval: false,
      isOver: false,
      observedAt: 0,
    });
    offer("1", "new");
    offer("2", "new");
    offer("3", "old");
    status();
    await clock.advanceBy(0);
    expect(stream.log.slice(1)).toEqual(["2: 1 new r5", "5: 2 new", "6: 3 old r4"]);
  });

  it("leaves the feed to a later run, and begins anew where what it knew is gone or an earlier one tells", async () => {
    const later = stage();
    later.stream.put(STATUS, JSON.stringify({ epoch: EPOCH + 1, revision: 0, body: "", isRemoval: false }));
    later.status();
    await later.clock.advanceBy(0);
    expect(later.told).toEqual([`outranked by ${EPOCH + 1}`]);

    const earlier = stage();
    earlier.stream.put(STATUS, JSON.stringify({ epoch: EPOCH - 1, revision: 0, body: "", isRemoval: false }));
    earlier.status();
    await earlier.clock.advanceBy(0);
    expect(earlier.told).toEqual(["lost"]);

    const purged = stage();
    purged.status();
    purged.offer("1", "a");
    await purged.clock.advanceBy(0);
    purged.stream.kept.clear();
    purged.offer("1", "b");
    await purged.clock.advanceBy(0);
    expect(purged.told).toEqual(["stored", "stored", "lost"]);
  });

  it("sends again what was not taken, later and later, and sets the stream up now and then", async () => {
    const { clock, stream, told, status } = stage();
    stream.failures.push(...passing(7));
    const begun: number[] = [];
    const failures = stream.failures.length;
    status();
    for (let at = 0; at < 6_000; at += 50) {
      await clock.advanceTo(at);
      if (failures - stream.failures.length > begun.length) begun.push(at);
    }
    expect(begun).toEqual([0, 50, 150, 350, 750, 1_550, 2_550]);
    expect(stream.setUps).toBe(1);
    expect(told).toEqual([...Array(7).fill("retried"), "stored"]);
  });

  it("fails where no retry can help", async () => {
    const { clock, stream, told, status } = stage();
    stream.failures.push(new Error("no"));
    status();
    await clock.advanceBy(0);
    expect(told).toEqual([`PairstreamError: ${FEED.key}.status cannot be stored: no`]);
  });

  it("stores nothing while it may not, and all of it once it may", async () => {
    let may = false;
    const { clock, stream, status, offer, writer } = stage({ mayWrite: () => may });
    status();
    offer("1", "a");
    await clock.advanceBy(1_000);
    expect(stream.log).toEqual([]);
    may = true;
    writer.resume();
    let isIdle = false;
    writer.whenIdle(() => {
      isIdle = true;
    });
    await clock.advanceBy(0);
    expect([stream.log.length, isIdle]).toEqual([2, true]);
  });

  it("stores again what may still change before it grows too old, and not what is final or gone", async () => {
    const { clock, stream, status, offer, writer } = stage();
    status();
    offer("1", "final", { isOver: true });
    offer("2", "open");
    offer("3", "gone", { isRemoval: true, isOver: true });
    await clock.advanceBy(0);
    expect(writer.open).toEqual(["2"]);
    const refreshing = writer.refreshEvery(1_000);
    await clock.advanceBy(1_000);
    expect(stream.log.slice(4)).toEqual(["5: 2 open", "6: status status2 r1"]);
    refreshing.unsubscribe();
    writer.refreshEvery(0);
    writer.stop();
    offer("2", "late");
    await clock.advanceBy(5_000);
    expect(stream.log).toHaveLength(6);
  });

  it("waits no longer than a timer can hold before it stores again", () => {
    const { clock, writer } = stage();
    const delays: (number | undefined)[] = [];
    const schedule = clock.schedule.bind(clock);
    clock.schedule = (work, delay, state) => {
      delays.push(delay);
      return schedule(work, delay, state);
    };
    writer.refreshEvery((90 * 86_400_000) / 3).unsubscribe();
    expect(delays).toEqual([2 ** 31 - 1]);
  });
});
