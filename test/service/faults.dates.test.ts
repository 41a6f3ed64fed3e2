import { describe, expect, it } from "vitest";
import { answersOf, Bench, only, start, times } from "./fault-bench.js";

describe("faults of the Date", () => {
  const offsetOf = async (bench: Bench) => {
    const truth = Math.floor(bench.clock.now() / 1_000) * 1_000;
    const answer = await bench.answer();
    expect(answer.text).toBe((await bench.truth()).text);
    return Date.parse(answer.date!) - truth;
  };

  it("wrongDate: off by a second up to the furthest, earlier or later, by seconds as often as by hours", async () => {
    const bench = only("wrongDate", { furthestDate: 7_200_000 });
    const offsets: number[] = [];
    for (const _ of times(80)) offsets.push((await offsetOf(bench)) / 1_000);
    expect(bench.faults).toHaveLength(80);
    const sizes = offsets.map(Math.abs);
    expect(offsets.every(Number.isInteger)).toBe(true);
    expect(Math.min(...sizes)).toBeGreaterThanOrEqual(1);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(7_200);
    expect(sizes.filter((size) => size < 60).length).toBeGreaterThan(15);
    expect(sizes.filter((size) => size > 600).length).toBeGreaterThan(8);
    expect(offsets.filter((offset) => offset < 0).length).toBeGreaterThan(20);
    expect(offsets.filter((offset) => offset > 0).length).toBeGreaterThan(20);
  });

  it("wrongDate: is of one answer only", async () => {
    const bench = new Bench({ schedule: [{ call: 2, kind: "wrongDate" }] });
    const offsets = [await offsetOf(bench), await offsetOf(bench), await offsetOf(bench)];
    expect(offsets).toEqual([0, expect.toSatisfy((offset: number) => offset !== 0), 0]);
  });

  it("jumpingDate: stays where it jumped to until the next jump, on any answer", async () => {
    const bench = new Bench({
      schedule: [
        { call: 3, kind: "jumpingDate" },
        { call: 4, kind: "425" },
        { call: 6, kind: "jumpingDate" },
      ],
    });
    const offsets: number[] = [];
    for (const _ of times(8)) {
      const { date } = await bench.answer();
      offsets.push(Date.parse(date!) - Math.floor(start / 1_000) * 1_000);
    }
    const [jump, next] = [offsets[2]!, offsets[5]!];
    expect(offsets).toEqual([0, 0, jump, jump, jump, next, next, next]);
    expect(jump).not.toBe(0);
    expect(next).not.toBe(jump);
    expect(bench.faults.map(({ kind }) => kind)).toEqual(["jumpingDate", "425", "jumpingDate"]);
  });

  it("jumpingDate: each call a jump at rate 1, now and then back to the truth, never where it was", async () => {
    const bench = only("jumpingDate", { furthestDate: 2_000 });
    const offsets: number[] = [];
    for (const _ of times(60)) offsets.push(await offsetOf(bench));
    expect(bench.faults).toHaveLength(60);
    expect(offsets.filter((offset) => offset === 0).length).toBeGreaterThan(5);
    expect(offsets.filter((offset) => offset === 0).length).toBeLessThan(30);
    offsets.slice(1).forEach((offset, at) => {
      expect(offset).not.toBe(offsets[at]);
    });
  });

  it("noDate: none, all else as it was", async () => {
    const bench = only("noDate");
    const [answer] = await answersOf(bench, "noDate", 1);
    expect(answer!.date).toBeNull();
    expect(answer!.text).toBe((await bench.truth()).text);
    expect(answer!.header("X-Request-Weight")).toBe("150");
  });

  it("a 429 names the date to wait for by the clock that its own Date shows", async () => {
    const bench = new Bench({ rates: { 429: 1, wrongDate: 1, jumpingDate: 1 } });
    const waits: number[] = [];
    for (const _ of times(20)) {
      const { header, date } = await bench.answer();
      const hint = header("retry-after") ?? "";
      if (hint.endsWith("GMT")) waits.push(Date.parse(hint) - Date.parse(date!));
    }
    expect(waits.length).toBeGreaterThan(3);
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(1_000);
    expect(Math.max(...waits)).toBeLessThanOrEqual(8_000);
  });
});
