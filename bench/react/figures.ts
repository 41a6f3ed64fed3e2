/** What is shown, and how. */
export const CASES = [
  "one component",
  "StrictMode",
  "inline options, a parent that renders every 100 ms",
  "50 components",
  "50 components, inline options, such a parent",
  "hidden tab",
  "a history of 1,000 candles",
] as const;
export const HOOKS = ["useEffect", "useCandles"] as const;
export type CaseName = (typeof CASES)[number];
export type HookName = (typeof HOOKS)[number];

export const MOUNTS = 1_000;
/** Of the heap, for a component that was mounted and has gone. */
export const MOST_BYTES = 300;

/** What five seconds of a case cost. */
export interface Figures {
  readonly requests: number;
  /** To candles. */
  readonly subscriptions: number;
  /** Of all components that show candles, those for their parent included. */
  readonly renders: number;
  /** Of what the first of them shows: one for each array of events. */
  readonly drawings: number;
  /** How many candles the first of them shows at the end. */
  readonly candles: number;
  /** Subscriptions, and timers of the client, that are left when all components have gone. */
  readonly left: number;
}
