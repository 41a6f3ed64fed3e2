import { VirtualClock } from "pairstream";
import {
  createPairService,
  type Fault,
  type FaultKind,
  type FaultOptions,
  type FetchLike,
  simulatedMarket,
  withFaults,
} from "pairstream/service";
import { expect } from "vitest";
import { ohlcv } from "./harness.js";

export const start = Date.UTC(2024, 2, 1, 12, 0, 0, 300);
export const market = simulatedMarket({ seed: 2, createdAt: start - 3_600_000 });
export const address = market.pairs[0]!;
export const candlesPath = ohlcv(address, {
  timeframe: "1min",
  currency: "usd",
  fromDate: start / 1_000 - 1_800,
  toDate: start / 1_000 + 60,
  limit: 20,
});
export const snipersPath = `/token/mainnet/pairs/${address}/snipers`;
export const headers = { "X-API-Key": "secret-key" };

export interface Outcome {
  status: number;
  text: string;
  date: string | null;
  header: (name: string) => string | null;
  took: number;
}

/** A service behind faults, on a clock of its own. */
export class Bench {
  readonly clock = new VirtualClock(start);
  readonly faults: Fault[] = [];
  readonly reached: string[] = [];
  readonly service = createPairService({ source: market, clock: () => this.clock.now() });
  readonly fetch: FetchLike;

  constructor(options: Partial<FaultOptions>) {
    const counted: FetchLike = (url, init) => {
      this.reached.push(url);
      return this.service.fetch(url, init);
    };
    this.fetch = withFaults(counted, {
      seed: 1,
      scheduler: this.clock,
      onFault: (fault) => this.faults.push(fault),
      ...options,
    });
  }

  /** What a call comes to within a minute: an answer, what it rejects with, or neither. */
  async call(path = candlesPath, signal?: AbortSignal): Promise<Outcome | { error: unknown } | undefined> {
    const sent = this.clock.now();
    let outcome: Outcome | { error: unknown } | undefined;
    const exchange = async () => {
      const answer = await this.fetch(`http://service.test${path}`, { headers, ...(signal && { signal }) });
      const text = await answer.text();
      const header = (name: string) => answer.headers.get(name);
      outcome = { status: answer.status, text, date: header("Date"), header, took: this.clock.now() - sent };
    };
    exchange().catch((error: unknown) => {
      outcome = { error };
    });
    await this.clock.advanceBy(0);
    for (let waited = 0; outcome === undefined && waited < 60; waited += 1) await this.clock.advanceBy(1_000);
    return outcome;
  }

  async answer(path = candlesPath): Promise<Outcome> {
    const outcome = await this.call(path);
    if (outcome === undefined || "error" in outcome) throw new Error("No answer");
    return outcome;
  }

  /** What the service itself says now. */
  async truth(path = candlesPath) {
    const answer = await this.service.fetch(`http://service.test${path}`, { headers });
    return { status: answer.status, text: await answer.text(), date: answer.headers.get("date") };
  }
}

export const times = (count: number) => Array.from({ length: count }, (_, at) => at);

export const only = (kind: FaultKind, more: Partial<FaultOptions> = {}) =>
  new Bench({ rates: { [kind]: 1 }, ...more });

/** Calls a number of times; every call must be told as this fault and no other. */
export async function answersOf(
  bench: Bench,
  kind: FaultKind,
  count: number,
  path?: string,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const _ of times(count)) outcomes.push(await bench.answer(path));
  expect(bench.faults.map((fault) => fault.kind)).toEqual(times(count).map(() => kind));
  return outcomes;
}
