import { expect, it } from "vitest";
import type { Exchange } from "./exchanges.js";
import type { Fault } from "./faults.js";
import { KnownTime } from "./known-time.js";
import type { RunLog } from "./run-log.js";

const START = Date.UTC(2024, 0, 1);

/** An answer that is made so many ms after START, and whose `Date` is wrong by so much. */
function answerAt(made: number, wrong = 0, old = 0): Exchange {
  const answeredAt = START + made;
  const date = Math.floor(answeredAt / 1_000) * 1_000 + wrong;
  const [sent, received] = [answeredAt + old, answeredAt + old];
  return { sent, received, answeredAt, ahead: 0, old, headers: { date } } as unknown as Exchange;
}

function knownTime(told: readonly Exchange[], faults: readonly Partial<Fault>[] = [], of = {}): KnownTime {
  const world = { start: START, offset: 0, drift: 0, hasDate: true, ...of };
  return new KnownTime({ plan: { world, faults }, told, exchanges: told } as unknown as RunLog);
}

/** After how many answers another machine may still be what a lie, or the time before a step, has said. */
function mayBeMachineAfter(
  told: readonly Exchange[],
  faults: readonly Partial<Fault>[] = [],
  of = {},
): number[] {
  const known = knownTime(told, faults, of);
  return told.flatMap((_, at) => (known.mayBeMachine(at + 1) ? [at + 1] : []));
}

/** So many answers, a minute apart, each at the same place of its second. */
const answers = (from: number, count: number, within: number) =>
  Array.from({ length: count }, (_, at) => answerAt((from + at) * 60_000 + within));

it("counts 64 answers since one that may be of the clock before it was set", () => {
  const step = { kind: "clock set", from: 150_000, until: 150_000, by: -670 } as const;
  const before = [answerAt(0), answerAt(60_999)];
  const last = (told: readonly Exchange[]) => mayBeMachineAfter([...before, ...told], [step]).at(-1);
  // At the very beginning of a second the old clock shows the one before.
  expect(last(answers(3, 80, 0))).toBe(2 + 63);
  // Towards its end both show the same.
  expect(last([...answers(3, 6, 900), ...answers(9, 80, 0)])).toBe(2 + 6 + 63);
});

it("counts them since one that may be of the machine ahead, as its clock was before", () => {
  const step = { kind: "clock set", from: 150_000, until: 150_000, by: -1_900 } as const;
  const told = [answerAt(0), answerAt(60_999), ...answers(3, 6, 380), ...answers(9, 80, 0)];
  expect(mayBeMachineAfter(told, [step]).at(-1)).toBe(2 + 63);
  const machines = { ahead: 1_500 };
  expect(mayBeMachineAfter(told, [step], { machines }).at(-1)).toBe(2 + 6 + 63);
  // Clocks drift by less in the meantime.
  const unlike = [answerAt(0), answerAt(60_999), ...answers(3, 6, 300), ...answers(9, 80, 0)];
  expect(mayBeMachineAfter(unlike, [step], { machines }).at(-1)).toBe(2 + 63);
});

it("does not know the time while none of several answers has a Date and the machine's clock is wrong", () => {
  const undated = { ...answerAt(0), headers: {} } as unknown as Exchange;
  const knowsAfter = (offset: number, hasDate = true) => {
    const time = knownTime([undated, undated, answerAt(60_000), undated], [], { offset, hasDate });
    return [0, 1, 2, 3, 4].map((order) => time.knowsTime(order));
  };
  expect(knowsAfter(3_600_000)).toEqual([true, false, false, true, true]);
  expect(knowsAfter(0)).toEqual([true, true, true, true, true]);
  // Without any `Date` at all the clocks of the two go together.
  expect(knowsAfter(3_600_000, false)).toEqual([true, true, true, true, true]);
});

it("does not know the time of a clock that was set until answers of two seconds have told it", () => {
  const step = { kind: "clock set", from: 30_000, until: 30_000, by: 10_000 } as const;
  const told = [answerAt(0), answerAt(60_100), answerAt(60_900), answerAt(61_000), answerAt(62_000)];
  const time = knownTime(told, [step]);
  expect([0, 1, 2, 3, 4, 5].map((order) => time.knowsTime(order))).toEqual([
    true,
    false,
    false,
    false,
    true,
    true,
  ]);
});

