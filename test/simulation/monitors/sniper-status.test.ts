import { describe, expect, it } from "vitest";
import type { Exchange } from "../exchanges.js";
import type { RunLog, StayLog } from "../run-log.js";
import { recoveryOf } from "./health.js";
import type { Context } from "./monitor.js";
import { watchStatuses } from "./status.js";

const START = Date.UTC(2024, 0, 1);
const EVERY = 2_000;
/** One way, ms. */
const TRIP = 100;
/** When all that a feed may need to become well has passed. */
const WELL = START + recoveryOf({ plan: { world: { client: {} } } } as RunLog, EVERY) + 1_000;

interface Case {
  /** How old each report is when it comes, ms; they come every two seconds from `WELL` on. */
  readonly ages: readonly number[];
  /** What the status is from the first of them on, and from when on it is live again, ms later. */
  readonly state: "live" | "stalled";
  readonly healsAfter?: number;
  readonly untold?: number;
  readonly tolerance?: number;
  readonly mayBeOfCopies?: boolean;
  readonly isTrusted?: boolean;
}

/** What is said of a status of snipers whose reports are so old. */
async function breachesOf({
  ages,
  state,
  healsAfter,
  untold = 0,
  tolerance = 0,
  mayBeOfCopies = false,
  isTrusted = true,
}: Case): Promise<string[]> {
  const told = ages.map((age, order) => {
    const received = WELL + order * EVERY;
    return {
      id: order,
      url: "http://localhost/token/mainnet/pairs/pair/snipers",
      ...{ sent: received - 2 * TRIP, received, answeredAt: received - age, old: age, headers: {}, lag: 0 },
      faults: [],
      body: JSON.stringify({ blockNumber: 1, result: [] }),
      told: { order, isGood: true },
    } as unknown as Exchange;
  });
  const seen = (at: number, state: string) => ({ at, order: 0, value: { state, failures: 0 } });
  const statuses = [seen(START, "starting"), seen(START + 1, "live")];
  if (state === "stalled") statuses.push(seen(WELL, "stalled"));
  if (healsAfter !== undefined) statuses.push(seen(WELL + healsAfter, "live"));
  const left = Math.max(told.at(-1)!.received! + 1, statuses.at(-1)!.at + 1);
  const stay = {
    ...{ id: 1, joined: START, joinedOrder: 0, left, statuses },
    plan: { kind: "sniper-status", options: { pairAddress: "pair", every: EVERY } },
  } as unknown as StayLog;
  const world = {
    ...{ start: START, createdAt: START - 1_000_000, latency: { base: TRIP, spread: 0 }, client: {} },
  };
  const plan = { world, healthyFrom: 0, feeds: [], watchers: [] };
  const log = { plan, told, exchanges: told, stays: [stay] } as unknown as RunLog;
  const breaches: string[] = [];
  const context: Partial<Context> = {
    breach: (promise, what) => breaches.push(`${promise}: ${what.replace(/( for \d+ ms)?:.*/, "")}`),
    serviceClock: (at) => at,
    isThrottled: () => false,
    isTrusted: () => isTrusted,
    knowsTime: () => true,
    mayBeMachine: () => false,
    mayBeOfCopies: () => mayBeOfCopies,
    toleranceAt: () => tolerance,
    untoldAt: () => untold,
    sleptWithin: () => false,
    clockWasSet: () => false,
  };
  await watchStatuses(log, context as Context);
  return breaches;
}

describe("a status of snipers", () => {
  it("is not live with a report that is older than its pace and two seconds, and what is not known of the time", async () => {
    const live = (age: number, known: Partial<Case> = {}) =>
      breachesOf({ state: "live", ages: [0, age], ...known });
    const isLive = (age: number) => [`6: status 1 of snipers is live with a report that is ${age} ms old`];
    // The one before is younger while it is no older than that.
    expect(await live(70_000)).toEqual([]);
    const alone = (age: number, known: Partial<Case> = {}) =>
      breachesOf({ state: "live", ages: [age], ...known });
    expect(await alone(5_000)).toEqual([]);
    expect(await alone(5_001)).toEqual(isLive(5_001));
    expect(await alone(5_001, { untold: 1 })).toEqual([]);
    expect(await alone(5_001, { tolerance: 1 })).toEqual([]);
    expect(await alone(8_500, { mayBeOfCopies: true })).toEqual([]);
    expect(await alone(8_501, { mayBeOfCopies: true })).toEqual(isLive(8_501));
    expect(await alone(70_000, { isTrusted: false })).toEqual([]);
    // The newest counts, whichever comes last.
    const late = await breachesOf({ state: "live", ages: [0, 2_000, 4_000, 6_000, 8_000] });
    expect(late).toEqual(isLive(6_000));
  });

  it("is stalled in good health only while one old report follows the other", async () => {
    const stalled = (ages: readonly number[], healsAfter: number) =>
      breachesOf({ state: "stalled", ages, healsAfter });
    const isStalled = ["6: status 1 of snipers is stalled in good health"];
    expect(await stalled([6_000, 8_000, 10_000, 0], 6_000)).toEqual([]);
    expect(await stalled([900, 900, 900, 0], 6_000)).toEqual(isStalled);
    expect(await stalled([6_000, 8_000, 0, 0, 0], 8_000)).toEqual(isStalled);
    // No later than a poll that may come late after the last old one.
    expect(await stalled([6_000, 8_000], 2_000 + 5_700)).toEqual([]);
    expect(await stalled([6_000, 8_000], 2_000 + 5_701)).toEqual(isStalled);
  });
});
