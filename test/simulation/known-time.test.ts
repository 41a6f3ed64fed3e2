import { expect, it } from "vitest";
import type { Exchange } from "./exchanges.js";
import { KnownTime } from "./known-time.js";
import type { RunLog } from "./run-log.js";

const START = Date.UTC(2024, 0, 1);

/** Whether the time is known after each answer: when it was made, and by how much its `Date` lies, in ms. */
function trustedAfter(...answers: readonly (readonly [at: number, lie: number])[]): boolean[] {
  const told = answers.map(([at, lie]) => {
    const date = START + 1_000 * Math.floor((at + lie) / 1_000);
    return { sent: START + at, received: START + at, answeredAt: START + at, ahead: 0, headers: { date } };
  }) as unknown as Exchange[];
  const plan = { faults: [], world: { start: START, hasDate: true, drift: 0 } };
  const time = new KnownTime({ plan, told, exchanges: told } as unknown as RunLog);
  return told.map((_, at) => time.isTrusted(at + 1));
}

it("knows the time after a lie once two answers of seconds that were not heard before agree", () => {
  expect(trustedAfter([0, 0], [5_000, 0])).toEqual([true, true]);
  expect(trustedAfter([5_000, 0], [6_000, 9_000], [7_000, 0], [8_000, 0])).toEqual([
    true,
    false,
    false,
    true,
  ]);
  // Answers of one second may be copies of each other.
  expect(trustedAfter([6_000, 9_000], [7_000, 0], [7_100, 0], [7_900, 0])).toEqual([
    false,
    false,
    false,
    false,
  ]);
  expect(trustedAfter([6_000, 9_000], [7_900, 0], [8_000, 0])).toEqual([false, false, true]);
  expect(trustedAfter([6_000, 0], [6_100, 9_000], [6_200, 0], [7_000, 0], [8_000, 0])).toEqual([
    ...[true, false, false, false, true],
  ]);
});
