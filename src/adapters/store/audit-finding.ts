import type { Candle } from "../../contract/model.js";

/** What an audit has found, by `type`; see `auditCandles`. */
export type Finding = {
  /** The start of the candle's interval, or of a hole, in ms since the epoch; of an impossible candle what it says itself. */
  readonly timestamp: number;
} & (
  | {
      readonly type: "differs";
      /** As the store has the candle. */
      readonly stored: Candle;
      /** As the service has it now. */
      readonly served: Candle;
    }
  | {
      readonly type: "missing";
      /** The candle that the store lacks. */
      readonly served: Candle;
    }
  | {
      readonly type: "extra";
      /** The candle that the service lacks. */
      readonly stored: Candle;
    }
  | {
      readonly type: "hole";
      /** The end of what is not covered, exclusive, in ms since the epoch. */
      readonly to: number;
    }
  | {
      readonly type: "impossible";
      /** Whose candle it is: of the store, or of the service. */
      readonly side: "stored" | "served";
      /** What is wrong with it, in words. */
      readonly issue: string;
      /** The candle; absent where the service's row cannot be read. */
      readonly candle?: Candle;
    }
  | {
      readonly type: "outlier";
      /** Which of its prices lies farthest from the close before. */
      readonly field: OutlierField;
      /** As the service has the candle. */
      readonly served: Candle;
      /** The candle before it. */
      readonly before: Candle;
      /** The natural logarithm of the price by the close before: a number, 0 where they are the same. */
      readonly logReturn: number;
      /** The modified z-score of that: a number above 3.5, or below −3.5. */
      readonly score: number;
    }
);

/** A price of a candle that can be an outlier. */
export type OutlierField = "close" | "high" | "low";
