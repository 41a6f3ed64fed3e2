/** What the page draws. Instants are ms since the epoch, money is in the currency of the prices. */
export interface PageData {
  /** Timestamp, open, high, low, close. */
  readonly candles: readonly (readonly [number, number, number, number, number])[];
  /** How many decimals a price needs. */
  readonly decimals: number;
  /** At the opens of which candles. */
  readonly fills: readonly { readonly at: number; readonly side: "buy" | "sell" }[];
  /** After each candle: of the strategy, and of buying and holding. */
  readonly equity: readonly number[];
  readonly held: readonly number[];
  /** Of the strategy, as shares of the highest equity so far. */
  readonly drawdown: readonly number[];
}
