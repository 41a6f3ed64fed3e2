import fc from "fast-check";
import { candleStore, memoryStore } from "pairstream/store";
import { expect, it } from "vitest";
import type { CandleStore } from "../../src/adapters/store/index.js";
import { type CandleEvent, fetchCandles, watchCandles } from "../../src/index.js";
import { withFaults } from "../../src/service/index.js";
import { at, MINUTES, World } from "../world.js";
import { bearableFaults } from "./bearable-faults.js";
import { standing } from "./minute-candles.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = at("12:00:10");
const CREATED = START - 20 * 60 * MINUTE;
const KEY = { ...MINUTES, service: "http://localhost", weekStart: "monday" } as const;
const ALL = { from: 0, to: Number.MAX_SAFE_INTEGER };
/** `RUNS=1000` tries as many. */
const RUNS = Number(process.env.RUNS ?? 25);
const RATES = bearableFaults(0.03);

/** A swap, and how many ms after its time the service first tells of it. */
interface LateSwap {
  readonly timestamp: number;
  readonly price: number;
  readonly delay: number;
}

const market = fc
  .record({ density: fc.constantFrom(1, 3, 10), seed: fc.integer({ min: 1, max: 1e6 }) })
  .map(({ density, seed }) => {
    const swaps: LateSwap[] = [];
    let state = seed;
    const random = () => {
      state = (state * 48_271) % 2_147_483_647;
      return state / 2_147_483_647;
    };
    const from = CREATED + Math.floor(random() * 19 * 60) * MINUTE;
    for (let timestamp = from; timestamp < START + 10 * 60 * MINUTE; ) {
      // As late as may be within the revision window.
      const delay = random() < 0.2 ? Math.floor(random() * 100_000) : 0;
      swaps.push({ timestamp, price: 1 + random(), delay });
      timestamp += 1 + Math.floor(random() * 2 * density * 40_000);
    }
    return swaps;
  });

const session = fc.record({
  /** None begins within some seconds of the end of a minute: there whoever asks more often sees it end. */
  pause: fc.constantFrom(1_000, 40_000, 5 * MINUTE, 40 * MINUTE),
  length: fc.constantFrom(20_000, 3 * MINUTE, 12 * MINUTE),
  since: fc.constantFrom(undefined, "early" as const, { candles: 30 }, { candles: 300 }),
  window: fc.constantFrom(2, 3),
  /** Whether the store fails at times, and loses the last that was written when the process ends. */
  isTorn: fc.boolean(),
});
const plan = fc.record({
  swaps: market,
  sessions: fc.array(session, { minLength: 2, maxLength: 4 }),
  seed: fc.integer({ min: 1, max: 1e6 }),
});

/**
 * When a swap first shows: in a part of the second in which nobody asks. Else one process would see what the other,
 * which reads less from the service and thus sooner, does not.
 */
const shownAt = (timestamp: number) => Math.ceil((timestamp - 400) / 1_000) * 1_000 + 400;

/** A process with all the swaps, those that come late when they come. */
function begin(swaps: readonly LateSwap[], start: number, store?: CandleStore, faults?: number): World {
  const world = new World({
    start,
    createdAt: CREATED,
    hasDate: true,
    client: store === undefined ? {} : { store: candleStore(store) },
    before: (fetch, scheduler) =>
      faults === undefined ? fetch : withFaults(fetch, { seed: faults, scheduler, rates: RATES }),
  });
  for (const { timestamp, price, delay } of swaps) {
    const known = shownAt(timestamp + delay);
    if (known <= start) world.swap(timestamp, price);
    else world.clock.schedule(() => void world.swap(timestamp, price), known - start);
  }
  return world;
}

async function run(world: World, since: unknown, revisionWindow: number, length: number) {
  const events: CandleEvent[] = [];
  const options = { ...MINUTES, revisionWindow, ...(since === undefined ? {} : { since: since as number }) };
  const subscription = watchCandles(world.client, options).subscribe({
    next: (event) => events.push(event),
    error: (error) => {
      throw error;
    },
  });
  await world.clock.advanceBy(length);
  subscription.unsubscribe();
  await world.clock.advanceBy(0);
  return events;
}

async function truthOf(swaps: readonly LateSwap[], from: number, to: number) {
  const world = begin(swaps, START + 10 * 60 * MINUTE);
  const candles: CandleEvent["candle"][] = [];
  fetchCandles(world.client, { ...MINUTES, from, to }).subscribe((candle) => candles.push(candle));
  await world.clock.advanceBy(60_000);
  return new Map(candles.map((candle) => [candle.timestamp, candle]));
}

