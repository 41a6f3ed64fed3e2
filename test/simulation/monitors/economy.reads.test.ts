import { describe, expect, it } from "vitest";
import type { WatcherPlan } from "../plan.js";
import {
  BORN,
  breachesOf,
  FEED,
  fetching,
  JOINED,
  look,
  type Market,
  MINUTE,
  minutes,
  read,
  SERIES,
  START,
} from "./economy-runs.js";

describe("a read", () => {
  it("may take the pages of its range, and one more where their number is not known", async () => {
    const [from, to] = [START - 1_500 * MINUTE, START];
    const middle = START - 700 * MINUTE;
    const again = Array.from({ length: 3 }, () => read(to - MINUTE, to));
    const pages = [read(from, middle), read(middle, to), read(to - MINUTE, to)];
    // Nobody may ask for more rows than a thousand, or know that he would get them.
    for (const quirks of [{}, { pageSize: 4_000 }]) {
      expect(await breachesOf([fetching(from, to)], [...pages, ...again.slice(1)], { quirks })).toEqual([]);
      expect(await breachesOf([fetching(from, to)], [...pages, ...again], { quirks })).toHaveLength(1);
    }
  });

  it("is held to the newest candle that a poll has shown, for as long as answers show nothing at all", async () => {
    const from = START - 20 * MINUTE;
    const reader = { kind: "candles", feed: FEED, options: { ...SERIES, since: from } } as WatcherPlan;
    const watcher = { ...reader, from: JOINED, until: 2 * MINUTE } as WatcherPlan;
    const empty = Array.from({ length: 6 }, () => ({ ...read(from, START, []), at: START + 3_000 }));
    const whole = { ...read(from, START), at: START + 4_000 };
    const [poll, closing] = [look(JOINED), look(MINUTE + 1_000)];
    expect(await breachesOf([watcher], [poll, ...empty, whole, closing])).toEqual([]);
    // Nothing says that these lack anything.
    expect(await breachesOf([watcher], [{ ...poll, rows: [] }, ...empty, whole, closing])).toHaveLength(1);
    const repeated = Array.from({ length: 6 }, () => whole);
    expect(await breachesOf([watcher], [poll, ...repeated, closing])).toHaveLength(1);
  });

  it("is held to no candle that lies in the margin of its range, as the end of that may be counted in", async () => {
    const from = START - 20 * MINUTE;
    const reader = { kind: "candles", feed: FEED, options: { ...SERIES, since: from } } as WatcherPlan;
    const watcher = { ...reader, from: JOINED, until: 2 * MINUTE } as WatcherPlan;
    const [poll, closing] = [look(JOINED), look(MINUTE + 1_000)];
    const lacking = (shown: number) =>
      Array.from({ length: 4 }, () => ({ ...read(from, START, [shown]), at: START + 3_000 }));
    const whole = { ...read(from, START), at: START + 4_000 };
    expect(await breachesOf([watcher], [poll, ...lacking(START - MINUTE), whole, closing])).toEqual([]);
    const isShown = lacking(START - 2 * MINUTE).map((one) => ({ ...one, rows: poll.rows! }));
    expect(await breachesOf([watcher], [poll, ...isShown, whole, closing])).toHaveLength(1);
  });

  it("may take a request for each range of a long silence, each eight times as long as the one before", async () => {
    const options = { ...SERIES, since: { candles: 2 } };
    const watcher = { kind: "candles", feed: FEED, options, from: JOINED, until: 2 * MINUTE } as WatcherPlan;
    const silent = (lengths: readonly number[]) =>
      breachesOf(
        [watcher],
        [
          { ...look(JOINED), rows: [] },
          ...lengths.map((length) => ({ ...read(START - length * MINUTE, START, []), at: START + 3_000 })),
          look(MINUTE + 1_000),
        ],
      );
    expect(await silent([1, 8, 64, 512, 4_096])).toEqual([]);
    expect(await silent([2, 3, 4, 5, 6])).toHaveLength(1);
  });

  it("may take a request for each range that holds less than half as much as the one after it promised", async () => {
    const options = { ...SERIES, since: { candles: 90 } };
    const watcher = { kind: "candles", feed: FEED, options, from: JOINED, until: 2 * MINUTE } as WatcherPlan;
    const market = { lastSwap: START - 1 };
    const thinner = (share: number) => {
      let [to, density] = [START, 1];
      const reads = Array.from({ length: 7 }, (_, index) => {
        const from = to - 90 * 2 ** index * MINUTE;
        const rows = minutes(from, to).filter((_, at, { length }) => at >= length * (1 - density));
        const asked = { ...read(from, to + MINUTE, rows), at: START + 3_000 };
        [to, density] = [from + 10 * MINUTE, density * share];
        return asked;
      });
      return breachesOf([watcher], [look(JOINED), ...reads, look(MINUTE + 1_000)], market);
    };
    expect(await thinner(0.4)).toEqual([]);
    expect(await thinner(0.7)).toHaveLength(1);
  });

  it("may not ask for what lies between two ranges far apart", async () => {
    const hours = [START - 4_000 * MINUTE, START - 100 * MINUTE];
    const fetches = hours.map((from) => fetching(from, from + 60 * MINUTE));
    const reads = hours.map((from) => read(from, from + 60 * MINUTE));
    expect(await breachesOf(fetches, reads)).toEqual([]);
    const between = Array.from({ length: 4 }, (_, at) => read(hours[0]! + at * 1_000 * MINUTE, hours[1]!));
    expect(await breachesOf(fetches, [...reads, ...between])).toHaveLength(1);
  });

  it("may confirm the silence at its beginning once", async () => {
    const [from, to] = [BORN - 100 * MINUTE, BORN + 100 * MINUTE];
    const silence = read(from, BORN, []);
    const rest = read(from, to, minutes(BORN, to));
    expect(await breachesOf([fetching(from, to)], [silence, rest])).toEqual([]);
    expect(
      await breachesOf([fetching(from, to)], [silence, silence, silence, silence, silence, rest]),
    ).toHaveLength(1);
  });

  it("may confirm a silence at its end once, be it one or a cut, of a service that gives the oldest first", async () => {
    const [from, to] = [START - 100 * MINUTE, START];
    const lastSwap = to - 10 * MINUTE;
    const asked = (silences: number) => [
      read(from, to, minutes(from, lastSwap + 1)),
      ...Array.from({ length: silences }, () => read(lastSwap + MINUTE, to, [])),
    ];
    const breaches = (silences: number, market: Market) =>
      breachesOf([fetching(from, to)], asked(silences), market);
    const quirks = { order: "oldest-first" } as const;
    // Two requests more than that nobody notices.
    expect(await breaches(3, { lastSwap, quirks })).toEqual([]);
    // The few rows of a page may come in that order by chance.
    expect(await breaches(3, { lastSwap, quirks: { order: "shuffled" } })).toEqual([]);
    expect(await breaches(4, { lastSwap, quirks })).toHaveLength(1);
    expect(await breaches(3, { quirks })).toEqual([]);
    expect(await breaches(4, { quirks })).toHaveLength(1);
    expect(await breaches(3, { lastSwap })).toHaveLength(1);
  });

  it("may confirm the silence at the beginning of each part that a store lacks", async () => {
    const [from, to] = [BORN - 100 * MINUTE, START];
    const storedUntil = START - 100 * MINUTE;
    const silences = (times: number) =>
      Array.from({ length: 3 * times }, () => [read(from, BORN, []), read(storedUntil, to, [])]).flat();
    const fetches = Array.from({ length: 3 }, () => fetching(from, to));
    const market = { storedUntil, lastSwap: START - 200 * MINUTE };
    expect(await breachesOf(fetches, silences(2), market)).toEqual([]);
    expect(await breachesOf(fetches, silences(3), market)).toHaveLength(1);
  });

  it("may ask again where it is not shown what another client of its store was shown", async () => {
    const [from, to] = [START - 90 * MINUTE, START];
    const market = { storedUntil: START - 60 * MINUTE, lastSwap: BORN };
    const silences = Array.from({ length: 5 }, () => read(START - 60 * MINUTE, to, []));
    const earlier = [read(from, to, [START - 40 * MINUTE])];
    const breaches = (isKnown: boolean) =>
      breachesOf([fetching(from, to)], silences, { ...market, earlier: isKnown ? earlier : [] });
    expect(await breaches(true)).toEqual([]);
    expect(await breaches(false)).toHaveLength(1);
  });

  it("may read what a store covers and fails to give as a part of its own", async () => {
    const [from, to] = [START - 90 * MINUTE, START];
    const [storedFrom, storedUntil] = [START - 60 * MINUTE, START - 30 * MINUTE];
    const silences = (times: number) => Array.from({ length: times }, () => read(from, to, []));
    const market = { storedFrom, storedUntil, lastSwap: START - 100 * MINUTE };
    const breaches = (times: number, storeFails: boolean) =>
      breachesOf([fetching(from, to)], silences(times), { ...market, storeFails });
    expect(await breaches(6, false)).toEqual([]);
    expect(await breaches(7, false)).toHaveLength(1);
    expect(await breaches(8, true)).toEqual([]);
    expect(await breaches(9, true)).toHaveLength(1);
  });

  it("asks twice more while two machines are told apart, and not for good", async () => {
    const [from, to] = [START - 100 * MINUTE, START];
    const asked = (times: number, ahead: number) =>
      Array.from({ length: times }, (_, at) => ({ ...read(from, to), ahead: (at % 2) * ahead }));
    expect(await breachesOf([fetching(from, to)], asked(5, 1_500))).toEqual([]);
    expect(await breachesOf([fetching(from, to)], asked(6, 1_500))).toHaveLength(1);
    expect(await breachesOf([fetching(from, to)], asked(5, 0))).toHaveLength(1);
  });

  it("asks for all pages of a range again of which an answer lacks a candle", async () => {
    const [from, to] = [START - 500 * MINUTE, START];
    const pages = (lacking?: number) =>
      Array.from({ length: 10 }, (_, at) => {
        const [begin, end] = [from + at * 50 * MINUTE, from + (at + 1) * 50 * MINUTE];
        const rows = minutes(begin, end).filter((timestamp) => timestamp !== lacking);
        return {
          ...read(from, to, rows),
          cursor: at === 0 ? undefined : `${at}`,
          next: at === 9 ? undefined : `${at + 1}`,
        };
      });
    const times = Array.from({ length: 7 }, (_, at) => at);
    const quirks = { pageSize: 50 };
    const asked = (isLacking: boolean) => [
      ...pages(),
      ...times.flatMap((at) => pages(isLacking ? from + at * MINUTE : undefined)),
    ];
    expect(await breachesOf([fetching(from, to)], asked(true), { quirks })).toEqual([]);
    expect(await breachesOf([fetching(from, to)], asked(false), { quirks })).toHaveLength(1);
  });

  it("may search with four requests behind a service that shows nothing, where a report tells the creation", async () => {
    const [from, to] = [START - 100 * MINUTE, START];
    const empty = read(from, to, []);
    const asked = (probes: number) => [
      empty,
      ...Array.from({ length: probes }, () => ({ ...empty, limit: 2 })),
      empty,
    ];
    expect(await breachesOf([fetching(from, to)], asked(4))).toEqual([]);
    expect(await breachesOf([fetching(from, to)], asked(8))).toHaveLength(1);
  });
});
