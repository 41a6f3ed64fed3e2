import type { Candle } from "../../../src/index.js";

/** Whether a candle fills a gap: nobody traded in it. */
export function isFlat({ swaps, volume }: Candle): boolean {
  return swaps === 0 && volume === 0;
}

/** No hole from the first known candle on, each flat candle at the close before it. */
export function checkFilling(
  known: ReadonlyMap<number, { readonly candle: Candle }>,
  { from, until }: { from: number; until: number },
  next: (timestamp: number) => number,
  mayBeUnknown: (timestamp: number) => boolean,
  breach: (promise: number, what: string) => void,
) {
  let close: number | undefined;
  for (let timestamp = from; timestamp < until; timestamp = next(timestamp)) {
    const candle = known.get(timestamp)?.candle;
    if (candle === undefined) {
      if (mayBeUnknown(timestamp)) continue;
      breach(6, `is not filled at ${new Date(timestamp).toISOString()}`);
      return;
    }
    if (isFlat(candle)) {
      const { open, high, low } = candle;
      const isAtClose = [open, high, low, candle.close].every((price) => price === close);
      if (!isAtClose) {
        breach(6, `is filled with ${candle.close} after ${close} at ${new Date(timestamp).toISOString()}`);
        return;
      }
    }
    close = candle.close;
  }
}
