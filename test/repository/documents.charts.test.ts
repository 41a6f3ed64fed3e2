import type { CandleEvent, PairSource } from "pairstream";
import { Observable, of, Subject } from "rxjs";
import { expect, it } from "vitest";
import { loadExports, programs } from "../documents/recipes.js";
import { eventOf } from "../documents/texts.js";

async function recipe<T>(name: string): Promise<T> {
  const block = programs().find(({ code }) => code.includes(`export const ${name} =`))!;
  return ((await loadExports(block)) as Record<string, T>)[name]!;
}

it("the recipe for market caps scales prices, of the candle before as well, and nothing else", async () => {
  type AsMarketCaps = (events: Observable<CandleEvent>, supply: number) => Observable<CandleEvent>;
  const asMarketCaps = await recipe<AsMarketCaps>("asMarketCaps");
  const [first, second] = [eventOf("new 12:00 = 5, open"), eventOf("updated 12:00 = 6, closed")];
  const scaled: CandleEvent[] = [];
  asMarketCaps(of(first, second), 1_000).subscribe((event) => scaled.push(event));
  const prices = { open: 5_000, high: 5_000, low: 5_000, close: 5_000 };
  expect(scaled[0]).toEqual({ ...first, candle: { ...first.candle, ...prices } });
  expect(scaled[1]!.candle.close).toBe(6_000);
  expect(scaled[1]).toMatchObject({ previous: { close: 6_000, volume: second.candle.volume } });
});

it("the recipe from a token to its pair leaves a pair for the next one, and stays at the same", async () => {
  type CandlesOfToken = (
    source: Pick<PairSource, "candles">,
    tokens: Observable<string>,
    pairOf: (token: string) => Promise<string>,
  ) => Observable<CandleEvent>;
  const candlesOfToken = await recipe<CandlesOfToken>("candlesOfToken");
  const watched: string[] = [];
  const source: Pick<PairSource, "candles"> = {
    candles: ({ pairAddress }) =>
      new Observable((subscriber) => {
        watched.push(`${pairAddress} watched`);
        subscriber.next(eventOf("new 12:00 = 5, open"));
        return () => watched.push(`${pairAddress} left`);
      }),
  };
  const tokens = new Subject<string>();
  const pairOf = async (token: string) => (token === "old name of b" ? "pair of b" : `pair of ${token}`);
  candlesOfToken(source, tokens, pairOf).subscribe();
  for (const token of ["a", "b", "old name of b"]) {
    tokens.next(token);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(watched).toEqual(["pair of a watched", "pair of a left", "pair of b watched"]);
});
