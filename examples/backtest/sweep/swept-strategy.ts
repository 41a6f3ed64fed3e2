// What the workers of a sweep load. The query of its URL names a strategy's file, and the series that it trades.
import type { Strategy } from "pairstream/backtest";
import { onlyTraded } from "../trade-past.js";

const query = new URL(import.meta.url).searchParams;
const traded: readonly string[] = JSON.parse(query.get("traded")!);
const { default: make } = (await import(query.get("strategy")!)) as {
  readonly default: (parameters: unknown) => Strategy;
};

export default (parameters: unknown): Strategy => onlyTraded(make(parameters), traded);
