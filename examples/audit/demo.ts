import { type Candle, type Client, fetchCandles, intervalOf, type Series, type Timeframe } from "pairstream";
import { type CandleStore, memoryStore } from "pairstream/store";
import { lastValueFrom, toArray } from "rxjs";

/** A store of a range to which all has happened that an audit can find. */
export async function faultyStore(
  client: Client,
  series: Series<Timeframe>,
  { from, to }: { from: number; to: number },
  service: string,
): Promise<CandleStore> {
  const store = memoryStore();
  const key = { ...series, service, weekStart: "monday" } as const;
  const candles = await lastValueFrom(fetchCandles(client, { ...series, from, to }).pipe(toArray()));
  const endOf = ({ timestamp }: Candle) => intervalOf(series.timeframe, timestamp).end;
  const held = candles.flatMap((candle, index): Candle[] => {
    switch (index) {
      case Math.floor(candles.length / 7):
        return [{ ...candle, volume: candle.volume / 2, swaps: candle.swaps + 1 }];
      case Math.floor((2 * candles.length) / 7):
        return [];
      case Math.floor((3 * candles.length) / 7):
        return [{ ...candle, close: 2 * candle.high }];
      default:
        return [candle];
    }
  });
  const middle = Math.floor((4 * held.length) / 7);
  const quiet = held.findIndex(
    (candle, index) => index > middle && endOf(candle) < (held[index + 1]?.timestamp ?? 0),
  );
  if (quiet > 0) held.splice(quiet + 1, 0, { ...held[quiet]!, timestamp: endOf(held[quiet]!) });
  await store.write(key, { from, to, candles: held });
  const gone = held[Math.floor((6 * held.length) / 7)];
  if (gone !== undefined) await store.forget(key, gone.timestamp, endOf(gone));
  return store;
}
