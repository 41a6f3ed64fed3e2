import { describe, expect, it } from "vitest";
import { type FetchLike, healthOf, type VirtualClock, watchFeedStatus } from "../../src/index.js";
import { at, PAIR, World } from "../world.js";

/** A cache that gives an answer again for so many ms, and says how old it is by an `Age`, or by its old `Date` alone. */
function behindCache(keeps: number, tellsAge: boolean) {
  return (fetch: FetchLike, clock: VirtualClock): FetchLike => {
    let kept: { at: number; answer: Awaited<ReturnType<FetchLike>>; text: string } | undefined;
    return async (url, init) => {
      if (kept === undefined || clock.now() - kept.at >= keeps) {
        const answer = await fetch(url, init);
        kept = { at: clock.now(), answer, text: await answer.text() };
      }
      const { answer, text, at } = kept;
      const age = String(Math.floor((clock.now() - at) / 1_000));
      const get = (name: string) =>
        tellsAge && name.toLowerCase() === "age" ? age : answer.headers.get(name);
      return { status: answer.status, headers: { get }, text: async () => text };
    };
  };
}

/** What a status says of snipers that a cache stands before, each time it differs, and the pieces to look at. */
function watched(every: number, keeps: number, { tellsAge = true, hasDate = true } = {}) {
  const world = new World({ start: at("12:00:10"), hasDate, before: behindCache(keeps, tellsAge) });
  world.swap(100, 10, { walletAddress: "a" });
  world.swap(at("11:30:00"), 10, { walletAddress: "a", side: "sell" });
  const states: { state: string; at: number }[] = [];
  const subscription = watchFeedStatus(world.client, { pairAddress: PAIR, every }).subscribe(({ state }) => {
    if (states.at(-1)?.state !== state) states.push({ state, at: world.clock.now() });
  });
  return { world, states, subscription };
}

describe("a report that is old", () => {
  it.each([
    { every: 2_000, keeps: 70_000 },
    { every: 2_000, keeps: 30_000, tellsAge: false },
    { every: 2_000, keeps: 70_000, hasDate: false },
    { every: 250, keeps: 30_000 },
    { every: 60_000, keeps: 600_000 },
  ])(
    "is no live feed's once it lacks what was due two seconds before: %j",
    async ({ every, keeps, ...kind }) => {
      const { world, states, subscription } = watched(every, keeps, kind);
      const start = world.clock.now();
      await world.clock.advanceBy(4 * keeps);
      const periods = states.slice(1);
      expect(periods.map(({ state }) => state)).toEqual(periods.map((_, n) => (n % 2 ? "stalled" : "live")));
      expect(periods.length).toBeGreaterThanOrEqual(6);
      // The first copy that is too old, of which a whole second may be untold.
      const stalled = periods.filter(({ state }) => state === "stalled");
      for (const [round, { at }] of stalled.slice(0, 3).entries()) {
        const age = at - start - round * keeps;
        expect(age).toBeGreaterThan(Math.max(every, 2_000) - 1_000);
        expect(age).toBeLessThan(2 * every + Math.max(every, 2_000) + 2_000 + round * every);
      }
      subscription.unsubscribe();
    },
  );

  it("is told of as that of candles is: by the health of the client, and after a minute by its warning", async () => {
    const { world, states, subscription } = watched(2_000, 600_000);
    await world.clock.advanceBy(60_000);
    expect(states.map(({ state }) => state)).toEqual(["starting", "live", "stalled"]);
    expect(healthOf(world.client)).toMatchObject({ ok: false, feeds: { stalled: 1 } });
    expect(world.warnings).toEqual([]);
    await world.clock.advanceBy(60_000);
    expect(world.warnings.map(({ message }) => message)).toEqual([
      expect.stringMatching(/^snipers of .*: in trouble for a minute: every report is old; /),
    ]);
    subscription.unsubscribe();
  });

  it.each([
    { every: 60_000, keeps: 50_000 },
    { every: 10_000, keeps: 8_000 },
    { every: 2_000, keeps: 1_500 },
    { every: 10_000, keeps: 8_000, tellsAge: false },
    { every: 10_000, keeps: 8_000, hasDate: false },
  ])("counts for what it shows while none is due since: %j", async ({ every, keeps, ...kind }) => {
    const { world, states, subscription } = watched(every, keeps, kind);
    await world.clock.advanceBy(60 * every);
    expect(states.map(({ state }) => state)).toEqual(["starting", "live"]);
    subscription.unsubscribe();
  });
});
