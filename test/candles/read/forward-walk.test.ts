import { expect, it } from "vitest";
import { ForwardWalk } from "../../../src/candles/read/forward-walk.js";
import type { Page } from "../../../src/candles/read/page.js";
import type { ReadOptions, SeriesPages, Wanted } from "../../../src/candles/read/pages.js";
import type { CandleRules } from "../../../src/candles/rules.js";
import type { Candle } from "../../../src/contract/model.js";
import { NetworkError } from "../../../src/errors.js";
import { intervalsOf } from "../../../src/timeframe.js";
import { minute } from "./archive.js";

const rules: CandleRules = { intervals: intervalsOf("1min"), settle: 1_000, revisionWindow: 2 };
const options: ReadOptions = { priority: "close", signal: new AbortController().signal };

/** An answer about minutes, made at a minute, with a candle in each of them. */
function pageOf(from: number, to: number, at: number, failure?: NetworkError): Page {
  const candles = Array.from({ length: to - from }, (_, n) => ({ timestamp: minute(from + n) }) as Candle);
  return {
    ...{ from: minute(from), to: minute(to), at: minute(at), epoch: 0, isInDoubt: false, candles, failure },
    ...{ lacking: [], broken: [], hasUnplaced: false, refusal: undefined, isEmpty: false },
    bornAt: undefined,
  };
}

/** What a poll is given that goes on from a minute on, after answers; what a walk asks for is counted. */
async function polled(answers: readonly Page[]) {
  const asked: Wanted[] = [];
  const read = async (wanted: Wanted) => answers[asked.push(wanted) - 1];
  const pages = { read, beginning: { start: undefined } } as unknown as SeriesPages;
  const walk = new ForwardWalk(pages, rules);
  const next = (finalUntil: number, until: number) => {
    const anchors = finalUntil === 0 ? [] : [minute(finalUntil - 1)];
    const place = { finalUntil: minute(finalUntil), anchors, silence: undefined, epoch: 0 };
    return walk.next(place, { from: minute(finalUntil), to: minute(until), anchors }, options);
  };
  return { asked, next };
}

const failure = new NetworkError("lost");

it("gives the end of a range that failed as far as it was final when it was told", async () => {
  const { asked, next } = await polled([pageOf(5, 10, 10, failure), pageOf(0, 6, 20)]);
  await expect(next(0, 10)).rejects.toBe(failure);
  await next(0, 12);
  const kept = await next(6, 13);
  expect(asked).toHaveLength(2);
  expect([kept.from, kept.to]).toEqual([minute(6), minute(8)]);
  expect(kept.candles.map(({ timestamp }) => timestamp)).toEqual([5, 6, 7].map(minute));
});

it("asks anew where what was told of the end of a range could still change then, or has been read since", async () => {
  const fresh = pageOf(6, 11, 20);
  const ends = [pageOf(5, 8, 8, failure), pageOf(5, 6, 12, failure)];
  for (const end of ends) {
    const { asked, next } = await polled([end, pageOf(0, 6, 20), fresh]);
    await expect(next(0, 10)).rejects.toBe(failure);
    await next(0, 12);
    expect(await next(6, 13)).toBe(fresh);
    expect(asked).toHaveLength(3);
  }
});
