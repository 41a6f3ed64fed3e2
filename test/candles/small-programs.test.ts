import { lastValueFrom, type Observable, toArray } from "rxjs";
import { expect, it } from "vitest";
import { type CandleEvent, fetchCandles, watchCandles } from "../../src/index.js";
import { answered, type Interference, MINUTES, World } from "../world.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const OCTOBER = Date.UTC(2026, 9, 1);

/** Runs a clock until a stream of candles has completed. */
async function candlesOf<T>(world: World, stream: Observable<T>): Promise<T[]> {
  const done = lastValueFrom(stream.pipe(toArray()));
  await world.clock.advanceBy(10 * MINUTE);
  return done;
}

/** A client of a pair with a swap a minute, forty days on, and how many requests each of its programs has taken. */
function marketOfOctober() {
  const world = new World({ start: OCTOBER + 40 * DAY, hasDate: true, createdAt: OCTOBER - DAY });
  world.swapsEvery(MINUTE, OCTOBER, OCTOBER + 41 * DAY);
  const counted = async (program: () => Promise<void>) => {
    const before = world.asked.length;
    await program();
    return world.asked.length - before;
  };
  const hour = (from: number) =>
    counted(async () => {
      const range = { from, to: from + HOUR };
      expect(await candlesOf(world, fetchCandles(world.client, { ...MINUTES, ...range }))).toHaveLength(60);
    });
  const watch = () =>
    counted(async () => {
      const told: CandleEvent[] = [];
      const options = { ...MINUTES, since: { candles: 5 } };
      const watching = watchCandles(world.client, options).subscribe((event) => told.push(event));
      await world.clock.advanceBy(20_000);
      watching.unsubscribe();
      expect(told.length).toBeGreaterThanOrEqual(5);
    });
  return { hour, watch };
}

it("takes for an hour, and for the last five candles, what it takes on a fresh client, though another was read before", async () => {
  const later = OCTOBER + 30 * DAY;
  const fresh = await marketOfOctober().hour(later);
  const watchedFresh = await marketOfOctober().watch();
  const client = marketOfOctober();
  await client.hour(OCTOBER);
  expect(await client.hour(later)).toBeLessThanOrEqual(fresh);
  expect(await client.watch()).toBeLessThanOrEqual(watchedFresh);
  expect(fresh).toBeLessThanOrEqual(2);
  expect(watchedFresh).toBeLessThanOrEqual(4);
});

/** The events of a minute of a stream, while the answers are what `interfere` makes of them. */
async function eventsOf(
  { timeframe, every }: { timeframe: "1s" | "10s"; every: number },
  interfere: (world: World) => Interference,
): Promise<CandleEvent[]> {
  const start = OCTOBER + 250;
  const world = new World({ start, hasDate: true, createdAt: OCTOBER - DAY });
  world.swapsEvery(1_000, OCTOBER - 5 * MINUTE, OCTOBER + 5 * MINUTE);
  const events: CandleEvent[] = [];
  const watch = watchCandles(world.client, { ...MINUTES, timeframe, every, revisionWindow: 5 }).subscribe(
    (event) => events.push(event),
  );
  await world.clock.advanceBy(30_000);
  world.interfere = interfere(world);
  await world.clock.advanceBy(45_000);
  watch.unsubscribe();
  return events;
}

const removedIn = (events: readonly CandleEvent[]) => events.filter(({ type }) => type === "removed");

it("removes nothing where a cache gives one answer for 20 s, which lacks two candles and says how old it is", async () => {
  const events = await eventsOf({ timeframe: "10s", every: 2_000 }, (world) => {
    let kept: { at: number; body: string; date: string | null } | undefined;
    return async (_asked, answer) => {
      const now = world.clock.now();
      if (kept === undefined || now - kept.at > 20_000) {
        const { headers, text } = await answer();
        const page = JSON.parse(await text()) as { result: { timestamp: string }[] };
        const newest = page.result
          .map(({ timestamp }) => timestamp)
          .sort()
          .at(-1)!;
        const isKept = ({ timestamp }: { timestamp: string }) =>
          kept !== undefined || Date.parse(timestamp) < Date.parse(newest) - 20_000 || timestamp === newest;
        kept = {
          at: now,
          body: JSON.stringify({ ...page, result: page.result.filter(isKept) }),
          date: headers.get("date"),
        };
      }
      return answered(200, kept.body, {
        ...(kept.date === null ? {} : { date: kept.date }),
        age: String(Math.floor((now - kept.at) / 1_000)),
      });
    };
  });
  expect(removedIn(events)).toEqual([]);
});

it("removes two candles at most where one of two replicas, which answer by turns, is four seconds behind", async () => {
  const events = await eventsOf({ timeframe: "1s", every: 1_000 }, (world) => {
    let turn = 0;
    return async (_asked, answer) => {
      turn += 1;
      if (turn % 4 < 2) return answer();
      const dated = (await answer()).headers;
      world.offset -= 4_000;
      try {
        const { status, text } = await answer();
        return { status, headers: dated, text };
      } finally {
        world.offset += 4_000;
      }
    };
  });
  expect(removedIn(events).length).toBeLessThanOrEqual(2);
});

it("gives 480 of 480 candles though the first answer lacks the older ones, and has no cursor", async () => {
  // The last one has settled.
  const start = OCTOBER + DAY + 2_000;
  const world = new World({ start, hasDate: true, createdAt: OCTOBER - DAY });
  const [from, to] = [OCTOBER + DAY - 8 * HOUR, OCTOBER + DAY];
  world.swapsEvery(MINUTE, from, to);
  let isCut = false;
  world.interfere = async (asked, answer) => {
    if (isCut || !asked.url.pathname.endsWith("/ohlcv")) return answer();
    isCut = true;
    const { status, headers, text } = await answer();
    const page = JSON.parse(await text()) as { result: unknown[] };
    const body = JSON.stringify({ ...page, cursor: null, result: page.result.slice(0, 199) });
    return { status, headers, text: async () => body };
  };
  const candles = await candlesOf(world, fetchCandles(world.client, { ...MINUTES, from, to }));
  expect(candles).toHaveLength(480);
});
