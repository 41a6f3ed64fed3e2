import { describe, expect, it } from "vitest";
import { KEY } from "./interference.js";
import { drawPlan } from "./plan.js";
import { differenceOf, NOTHING_REPLAYED, replaySeed, sumOfReplays } from "./replayed.js";

/** Short runs; `npm run simulate -- --replay` plays longer ones, and more of them. */
const HOURS = 0.3;
/**
 * In 36 connections are reset. In 62, 332 and 376 somebody acts between two timers that are late, and their turns matter; in 300 and 347 timers fire by a
 * clock that was set back, among others that are late, and due at the same instant.
 */
const SEEDS = [1, 2, 3, 36, 62, 300, 332, 347, 376];
/** Its pages hold candles that somebody is shown: others may differ and nobody sees it. */
const SHOWN_SEED = 27;
/** Its connections are closed as they are used. */
const CLOSING_SEED = 5;

describe("what was recorded under every fault is replayed", () => {
  it(`with each of ${SEEDS.length} seeds`, async () => {
    const differences: string[] = [];
    let counts = NOTHING_REPLAYED;
    for (const seed of SEEDS) {
      const replayed = await replaySeed(seed, HOURS);
      counts = sumOfReplays(counts, replayed.counts);
      if (replayed.difference !== undefined) differences.push(`seed ${seed}: ${replayed.difference}`);
    }
    expect(differences).toEqual([]);
    expect(counts.runs).toBe(SEEDS.length);
    expect(counts.exchanges).toBeGreaterThan(100 * SEEDS.length);
    expect(counts.compared).toBeGreaterThan(2 * counts.exchanges);
    expect(Object.keys(counts.troubles)).toEqual(
      expect.arrayContaining([
        "late swaps",
        "forks",
        "429",
        "reset",
        "asleep",
        "clock set",
        "closed connection",
      ]),
    );
  });

  it("where the clock is set back by less than has passed since the last answer, and somebody came meanwhile", async () => {
    expect((await replaySeed(19, 0.4)).difference).toBeUndefined();
  });

  it("where somebody leaves while an answer waits for a timer that is late", async () => {
    expect((await replaySeed(180_478, 0.4)).difference).toBeUndefined();
  });

  it("with nothing left out unless the clock is set, which is counted", async () => {
    const isSet = (seed: number) => drawPlan(seed, HOURS).faults.some(({ kind }) => kind === "clock set");
    const [set, steady] = [SEEDS.find(isSet)!, SEEDS.find((seed) => !isSet(seed))!];
    expect((await replaySeed(steady, HOURS)).counts.clockSet).toEqual(NOTHING_REPLAYED.clockSet);
    const { clockSet } = (await replaySeed(set, HOURS)).counts;
    expect(clockSet.runs).toBe(1);
    expect(clockSet.joins + clockSet.leaves + clockSet.returns).toBeGreaterThan(0);
  });
});

it("sees that two streams took other turns, each of which gave the same", () => {
  const [a, b] = ["candles 0", "candles 1"].map((whose) => ({ whose, text: "{}" }));
  expect(differenceOf([a!, b!, a!], [a!, a!, b!])).toBe(
    "turn 1 of 3 is candles 0: {}, and was candles 1: {}",
  );
  expect(differenceOf([a!, b!], [a!, b!])).toBeUndefined();
});

it("records by timers that are late", async () => {
  const delays: number[] = [];
  await replaySeed(SHOWN_SEED, HOURS, (lines) => {
    for (const line of lines) delays.push(JSON.parse(line).sent - JSON.parse(line).asked);
    return lines;
  });
  expect(Math.min(...delays)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...delays)).toBeGreaterThan(30);
  // What follows from an answer is asked for at once.
  expect(delays.filter((delay) => delay > 0).length).toBeGreaterThan(delays.length / 3);
});

it("sees that a tape has forgotten what a closed connection has lost", async () => {
  const { difference } = await replaySeed(CLOSING_SEED, HOURS, (lines) => {
    const at = lines.findIndex((line) => line.includes('"stale":true'));
    return lines.toSpliced(at, 1, lines[at]!.replace('"stale":true', '"stale":false'));
  });
  expect(difference).toMatch(/and was .*"delay":0|differs from the recording/);
});

describe("the check sees that a tape was altered in the middle, in", () => {
  interface Line {
    readonly [field: string]: unknown;
    readonly body: string;
    readonly sent: number;
    readonly answered: number;
    readonly ended: number;
  }
  const otherwise = /^\S+( \d+)?, at \d+ of \d+, is .+, and was .+/;
  const alterations: [string, (line: Line) => object | undefined, RegExp][] = [
    [
      "a volume",
      (line) => {
        const page = JSON.parse(line.body);
        for (const candle of page.result) candle.volume += 1;
        return { ...line, body: JSON.stringify(page) };
      },
      otherwise,
    ],
    ["a status", (line) => ({ ...line, status: 500 }), /and was|differs from the recording/],
    ["when a request was sent", (line) => ({ ...line, sent: line.sent - 1 }), otherwise],
    [
      "when an answer came",
      (line) => ({ ...line, answered: line.answered + 1, ended: line.ended + 1 }),
      otherwise,
    ],
    ["what was asked", (line) => ({ ...line, url: "/v2/other" }), /differs from the recording/],
    ["an exchange that is gone", () => undefined, /differs from the recording|, and was /],
    ["a key that is shown", (line) => ({ ...line, url: `/v2/${KEY}` }), /the key/],
  ];

  it.each(alterations)("%s", async (_name, alter, told) => {
    const { difference } = await replaySeed(SHOWN_SEED, HOURS, (lines) => {
      const isPage = (line: string) =>
        /"outcome":"whole".*\\"volume\\"/.test(line) && /"status":200/.test(line);
      const at = lines.findIndex((line, place) => place >= lines.length / 2 && isPage(line));
      const altered = alter(JSON.parse(lines[at]!));
      return lines.toSpliced(at, 1, ...(altered === undefined ? [] : [JSON.stringify(altered)]));
    });
    expect(difference).toMatch(told);
  });
});
