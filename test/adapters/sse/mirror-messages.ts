import { type ChannelEvent, isCandleEvent, isSniperEvent } from "pairstream/sse";
import { expect } from "vitest";
import { isChannelEvent, type Mirror, type ParsedMessage } from "../../../src/adapters/sse/mirror.js";
import type { CandleStatus } from "../../../src/candles/event.js";
import { minuteCandle, SERIES } from "../../candles/minute-candles.js";
import { walletAddressOf, walletOf } from "../../snipers/wallets.js";

export const message = (event: string, data: object, id?: string): ParsedMessage => ({
  event,
  data: JSON.stringify(data),
  ...(id === undefined ? {} : { id }),
});

export const hello = (channel: string, more: object = {}) =>
  message("hello", {
    version: 2,
    now: null,
    channel,
    heartbeat: 1_000,
    keep: 100,
    hasStatus: false,
    isResumed: false,
    ...more,
  });

export const ready = (id = "id") => message("ready", {}, id);

export const snapshot = (
  place: { after?: number; isSettled: boolean } | undefined,
  pairs: { isSettled: boolean }[] = [],
) =>
  message("snapshot", {
    series:
      place === undefined
        ? []
        : [
            {
              series: SERIES,
              after: place.after === undefined ? null : place.after * 60_000,
              observedAt: 9,
              isSettled: place.isSettled,
            },
          ],
    pairs: pairs.map(({ isSettled }) => ({ pairAddress: "pair", observedAt: 9, isSettled })),
  });

export const candle = (
  minute: number,
  more: {
    type?: string;
    life?: number;
    price?: number;
    status?: CandleStatus;
    live?: boolean;
    revision?: number;
    due?: number;
    received?: number;
  } = {},
) => {
  const { price, ...rest } = more;
  const fields = {
    type: "new",
    life: 1,
    status: "open",
    revision: 0,
    live: false,
    due: 9,
    received: 9,
    observedAt: 9,
    series: SERIES,
  };
  return message("candle", { ...fields, candle: minuteCandle(minute, price), ...rest });
};

export const settled = message("settled", { series: SERIES, observedAt: 9 });

export const wallet = (address: string) =>
  message("wallet", {
    pairAddress: "pair",
    observedAt: 9,
    walletAddress: address,
    wallet: walletOf(address),
  });

/** The events that the messages of a connection lead to, in short. */
export function connected(mirror: Mirror, ...messages: ParsedMessage[]): string[] {
  mirror.connect();
  return taken(mirror, ...messages);
}

export function taken(mirror: Mirror, ...messages: ParsedMessage[]): string[] {
  const { events, error } = mirror.take(messages, 0);
  expect(error).toBeUndefined();
  return events.filter(isChannelEvent).map(inShort);
}

function inShort(event: ChannelEvent): string {
  if (isCandleEvent(event)) {
    const { type, candle, revision, live, status } = event;
    return `${type} ${candle.timestamp / 60_000} #${revision} ${status}${live ? " live" : ""}`;
  }
  if (isSniperEvent(event)) {
    return `${event.type} ${walletAddressOf(event)}${event.initial ? " initial" : ""}`;
  }
  return event.state;
}
