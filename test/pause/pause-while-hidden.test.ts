import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import {
  applyCandleEvent,
  applySniperEvent,
  type Candle,
  clientSource,
  closes,
  emptyReport,
  type FeedStatus,
  InvalidInputError,
  type PauseOptions,
  pauseWhileHidden,
  type SniperEvent,
  type SniperLook,
  type WatchOptions,
} from "../../src/index.js";
import { at, MINUTES, PAIR, time, World } from "../world.js";
import { BORN, contradictions, MINUTE, PauseStage, START, told, truth } from "./pause-stage.js";

describe("pauseWhileHidden, of candles", () => {
  it("asks for nothing while nobody looks, and tells once what was missed", async () => {
    const stage = new PauseStage();
    stage.trade();
    const { events, leave } = stage.follow({ since: { candles: 3 } });
    await stage.pass(2);
    const before = events.length;
    stage.page.hide();
    await stage.pass(1);
    const asked = stage.world.asked.length;
    await stage.pass(10);
    expect(stage.world.asked.length).toBe(asked);
    expect(stage.world.clock.pending).toBe(0);
    stage.page.show();
    await stage.pass(0.1);
    const missed = events.slice(before);
    expect(contradictions(events)).toEqual([]);
    expect(missed.every(({ live }) => !live)).toBe(true);
    expect(told(missed).slice(0, 4)).toEqual([
      "updated 12:00 final",
      "updated 12:01 final",
      "updated 12:02 final",
      "new 12:03 final",
    ]);
    expect(told(missed).at(-1)).toBe("new 12:13 open");
    await stage.pass(1);
    expect(told(events.slice(before + missed.length))).toContain("updated 12:13 closed live");
    leave();
    expect(stage.world.clock.pending).toBe(0);
  });

  it("lets a glance at another tab pass", async () => {
    const stage = new PauseStage();
    stage.trade();
    const { events, leave } = stage.follow();
    await stage.pass(1);
    const asked = stage.world.asked.length;
    stage.page.hide();
    await stage.pass(0.1);
    stage.page.show();
    await stage.pass(0.4);
    expect(stage.world.asked.length).toBe(asked);
    await stage.pass(1);
    expect(told(events)).toContain("updated 12:01 closed live");
    leave();
  });

  it.each(["hide", "disconnect"] as const)("pauses on %s", async (how) => {
    const stage = new PauseStage();
    stage.trade();
    const { candles, leave } = stage.follow({ since: BORN });
    await stage.pass(2);
    stage.page[how]();
    await stage.pass(1);
    const asked = stage.world.asked.length;
    await stage.pass(30);
    expect(stage.world.asked.length).toBe(asked);
    stage.page[how](false);
    await stage.pass(1);
    expect([...candles.values()].slice(0, -1)).toEqual(await truth(stage.world));
    leave();
  });

  it("reads no more than was missed, for candles and their status", async () => {
    const stage = new PauseStage();
    stage.trade();
    const options = { ...MINUTES, since: { candles: 100 } };
    const { leave } = stage.follow(options);
    const statuses: FeedStatus[] = [];
    const status = stage.source.status(options).subscribe((one) => statuses.push(one));
    await stage.pass(2);
    const covered = statuses.at(-1)!.coveredFrom;
    stage.page.hide();
    await stage.pass(10);
    const asked = stage.world.asked.length;
    stage.page.show();
    await stage.pass(0.1);
    expect(stage.world.asked.length - asked).toBeLessThanOrEqual(3);
    const from = stage.world.asked
      .slice(asked)
      .map(({ url }) => Number(url.searchParams.get("fromDate")) * 1_000);
    expect(Math.min(...from)).toBeGreaterThanOrEqual(START - 5 * MINUTE);
    expect(statuses.at(-1)).toMatchObject({ state: "live", coveredFrom: covered });
    leave();
    status.unsubscribe();
    expect(stage.world.clock.pending).toBe(0);
  });

  it.each(["before the pause", "after it"])("reads no history for a status that joins %s", async (when) => {
    const stage = new PauseStage();
    stage.trade();
    const options = { ...MINUTES, since: { candles: 100 } };
    const { leave } = stage.follow(options);
    await stage.pass(3.5);
    if (when === "after it") {
      stage.page.hide();
      await stage.pass(5);
      stage.page.show();
      await stage.pass(0.2);
    }
    const asked = stage.world.asked.length;
    const states: string[] = [];
    const status = stage.source.status(options).subscribe(({ state }) => states.push(state));
    await stage.pass(0.1);
    expect(states.at(-1)).toBe("live");
    expect(stage.world.asked.length).toBe(asked);
    leave();
    status.unsubscribe();
  });

  it("catches up once where a status was there first", async () => {
    const stage = new PauseStage();
    stage.trade();
    const options = { ...MINUTES, since: { candles: 100 } };
    const status = stage.source.status(options).subscribe();
    const { events, leave } = stage.follow(options);
    await stage.pass(3.5);
    stage.page.hide();
    await stage.pass(5);
    const asked = stage.world.asked.length;
    stage.page.show();
    await stage.pass(0.2);
    expect(stage.world.asked.length - asked).toBeLessThanOrEqual(4);
    expect(contradictions(events)).toEqual([]);
    leave();
    status.unsubscribe();
    expect(stage.world.clock.pending).toBe(0);
  });

  it("tells of a candle that went meanwhile, though none comes after it", async () => {
    const stage = new PauseStage();
    stage.trade(BORN, START);
    const { events, candles, leave } = stage.follow({ since: { candles: 5 } });
    await stage.pass(0.1);
    stage.page.hide();
    await stage.pass(1);
    const { swaps } = stage.world;
    swaps.splice(0, swaps.length, ...swaps.filter(({ timestamp }) => timestamp < at("11:59:00")));
    stage.page.show();
    await stage.pass(4);
    expect(contradictions(events)).toEqual([]);
    expect([...candles.values()]).toEqual((await truth(stage.world)).slice(-4));
    leave();
  });

  it("goes on through several pauses, each wherever it falls, as one who never paused", async () => {
    const actions = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({ pass: fc.integer({ min: 1, max: 400 }).map((tenths) => tenths / 10) }),
      },
      fc.constantFrom({ hide: true }, { hide: false }, { hide: false }),
      fc.record({ take: fc.integer({ min: 0, max: 4 }) }),
      fc.record({ add: fc.integer({ min: 0, max: 4 }) }),
    );
    const options = fc.record({
      since: fc.constantFrom<WatchOptions["since"]>(
        undefined,
        { candles: 1 },
        { candles: 20 },
        at("11:30:00"),
      ),
      fillGaps: fc.boolean(),
      revisionWindow: fc.integer({ min: 0, max: 4 }),
      sparse: fc.integer({ min: 1, max: 9 }),
      isAlone: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(actions, { maxLength: 14 }), options, async (steps, given) => {
        const { sparse, isAlone, since, ...others } = given;
        const asked = { ...others, ...(since !== undefined && { since }) };
        const stage = new PauseStage();
        const { world, page } = stage;
        const other = new World({ start: START, createdAt: BORN, hasDate: true });
        const worlds = [world, other];
        for (let instant = BORN, index = 0; instant < START + 600 * MINUTE; instant += 20_000, index += 1) {
          if (Math.floor(instant / MINUTE / sparse) % 2 !== 0) continue;
          for (const each of worlds) each.swap(instant, 100 + ((index * 7) % 31));
        }
        const paused = stage.follow(asked);
        const company = isAlone
          ? undefined
          : clientSource(world.client)
              .candles({ ...MINUTES, ...asked })
              .subscribe();
        const plain = new Map<number, Candle>();
        const following = clientSource(other.client)
          .candles({ ...MINUTES, ...asked })
          .subscribe((event) => applyCandleEvent(plain, event));
        const pass = async (minutes: number) => {
          for (const { clock } of worlds) await clock.advanceBy(minutes * MINUTE);
        };
        await pass(0.1);
        for (const step of [...steps, { hide: false }, { pass: 8 }]) {
          const now = world.clock.now();
          // What has left the window is final to one who has seen it, and read anew by one who has not.
          const back = (intervals: number) => Math.min(intervals, Math.max(0, asked.revisionWindow - 1));
          if ("pass" in step) await pass(step.pass);
          else if ("hide" in step) page.hide(step.hide);
          else if ("add" in step) for (const each of worlds) each.swap(now - back(step.add) * MINUTE, 500);
          else {
            const start = (Math.floor(now / MINUTE) - back(step.take)) * MINUTE;
            const isTaken = (instant: number) => instant >= start && instant < Math.min(now, start + MINUTE);
            for (const { swaps } of worlds) {
              swaps.splice(0, swaps.length, ...swaps.filter(({ timestamp }) => !isTaken(timestamp)));
            }
          }
        }
        expect(contradictions(paused.events)).toEqual([]);
        const ended = (candles: Map<number, Candle>) =>
          [...candles.values()].sort((a, b) => a.timestamp - b.timestamp);
        expect(ended(paused.candles)).toEqual(ended(plain));
        for (const each of [paused.leave, () => company?.unsubscribe(), () => following.unsubscribe()])
          each();
        expect(worlds.map(({ clock }) => clock.pending)).toEqual([0, 0]);
        vi.unstubAllGlobals();
      }),
      { numRuns: 60 },
    );
  });

  it("tells of at most one live close after the machine has slept, seen all the while", async () => {
    const stage = new PauseStage();
    stage.trade();
    const { leave } = stage.follow({ since: { candles: 3 } });
    const live: string[] = [];
    const fresh = stage.source
      .candles(MINUTES)
      .pipe(closes())
      .subscribe((event) => {
        if (event.live) live.push(time(event.candle.timestamp).slice(0, 5));
      });
    await stage.pass(2);
    const before = live.length;
    // Nothing is heard for 20 minutes.
    stage.world.interfere = () => Promise.reject(new Error("asleep"));
    await stage.pass(20);
    stage.world.interfere = () => undefined;
    await stage.pass(1.5);
    expect(live.length - before).toBeLessThanOrEqual(2);
    fresh.unsubscribe();
    leave();
  });

  it("ends with its stream, and in no page never pauses", async () => {
    const world = new World({ start: START, createdAt: BORN, hasDate: true });
    const source = pauseWhileHidden(clientSource(world.client));
    let error: unknown;
    world.interfere = async () => ({ status: 401, headers: { get: () => null }, text: async () => "{}" });
    source.candles(MINUTES).subscribe({ error: (thrown) => (error = thrown) });
    await world.clock.advanceBy(1_000);
    expect(error).toMatchObject({ name: "AuthenticationError" });
  });

  it("refuses to go on from a look that was kept", () => {
    const source = pauseWhileHidden(clientSource(new World({ start: START }).client));
    const known = { pairAddress: PAIR, report: emptyReport };
    expect(() => source.snipers({ pairAddress: PAIR, known })).toThrow(/known/);
  });

  it.each<[PauseOptions, string]>([
    [{ after: -1 }, "after"],
    [{ aftr: 1 } as PauseOptions, "aftr"],
    [{ scheduler: { now: Date.now } as never }, "scheduler"],
  ])("refuses %o", (options, parameter) => {
    const { client } = new World({ start: START });
    let thrown: unknown;
    try {
      pauseWhileHidden(clientSource(client), options);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(InvalidInputError);
    expect(thrown).toMatchObject({ parameter });
    const source = pauseWhileHidden(clientSource(client));
    expect(() => source.candles({ ...MINUTES, timeframe: "7min" as "1min" })).toThrow(InvalidInputError);
    expect(() => source.snipers({ pairAddress: "" })).toThrow(InvalidInputError);
    expect(() => source.status({ ...MINUTES, every: 1 })).toThrow(InvalidInputError);
  });
});

