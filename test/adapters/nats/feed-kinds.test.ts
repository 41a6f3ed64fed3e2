import fc from "fast-check";
import { expect, it } from "vitest";
import { feedKindOf } from "../../../src/adapters/nats/feed-kinds.js";
import type { Publisher } from "../../../src/adapters/nats/publisher.js";
import { candleSubjects, splitSubject } from "../../../src/adapters/nats/subjects.js";
import {
  applyCandleEvent,
  type Candle,
  type CandleEvent,
  type FeedStatus,
  VirtualClock,
  watchCandles,
  watchFeedStatus,
} from "../../../src/index.js";
import { clientOf, MINUTE, MINUTES, NOON } from "./minute-service.js";

/** What is published where one collector works until `diesAt`, and another one from `takenOverAt` on. */
async function publishedOver(
  appearances: ReadonlyMap<number, number>,
  { window, settle, diesAt, takenOverAt }: Record<"window" | "settle" | "diesAt" | "takenOverAt", number>,
) {
  const clock = new VirtualClock(NOON + 2 * MINUTE);
  const watch = { ...MINUTES, every: 20_000, settle, revisionWindow: window };
  const first = clientOf(clock, appearances);
  const ranOn = new Map<number, Candle>();
  const published = new Map<number, Candle>();
  const open = new Set<string>();
  let before: FeedStatus | undefined;
  const took = (event: CandleEvent) => {
    applyCandleEvent(ranOn, event);
    if (clock.now() >= diesAt) return;
    applyCandleEvent(published, event);
    const last = String(event.candle.timestamp);
    if (event.type === "removed" || event.status === "final") open.delete(last);
    else open.add(last);
  };
  const since = NOON;
  const running = watchCandles(first, { ...watch, since }).subscribe(took);
  running.add(
    watchFeedStatus(first, { ...watch, since }).subscribe((status) => {
      if (clock.now() < diesAt) before = status;
    }),
  );
  await clock.advanceTo(takenOverAt);
  const publisher = {
    offer: (subject: string, { body }: { body: string }) =>
      published.set(Number(splitSubject(subject).last), JSON.parse(body).candle),
  } as unknown as Publisher;
  const means = { client: clientOf(clock, appearances), scheduler: clock, retention: 0 };
  const { offered, statuses } = feedKindOf(watch, means).follow({
    feed: candleSubjects("p", MINUTES),
    publisher,
    epoch: 2,
    open: [...open],
    before,
  });
  running.add(offered.subscribe());
  running.add(statuses.subscribe());
  await clock.advanceTo(NOON + 16 * MINUTE);
  running.unsubscribe();
  return { ranOn, published };
}

it("a series loses no candle to a takeover, however late that appears", async () => {
  const late = fc.record({
    minute: fc.integer({ min: 2, max: 9 }),
    by: fc.integer({ min: 0, max: 4 * MINUTE }),
  });
  const takeover = fc.record({
    window: fc.integer({ min: 0, max: 3 }),
    settle: fc.constantFrom(0, 1_000, 90_000),
    diesAt: fc.integer({ min: NOON + 3 * MINUTE, max: NOON + 8 * MINUTE }),
    pause: fc.integer({ min: 0, max: 2 * MINUTE }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(late, { maxLength: 8 }), takeover, async (candles, { pause, ...rest }) => {
      const appearances = new Map([[0, NOON]]);
      for (const { minute, by } of candles) appearances.set(minute, NOON + minute * MINUTE + by);
      const takenOverAt = rest.diesAt + pause;
      const { ranOn, published } = await publishedOver(appearances, { ...rest, takenOverAt });
      const minuteOf = (at: number) => Math.floor((at - NOON) / MINUTE);
      const changeable = Math.min(minuteOf(takenOverAt) - rest.window, minuteOf(takenOverAt - rest.settle));
      for (const [timestamp, candle] of ranOn) {
        const minute = minuteOf(timestamp);
        // Whoever looks first at the takeover finds it final without a candle; who had looked before looks once more.
        const isTooLate = minute < changeable && appearances.get(minute)! > takenOverAt;
        if (!isTooLate) expect(published.get(timestamp)).toEqual(candle);
      }
    }),
    {
      numRuns: 40,
      examples: [[7], []].map((minutes) => [
        [{ minute: 6, by: 80_000 }, ...minutes.map((minute) => ({ minute, by: 0 }))],
        { window: 2, settle: 1_000, diesAt: NOON + 7 * MINUTE + 2_000, pause: 3_000 },
      ]),
    },
  );
});

it("a series covers no interval whose candle was not offered, wherever it begins", async () => {
  const minute = fc.integer({ min: -6, max: 2 });
  const begins = fc.record({
    since: fc.oneof(
      fc.constant(undefined),
      minute.map((at) => NOON + at * MINUTE),
      fc.integer({ min: 1, max: 8 }).map((candles) => ({ candles })),
    ),
    open: fc.uniqueArray(minute, { maxLength: 3 }),
    window: fc.integer({ min: 0, max: 4 }),
    silent: fc.uniqueArray(fc.integer({ min: -6, max: 8 }), { maxLength: 6 }),
  });
  await fc.assert(
    fc.asyncProperty(begins, async ({ since, open, window, silent }) => {
      const clock = new VirtualClock(NOON + 2 * MINUTE + 10_000);
      const minutes = Array.from({ length: 20 }, (_, at) => at - 10).filter((at) => !silent.includes(at));
      const appearances = new Map(minutes.map((at) => [at, NOON + at * MINUTE]));
      const offered = new Set<number>();
      const publisher = {
        offer: (subject: string) => offered.add(Number(splitSubject(subject).last)),
      } as unknown as Publisher;
      const client = clientOf(clock, appearances);
      const watch = { ...MINUTES, every: 20_000, revisionWindow: window, ...(since && { since }) };
      const kind = feedKindOf(watch, { client, scheduler: clock, retention: 0 });
      const { offered: coming, statuses } = kind.follow({
        feed: candleSubjects("p", MINUTES),
        publisher,
        epoch: 1,
        open: open.map((at) => String(NOON + at * MINUTE)),
        before: undefined,
      });
      const following = coming.subscribe();
      const unfounded = new Set<number>();
      let covered = 0;
      const next = ({ state, coveredFrom, coveredUntil }: FeedStatus) => {
        if (state !== "live") return;
        const known = minutes.map((at) => NOON + at * MINUTE);
        for (const at of known.filter((at) => coveredFrom! <= at && at < coveredUntil!)) {
          if (!offered.has(at)) unfounded.add(at);
        }
        covered = coveredUntil! - coveredFrom!;
      };
      following.add(statuses.subscribe(next));
      await clock.advanceTo(NOON + 9 * MINUTE);
      following.unsubscribe();
      expect([...unfounded]).toEqual([]);
      if (offered.size > 1) expect(covered).toBeGreaterThan(0);
    }),
    {
      numRuns: 60,
      examples: [[{ since: undefined, open: [2], window: 2, silent: [] }]],
    },
  );
});
