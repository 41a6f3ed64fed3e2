import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { QueryClient, QueryObserver } from "@tanstack/query-core";
import { type CandleEvent, clientSource, createClient, type PairSource, type Series } from "pairstream";
import { demoService } from "pairstream/service";
import { finalize, Observable } from "rxjs";
import { beforeAll, describe, expect, it } from "vitest";
import { loadExports, programs } from "../documents/recipes.js";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

type Query = ConstructorParameters<typeof QueryObserver<readonly CandleEvent[]>>[1];
interface Guide {
  candlesQuery(source: PairSource, series: Series): Query;
}

let guide: Guide;
beforeAll(async () => {
  const isMeant = (block: { document: string; code: string }) =>
    block.document === "docs/frameworks.md" && block.code.includes("streamedQuery");
  guide = (await loadExports(programs().find(isMeant)!)) as Guide;
});

const demo = demoService();
const series: Series = {
  network: "mainnet",
  pairAddress: demo.pairs[0],
  timeframe: "1min",
  currency: "usd",
};
const EVENTS = 100_000;
/** Until the events so far are in the cache. */
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("the query of docs/frameworks.md", () => {
  it("has the candles of a stream, and leaves it when nobody looks any more", async () => {
    let isLeft = false;
    const own = clientSource(createClient(demo.clientOptions));
    const leave = finalize(() => {
      isLeft = true;
    });
    const source: PairSource = {
      ...own,
      candles: (options) => own.candles(options).pipe(leave) as Observable<CandleEvent>,
    };
    const client = new QueryClient();
    const observer = new QueryObserver(client, guide.candlesQuery(source, { ...series, timeframe: "10s" }));
    const seen = new Promise<readonly CandleEvent[]>((resolve) => {
      const unsubscribe = observer.subscribe(({ data }) => {
        if (data === undefined || data.length < 300) return;
        unsubscribe();
        resolve(data);
      });
    });
    expect(await seen).toHaveLength(300);
    while (!isLeft) await turn();
    client.clear();
  });

  it("keeps the heap flat over a hundred thousand events", async () => {
    let emit = (_: CandleEvent) => {};
    const stream = new Observable<CandleEvent>((subscriber) => {
      emit = (event) => subscriber.next(event);
    });
    const source = { candles: () => stream } as unknown as PairSource;
    const client = new QueryClient();
    const observer = new QueryObserver(client, guide.candlesQuery(source, series));
    const unsubscribe = observer.subscribe(() => {});
    await turn();
    const heaps: number[] = [];
    for (let at = 0; at < EVENTS; at += 1) {
      const candle = Object.freeze({
        timestamp: at * 60_000,
        open: 1,
        high: 1,
        low: 1,
        close: at,
        volume: 1,
        swaps: 1,
      });
      const times = { live: true, lateBy: 0, observedAt: candle.timestamp + 60_000 };
      emit(Object.freeze({ type: "new", candle, status: "final", revision: 0, ...times, series }));
      if (at % 10 === 9) await turn();
      if (at !== 9_999 && at !== EVENTS - 1) continue;
      collect();
      heaps.push(process.memoryUsage().heapUsed / 1e6);
    }
    const data = client.getQueryData<readonly CandleEvent[]>(["candles", series])!;
    expect(data).toHaveLength(300);
    expect(data.at(-1)!.candle.close).toBe(EVENTS - 1);
    const [early, late] = heaps as [number, number];
    console.log(`heap after 10,000 events ${early.toFixed(1)} MB, after 100,000 ${late.toFixed(1)} MB`);
    // Each event that was kept would take about 0.3 kB, so 27 MB in all.
    expect(late - early).toBeLessThan(5);
    unsubscribe();
    client.clear();
  });
});
