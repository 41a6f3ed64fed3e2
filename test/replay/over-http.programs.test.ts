import { expect, it } from "vitest";
import {
  createClient,
  recordExchanges,
  replayExchanges,
  watchCandles,
  watchFeedStatus,
} from "../../src/index.js";
import { createPairService, listen, simulatedMarket, withFaults } from "../../src/service/index.js";
import { KEY, textOf } from "./sessions.js";

it("a session recorded over HTTP, by real timers, is replayed byte for byte", async () => {
  const market = simulatedMarket({ seed: 5, createdAt: Date.now() - 900_000 });
  const service = createPairService({ source: market, clock: () => Date.now() + 321, apiKeys: [KEY] });
  const server = await listen(service, { port: 0 });
  const series = {
    network: "mainnet",
    pairAddress: market.pairs[0]!,
    timeframe: "1s",
    currency: "usd",
  } as const;
  const watch = { ...series, every: 250, since: { candles: 20 } };
  const lines: string[] = [];
  const faulty = withFaults(fetch, { seed: 4, rates: { reset: 0.1, 429: 0.05, "5xx": 0.05 } });
  const options = { retry: { attempts: 3, baseDelay: 20, maxDelay: 100 } };
  const follow = (client: ReturnType<typeof createClient>, enough: (texts: readonly string[]) => void) => {
    const seen: string[] = [];
    const see = (name: string) => (value: unknown) => {
      seen.push(`${name} ${textOf(value)}`);
      enough(seen);
    };
    client.activity.subscribe(see("activity"));
    const events = watchCandles(client, watch).subscribe(see("event"));
    events.add(watchFeedStatus(client, watch).subscribe(see("status")));
    return { seen, events };
  };
  const recorded = await new Promise<readonly string[]>((resolve) => {
    const { events } = follow(
      createClient({
        ...options,
        baseUrl: server.url,
        apiKey: KEY,
        fetch: recordExchanges(faulty, (line) => lines.push(line)),
      }),
      (texts) => {
        if (texts.length < 120) return;
        resolve([...texts]);
        queueMicrotask(() => events.unsubscribe());
      },
    );
  });
  await server.close();
  const tape = replayExchanges(lines);
  const { seen, events } = follow(
    createClient({
      ...options,
      baseUrl: server.url,
      apiKey: "any-key",
      fetch: tape.fetch,
      scheduler: tape.scheduler,
    }),
    () => {},
  );
  await tape.run();
  events.unsubscribe();
  const common = Math.min(seen.length, recorded.length);
  expect(common).toBeGreaterThan(100);
  expect(seen.slice(0, common)).toEqual(recorded.slice(0, common));
});
