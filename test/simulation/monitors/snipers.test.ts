import { expect, it } from "vitest";
import type { Exchange } from "../exchanges.js";
import { LISTS, TOTALS } from "../reports.js";
import type { RunLog, StayLog } from "../run-log.js";
import type { Context } from "./monitor.js";
import { watchSnipers } from "./snipers.js";

const START = Date.UTC(2024, 0, 1);
/** How far the clock of one machine is ahead of that of the other, ms. */
const AHEAD = 1_500;

const SOLD = { a: START - 1_000, b: START - 2_000 };

/** A wallet, its sales with the time as a row or an event has it. */
const walletOf = (walletAddress: keyof typeof SOLD, timeOf: (instant: number) => unknown) => ({
  walletAddress,
  ...Object.fromEntries(TOTALS.map((name) => [name, 0])),
  ...Object.fromEntries(LISTS.map((name) => [name, []])),
  sellTransactions: [
    { transactionHash: "hash", transactionTimestamp: timeOf(SOLD[walletAddress]), blocksAfterCreation: 1 },
  ],
});

/** What is said of a stay that keeps a wallet that no report has shown since the first, so many ms after the start. */
function breachesOf(absences: readonly number[], areToldApart: boolean): string[] {
  const told = [0, ...absences].map((at, order) => {
    const wallets = order === 0 ? (["a", "b"] as const) : (["a"] as const);
    return {
      id: order,
      url: "http://localhost/token/devnet/pairs/pair/snipers",
      ...{ sent: START + at, received: START + at, answeredAt: START + at, headers: {}, lag: 0 },
      // What is left out is not compared with the truth.
      faults: ["cutShort"],
      body: JSON.stringify({
        result: wallets.map((address) => walletOf(address, (instant) => new Date(instant).toISOString())),
      }),
      told: { order, isGood: true },
    } as unknown as Exchange;
  });
  const event = (address: "a" | "b") => ({
    ...{ at: START, order: 1 },
    value: { type: "wallet-added", wallet: walletOf(address, (instant) => instant) },
  });
  const stay = {
    ...{ id: 0, joined: START, joinedOrder: 0, left: START + absences.at(-1)! },
    plan: { kind: "snipers", options: { pairAddress: "pair" } },
    sniperEvents: (["a", "b"] as const).map(event),
  } as unknown as StayLog;
  const world = { start: START, client: {}, machines: { ahead: AHEAD } };
  const log = { plan: { world, healthyFrom: 0 }, told, exchanges: told, stays: [stay] } as unknown as RunLog;
  const breaches: string[] = [];
  const context: Partial<Context> = {
    breach: (promise, what) => breaches.push(`${promise}: ${what}`),
    toleranceAt: () => (areToldApart ? 100 : AHEAD),
  };
  watchSnipers(log, context as Context);
  return breaches;
}

it("lets a wallet stay until two reports lack it, which lie further apart while two machines are not told apart", () => {
  const stays = "1: snipers 0, b: is gone at the service";
  expect(breachesOf([20_000], true)).toEqual([]);
  expect(breachesOf([20_000, 20_999], true)).toEqual([]);
  expect(breachesOf([20_000, 21_000], true)).toContain(stays);
  expect(breachesOf([20_000, 22_499], false)).toEqual([]);
  expect(breachesOf([20_000, 22_500], false)).toContain(stays);
});
