import { createClient, InvalidInputError, VirtualClock, watchCandles } from "pairstream";
import { demoService, listen } from "pairstream/service";
import { describe, expect, it } from "vitest";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const noon = Date.UTC(2025, 5, 1, 12);
const series = { network: "mainnet", timeframe: "10s", currency: "usd" } as const;

/** What every pair of a demo gives: its history, and what comes in five minutes more. */
async function watchAll(start: number) {
  const clock = new VirtualClock(start);
  const demo = demoService({ clock: () => clock.now() });
  const client = createClient({ ...demo.clientOptions, scheduler: clock });
  const seen = demo.pairs.map(() => ({ history: 0, closed: 0, closes: new Set<number>() }));
  const watches = demo.pairs.map((pairAddress, at) =>
    watchCandles(client, { ...series, pairAddress, since: { candles: 200 } }).subscribe((event) => {
      if (!event.live) seen[at]!.history += 1;
      else if (event.status === "closed") seen[at]!.closed += 1;
      seen[at]!.closes.add(event.candle.close);
    }),
  );
  await clock.advanceBy(5 * MINUTE);
  for (const watch of watches) watch.unsubscribe();
  return seen;
}

describe("demoService", () => {
  it("carries its scheduler to the client, and runs by it", async () => {
    const scheduler = new VirtualClock(noon);
    const demo = demoService({ scheduler });
    expect(demo.clientOptions.scheduler).toBe(scheduler);
    expect("scheduler" in demoService().clientOptions).toBe(false);
    const seen: number[] = [];
    watchCandles(createClient(demo.clientOptions), { ...series, pairAddress: demo.pairs[0] }).subscribe(
      ({ observedAt }) => seen.push(observedAt),
    );
    await scheduler.advanceBy(5 * MINUTE);
    expect(seen.length).toBeGreaterThan(10);
    expect(Math.abs(seen.at(-1)! - scheduler.now())).toBeLessThan(MINUTE);
  });

  it.each([0, 20 * MINUTE, 55 * MINUTE])(
    "shows candles with movement at once, %d ms into an hour",
    async (into) => {
      const [first, ...others] = await watchAll(noon + into);
      expect(first!.history).toBeGreaterThanOrEqual(190);
      expect(first!.closed).toBeGreaterThan(20);
      expect(first!.closes.size).toBeGreaterThan(200);
      expect(others).toHaveLength(2);
      for (const { history } of others) expect(history).toBeGreaterThan(100);
    },
  );

  it("takes the system's time where none is given", async () => {
    const demo = demoService();
    const { fetch, apiKey, baseUrl } = demo.clientOptions;
    const url = `${baseUrl}/token/mainnet/pairs/${demo.pairs[0]}/snipers`;
    const { headers } = await fetch(url, { headers: { "X-API-Key": apiKey } });
    expect(Math.abs(Date.parse(headers.get("date")!) - Date.now())).toBeLessThan(MINUTE);
  });

  it("is the same market for all who make it in the same hour, another with another seed, and has so many pairs", async () => {
    const candles = async (now: number, options: Parameters<typeof demoService>[0] = {}) => {
      const demo = demoService({ clock: () => now, ...options });
      const client = createClient({ ...demo.clientOptions, scheduler: new VirtualClock(noon) });
      const query = { ...series, fromDate: noon - HOUR, toDate: noon, limit: 1_000 };
      const page = await client.ohlcvPage({ ...query, pairAddress: demo.pairs[0] });
      return page.result;
    };
    const here = await candles(noon);
    expect(here.length).toBeGreaterThan(200);
    expect(await candles(noon + 59 * MINUTE)).toEqual(here);
    expect(await candles(noon, { seed: 1 })).not.toEqual(here);
    const createdAt = noon - 2 * HOUR;
    expect(await candles(noon + 7 * HOUR, { createdAt })).toEqual(here);
    expect(demoService({ pairs: 7 }).pairs).toHaveLength(7);
    expect(demoService({ pairs: ["mine"] }).pairs).toEqual(["mine"]);
  });

  it("can be opened to the network", async () => {
    const demo = demoService();
    const { url, close } = await listen(demo.clientOptions, { port: 0 });
    const client = createClient({ baseUrl: url, apiKey: demo.clientOptions.apiKey });
    const [pairAddress] = demo.pairs;
    expect((await client.sniperReport({ pairAddress })).result.length).toBeGreaterThan(0);
    await close();
  });

  it("refuses what it cannot take", () => {
    const refused: [object | null, string][] = [
      [{ seeds: 1 }, "seeds"],
      [{ seed: 0.5 }, "seed"],
      [{ pairs: 0 }, "pairs"],
      [{ createdAt: "yesterday" }, "createdAt"],
      [{ clock: 5, createdAt: 0 }, "clock"],
      [{ clock: 5 }, "clock"],
      [{ clock: () => Number.NaN }, "clock"],
      [null, "options"],
    ];
    for (const [options, parameter] of refused) {
      const call = () => demoService(options as never);
      expect(call, JSON.stringify(options)).toThrow(InvalidInputError);
      expect(call).toThrow(expect.objectContaining({ parameter }));
    }
  });
});
