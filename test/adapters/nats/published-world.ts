import type { NatsConnection } from "@nats-io/transport-node";
import { afterAll, beforeAll, beforeEach } from "vitest";
import type { CandleEvent, CandleEventBase, FeedStatus, Series } from "../../../src/index.js";
import { flatCandle, MINUTE } from "../../candles/minute-candles.js";
import { seriesOf } from "./busy-service.js";
import { connectTo, type NatsServer, startServer } from "./servers.js";

export const SERIES: Series = { ...seriesOf("pair.with-dots"), timeframe: "1min" };

/** An event of a minute's candle, whose prices are all one; `updated` from the same candle. */
export function event(
  type: CandleEvent["type"],
  minute: number,
  price: number,
  more: Partial<CandleEventBase> = {},
): CandleEvent {
  const timestamp = minute * MINUTE;
  const candle = flatCandle(timestamp, price);
  const observedAt = timestamp + 5_000;
  const base = {
    candle,
    status: "open",
    revision: 0,
    live: true,
    lateBy: 0,
    observedAt,
    series: SERIES,
    ...more,
  } as const;
  return type === "updated" ? { type, previous: candle, ...base } : { type, ...base };
}

/** A feed whose minutes `[from, until)` are known. */
export const live = (from: number, until: number): FeedStatus => ({
  state: "live",
  coveredFrom: from * MINUTE,
  coveredUntil: until * MINUTE,
  failures: 0,
});

/** What a test has of a server. */
export interface OnServer {
  readonly server: NatsServer;
  readonly publishing: NatsConnection;
  readonly watching: NatsConnection;
  /** Every test has streams of its own. */
  readonly name: string;
}

/** One server for all tests of a `describe`; `use` is given what each of them has of it. */
export function onServer(use: (world: OnServer) => void): void {
  let server: NatsServer;
  let publishing: NatsConnection;
  let watching: NatsConnection;
  let count = 0;
  beforeAll(async () => {
    server = await startServer();
    publishing = await connectTo([server]);
    watching = await connectTo([server]);
  });
  beforeEach(() => {
    count += 1;
    use({ server, publishing, watching, name: `test-${count}` });
  });
  afterAll(async () => {
    await Promise.all([publishing?.close(), watching?.close()]);
    await server?.remove();
  });
}
