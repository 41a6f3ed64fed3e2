import * as z from "zod/mini";
import { type CheckedHistory, checkHistory, type HistoryQuery } from "../../candles/history.js";
import type { CallOptions } from "../../client/core.js";
import type { Candle, Series } from "../../contract/model.js";
import { listOf } from "../../contract/schemas.js";
import { ContractError } from "../../errors.js";
import { candle } from "../wire/model.js";
import { readWire } from "../wire/read.js";
import { Answer } from "./answer.js";
import type { ReceiverOptions } from "./options.js";

/** The longest answer that is read, in characters. */
const LONGEST_ANSWER = 16 * 1024 * 1024;
/** How long silence is borne, in ms: a gateway may have to read for as long. */
const SILENCE = 60_000;

const history = z.object({ candles: listOf(candle) });

/** What `PairSource` has as `history`, from the gateway whose `/history` is at `access.url`. */
export async function readGatewayHistory(
  access: ReceiverOptions,
  query: Series & HistoryQuery,
  { signal = new AbortController().signal }: CallOptions,
): Promise<readonly Candle[]> {
  const checked = checkHistory(query, access.scheduler.now());
  signal.throwIfAborted();
  const options = { ...access, url: `${access.url}?${historyQuery(checked, query)}` };
  const answer = new Answer(options, access.silence ?? SILENCE, signal);
  try {
    await answer.open({ accept: "application/json" });
    const text = await answer.text(LONGEST_ANSWER);
    if (text.length > LONGEST_ANSWER) {
      throw new ContractError([], `longer than ${LONGEST_ANSWER} characters`);
    }
    const { candles } = readWire(history, text);
    checkCandles(candles, checked);
    return candles;
  } catch (thrown) {
    throw signal.aborted ? signal.reason : answer.errorOf(thrown);
  } finally {
    answer.close();
  }
}

function historyQuery({ series, weekStart, range, count }: CheckedHistory, asked: HistoryQuery): string {
  const { network, pairAddress, timeframe, currency } = series;
  return queryOf({
    ...{ network, pairAddress, timeframe, currency },
    from: Number.isFinite(range.from) ? range.from : undefined,
    to: Number.isFinite(range.to) ? range.to : undefined,
    count: asked.count === undefined ? undefined : count,
    weekStart: timeframe === "1w" ? weekStart : undefined,
  });
}

/** The query of an address: what is given, in an order of its own. */
export function queryOf(values: object): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined);
  return new URLSearchParams(given.sort().map(([name, value]) => [name, String(value)])).toString();
}

/** Throws a `ContractError` unless these are candles as they were asked for. */
function checkCandles(candles: readonly Candle[], { rules, range, count }: CheckedHistory): void {
  const { intervals } = rules;
  if (candles.length > count)
    throw new ContractError(["candles"], `${candles.length} candles, but at most ${count} were asked for`);
  let reached = Math.max(range.from, 0);
  for (const [at, { timestamp }] of candles.entries()) {
    const isInPlace = timestamp >= reached && timestamp < range.to;
    if (!isInPlace || intervals.start(timestamp) !== timestamp) {
      throw new ContractError(
        ["candles", at, "timestamp"],
        "not the start of a later interval of the range that was asked for",
      );
    }
    reached = intervals.end(timestamp);
  }
}
