import fc from "fast-check";
import type { Timeframe } from "pairstream";
import { describe, expect, it } from "vitest";
import { coreOf } from "../../../../src/client/core.js";
import { MINUTES } from "../../../world.js";
import { MINUTE, refusalIn, Stage } from "./stage.js";

/** How many polls a series, or the snipers of a pair, have at most: the standard pace, its doublings, and "close". */
const MOST = { "1s": 1, "1min": 1, "5min": 4, "1h": 7, "1d": 12, "1M": 12, snipers: 11 };
/** What a poll is known by, beside the series: whoever chose it freely could open as many as there are values. */
const OWN = ["settle", "revisionWindow", "blocksAfterCreation"];

const every = fc.oneof(
  fc.constant("close"),
  fc.double({ min: 250, max: 1e9, noNaN: true }),
  fc.integer({ min: 60_000, max: 4_000_000 }),
);
const watches = fc.record(
  {
    every,
    settle: fc.integer({ min: 0, max: 60_000 }),
    revisionWindow: fc.integer({ min: 0, max: 900 }),
    fillGaps: fc.boolean(),
    whenMissing: fc.constantFrom("fail", "wait"),
    "since.candles": fc.integer({ min: 1, max: 5 }),
  },
  { requiredKeys: [] },
);
const looks = fc.record(
  { every, blocksAfterCreation: fc.integer({ min: 0, max: 1_000 }) },
  { requiredKeys: [] },
);

/** All that a visitor has asked for, one after the other, and who is still there. */
async function askAll(stage: Stage, path: string, query: object, asked: readonly object[]): Promise<void> {
  for (const options of asked) {
    const texts = Object.entries({ ...query, ...options }).map(([name, value]) => [name, written(value)]);
    const answer = await stage.ask(`${path}?${new URLSearchParams(texts)}`);
    if (answer.status === 200) continue;
    expect(answer.status).toBe(400);
    const { parameter, allowed } = (await refusalIn(answer)) as { parameter?: string; allowed?: string };
    expect([...OWN, "every"]).toContain(parameter);
    if (parameter !== "every") expect(allowed).toMatch(/left out/);
  }
}

const written = (value: unknown) =>
  typeof value === "number" ? value.toFixed(9).replace(/\.?0+$/, "") : String(value);
const pollsOf = ({ world }: Stage) => coreOf(world.client).metering.polls.size;

describe("the polls of a gateway", () => {
  it.each(["1s", "1min", "5min", "1h", "1d", "1M"] as const)(
    "of a series of %s are few, whatever a visitor asks for",
    async (timeframe: keyof typeof MOST & Timeframe) => {
      const series = { ...MINUTES, timeframe };
      await fc.assert(
        fc.asyncProperty(fc.array(watches, { minLength: 20, maxLength: 60 }), async (asked) => {
          const stage = new Stage({ allow: [series] });
          await askAll(stage, "/candles", series, asked);
          expect(pollsOf(stage)).toBeLessThanOrEqual(MOST[timeframe]);
          await stage.gateway.close();
        }),
        { numRuns: 5 },
      );
    },
  );

  it("of a pair's snipers are few, too", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(looks, { minLength: 20, maxLength: 60 }), async (asked) => {
        const stage = new Stage({ allow: [MINUTES] });
        await askAll(stage, "/snipers", { pairAddress: MINUTES.pairAddress }, asked);
        expect(pollsOf(stage)).toBeLessThanOrEqual(MOST.snipers);
        await stage.gateway.close();
      }),
      { numRuns: 5 },
    );
  });

  it.each([60_000, 10_000])(
    "cost about twice the fastest and the standard one at most, where the fastest has %d ms",
    async (minEvery) => {
      const hours = { ...MINUTES, timeframe: "1h" } as const;
      const requestsOf = async (paces: readonly (number | "close")[]) => {
        const stage = new Stage({ allow: [hours], minEvery });
        const asked = paces.map((pace) => ({ every: pace }));
        await askAll(stage, "/candles", hours, asked);
        const polls = pollsOf(stage);
        await stage.pass(60 * MINUTE);
        await stage.gateway.close();
        return { polls, requests: stage.world.asked.length };
      };
      const paces = Array.from({ length: 60 }, (_, at) => minEvery + at * at * 1_009);
      const { polls, requests } = await requestsOf([...paces, "close"]);
      const fastest = await requestsOf([minEvery]);
      const standard = minEvery === 60_000 ? 0 : 60;
      // Each begins with a request, and has one for the hour that ends meanwhile.
      expect(requests).toBeLessThanOrEqual(2 * (fastest.requests + standard + polls));
      expect(polls).toBe(minEvery === 60_000 ? 7 : 10);
    },
  );

  it("are no slower than what was asked for, and at most half as slow", async () => {
    const hours = { ...MINUTES, timeframe: "1h" } as const;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1_000, max: 3_599_999 }), async (pace) => {
        const stage = new Stage({
          allow: (_, { type }) => type === "candles" || type === "status",
          minEvery: 1_000,
        });
        await askAll(stage, "/candles", hours, [{ every: pace }]);
        const [channel] = (await stage.status()).channels as unknown as [{ options: { every: number } }];
        expect(channel.options.every).toBeLessThanOrEqual(pace);
        expect(2 * channel.options.every).toBeGreaterThan(pace);
        await stage.gateway.close();
      }),
    );
  });
});
