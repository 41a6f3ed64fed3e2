import { expect, it } from "vitest";
import type { Exchange } from "./exchanges.js";
import { KnownTime } from "./known-time.js";
import type { Plan } from "./plan.js";
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

/** So many answers are remembered. */
const REMEMBERED = 64;

/** A clock that was set by so much, after so many answers, ms. */
interface Step {
  readonly after: number;
  readonly by: number;
}

/** What is known after answers that came a second apart, each so many ms after its second began; `old`: copies, by number. */
function knownTime(
  phases: readonly number[],
  { step, old = () => 0, lies = [] }: { step?: Step; old?: (at: number) => number; lies?: readonly number[] },
): KnownTime {
  const told = phases.map((phase, at): Partial<Exchange> => {
    const sent = START + at * 1_000 + phase;
    const made = sent - old(at);
    const lie = lies.includes(at) ? -2_000 : 0;
    const date = Math.floor(made / 1_000) * 1_000 + lie;
    return {
      sent,
      received: sent,
      answeredAt: made,
      old: old(at),
      hidesAge: old(at) > 0,
      ahead: 0,
      headers: { date, retryAfter: undefined },
    };
  });
  const faults = step === undefined ? [] : [{ kind: "clock set", from: step.after * 1_000, by: step.by }];
  const world = {
    start: START,
    offset: 0,
    drift: 0,
    hasDate: true,
    latency: { base: 10, spread: 0 },
  };
  const plan = { world, faults } as unknown as Plan;
  return new KnownTime({ plan, told, exchanges: told } as unknown as RunLog);
}

it("goes by the clock before it was set for 64 answers after two that only the new one explains", () => {
  // The machine's clock is set back by 400 ms: by the old one a second is over too late. Only what comes as one begins says so.
  const phases = [...Array(100).fill(500), 100, 100, ...Array(100).fill(500)];
  const old = (at: number) => (at === 20 || at === 21 ? 3_000 : 0);
  const time = knownTime(phases, { step: { after: 10, by: -400 }, old });
  const second = 102;
  expect(time.mayBeMachine(11)).toBe(true);
  expect(time.mayBeMachine(10 + REMEMBERED)).toBe(false);
  expect(time.mayBeMachine(second)).toBe(true);
  expect(time.mayBeMachine(second + REMEMBERED - 1)).toBe(true);
  expect(time.mayBeMachine(second + REMEMBERED)).toBe(false);
});

it("says no more of a clock that was set by less than a round trip once 64 answers have come", () => {
  const phases = [...Array(100).fill(500), 0, 0, ...Array(100).fill(500)];
  expect(knownTime(phases, { step: { after: 10, by: -20 } }).mayBeMachine(102)).toBe(false);
});

it("counts no copy that hides its age among the answers after which a lie is forgotten", () => {
  const lies = [3];
  const isForgotten = (answers: number, old?: (at: number) => number) =>
    !knownTime(Array(answers).fill(500), { lies, ...(old && { old }) }).mayBeMachine(answers);
  expect(isForgotten(3 + REMEMBERED)).toBe(false);
  expect(isForgotten(4 + REMEMBERED)).toBe(true);
  const isCopy = (at: number) => (at > 10 && at <= 20 ? 1_000 * (at - 10) : 0);
  expect(isForgotten(4 + REMEMBERED + 9, isCopy)).toBe(false);
  expect(isForgotten(4 + REMEMBERED + 10, isCopy)).toBe(true);
});

it("tells how much of a second no Date has told by then", () => {
  const phases = [500, 700, 950, 20, 300];
  const time = knownTime(phases, {});
  expect([0, 1, 2, 3, 4, 5].map((order) => time.untoldAt(order))).toEqual([1_000, 500, 500, 500, 50, 50]);
  const copies = knownTime(phases, { old: (at) => (at === 3 ? 5_000 : 0) });
  expect(copies.untoldAt(5)).toBe(300);
});
