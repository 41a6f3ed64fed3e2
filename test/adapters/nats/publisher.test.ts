import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Lanes } from "../../../src/adapters/nats/lanes.js";
import { FakeStream, type Fate, keptValue, proposalOf } from "./fake-stream.js";

describe("a publisher", () => {
  it("stores what it is offered, each message over the one before, which it reads first where it does not know", async () => {
    const stream = new FakeStream();
    const publisher = stream.publisher();
    publisher.offer("a", proposalOf(1), false);
    await stream.clock.advanceBy(20);
    publisher.offer("a", proposalOf(2), false);
    await stream.clock.advanceBy(10);
    expect(stream.publications).toEqual([
      { type: "stored", subject: "a", sequence: 1 },
      { type: "stored", subject: "a", sequence: 2 },
    ]);
    expect(stream.read("a")).toMatchObject({ revision: 1, observedAt: 2 });
  });

  it("expects nothing on a subject only where it has seen that", async () => {
    const stream = new FakeStream();
    stream.fates = ["unheard", "lost", "stored"];
    stream.put("b", { ...proposalOf(1), revision: 0 });
    const publisher = stream.publisher();
    publisher.offer("a", proposalOf(1), false);
    publisher.offer("b", proposalOf(2), false);
    await stream.clock.advanceBy(1_000);
    expect(stream.order).toEqual(["b", "a", "b"]);
    expect(stream.refusals).toBe(0);
  });

  it("does not look for what has just begun, unless it proves to be there", async () => {
    const stream = new FakeStream();
    stream.put("b", { ...proposalOf(5, { epoch: 2 }), revision: 0 });
    stream.fates = ["stored", "stored", "lost"];
    const publisher = stream.publisher();
    publisher.offer("a", proposalOf(1, { isBeginning: true }), false);
    publisher.offer("b", proposalOf(1, { isBeginning: true }), false);
    await stream.clock.advanceBy(10);
    expect(stream.order).toEqual(["b", "a"]);
    expect(stream.refusals).toBe(1);
    await stream.clock.advanceBy(100);
    expect(keptValue(stream, "b")).toBe(5);
    expect(stream.publications.map(({ type }) => type)).toEqual(["stored", "superseded"]);
    // Nor is that believed again once it is in doubt.
    publisher.offer("c", proposalOf(1, { isBeginning: true }), false);
    await stream.clock.advanceBy(1_000);
    expect(keptValue(stream, "c")).toBe(1);
    expect(stream.refusals).toBe(1);
  });

  it("skips versions that a newer one has overtaken while it waited", async () => {
    const stream = new FakeStream();
    const publisher = stream.publisher();
    for (let value = 1; value <= 5; value++) publisher.offer("a", proposalOf(value), false);
    await stream.clock.advanceBy(100);
    expect(stream.order).toEqual(["a", "a"]);
    expect(keptValue(stream, "a")).toBe(5);
  });

  it("tells how the feed stands after what was offered before, and not before", async () => {
    const stream = new FakeStream();
    const publisher = stream.publisher();
    publisher.offerStatus(() => proposalOf(0));
    await stream.clock.advanceBy(100);
    stream.fates = ["lost"];
    publisher.offer("a", proposalOf(1), false);
    publisher.offer("b", proposalOf(1), false);
    publisher.offerStatus(() => proposalOf(1));
    publisher.offer("c", proposalOf(1), false);
    await stream.clock.advanceBy(1_000);
    expect(stream.order).toEqual(["x.status", "b", "c", "a", "x.status"]);
  });

  it("tells the newest status only, as it is when it goes out", async () => {
    const stream = new FakeStream();
    const publisher = stream.publisher();
    publisher.offer("a", proposalOf(1), false);
    publisher.offerStatus(() => proposalOf(1));
    publisher.offerStatus(() => proposalOf(2, { body: JSON.stringify({ from: publisher.firstOpen }) }));
    await stream.clock.advanceBy(100);
    expect(stream.order).toEqual(["a", "x.status"]);
    expect(keptValue(stream, "x.status")).toBe(1);
  });

  it("knows its first message that can still change, and forgets what cannot", async () => {
    const stream = new FakeStream();
    const publisher = stream.publisher();
    for (const last of ["a", "b", "c"]) publisher.offer(last, proposalOf(1), false);
    await stream.clock.advanceBy(100);
    expect(publisher.firstOpen).toBe(1);
    publisher.offer("a", proposalOf(2), true);
    publisher.offer("b", proposalOf(2, { isRemoval: true }), false);
    await stream.clock.advanceBy(100);
    expect(publisher.firstOpen).toBe(3);
    publisher.offer("c", proposalOf(2), true);
    await stream.clock.advanceBy(100);
    expect(publisher.firstOpen).toBeUndefined();
  });

  it("leaves a newer message in its place, and says so", async () => {
    const stream = new FakeStream();
    stream.put("a", { ...proposalOf(9, { epoch: 2 }), revision: 4 });
    const publisher = stream.publisher();
    publisher.offer("a", proposalOf(10), false);
    await stream.clock.advanceBy(100);
    publisher.offer("a", proposalOf(11), false);
    await stream.clock.advanceBy(100);
    expect(keptValue(stream, "a")).toBe(9);
    expect(stream.publications).toEqual([
      { type: "superseded", subject: "a", sequence: 1 },
      { type: "superseded", subject: "a", sequence: 1 },
    ]);
    expect(stream.outranked).toEqual([2, 2]);
  });

  it("says of a later lease alone that it is one", async () => {
    const stream = new FakeStream();
    stream.put("a", { ...proposalOf(9), revision: 4 });
    const publisher = stream.publisher();
    publisher.offer("a", proposalOf(8), false);
    await stream.clock.advanceBy(100);
    expect(stream.publications.map(({ type }) => type)).toEqual(["superseded"]);
    expect(stream.outranked).toEqual([]);
  });

  it("replaces an older one that it did not know of, going on from its revision", async () => {
    const stream = new FakeStream();
    stream.put("a", { ...proposalOf(3), revision: 4 });
    const publisher = stream.publisher();
    publisher.offer("a", proposalOf(5), false);
    await stream.clock.advanceBy(100);
    expect(stream.read("a")).toMatchObject({ revision: 5, observedAt: 5 });
  });

  it("stores again what an earlier lease has left, although it says the same", async () => {
    const stream = new FakeStream();
    stream.put("a", { ...proposalOf(3), revision: 4 });
    const publisher = stream.publisher();
    const { sequence, text } = stream.kept.get("a")!;
    publisher.learn("a", sequence, text);
    publisher.offer("a", proposalOf(3, { epoch: 2 }), false);
    await stream.clock.advanceBy(100);
    expect(stream.read("a")).toMatchObject({ epoch: 2, revision: 4 });
    publisher.offer("a", proposalOf(3, { epoch: 2, observedAt: 8 }), false);
    await stream.clock.advanceBy(100);
    expect(stream.order).toEqual(["a", "a"]);
  });

  it("takes its own message for stored whose acknowledgement was lost", async () => {
    const stream = new FakeStream();
    stream.fates = ["unheard"];
    const publisher = stream.publisher();
    publisher.offer("a", proposalOf(1), false);
    await stream.clock.advanceBy(1_000);
    expect(stream.order).toEqual(["a"]);
    expect(stream.publications).toEqual([
      { type: "retried", subject: "a", error: expect.anything() },
      { type: "stored", subject: "a", sequence: 1 },
    ]);
    // By a clock that was set back meanwhile it is older, and newer all the same.
    publisher.offer("a", proposalOf(2, { observedAt: -5 }), false);
    await stream.clock.advanceBy(1_000);
    expect(stream.read("a")).toMatchObject({ revision: 1, observedAt: 1 });
  });

  it("waits longer after each failure, up to a second, and sets the stream up again after five", async () => {
    const stream = new FakeStream();
    stream.fates = Array(7).fill("lost");
    const publisher = stream.publisher();
    publisher.offer("a", proposalOf(1), false);
    await stream.clock.advanceBy(50 + 100 + 200 + 400 + 799);
    expect(stream.setups).toBe(0);
    await stream.clock.advanceBy(2_000);
    expect(stream.setups).toBe(1);
    expect(stream.order).toEqual([]);
    await stream.clock.advanceBy(1_000);
    expect(stream.order).toEqual(["a"]);
    expect(stream.publications.filter(({ type }) => type === "retried")).toHaveLength(7);
  });

  it("fails where asking again cannot help", async () => {
    const stream = new FakeStream();
    stream.fates = ["refused"];
    stream.publisher().offer("a", proposalOf(1), false);
    await stream.clock.advanceBy(100);
    expect(stream.failures).toEqual([
      expect.objectContaining({ name: "PairstreamError", message: expect.stringContaining("a") }),
    ]);
  });

  it("holds back while nothing may be stored, and goes on with the newest", async () => {
    const stream = new FakeStream();
    stream.fates = ["lost", "lost"];
    const publisher = stream.publisher();
    publisher.offer("a", proposalOf(1), false);
    publisher.offerStatus(() => proposalOf(1));
    stream.mayPublish = false;
    await stream.clock.advanceBy(10_000);
    publisher.offer("a", proposalOf(2), false);
    publisher.offer("b", proposalOf(2), false);
    await stream.clock.advanceBy(10_000);
    expect(stream.order).toEqual([]);
    stream.mayPublish = true;
    publisher.resume();
    await stream.clock.advanceBy(100);
    expect(stream.order).toEqual(["x.status", "a", "b"]);
    expect(keptValue(stream, "a")).toBe(2);
  });

  it("stores nothing more once it was stopped, and leaves no timer", async () => {
    const stream = new FakeStream();
    stream.fates = ["lost"];
    const publisher = stream.publisher();
    publisher.offer("a", proposalOf(1), false);
    publisher.offer("b", proposalOf(1), false);
    await stream.clock.advanceBy(15);
    publisher.stop();
    publisher.offer("c", proposalOf(1), false);
    await stream.clock.advanceBy(5);
    expect(stream.clock.pending).toBe(0);
    // What was on its way cannot be called back.
    expect(stream.order).toEqual(["b"]);
  });

  it("leaves no timer where it is stopped between two attempts", async () => {
    const stream = new FakeStream();
    stream.fates = ["lost"];
    const publisher = stream.publisher();
    publisher.offer("a", proposalOf(1), false);
    await stream.clock.advanceBy(25);
    expect(stream.clock.pending).toBe(1);
    publisher.stop();
    expect(stream.clock.pending).toBe(0);
  });

  it("has no more on its way than there are lanes, and serves subjects in turn", async () => {
    const stream = new FakeStream();
    const publisher = stream.publisher(new Lanes(2));
    for (const last of ["a", "b", "c", "d"]) publisher.offer(last, proposalOf(1), false);
    await stream.clock.advanceBy(5);
    publisher.offer("a", proposalOf(2), false);
    await stream.clock.advanceBy(100);
    expect(stream.order).toEqual(["a", "b", "c", "d", "a"]);
    expect(stream.most).toEqual({ subject: 1, all: 2 });
  });

  it.each(["was stopped", "pauses after a failure"])(
    "gets the lane that another one leaves free, who waited before it and %s",
    async (reason) => {
      const stream = new FakeStream();
      const lanes = new Lanes(1);
      const [first, other, last] = [0, 1, 2].map(() => stream.publisher(lanes));
      if (reason !== "was stopped") {
        stream.fates = ["lost"];
        other!.offer("x", proposalOf(1, { isBeginning: true }), false);
      }
      first!.offer("a", proposalOf(1, { isBeginning: true }), false);
      other!.offer("b", proposalOf(1, { isBeginning: true }), false);
      last!.offer("c", proposalOf(1, { isBeginning: true }), false);
      if (reason === "was stopped") other!.stop();
      await stream.clock.advanceBy(35);
      expect(stream.order).toEqual(["a", "c"]);
    },
  );

  it("stores again, unchanged, what may change still, when it is told to", async () => {
    const stream = new FakeStream();
    const publisher = stream.publisher();
    publisher.offer("a", proposalOf(1), false);
    publisher.offer("b", proposalOf(1), true);
    publisher.offerStatus(() => proposalOf(1));
    const refreshing = publisher.refreshEvery(1_000, 1);
    await stream.clock.advanceBy(1_100);
    expect(stream.order).toEqual(["a", "b", "x.status", "a", "x.status"]);
    expect(stream.read("a")).toMatchObject({ revision: 0, observedAt: 1 });
    refreshing.unsubscribe();
    await stream.clock.advanceBy(100);
    expect(stream.clock.pending).toBe(0);
  });

  it("stores again under its own lease what an earlier one has left, and leaves alone what a later one has", async () => {
    const stream = new FakeStream();
    stream.put("a", { ...proposalOf(3), revision: 4 });
    const publisher = stream.publisher();
    const { sequence, text } = stream.kept.get("a")!;
    publisher.learn("a", sequence, text);
    stream.put("b", { ...proposalOf(9, { epoch: 3 }), revision: 0 });
    publisher.offer("b", proposalOf(1, { epoch: 2 }), false);
    const refreshing = publisher.refreshEvery(1_000, 2);
    await stream.clock.advanceBy(1_100);
    expect(stream.read("a")).toMatchObject({ epoch: 2, revision: 4, observedAt: 3 });
    expect(stream.order).toEqual(["a", "b", "a"]);
    refreshing.unsubscribe();
  });

  it("ends with the newest of each subject stored, whatever is lost on the way", async () => {
    const step = fc.record({
      last: fc.constantFrom("a", "b", "c"),
      wait: fc.constantFrom(0, 5, 15, 400),
      isRemoval: fc.boolean(),
      /** Another publisher stores something, observed a little earlier or later. */
      rival: fc.option(fc.constantFrom(-2, 2), { freq: 5 }),
    });
    const fate = fc.constantFrom<Fate>("stored", "stored", "unheard", "late", "lost");
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 25 }),
        fc.array(fate, { maxLength: 40 }),
        async (steps, fates) => {
          const stream = new FakeStream();
          stream.fates = [...fates];
          const publisher = stream.publisher();
          const newest = new Map<string, { observedAt: number; value: number }>();
          const note = (last: string, observedAt: number, value: number) => {
            const known = newest.get(last);
            if (known === undefined || known.observedAt < observedAt) newest.set(last, { observedAt, value });
          };
          for (const [at, { last, wait, isRemoval, rival }] of steps.entries()) {
            const observedAt = 10 * (at + 1);
            publisher.offer(last, proposalOf(at, { observedAt, isRemoval }), false);
            note(last, observedAt, at);
            if (rival !== null) {
              const before = stream.read(last);
              const told = proposalOf(1_000 + at, { observedAt: observedAt + rival });
              if (before === undefined || before.observedAt < told.observedAt) {
                stream.put(last, { ...told, revision: 0 });
                note(last, told.observedAt, 1_000 + at);
              }
            }
            await stream.clock.advanceBy(wait);
          }
          let isIdle = false;
          publisher.whenIdle(() => {
            isIdle = true;
          });
          await stream.clock.advanceBy(120_000);
          expect(isIdle).toBe(true);
          expect(stream.most.subject).toBeLessThanOrEqual(1);
          for (const [last, { value }] of newest)
            expect([last, keptValue(stream, last)]).toEqual([last, value]);
        },
      ),
      { numRuns: 150 },
    );
  });
});
