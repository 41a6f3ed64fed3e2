import type { Candle, Series } from "../../src/index.js";
import { createPairService, type PairService } from "../../src/service/index.js";
import { KEY } from "./interference.js";
import type { RunLog } from "./run-log.js";

const services = new WeakMap<RunLog, { service: PairService; now: { at: number } }>();

function serviceOf(log: RunLog) {
  let made = services.get(log);
  if (made === undefined) {
    const now = { at: 0 };
    const service = createPairService({
      source: log.source,
      clock: () => now.at,
      weekStart: log.plan.world.weekStart,
    });
    made = { service, now };
    services.set(log, made);
  }
  return made;
}

/** What the service knew at an instant of its clock, asked without a network between. */
export async function candlesAt(
  log: RunLog,
  { network, pairAddress, timeframe, currency }: Series,
  { from, to, at }: { from: number; to: number; at: number },
): Promise<ReadonlyMap<number, Candle>> {
  const candles = new Map<number, Candle>();
  const { service, now } = serviceOf(log);
  now.at = at;
  if (from >= to) return candles;
  for (let cursor: string | undefined; ; ) {
    const query = new URLSearchParams({
      timeframe,
      currency,
      // The week of 1970-01-01 begins before what can be asked for.
      fromDate: String(Math.max(0, Math.floor(from / 1_000))),
      toDate: String(Math.ceil(to / 1_000)),
      limit: "1000",
      ...(cursor === undefined ? {} : { cursor }),
    });
    const url = `http://localhost/token/${network}/pairs/${pairAddress}/ohlcv?${query}`;
    const answer = await service.fetch(url, { headers: { "X-API-Key": KEY } });
    const page = JSON.parse(await answer.text()) as {
      cursor: string | null;
      result: (Omit<Candle, "timestamp"> & { timestamp: string })[];
    };
    for (const row of page.result) {
      const timestamp = Date.parse(row.timestamp);
      candles.set(timestamp, { ...row, timestamp });
    }
    if (page.cursor === null) return candles;
    cursor = page.cursor;
  }
}

/** The wallets of a sniper report at an instant of the service's clock, by address. */
export async function reportAt(
  log: RunLog,
  url: string,
  at: number,
): Promise<{ status: number; body: string }> {
  const { service, now } = serviceOf(log);
  now.at = at;
  const answer = await service.fetch(url, { headers: { "X-API-Key": KEY } });
  return { status: answer.status, body: await answer.text() };
}
