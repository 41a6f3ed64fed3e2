import { auditCandles, type Finding, memoryStore } from "pairstream/store";
import { expect } from "vitest";
import type { ClientStore, StoreKey } from "../../../src/adapters/store/index.js";
import { type Candle, fetchCandles, type PairstreamError } from "../../../src/index.js";
import { at, MINUTES, time, World } from "../../world.js";

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const START = at("12:00:10");
export const FROM = at("08:00:00");
export const TO = at("11:00:00");
export const KEY: StoreKey = { ...MINUTES, service: "http://localhost", weekStart: "monday" };

/** Two swaps a minute, but none in every seventh minute. */
export function market(options: Partial<ConstructorParameters<typeof World>[0]> = {}): World {
  const world = new World({ start: START, createdAt: FROM - HOUR, hasDate: true, ...options });
  for (let timestamp = FROM - HOUR, index = 0; timestamp < START; timestamp += 30_000, index++) {
    if (Math.floor(timestamp / MINUTE) % 7 !== 0) world.swap(timestamp, 100 + Math.sin(index * index));
  }
  return world;
}

export type Query = Parameters<typeof auditCandles>[1];

export async function audited(world: World, query: Partial<Query> & Pick<Query, "against">) {
  const findings: Finding[] = [];
  let outcome: "running" | "complete" | PairstreamError = "running";
  const subscription = auditCandles(world.client, { ...MINUTES, from: FROM, to: TO, ...query }).subscribe({
    next: (finding) => findings.push(finding),
    error: (error) => {
      outcome = error;
    },
    complete: () => {
      outcome = "complete";
    },
  });
  await world.clock.advanceBy(HOUR);
  return { findings, outcome: outcome as "running" | "complete" | PairstreamError, subscription };
}

/** What is told of candles that are not as they should be; outliers apart. */
export const told = (findings: readonly Finding[]) =>
  findings.flatMap((finding) =>
    finding.type === "outlier" ? [] : [`${finding.type} ${time(finding.timestamp)}`],
  );

export async function truth(from = FROM, to = TO): Promise<Candle[]> {
  const world = market();
  const candles: Candle[] = [];
  fetchCandles(world.client, { ...MINUTES, from, to }).subscribe((candle) => candles.push(candle));
  await world.clock.advanceBy(30_000);
  expect(candles.length).toBeGreaterThan(100);
  return candles;
}

export async function stored(candles: readonly Candle[], from = FROM, to = TO): Promise<ClientStore> {
  const store = memoryStore();
  await store.write(KEY, { from, to, candles });
  return store;
}

export const changed = (candles: readonly Candle[], clock: string, change: Partial<Candle>) =>
  candles.map((candle) => (candle.timestamp === at(clock) ? { ...candle, ...change } : candle));

export const without = (candles: readonly Candle[], clock: string) =>
  candles.filter(({ timestamp }) => timestamp !== at(clock));
