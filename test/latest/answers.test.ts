import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../src/index.js";
import { Answers } from "../../src/latest/answers.js";

const answerAt = (clock: VirtualClock, value: number) => {
  const at = clock.now();
  return { value, age: () => clock.now() - at };
};

describe("kept answers", () => {
  it("are at most a thousand, those that were asked for last", async () => {
    const clock = new VirtualClock(0);
    const answers = new Answers<{ value: number; age: () => number }>(clock);
    for (let value = 0; value < 5_000; value++)
      await answers.ask(`${value}`, undefined, async () => answerAt(clock, value));
    const kept = Array.from({ length: 5_000 }, (_, at) => answers.get(`${at}`, 0)).filter(Boolean);
    expect(kept.length).toBeLessThanOrEqual(1_000);
    expect(kept.length).toBeGreaterThanOrEqual(500);
    expect(kept.at(-1)!.value).toBe(4_999);
    expect(clock.pending).toBe(0);
  });

  it("are given up to their age, and no further", async () => {
    const clock = new VirtualClock(0);
    const answers = new Answers<{ value: number; age: () => number }>(clock);
    await answers.ask("a", undefined, async () => answerAt(clock, 1));
    await clock.advanceBy(500);
    expect(answers.get("a", 500)?.value).toBe(1);
    expect(answers.get("a", 499)).toBeUndefined();
    expect(answers.get("b", 500)).toBeUndefined();
  });

  it("do not come from a question that everybody has left", async () => {
    const clock = new VirtualClock(0);
    const answers = new Answers<{ value: number; age: () => number }>(clock);
    const leaving = new AbortController();
    let tell = (_: ReturnType<typeof answerAt>) => {};
    const first = answers.ask("a", leaving.signal, () => new Promise((resolve) => (tell = resolve)));
    leaving.abort("left");
    await expect(first).rejects.toBe("left");
    const second = answers.ask("a", undefined, async () => answerAt(clock, 2));
    tell(answerAt(clock, 1));
    expect((await second).value).toBe(2);
    expect(answers.get("a", 0)?.value).toBe(2);
  });

  it("outlive a failure, which is told for a second", async () => {
    const clock = new VirtualClock(10_000);
    const answers = new Answers<{ value: number; age: () => number }>(clock);
    await answers.ask("a", undefined, async () => answerAt(clock, 1));
    const fail = () => answers.ask("a", undefined, () => Promise.reject(new Error("down")));
    await expect(fail()).rejects.toThrow("down");
    expect(answers.get("a", 0)?.value).toBe(1);
    await clock.advanceBy(999);
    const again = () => answers.ask("a", undefined, async () => answerAt(clock, 2));
    await expect(again()).rejects.toThrow("down");
    await clock.advanceBy(1);
    expect((await again()).value).toBe(2);
  });
});
