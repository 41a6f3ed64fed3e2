import type { PlantedFault } from "./planted-fault.js";

/** What the monitors of statuses, slots, lateness and second looks catch. */
export const STATUS_FAULTS: readonly PlantedFault[] = [
  {
    name: "takes answers for younger than they are once its clock has jumped",
    file: "client/send/request.ts",
    find: "observedAt: earliestAnswerTime(clock, trip),",
    replace: "observedAt: earliestAnswerTime(clock, trip) + (clock.epoch > 1 ? 1_200 : 0),",
    seeds: [22, 4],
  },
  {
    name: "polls seconds after each slot once its clock has jumped",
    file: "poll/poller.ts",
    find: "this.#dueWhileMissing(this.#missedAt!, slotDue) : slotDue;",
    replace: "this.#dueWhileMissing(this.#missedAt!, slotDue) : slotDue + (clock.epoch > 1 ? 4_000 : 0);",
    seeds: [347, 365],
  },
  {
    name: "says stalled during each look where the clocks of two machines differ",
    file: "poll/poller.ts",
    find: "this.#awaitSlotEnd(asks > 0);",
    replace:
      "this.#awaitSlotEnd(asks > 0);\n" +
      "      if (this.#core.serviceClock().machines.length > 1)\n" +
      "        this.#emit({ ...this.update, isLate: true, isFresh: false });",
    seeds: [31, 1],
  },
  {
    name: "says stalled during each look at a cache",
    file: "poll/poller.ts",
    find: "this.#awaitSlotEnd(asks > 0);",
    replace:
      "this.#awaitSlotEnd(asks > 0);\n" +
      "      const { hasFreshDate, answers } = this.#core.serviceClock();\n" +
      "      if (!hasFreshDate && answers > 0) this.#emit({ ...this.update, isLate: true, isFresh: false });",
    seeds: [103, 174],
  },
  {
    name: "stays live after the first poll that failed",
    file: "poll/poller.ts",
    find: "isFresh: false, isLate: true, failures, lastError: failure",
    replace: "isFresh: false, isLate: failures > 1 || this.update.isLate, failures, lastError: failure",
    seeds: [14, 26],
  },
  {
    name: "never calls the close of ten seconds live",
    file: "candles/view/view.ts",
    find: "const isLive = !isHistory && isInTime(lateBy, this.#rules.intervals.end(timestamp) - timestamp);",
    replace:
      "const length = this.#rules.intervals.end(timestamp) - timestamp;\n" +
      "    const isLive = !isHistory && !(isFirstClose && length <= 10_000) && isInTime(lateBy, length);",
    seeds: [2, 4],
  },
  {
    name: "asks for each slot twice where the clocks of two machines differ",
    file: "poll/poller.ts",
    find: "const due = this.#dueAgain(step, begun);",
    replace:
      "const isOnce = asks === 0 && this.#core.serviceClock().machines.length > 1;\n" +
      "      const due = this.#dueAgain(step, begun) ?? (isOnce ? scheduler.now() : undefined);",
    seeds: [13],
  },
  {
    name: "polls streams of seconds twice as often",
    file: "poll/schedule.ts",
    find: "const pace = paceOf(every);\n  return {",
    replace: "const pace = intervals.shortest === 1_000 ? 500 : paceOf(every);\n  return {",
    seeds: [27, 45],
  },
  {
    name: "takes machines for a jump once its clock has jumped",
    file: "client/service-clock.ts",
    find: "const isFar = gapBetween(known, seen) > SKEW;",
    replace: "const isFar = gapBetween(known, seen) > SKEW || before.epoch > 1;",
    seeds: [22, 4],
  },
  {
    name: "takes the answers of a slower machine for copies of a faster one's",
    file: "client/service-clock.ts",
    find: " === date && one.question === question",
    replace: " === date",
    seeds: [272098],
  },
  {
    name: "leaves out every other poll of a stream of seconds",
    file: "poll/schedule.ts",
    find: "const nextClose = (after: number) => intervals.end(after - settle) + settle;",
    replace:
      "const nextClose = (after: number) =>\n" +
      "    intervals.end(after - settle + (intervals.shortest === 1_000 ? 1_000 : 0)) + settle;",
    seeds: [45, 27],
  },
  {
    name: "stays live however old a sniper report is",
    file: "poll/schedule.ts",
    find: "nextDue: nextRefresh,",
    replace: "nextDue: () => Infinity,",
    seeds: [308, 2774],
  },
];
