import type { Attributes } from "@opentelemetry/api";
import type { ResponseActivity } from "../../client/activity.js";
import type { PolledFeed } from "../../client/metering.js";
import type { PairstreamError } from "../../errors.js";

/** Every attribute that this entry point sets by itself. */
export const ATTRIBUTE_NAMES: readonly string[] = [
  "http.request.method",
  "http.response.status_code",
  "server.address",
  "server.port",
  "url.template",
  "error.type",
  "pairstream.candle.change",
  "pairstream.candle.status",
  "pairstream.collector.group",
  "pairstream.feed.kind",
  "pairstream.feed.state",
  "pairstream.handover.change",
  "pairstream.message.outcome",
  "pairstream.pair",
  "pairstream.store.operation",
  "pairstream.throttling.reason",
  "pairstream.timeframe",
  "pairstream.trouble.kind",
];

/** Where the requests of a client go; `service`: origin and path of its `baseUrl`. */
export function serverAttributes(service: string): Attributes {
  const { hostname, port, protocol } = new URL(service);
  return {
    "http.request.method": "GET",
    "server.address": hostname.replace(/^\[(.*)\]$/, "$1"),
    "server.port": port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
  };
}

/** Which route a request took, without what differs from pair to pair. */
export function routeAttributes(url: string): Attributes {
  return { "url.template": `/token/{network}/pairs/{pairAddress}/${isSnipers(url) ? "snipers" : "ohlcv"}` };
}

/** How a request has ended. */
export function outcomeAttributes({ status, error }: ResponseActivity): Attributes {
  const isRefused = status !== undefined && status >= 400;
  return {
    ...(status === undefined ? {} : { "http.response.status_code": status }),
    ...(isRefused ? { "error.type": String(status) } : error === undefined ? {} : errorAttributes(error)),
  };
}

export function errorAttributes({ name }: PairstreamError): Attributes {
  return { "error.type": name };
}

export function feedAttributes({ timeframe }: PolledFeed): Attributes {
  if (timeframe === undefined) return { "pairstream.feed.kind": "snipers" };
  return { "pairstream.feed.kind": "candles", "pairstream.timeframe": timeframe };
}

/** The pair that a request asks for. */
export function pairOf(url: string): string | undefined {
  return /^\/token\/[^/]+\/pairs\/([^/?]+)/.exec(url)?.[1];
}

function isSnipers(url: string): boolean {
  return /\/snipers(\?|$)/.test(url);
}