/** A store that fails now and then, and of which the last writes are lost when its process ends. */
function torn(kept: CandleStore, seed: number) {
  const lost: (() => Promise<void>)[] = [];
  let calls = seed;
  const fails = () => ++calls % 5 === 0;
  const store: CandleStore = {
    read: async (...args) => {
      if (fails()) throw new Error("unreadable");
      return kept.read(...args);
    },
    write: async (key, known) => {
      if (fails()) throw new Error("disk is full");
      await kept.write(key, known);
      lost.push(() => kept.forget(key, known.from, known.to));
    },
    forget: (...args) => kept.forget(...args),
  };
  const end = async () => {
    for (const lose of lost.slice(-2)) await lose();
  };
  return { store, end };
}

const plain = ({ observedAt: _, ...event }: CandleEvent) =>
  Object.fromEntries(Object.entries(event).filter(([name]) => name !== "lateBy"));

/** Runs the sessions of a plan one after another on one store; gives what each has told. */
async function runAll(
  { swaps, sessions, seed }: Parameters<Parameters<typeof plan.map>[0]>[0],
  hasFaults: boolean,
) {
  const kept = memoryStore();
  const truth = await truthOf(swaps, CREATED - 60 * MINUTE, START + 9 * 60 * MINUTE);
  let now = START;
  for (const [index, { pause, length, since, window, isTorn }] of sessions.entries()) {
    now += pause;
    const wanted = since === "early" ? CREATED - 60 * MINUTE : since;
    const { store, end } = isTorn ? torn(kept, seed + index) : { store: kept, end: async () => {} };
    const events = await run(
      begin(swaps, now, store, hasFaults ? seed + index : undefined),
      wanted,
      window,
      length,
    );
    if (!hasFaults) {
      const expected = await run(begin(swaps, now), wanted, window, length);
      expect(events.map(plain)).toEqual(expected.map(plain));
    }
    now += length;
    // Promise 17: what is covered is just what the service has, for good.
    const { candles, covered } = await kept.read(KEY, ALL);
    const covers = (timestamp: number) => covered.some(({ from, to }) => timestamp >= from && timestamp < to);
    expect(candles).toEqual([...truth.values()].filter(({ timestamp }) => covers(timestamp)));
    // Final candles, of which no more is told, are true as well.
    const finals = new Set(
      events.filter(({ status }) => status === "final").map((event) => event.candle.timestamp),
    );
    for (const candle of standing(events)) {
      if (finals.has(candle.timestamp)) expect(candle).toEqual(truth.get(candle.timestamp));
    }
    await end();
  }
}

it("events with a store are those without one, over restarts of processes whose store fails and loses its last writes", async () => {
  await fc.assert(
    fc.asyncProperty(plan, (drawn) => runAll(drawn, false)),
    { numRuns: RUNS },
  );
});

it("what a store covers is true for good, under faults, too", async () => {
  await fc.assert(
    fc.asyncProperty(plan, (drawn) => runAll(drawn, true)),
    { numRuns: RUNS },
  );
});

it("gives the newest candles, and ends, whatever is stored and whenever the pair was created", async () => {
  const minutes = fc.integer({ min: 5, max: 400 });
  const given = fc.record({
    age: minutes,
    every: fc.constantFrom(1, 7, 60),
    /** How many minutes ago spans begin and end that are stored. */
    spans: fc.array(
      fc.tuple(minutes, minutes).filter(([one, other]) => one !== other),
      { maxLength: 3 },
    ),
    count: fc.constantFrom(1, 5, 50, 500),
    hides: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(given, async ({ age, every, spans, count, hides }) => {
      const minutesAgo = (ago: number) => at("12:00:00") - ago * MINUTE;
      const createdAt = minutesAgo(age) + 7_000;
      const store = memoryStore();
      const worldWith = (client: object) => {
        const quirks = { emptyBeforeCreation: hides };
        const world = new World({ start: START, createdAt, hasDate: true, quirks, client });
        for (let time = createdAt; time < START + HOUR; time += every * MINUTE) world.swap(time, 1);
        return world;
      };
      const range = { from: createdAt - MINUTE, to: minutesAgo(3) };
      const candles: CandleEvent["candle"][] = [];
      const truth = worldWith({});
      fetchCandles(truth.client, { ...MINUTES, ...range }).subscribe((candle) => candles.push(candle));
      await truth.clock.advanceBy(60_000);
      for (const [one, other] of spans) {
        const span = { from: minutesAgo(Math.max(one, other)), to: minutesAgo(Math.min(one, other)) };
        const own = candles.filter(({ timestamp }) => timestamp >= span.from && timestamp < span.to);
        await store.write(KEY, { ...span, candles: own });
      }
      const events = await run(worldWith({ store: candleStore(store) }), { candles: count }, 2, 3 * MINUTE);
      const shown = standing(events).filter(({ timestamp }) => timestamp < range.to);
      expect(shown.map(({ timestamp }) => timestamp)).toEqual(
        candles.slice(-shown.length || Infinity).map(({ timestamp }) => timestamp),
      );
      expect(shown.length).toBeGreaterThanOrEqual(Math.min(count - 5, candles.length));
    }),
    { numRuns: RUNS },
  );
});
