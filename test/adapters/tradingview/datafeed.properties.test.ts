import fc from "fast-check";
import { type Candle, type CandleEvent, VirtualClock } from "pairstream";
import { type Bar, createDatafeed } from "pairstream/tradingview";
import { expect, it } from "vitest";
import { minuteCandle, SERIES } from "../../candles/minute-candles.js";
import { sequences } from "../../operators/sequences.js";
import { Library } from "./library.js";
import { NEW_FINAL, TestSource } from "./test-source.js";

const MINUTE = 60_000;
/** So many minutes before the events begin; every seventh of them had no swap. */
const PAST = 700;
const { network, pairAddress, currency } = SERIES;
const SYMBOLS = ["ONE", "TWO"].map((name) => ({ name, network, pairAddress, currency }));

const barOf = ({ timestamp, open, high, low, close, volume }: Candle): Bar => ({
  time: timestamp,
  open,
  high,
  low,
  close,
  volume,
});
/** What the library has written into a bar aside. */
const plain = ({ time, open, high, low, close, volume }: Bar): Bar => ({
  time,
  open,
  high,
  low,
  close,
  volume,
});

function pastOf(source: TestSource): void {
  for (let minute = 1; minute < PAST; minute += 1) {
    if (minute % 7 === 0) continue;
    const candle = minuteCandle(minute, 1 + (minute % 5));
    source.emit({ ...NEW_FINAL, candle });
  }
}

/** The same event, after the past. */
function later(event: CandleEvent): CandleEvent {
  const shifted = (candle: Candle) => ({ ...candle, timestamp: candle.timestamp + PAST * MINUTE });
  const candle = shifted(event.candle);
  return event.type === "updated"
    ? { ...event, candle, previous: shifted(event.previous) }
    : { ...event, candle };
}

/** What happens, beside the events. */
const steps = fc.array(
  fc.record({
    events: fc.nat(4),
    wait: fc.constantFrom(0, 0, 1, 15, 60, 2_000, 30_000),
    does: fc.constantFrom("nothing", "nothing", "scroll", "switch", "leave", "forget", "show"),
    symbol: fc.constantFrom("ONE", "TWO"),
    count: fc.integer({ min: 1, max: 400 }),
  }),
  { minLength: 10, maxLength: 60, size: "max" },
);

const manners = fc.record({
  subscribesEarly: fc.boolean(),
  renews: fc.boolean(),
  countBack: fc.constantFrom(1, 30, 300, 600, 1_200),
  patience: fc.constantFrom(0, 5, 500),
});

it("gives a chart, by bars, ticks and resets, what the fold of the events holds", {
  timeout: 300_000,
}, async () => {
  let ticks = 0;
  let resets = 0;
  await fc.assert(
    fc.asyncProperty(
      sequences,
      steps,
      manners,
      fc.array(fc.constantFrom(0, 1, 10, 100, 1_000), { minLength: 1, maxLength: 5 }),
      async (events, plan, { patience, ...some }, latencies) => {
        const clock = new VirtualClock((PAST + 10) * MINUTE);
        let asked = 0;
        const source = new TestSource(clock, () => latencies[asked++ % latencies.length]!);
        pastOf(source);
        const datafeed = createDatafeed(source.source, { symbols: SYMBOLS, scheduler: clock });
        const library = new Library(datafeed, () => clock.now() + 365 * 24 * 60 * MINUTE, {
          ...some,
          onReset: (reset) => {
            if (patience === 0) reset();
            else clock.schedule(() => reset(), patience);
          },
        });
        library.show("ONE");
        let told = 0;
        for (const { events: count, wait, does, symbol, count: bars } of plan) {
          const other = symbol === "ONE" ? "TWO" : "ONE";
          if (does === "scroll") library.scroll(symbol, bars);
          if (does === "switch") {
            library.show(symbol);
            // The one before is left some time later.
            clock.schedule(() => library.leave(other), 3);
          }
          if (does === "leave" || does === "forget")
            library.leave(symbol, "1", { forgets: does === "forget" });
          if (does === "show") library.show(symbol);
          for (const event of events.slice(told, told + count)) source.emit(later(event));
          told += count;
          await clock.advanceBy(wait);
        }
        await clock.advanceBy(10);
        library.show("ONE");
        library.show("TWO");
        await clock.advanceBy(60_000);
        for (const event of events.slice(told)) {
          source.emit(later(event));
          await clock.advanceBy(20);
        }
        await clock.advanceBy(60_000);
        expect(library.problems).toEqual([]);
        const fold = source.candles().map(barOf);
        for (const name of ["ONE", "TWO"]) {
          const held = library.barsOf(name);
          expect(held.length).toBeGreaterThan(0);
          expect(held.map(plain)).toEqual(fold.filter(({ time }) => time >= held[0]!.time));
        }
        ticks += library.ticks;
        resets += library.resets;
        library.leave("ONE");
        library.leave("TWO");
        await clock.advanceBy(11_000);
        expect(source.running).toBe(0);
        expect(clock.pending).toBe(0);
      },
    ),
    { numRuns: 150 },
  );
  expect(ticks).toBeGreaterThan(100);
  expect(resets).toBeGreaterThan(100);
});

it("answers a period with all of it, and with as many earlier bars as it lacks", {
  timeout: 300_000,
}, async () => {
  const period = fc.record({
    from: fc.integer({ min: -100, max: PAST + 20 }),
    length: fc.integer({ min: 0, max: 900 }),
    countBack: fc.integer({ min: 0, max: 900 }),
    firstDataRequest: fc.boolean(),
    offset: fc.constantFrom(0, 0, 1, 59),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(period, { minLength: 1, maxLength: 6 }), async (periods) => {
      const clock = new VirtualClock(PAST * MINUTE);
      const source = new TestSource(clock);
      pastOf(source);
      const datafeed = createDatafeed(source.source, { symbols: SYMBOLS, scheduler: clock });
      const fold = source.candles().map(barOf);
      for (const { from: start, length, countBack, firstDataRequest, offset } of periods) {
        const [from, to] = [start * 60 + offset, (start + length) * 60 + offset];
        const answers: { bars: Bar[]; noData: boolean }[] = [];
        const onResult = (bars: Bar[], { noData }: { noData: boolean }) => answers.push({ bars, noData });
        const fail = (reason: string) => expect.unreachable(reason);
        datafeed.getBars({ name: "one" }, "1", { from, to, countBack, firstDataRequest }, onResult, fail);
        await clock.advanceBy(2_000);
        const before = fold.filter(({ time }) => time < to * 1_000);
        const inside = before.filter(({ time }) => time >= from * 1_000);
        const [answer] = answers;
        expect(answers.length).toBe(1);
        // One earlier bar, where the range has none, tells that there are some.
        const expected = before.slice(-Math.max(1, countBack, inside.length));
        expect(answer).toEqual({ bars: expected, noData: before.length === 0 });
      }
    }),
  );
});
