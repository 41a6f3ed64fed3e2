import { expect, it } from "vitest";
import type { Exchange } from "../exchanges.js";
import type { RunLog } from "../run-log.js";
import type { Context } from "./monitor.js";
import { watchRequests } from "./requests.js";

const START = Date.UTC(2024, 0, 1);

/** What is broken by requests, each sent and given up at instants after the start; two are allowed in a second. */
async function breachesOf(requests: readonly { readonly sent: number; readonly endedAt: number }[]) {
  const breaches: string[] = [];
  const exchanges = requests.map(
    ({ sent, endedAt }, id) =>
      ({
        ...{ id, url: "http://localhost/token/mainnet/pairs/pair/snipers", outcome: "aborted", faults: [] },
        ...{ sent: START + sent, endedAt: START + endedAt, arrived: undefined, answeredAt: undefined },
      }) as unknown as Exchange,
  );
  const world = { start: START, offset: 0, drift: 0, client: { rateLimit: { requests: 2, per: 1_000 } } };
  const log = {
    plan: { world, length: 60_000 },
    ...{ exchanges, told: [], unaborted: [], pendingTimers: 0, requestsBefore: exchanges.length },
  } as unknown as RunLog;
  const context: Partial<Context> = {
    breach: (promise, what) => breaches.push(`${promise}: ${what}`),
    clockWasSet: () => false,
    isTrusted: () => true,
    feedOf: () => undefined,
  };
  await watchRequests(log, context as Context);
  return breaches;
}

it("counts a request that was given up until a window after that, as the service may answer it by then", async () => {
  const givenUp = [
    { sent: 0, endedAt: 5_000 },
    { sent: 10, endedAt: 5_010 },
  ];
  expect(await breachesOf([...givenUp, { sent: 6_000, endedAt: 6_100 }])).toEqual([]);
  expect(await breachesOf([...givenUp, { sent: 5_900, endedAt: 6_100 }])).toEqual([
    "10: sends a request while 2 hold a place, 2 allowed in 1000",
  ]);
});
