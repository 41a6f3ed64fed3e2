import type { Finding } from "../../src/adapters/store/index.js";
import {
  type Candle,
  type CandleEvent,
  type Crossing,
  emptyReport,
  type FeedStatus,
  type IndicatorEvent,
  type SniperEvent,
  type SniperLook,
  type SniperTrade,
} from "../../src/index.js";
import { flatCandle } from "../candles/minute-candles.js";
import { at, MINUTES, PAIR } from "../world.js";

const timeOf = (instant: number) => new Date(instant).toISOString().slice(11, 16);

/** `12:00 = 5`: the close; `12:00 = 5→6` where it opened at 5. */
export function candleText({ timestamp, open, close }: Candle): string {
  return `${timeOf(timestamp)} = ${open === close ? close : `${open}→${close}`}`;
}

export function candlesText(events: readonly CandleEvent[]): string {
  return `[${events.map(({ candle }) => candleText(candle)).join(", ")}]`;
}

/** `new 12:00 = 5, open`. */
export function eventText({ type, candle, status }: CandleEvent): string {
  return `${type} ${candleText(candle)}, ${status}`;
}

/** `new 12:00 = 5, open, mean 4`. */
export function indicatorText(event: IndicatorEvent): string {
  const values = Object.entries(event.values).map(([name, value]) => `, ${name} ${value ?? "undefined"}`);
  return `${eventText(event)}${values.join("")}`;
}

/** `up at 12:01, 3 and 2`. */
export function crossingText({ direction, event, a, b }: Crossing): string {
  return `${direction} at ${timeOf(event.candle.timestamp)}, ${a} and ${b}`;
}

/** `differs at 12:00`. */
export function findingText({ type, timestamp }: Finding): string {
  return `${type} at ${timeOf(timestamp)}`;
}

/** `live until 12:00`, or `stalled, 1 failed`. */
export function statusText({ state, coveredUntil, failures }: FeedStatus): string {
  if (state !== "live") return failures > 0 ? `${state}, ${failures} failed` : state;
  return coveredUntil === undefined ? state : `${state} until ${timeOf(coveredUntil)}`;
}

/** `sold ann`. */
export function sniperText(event: SniperEvent): string {
  const wallet = "wallet" in event ? event.wallet : "walletAddress" in event ? event : event.previous;
  return `${event.type} ${wallet.walletAddress}${event.initial ? ", initial" : ""}`;
}

/** `ann made snipe`. */
export function tradeText({ walletAddress, kind, side }: SniperTrade): string {
  return `${walletAddress} ${kind} ${side}`;
}

/** `first, ann made snipe, ann made sell`. */
export function lookText({ initial, trades }: SniperLook): string {
  return [...(initial ? ["first"] : []), ...trades.map(tradeText)].join(", ");
}

/** A look with the trades of its text. */
export function lookOf(text: string): SniperLook {
  const [first, ...rest] = text.split(", ");
  const initial = first === "first";
  const common = { pairAddress: PAIR, initial, observedAt: at("12:00:00") };
  const trades = (initial ? rest : [first!, ...rest]).map((trade, place): SniperTrade => {
    const [walletAddress, kind, side] = trade.split(" ") as [
      string,
      SniperTrade["kind"],
      SniperTrade["side"],
    ];
    const transaction = { transactionHash: `${place}`, transactionTimestamp: place, blocksAfterCreation: 0 };
    return {
      ...common,
      walletAddress,
      kind,
      side,
      transaction,
      lookUsd: 1,
      lookTrades: 1,
      isNewWallet: true,
    };
  });
  return { ...common, report: emptyReport, events: [], trades };
}

/** The candle that `12:00 = 5` names. */
function readCandle(text: string): Candle {
  const [, time, price] = /^(\d\d:\d\d) = (\d+)$/.exec(text) ?? misread(text);
  return flatCandle(at(`${time}:00`), Number(price));
}

/** The event of `new 12:00 = 5, open`. */
export function eventOf(text: string): CandleEvent {
  return { ...indicatorEventOf(text) };
}

/** The event of `new 12:00 = 5, open, fast 1, slow 2`. */
export function indicatorEventOf(text: string): IndicatorEvent<Record<string, number>> {
  const [, type, candle, status, values] =
    /^(new|updated|removed) (\S+ = \d+), (open|closed|final)((?:, \w+ \d+)*)$/.exec(text) ?? misread(text);
  const named = values!
    .split(", ")
    .slice(1)
    .map((value) => value.split(" ") as [string, string]);
  const base = {
    candle: readCandle(candle!),
    status: status as CandleEvent["status"],
    revision: 0,
    live: true,
    lateBy: 0,
    observedAt: 0,
    series: MINUTES,
    values: Object.fromEntries(named.map(([name, value]) => [name, Number(value)])),
  };
  return type === "updated"
    ? { type, previous: base.candle, ...base }
    : { type: type as "new" | "removed", ...base };
}

function misread(text: string): never {
  throw new Error(`not understood: ${text}`);
}