it.each([[{}], [undefined], [null]])("pauseWhileHidden refuses %o as a source", (source) => {
  expect(() => pauseWhileHidden(source as never)).toThrow(
    "source has no method candles; allowed: a source, such as clientSource(client)",
  );
});

describe("pauseWhileHidden, of snipers", () => {
  it("tells what has changed meanwhile, and nothing twice", async () => {
    const stage = new PauseStage();
    const { world, page } = stage;
    for (const walletAddress of ["ann", "bob"]) {
      world.swap(BORN + 1, 100, { walletAddress });
      world.swap(BORN + 60_001, 100, { walletAddress, side: "sell" });
    }
    const events: SniperEvent[] = [];
    let report = emptyReport;
    const following = stage.source
      .snipers({ pairAddress: MINUTES.pairAddress, every: 10_000 })
      .subscribe((event) => {
        events.push(event);
        report = applySniperEvent(report, event);
      });
    await stage.pass(1);
    const before = events.length;
    expect(events.map(({ type, initial }) => `${type} ${initial}`)).toEqual([
      "wallet-added true",
      "wallet-added true",
    ]);
    page.hide();
    await stage.pass(5);
    const asked = world.asked.length;
    world.swap(world.clock.now() - 1_000, 50, { walletAddress: "ann", side: "sell" });
    world.swaps.splice(2, 2);
    await stage.pass(5);
    expect(world.asked.length).toBe(asked);
    page.show();
    await stage.pass(0.05);
    const missed = events.slice(before).map(({ type, initial }) => `${type} ${initial}`);
    expect(missed).toEqual(["sold false", "wallet-updated false", "wallet-removed false"]);
    await stage.pass(2);
    expect(events.length).toBe(before + missed.length);
    expect(report.result.map(({ walletAddress }) => walletAddress)).toEqual(["ann"]);
    world.swap(world.clock.now() - 1_000, 50, { walletAddress: "ann", side: "sell" });
    await stage.pass(1);
    expect(events.at(-2)).toMatchObject({ type: "sold", initial: false });
    following.unsubscribe();
    expect(world.clock.pending).toBe(0);
  });

  it("tells looks that follow from those before the pause, and from one that was kept", async () => {
    const stage = new PauseStage();
    const { world, page, source } = stage;
    for (const walletAddress of ["ann", "bob"]) {
      world.swap(BORN + 1, 100, { walletAddress });
      world.swap(BORN + 60_001, 100, { walletAddress, side: "sell" });
    }
    const options = { pairAddress: MINUTES.pairAddress, every: 10_000 };
    const tell = (known?: SniperLook) => {
      const looks: SniperLook[] = [];
      const following = source
        .sniperReport({ ...options, ...(known && { known }) })
        .subscribe((look) => looks.push(look));
      return { looks, following };
    };
    const brief = ({ initial, trades }: SniperLook) =>
      [initial, ...trades.map(({ kind, walletAddress, side }) => `${walletAddress} ${kind} ${side}`)].join();
    const { looks, following } = tell();
    await stage.pass(1);
    const kept = tell(looks[0]);
    page.hide();
    await stage.pass(5);
    const asked = world.asked.length;
    world.swap(world.clock.now() - 1_000, 50, { walletAddress: "ann", side: "sell" });
    world.swaps.splice(2, 2);
    await stage.pass(5);
    expect(world.asked.length).toBe(asked);
    page.show();
    await stage.pass(2);
    expect(looks.map(brief)).toEqual([
      "true,ann made snipe,ann made sell,bob made snipe,bob made sell",
      "false,ann made sell,bob taken-back snipe,bob taken-back sell",
    ]);
    expect(kept.looks.map(brief)).toEqual(["false", brief(looks[1]!)]);
    page.hide();
    await stage.pass(5);
    page.show();
    await stage.pass(1);
    expect(looks).toHaveLength(2);
    world.swap(world.clock.now() - 1_000, 50, { walletAddress: "ann", side: "sell" });
    await stage.pass(1);
    expect(looks.slice(2).map(brief)).toEqual(["false,ann made sell"]);
    for (const one of [following, kept.following]) one.unsubscribe();
    expect(world.clock.pending).toBe(0);
  });

  it("is refused at the call where the source would refuse it", () => {
    const source = pauseWhileHidden(clientSource(new World({ start: START }).client));
    expect(() => source.sniperReport({ pairAddress: "" })).toThrow(InvalidInputError);
  });
});
