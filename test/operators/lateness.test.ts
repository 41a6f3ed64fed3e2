import { describe, expect, it } from "vitest";
import type { CandleEvent, CandleStatus } from "../../src/candles/event.js";
import { ema } from "../../src/indicators/averages/ema.js";
import { resample } from "../../src/operators/resample.js";
import { withIndicators } from "../../src/operators/with-indicators.js";
import { eventOf } from "./events.js";
import { emitted } from "./manners.js";

const MINUTE = 60_000;
const SETTLE = 1_000;

/** An event about a minute that comes so many ms after its end, as a feed with a settle of 1 s tells it. */
function coming(
  type: CandleEvent["type"],
  at: number,
  status: CandleStatus,
  after: number,
  { live = true, price = 1 } = {},
): CandleEvent {
  const observedAt = (at + 1) * MINUTE + after;
  const lateBy = Math.max(0, after - (status === "open" ? 0 : SETTLE));
  return { ...eventOf(type, at, status, price), observedAt, lateBy, live };
}

const comingsOf = (events: readonly CandleEvent[]) =>
  events.map(({ candle, status, live, lateBy }) => [candle.timestamp / MINUTE, status, live, lateBy]);

describe("how late what follows is", () => {
  it("is of a later candle by its own due, where a correction carries through", () => {
    const events = [
      coming("new", 1, "closed", 1_500),
      coming("new", 2, "closed", 1_500),
      coming("new", 3, "open", -50_000),
      coming("updated", 1, "closed", 130_000, { live: false, price: 3 }),
    ];
    expect(comingsOf(emitted(withIndicators({ fast: ema(1), slow: ema(2) }), events).slice(3))).toEqual([
      [1, "closed", false, 129_000],
      [2, "closed", false, 69_000],
      [3, "open", true, 10_000],
    ]);
    expect(comingsOf(emitted(withIndicators({ slow: ema(1), all: ema(2) }), events).slice(0, 3))).toEqual([
      [1, "closed", true, 500],
      [2, "closed", true, 500],
      [3, "open", true, 0],
    ]);
  });

  it("is of a bucket by its end and settle: late where it is sparse, and on time where a shorter candle is late", () => {
    const closing = [coming("new", 3, "closed", 1_500), coming("updated", 4, "closed", 1_600)];
    expect(comingsOf(emitted(resample("5min"), closing)).at(-1)).toEqual([0, "closed", true, 600]);
    const sparse = [coming("new", 0, "closed", 1_500), coming("new", 42, "open", -30_000)];
    expect(comingsOf(emitted(resample("5min"), sparse))).toEqual([
      [0, "open", true, 0],
      [0, "closed", false, 37.5 * MINUTE - SETTLE],
      [40, "open", true, 0],
    ]);
  });

  it("is live for one bucket at most after an outage, and for none of a history", () => {
    const caughtUp = (live: boolean) =>
      Array.from({ length: 120 }, (_, at) => {
        const observedAt = 120 * MINUTE + 2_000;
        const event = coming("new", at, "closed", observedAt - (at + 1) * MINUTE, {
          live: live && at === 119,
        });
        return event;
      });
    const first = coming("new", -1, "closed", 1_000);
    const live = emitted(resample("5min"), [first, ...caughtUp(true)]).filter(
      (event) => event.status === "closed" && event.live,
    );
    expect(comingsOf(live)).toEqual([
      [-5, "closed", true, 0],
      [115, "closed", true, 1_000],
    ]);
    const history = caughtUp(false);
    expect(emitted(resample("1h"), history).filter((event) => event.live)).toEqual([]);
  });

  it("is of a bucket that becomes final as late as its last candle becomes so", () => {
    const final = { ...coming("updated", 4, "final", 121_500), lateBy: 500 };
    const events = [coming("new", 3, "closed", 1_500), coming("updated", 4, "closed", 1_600), final];
    expect(comingsOf(emitted(resample("5min"), events)).at(-1)).toEqual([0, "final", true, 500]);
    const skipped = [coming("new", 4, "open", -9_000), { ...final, type: "new" as const }];
    expect(comingsOf(emitted(resample("5min"), skipped)).at(-1)).toEqual([0, "final", false, 121_500]);
  });

  it("counts from when an event is received, which from memory is later than it was observed", () => {
    const finalAfter = 2 * MINUTE + SETTLE;
    const final = (type: CandleEvent["type"], at: number, late: number): CandleEvent => ({
      ...coming(type, at, "final", finalAfter),
      lateBy: late,
    });
    const known = [
      coming("new", 4, "closed", 1_500),
      final("updated", 4, 0),
      coming("new", 6, "closed", 1_500),
    ];
    // Observed two minutes after its end, and received 10 minutes after that, it ends the bucket before it.
    const remembered = final("new", 11, 10 * MINUTE);
    const told = emitted(resample("5min"), [...known, remembered]);
    const received = 12 * MINUTE + finalAfter + 10 * MINUTE;
    expect(comingsOf(told).at(-2)).toEqual([5, "final", false, received - (10 * MINUTE + SETTLE)]);
  });
});
