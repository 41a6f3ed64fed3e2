import { expect } from "vitest";
import { CandleMirror } from "../../../src/adapters/sse/candle-mirror.js";
import { Mirror, type ParsedMessage } from "../../../src/adapters/sse/mirror.js";
import type { CandleEvent, CandleStatus } from "../../../src/candles/event.js";
import { minuteCandle, SERIES } from "../../candles/minute-candles.js";
import type { ChannelEvent } from "./gateway.js";

export type CandlesMirror = Mirror<CandleEvent>;

export const newMirror = (): CandlesMirror => new Mirror(new CandleMirror(SERIES));

export const message = (event: string, data: object, id?: string): ParsedMessage => ({
  event,
  data: JSON.stringify(data),
  ...(id === undefined ? {} : { id }),
});

export const hello = (more: object = {}) =>
  message("hello", { version: 3, now: null, heartbeat: 1_000, ...more });

export const ready = (id = "id") => message("ready", {}, id);

/** `from`: the minute from which on the candles are told. */
export const snapshot = (from = 0, keep = 100, more: { settle?: number } = {}) =>
  message("snapshot", { from: from * 60_000, keep, observedAt: 9, now: null, ...more });

export const candle = (
  minute: number,
  more: {
    isRemoved?: boolean;
    price?: number;
    status?: CandleStatus;
    live?: boolean;
    revision?: number;
    due?: number;
    received?: number;
  } = {},
) => {
  const { price, ...rest } = more;
  const fields = { status: "open", revision: 0, live: false, due: 9, received: 9, observedAt: 9 };
  return message("candle", { ...fields, candle: minuteCandle(minute, price), ...rest });
};

/** The messages as what is told at once: the last one has an id. */
export const atOnce = (...messages: ParsedMessage[]): ParsedMessage[] =>
  messages.map((one, at) => (at === messages.length - 1 ? { id: "id", ...one } : one));

/** The events that the messages of a connection lead to, in short. */
export function connected(mirror: CandlesMirror, ...messages: ParsedMessage[]): string[] {
  mirror.connect();
  return taken(mirror, ...messages);
}

export function taken(mirror: CandlesMirror, ...messages: ParsedMessage[]): string[] {
  const { events, error } = mirror.take(atOnce(...messages), 0);
  expect(error).toBeUndefined();
  return events.map(inShort);
}

/** The same of messages after which more is to come. */
export function begun(mirror: CandlesMirror, ...messages: ParsedMessage[]): string[] {
  return mirror.take(messages, 0).events.map(inShort);
}

function inShort(event: ChannelEvent): string {
  if ("state" in event) return event.state;
  const { type, candle, revision, live, status } = event;
  return `${type} ${candle.timestamp / 60_000} #${revision} ${status}${live ? " live" : ""}`;
}
