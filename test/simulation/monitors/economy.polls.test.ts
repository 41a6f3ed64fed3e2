import { describe, expect, it } from "vitest";
import type { WatcherPlan } from "../plan.js";
import {
  type Asked,
  breachesOf,
  closings,
  JOINED,
  look,
  type Market,
  MINUTE,
  minutes,
  SERIES,
  START,
  watching,
} from "./economy-runs.js";

describe("a poll", () => {
  it("may take one request a closing, and one on joining", async () => {
    expect(await breachesOf([watching(31 * MINUTE)], [look(JOINED + 1), ...closings(30)])).toEqual([]);
  });

  it("may take the pages of what a store lacks with its first look, where that is no more than half a page of a thousand", async () => {
    const pages = (missing: number) => {
      const first = look(JOINED + 1);
      const from = Math.floor(START / MINUTE) * MINUTE - missing * MINUTE;
      const size = Math.ceil((missing + 1) / 50);
      return Array.from({ length: size }, (_, at) => {
        const rows = minutes(from + at * 50 * MINUTE, Math.min(from + (at + 1) * 50 * MINUTE, START));
        const cursor = at === 0 ? undefined : `${at}`;
        return { ...first, from, rows, cursor };
      });
    };
    const isTooMuch = async (missing: number, storedUntil?: number) => {
      const market = { quirks: { pageSize: 50 }, ...(storedUntil !== undefined && { storedUntil }) };
      const asked = [...pages(missing), ...closings(30)];
      const breaches = await breachesOf([watching(31 * MINUTE)], asked, market);
      return breaches.some((what) => what.includes("for ohlcv"));
    };
    expect(await isTooMuch(240, START - 240 * MINUTE)).toBe(false);
    expect(await isTooMuch(240)).toBe(true);
    expect(await isTooMuch(240, START - 20 * MINUTE)).toBe(true);
    expect(await isTooMuch(700, START - 700 * MINUTE)).toBe(true);
  });

  it("may not ask each closing twice, before the clock is known or after", async () => {
    const twice = closings(30).flatMap((asked) => [asked, { ...asked, at: asked.at + 1_000 }]);
    expect(await breachesOf([watching(31 * MINUTE)], [look(JOINED + 1), ...twice])).toEqual([
      expect.stringMatching(/^9: sends 61 requests for ohlcv pair 1min usd, 31 at most/),
      expect.stringMatching(/^9: sends \d+ requests for 18 closings of 1min/),
    ]);
  });

  it("asks again while two machines are told apart whose Dates contradict each other, and not for good", async () => {
    const twice = (count: number, from = 0) =>
      closings(30).flatMap((asked, at) =>
        at >= from && at < from + count ? [asked, { ...asked, at: asked.at + 20, ahead: 1_500 }] : [asked],
      );
    const watch = [watching(31 * MINUTE)];
    expect(await breachesOf(watch, [look(JOINED + 1), ...twice(8)])).toEqual([]);
    expect(await breachesOf(watch, [look(JOINED + 1), ...twice(8, 15)])).toEqual([]);
    expect((await breachesOf(watch, [look(JOINED + 1), ...twice(30)])).length).toBeGreaterThan(0);
    const ofOne = twice(8).map(({ ahead: _, ...asked }) => asked);
    expect((await breachesOf(watch, [look(JOINED + 1), ...ofOne])).length).toBeGreaterThan(0);
  });

  it("is tried again ever later where its answers lie about the time, and no sooner", async () => {
    const [first, second] = closings(2) as [Asked, Asked];
    const lying = (by: number) =>
      [0, 1, 2].map(() => ({ ...second, at: second.at + by, faults: ["wrongDate"] }));
    const asked = (...waits: number[]) =>
      breachesOf([watching(3 * MINUTE)], [look(JOINED + 1), first, ...waits.flatMap(lying)]);
    expect(await asked(0, 8_000, 24_000, 56_000)).toEqual([]);
    expect(await asked(0, 1_000, 2_000, 3_000)).toHaveLength(1);
  });

  it("is tried again ever later where nothing can be read of the first answers, and no sooner", async () => {
    const [first, second] = closings(2) as [Asked, Asked];
    const unreadable = (by: number) => ({
      ...first,
      at: first.at + by,
      rows: first.rows!.slice(-1),
      isBroken: true,
    });
    const asked = (pause: number) => {
      const tried = Array.from({ length: 24 }, (_, at) => unreadable(at * pause));
      return breachesOf([watching(3 * MINUTE)], [...tried, { ...second, at: second.at + MINUTE }]);
    };
    expect(await asked(4_500)).toEqual([]);
    expect(await asked(1_000)).toHaveLength(1);
  });

  it("asks once more for a candle that an answer lacks", async () => {
    const [first, second, ...others] = closings(9) as [Asked, Asked, ...Asked[]];
    const lacking = { ...second, rows: second.rows!.filter((timestamp) => timestamp !== first.rows!.at(-2)) };
    const again = (by: number) => ({ ...second, at: second.at + by });
    const watch = [watching(10 * MINUTE)];
    expect(await breachesOf(watch, [look(JOINED + 1), first, lacking, again(1_000), ...others])).toEqual([]);
    const repeats = [1_000, 2_000, 3_000, 4_000, 5_000, 6_000].map(again);
    const asked = [look(JOINED + 1), first, lacking, ...repeats, ...others];
    expect(await breachesOf(watch, asked)).toHaveLength(1);
  });

  it("asks twice more, each time, where a cache gives the answer again that lacks a candle", async () => {
    const [first, second, ...others] = closings(9) as [Asked, Asked, ...Asked[]];
    const rows = second.rows!.filter((timestamp) => timestamp !== first.rows!.at(-2));
    const asked = (isCopy: boolean) => {
      const lacking = [second, ...others.slice(0, 4)].flatMap((slot, at) =>
        Array.from({ length: 3 }, (_, by) => ({
          ...{ ...slot, rows, at: slot.at + 1_000 * by },
          old: isCopy ? at * MINUTE + 1_000 * by : 0,
        })),
      );
      return breachesOf([watching(10 * MINUTE)], [look(JOINED + 1), first, ...lacking, ...others.slice(4)]);
    };
    expect(await asked(true)).toEqual([]);
    expect(await asked(false)).toHaveLength(1);
  });

  it("waits before it sends again what has failed", async () => {
    const { rows: _, ...failed } = look(MINUTE + 1_000);
    const later = (by: number) => ({ ...look(MINUTE + 1_000), at: failed.at + by });
    const others = closings(9).slice(1);
    const hasty = [50, 100, 150, 200, 250].map((by) => ({ ...failed, at: failed.at + by }));
    const watch = [watching(10 * MINUTE)];
    expect(await breachesOf(watch, [look(JOINED + 1), failed, later(8_000), ...others])).toEqual([]);
    expect(await breachesOf(watch, [look(JOINED + 1), failed, ...hasty, ...others])).toHaveLength(1);
  });

  it("asks twice more, and at once, where a cursor leads nowhere", async () => {
    const isTooMuch = async (times: number, error: NonNullable<Asked["error"]>, pause = 1_000) => {
      const asked = closings(30).flatMap(({ rows, ...lost }) => [
        ...Array.from({ length: times }, (_, at) => ({ ...lost, error, at: lost.at + at * pause })),
        { ...lost, rows: rows!, at: lost.at + times * pause },
      ]);
      const breaches = await breachesOf([watching(31 * MINUTE)], [look(JOINED + 1), ...asked]);
      return breaches.some((what) => what.includes("for ohlcv"));
    };
    expect(await isTooMuch(2, { path: ["cursor"] })).toBe(false);
    expect(await isTooMuch(3, { path: ["cursor"] })).toBe(true);
    expect(await isTooMuch(2, { path: ["result"] })).toBe(true);
    // A poll that has failed with it waits as after any failure.
    expect(await isTooMuch(1, { path: ["cursor"] }, 8_000)).toBe(false);
    expect(await isTooMuch(4, { path: ["cursor"] }, 3_000)).toBe(true);
  });

  it("retries where a cursor leads nowhere as after any failure", async () => {
    const isTooMuch = async (wait: number) => {
      const asked = closings(30).flatMap(({ rows, ...lost }) => {
        const error = { path: ["cursor"] };
        const failed = [0, wait, 3 * wait].map((by, at) => ({
          ...lost,
          error,
          at: lost.at + by,
          attempt: at + 1,
        }));
        return [...failed, { ...lost, rows: rows!, at: lost.at + 3 * wait + 8_000 }];
      });
      const breaches = await breachesOf([watching(31 * MINUTE)], [look(JOINED + 1), ...asked]);
      return breaches.some((what) => what.includes("for ohlcv"));
    };
    expect(await isTooMuch(500)).toBe(false);
    expect(await isTooMuch(100)).toBe(true);
  });

  it("may look for the beginning of a pair that shows no candle, and of no other", async () => {
    const watch = [watching(31 * MINUTE)];
    const looks = [look(JOINED + 1), ...closings(30)];
    const probe = (at: number): Asked => ({ ...looks[at]!, at: looks[at]!.at + 1_000, limit: 2 });
    const probed = looks.flatMap((asked, at) =>
      [14, 15, 16, 17].includes(at) ? [asked, probe(at)] : [asked],
    );
    const silent = probed.map((asked) => ({ ...asked, rows: [] }));
    expect(await breachesOf(watch, silent)).toEqual([]);
    expect(await breachesOf(watch, probed)).toContainEqual(
      expect.stringMatching(/^9: sends 35 requests for ohlcv pair 1min usd, 31 at most/),
    );
    const twice = silent.flatMap((asked) =>
      asked.limit === 2 ? [asked] : [asked, { ...asked, at: asked.at + 500 }],
    );
    expect(await breachesOf(watch, twice)).toContainEqual(expect.stringMatching(/closings of 1min/));
  });

  it("may look ever more rarely for what it has shown and does not show any more", async () => {
    const isTooMuch = async (searched: number, rows?: readonly number[]) => {
      const asked = closings(30).flatMap((slot, at) => {
        if (at < 10) return [slot];
        const empty = { ...slot, rows: rows ?? [] };
        const probe = { ...empty, at: slot.at + 1_000, limit: 2 };
        return at < 10 + searched ? [empty, probe, probe, probe, probe] : [empty];
      });
      const breaches = await breachesOf([watching(31 * MINUTE)], [look(JOINED + 1), ...asked]);
      return breaches.some((what) => what.includes("for ohlcv"));
    };
    expect(await isTooMuch(10)).toBe(false);
    expect(await isTooMuch(20)).toBe(true);
    expect(await isTooMuch(10, minutes(START - 10 * MINUTE, START + 31 * MINUTE))).toBe(true);
  });

  it("asks at once what is due where the service's clock has jumped", async () => {
    const jumps = Array.from({ length: 5 }, (_, at) => START + (at + 1) * 5 * MINUTE + 20_000);
    const asked = [...closings(30), ...jumps.map((at) => look(at + 10 - START))].sort((a, b) => a.at - b.at);
    const isTooMuch = async (market: Market) => {
      const breaches = await breachesOf([watching(31 * MINUTE)], [look(JOINED + 1), ...asked], market);
      return breaches.some((what) => what.includes("for ohlcv"));
    };
    expect(await isTooMuch({ jumps })).toBe(false);
    expect(await isTooMuch({})).toBe(true);
  });

  it("asks three times for each who ends where nothing can be read, and for nobody who waits", async () => {
    const error = { path: ["page"], name: "ContractError" };
    const { rows: _, ...failed } = { ...look(JOINED), attempt: 3, error };
    const asked = Array.from({ length: 24 }, (_, at) => ({ ...failed, at: START + JOINED + at * 20_000 }));
    const watchers = (whenMissing: "fail" | "wait") =>
      Array.from({ length: 8 }, (_, at) => {
        const from = JOINED - 1 + at * MINUTE;
        return { ...watching(from + 70_000), from, options: { ...SERIES, whenMissing } } as WatcherPlan;
      });
    expect(await breachesOf(watchers("fail"), asked)).toEqual([]);
    expect(await breachesOf(watchers("wait"), asked)).toHaveLength(1);
  });
});
