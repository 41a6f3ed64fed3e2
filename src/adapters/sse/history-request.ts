import * as z from "zod/mini";
import { type CheckedHistory, checkHistory, type HistoryQuery } from "../../candles/history.js";
import type { CallOptions } from "../../client/core.js";
import type { Candle, Series } from "../../contract/model.js";
import { shortened } from "../../contract/quote.js";
import { listOf } from "../../contract/schemas.js";
import { ContractError, NetworkError, PairstreamError, TimeoutError } from "../../errors.js";
import { candle } from "../wire/model.js";
import { readWire } from "../wire/read.js";
import type { ReceiverOptions } from "./options.js";
import { errorOfRefusal, LONGEST_REFUSAL } from "./refusal.js";
import { SilenceWatch } from "./silence.js";

/** The longest answer that is read, in bytes. */
const LONGEST_ANSWER = 16 * 1024 * 1024;
/** How much of a transport's message an error holds, in characters. */
const LONGEST_REASON = 300;
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
  const { origin, pathname } = new URL(access.url);
  const address = origin + pathname;
  const watch = new SilenceWatch(access.scheduler, access.silence ?? SILENCE, signal, (limit) => {
    return new TimeoutError(`${address} has sent nothing for ${limit} ms`, limit);
  });
  try {
    const asked = access.fetch(`${access.url}?${queryOf(checked, query)}`, {
      headers: { ...access.headers, accept: "application/json" },
      signal: watch.signal,
    });
    const response = await watch.race(Promise.resolve(asked));
    watch.hear();
    if (response.status !== 200)
      throw errorOfRefusal(response, await textOf(response, LONGEST_REFUSAL, watch), address);
    const { candles } = readWire(history, await textOf(response, LONGEST_ANSWER, watch));
    checkCandles(candles, checked);
    return candles;
  } catch (cause) {
    const error = watch.signal.aborted ? watch.signal.reason : cause;
    if (error instanceof PairstreamError || signal.aborted) throw error;
    const reason = error instanceof Error ? `: ${shortened(error.message, LONGEST_REASON)}` : "";
    throw new NetworkError(`${address} could not be reached${reason}`, { cause: error });
  } finally {
    watch.end();
  }
}

function queryOf({ series, weekStart, range, count }: CheckedHistory, asked: HistoryQuery): URLSearchParams {
  const { network, pairAddress, timeframe, currency } = series;
  return new URLSearchParams({
    ...{ network, pairAddress, timeframe, currency },
    ...(Number.isFinite(range.from) ? { from: String(range.from) } : {}),
    ...(Number.isFinite(range.to) ? { to: String(range.to) } : {}),
    ...(asked.count === undefined ? {} : { count: String(count) }),
    ...(timeframe === "1w" ? { weekStart } : {}),
  });
}

/** Throws a `ContractError` unless these are candles as they were asked for. */
function checkCandles(candles: readonly Candle[], { intervals, range, count }: CheckedHistory): void {
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

/** Reads a body up to so many bytes; a longer one breaks the contract before it is parsed. */
async function textOf({ body }: Response, longest: number, watch: SilenceWatch): Promise<string> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (let length = 0; reader !== undefined; ) {
      const { done, value } = await watch.race(reader.read());
      if (done) break;
      watch.hear();
      length += value.byteLength;
      if (length > longest) throw new ContractError([], `longer than ${longest} bytes`);
      text += decoder.decode(value, { stream: true });
    }
  } finally {
    reader?.cancel().catch(() => {});
  }
  return text + decoder.decode();
}