it("counts them since one that a lie may have told, and leaves out copies", () => {
  const lie = answerAt(400, -1_000);
  const fitting = answers(1, 10, 900);
  expect(mayBeMachineAfter([lie, ...answers(1, 80, 300)]).at(-1)).toBe(1 + 63);
  expect(mayBeMachineAfter([lie, ...fitting, ...answers(11, 80, 300)]).at(-1)).toBe(1 + 10 + 63);
  const copies = fitting.map((_, at) => answerAt((at + 1) * 60_000 + 900, 0, 5_000));
  expect(mayBeMachineAfter([lie, ...copies, ...answers(11, 80, 300)]).at(-1)).toBe(1 + 63);
});

it("counts them since one that may be what copies have said that hide their age, from after their second", () => {
  const copyAt = (made: number, old: number) =>
    ({ ...answerAt(made, 0, old), hidesAge: true }) as unknown as Exchange;
  const last = (told: readonly Exchange[]) => {
    const known = knownTime(told);
    return told.flatMap((_, at) => (known.mayBeOfCopies(at + 1) ? [at + 1] : [])).at(-1);
  };
  expect(last([copyAt(300, 900), ...answers(1, 80, 100)])).toBe(1 + 63);
  // Towards the end of a second an answer fits a clock that is behind, too.
  expect(last([copyAt(300, 900), ...answers(1, 6, 900), ...answers(7, 80, 100)])).toBe(1 + 6 + 63);
  expect(last([copyAt(300, 600), ...answers(1, 80, 100)])).toBeUndefined();
  expect(last([answerAt(300, 0, 900), ...answers(1, 80, 100)])).toBeUndefined();
});

it("knows of a clock that was set no more than Dates have told", () => {
  const step = { kind: "clock set", from: 150_000, until: 150_000, by: 290 } as const;
  const before = [answerAt(0), answerAt(60_999)];
  const after = (within: number) =>
    knownTime([...before, ...answers(3, 20, within)], [step]).toleranceAt(2 + 20);
  // At the very beginning of a second the clock before it was set shows the same second.
  expect(after(100)).toBe(1 + 290);
  expect(after(900)).toBe(1 + 100);
});

it("knows no better than a lie of less than a second until a Date contradicts it twice", () => {
  const lie = answerAt(600, 1_000);
  const unlike = answers(21, 1, 900);
  const told = [
    lie,
    ...answers(1, 20, 100),
    answerAt(20_000, 9_000),
    ...unlike,
    ...unlike,
    ...answers(22, 2, 900),
  ];
  const known = knownTime(told);
  expect(told.map((_, at) => known.toleranceAt(at + 1) - 1)).toEqual([
    ...Array.from({ length: 21 }, () => 400),
    ...[1_300, 1_300, 1_300, 0, 0],
  ]);
});

/** Whether the time is known after each answer: when it was made, and by how much its `Date` lies, in ms. */
function trustedAfter(...answers: readonly (readonly [at: number, lie: number])[]): boolean[] {
  const time = knownTime(answers.map(([at, lie]) => answerAt(at, lie)));
  return answers.map((_, at) => time.isTrusted(at + 1));
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

it("takes a Date from before its second for a lie", () => {
  expect(trustedAfter([5_000, 0], [6_100, -1_000], [7_000, 0], [8_000, 0])).toEqual([
    ...[true, false, false, true],
  ]);
});

it("tells how much of a second no Date has told by then", () => {
  const phases = [500, 700, 950, 20, 300];
  const untold = (old?: number) =>
    knownTime(phases.map((phase, at) => answerAt(at * 1_000 + phase, 0, at === old ? 5_000 : 0)));
  expect([0, 1, 2, 3, 4, 5].map((order) => untold().untoldAt(order))).toEqual([1_000, 500, 500, 500, 50, 50]);
  expect(untold(3).untoldAt(5)).toBe(300);
});
