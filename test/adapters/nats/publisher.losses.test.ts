import { describe, expect, it } from "vitest";
import { FakeStream, keptValue, proposalOf } from "./fake-stream.js";

describe("a publisher whose stream may go away", () => {
  it("stores again what may change still where it finds that all is gone, and says so once", async () => {
    const stream = new FakeStream();
    const publisher = stream.publisher();
    for (const last of ["a", "b", "c"]) publisher.offer(last, proposalOf(0), false);
    await stream.clock.advanceBy(100);
    for (const last of ["a", "b", "c"]) publisher.offer(last, proposalOf(1), false);
    publisher.offer("d", proposalOf(1), true);
    await stream.clock.advanceBy(100);
    stream.kept.clear();
    publisher.offer("b", proposalOf(2, { epoch: 3 }), false);
    await stream.clock.advanceBy(100);
    expect(stream.losses).toEqual([["a", "b", "c"]]);
    expect(["a", "b", "c", "d"].map((last) => stream.read(last)?.body)).toEqual([
      proposalOf(1).body,
      proposalOf(2).body,
      proposalOf(1).body,
      undefined,
    ]);
    expect(["a", "b", "c"].map((last) => stream.read(last)?.epoch)).toEqual([3, 3, 3]);
    // A reader knows the revisions from before.
    expect(["a", "b", "c"].map((last) => stream.read(last)?.revision)).toEqual([1, 2, 1]);
    publisher.offer("a", proposalOf(3, { epoch: 3 }), false);
    await stream.clock.advanceBy(100);
    expect(stream.losses).toHaveLength(1);
  });

  it("stores a first status, which covers nothing, before all else, and again where all is gone", async () => {
    const stream = new FakeStream();
    const publisher = stream.publisher();
    publisher.offerStatus((isFirst) => proposalOf(isFirst ? 0 : 1));
    publisher.offer("a", proposalOf(1), false);
    publisher.offer("b", proposalOf(1), true);
    await stream.clock.advanceBy(100);
    expect(stream.order).toEqual(["x.status", "x.status", "a", "b"]);
    publisher.offerStatus((isFirst) => proposalOf(isFirst ? 0 : 2));
    await stream.clock.advanceBy(100);
    stream.kept.clear();
    publisher.offer("a", proposalOf(3), false);
    publisher.offerStatus((isFirst) => proposalOf(isFirst ? 0 : 3));
    await stream.clock.advanceBy(45);
    expect(stream.order.slice(5)).toEqual(["x.status"]);
    expect([keptValue(stream, "x.status"), stream.losses]).toEqual([0, [["a"]]]);
    await stream.clock.advanceBy(100);
    expect(stream.order.slice(5)).toEqual(["x.status", "a", "x.status"]);
    expect(keptValue(stream, "x.status")).toBe(3);
  });

  it.each(["purge", "second purge"])(
    "does not believe what it heard of a message that was on its way at a %s",
    async (which) => {
      const stream = new FakeStream();
      const publisher = stream.publisher();
      publisher.offerStatus(() => proposalOf(0));
      for (const last of ["a", "b"]) publisher.offer(last, proposalOf(1), false);
      await stream.clock.advanceBy(200);
      for (let purges = which === "purge" ? 1 : 2; purges > 0; purges--) {
        stream.kept.clear();
        publisher.offer("a", proposalOf(1 + purges), false);
        await stream.clock.advanceBy(25);
        publisher.offer("b", proposalOf(1 + purges, { isBeginning: true }), true);
        await stream.clock.advanceBy(10);
      }
      await stream.clock.advanceBy(500);
      expect(["a", "b", "x.status"].filter((last) => !stream.kept.has(last))).toEqual([]);
    },
  );

  it("says where an earlier lease has stored another status than it has learned of", async () => {
    const stream = new FakeStream();
    stream.put("x.status", { ...proposalOf(1), revision: 0 });
    const { sequence, text } = stream.kept.get("x.status")!;
    const publisher = stream.publisher();
    publisher.learn("x.status", sequence, text);
    stream.put("x.status", { ...proposalOf(2), revision: 1 });
    publisher.offerStatus(() => proposalOf(3, { epoch: 2 }));
    await stream.clock.advanceBy(100);
    expect(stream.overtaken).toBe(1);
    // Its own one is no news to it.
    publisher.offerStatus(() => proposalOf(4, { epoch: 2 }));
    stream.fates = ["unheard"];
    await stream.clock.advanceBy(1_000);
    expect([stream.overtaken, keptValue(stream, "x.status")]).toEqual([1, 4]);
  });
});
