import { describe, expect, it } from "vitest";
import type { CandleEvent } from "../../../src/candles/event.js";
import type { CandleState } from "../../../src/candles/live/poll-candles.js";
import type { CandleWatch } from "../../../src/candles/options.js";
import { emptyBook } from "../../../src/candles/read/book.js";
import { judge } from "../../../src/candles/read/judge.js";
import type { CandleRules } from "../../../src/candles/rules.js";
import { CandleView } from "../../../src/candles/view/view.js";
import { intervalsOf } from "../../../src/timeframe.js";
import {
  lineOf,
  MINUTE,
  MINUTES,
  minuteCandle,
  type Prices,
  pageOf,
  partOf,
  SERIES,
} from "../minute-candles.js";

const RULES: CandleRules = { intervals: MINUTES, settle: 1_000, revisionWindow: 2 };

function watchOf(rules: CandleRules, more: Partial<CandleWatch> = {}): CandleWatch {
  const defaults = {
    every: 1_000,
    weekStart: "monday",
    since: undefined,
    fillGaps: false,
    whenMissing: "fail",
    pollKey: "",
  } as const;
  return { series: SERIES, rules, served: { series: SERIES, rules }, ...defaults, ...more };
}

/** States of a book that begins at minute 0, after a known candle; with `hasJumped` by a clock that has jumped. */
function states() {
  let book = emptyBook(0, [-MINUTE]);
  let epoch = 0;
  return (
    at: number,
    seconds: number,
    prices: Prices,
    hasJumped = false,
  ): { type: "state"; state: CandleState } => {
    if (hasJumped) epoch += 1;
    const known = Object.fromEntries(book.anchors.map((anchor) => [anchor / MINUTE, 1]));
    const page = pageOf(at * MINUTE + seconds * 1_000, [0, 100], { ...known, ...prices }, { epoch });
    const { changes, book: next } = judge(RULES, book, page);
    book = next;
    return { type: "state", state: { book, changes, endsEarly: false } };
  };
}

const lines = (events: Iterable<CandleEvent>) =>
  [...events].map((event) => `${lineOf(event)}${event.live ? " live" : ""}`);

describe("without a history", () => {
  const options = { start: 5 * MINUTE, hasHistory: false };

  it("shows nothing that is older than its start, and everything since", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES), options);
    expect(lines(view.take(look(5, 30, { 4: 1, 5: 1 })))).toEqual(["new 5=1 open r0 live"]);
    expect(lines(view.take(look(6, 1, { 4: 2, 5: 2, 6: 1 })))).toEqual([
      "updated 5=2 closed r1 live",
      "new 6=1 open r0 live",
    ]);
    expect(lines(view.take(look(9, 1, { 4: 2, 5: 2, 6: 1 })))).toEqual([
      "updated 5=2 final r2",
      "updated 6=1 final r1",
    ]);
  });

  it("shows one who comes late the candles as they stand, with the book's revision", () => {
    const look = states();
    look(4, 30, { 4: 1 });
    look(5, 30, { 4: 1, 5: 1 });
    const last = look(5, 40, { 4: 1, 5: 2 });
    const view = new CandleView(watchOf(RULES), options);
    expect(lines(view.take(last))).toEqual(["new 5=2 open r1 live"]);
    expect(lines(view.take(look(5, 50, { 4: 1, 5: 3 })))).toEqual(["updated 5=3 open r2 live"]);
  });

  it("is live at once only where none was asked for", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES, { since: options.start }), options);
    expect(lines(view.take(look(5, 30, { 5: 1 })))).toEqual(["new 5=1 open r0"]);
    expect(lines(view.take(look(5, 31, { 5: 2 })))).toEqual(["updated 5=2 open r1 live"]);
  });

  it("fills no gap before the first candle that it shows", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES, { fillGaps: true }), options);
    expect(lines(view.take(look(5, 30, { 3: 1 })))).toEqual([]);
    expect(lines(view.take(look(7, 30, { 3: 1, 6: 2 })))).toEqual(["new 6=2 closed r0 live"]);
    expect(lines(view.take(look(8, 30, { 6: 2 })))).toEqual(["new 7=2 closed r0 live"]);
  });

  it("tells when it was true, of which series, in events that are frozen", () => {
    const view = new CandleView(watchOf(RULES), options);
    const [event] = view.take(states()(5, 30, { 5: 1 }));
    expect(event).toMatchObject({ observedAt: 5 * MINUTE + 30_000, series: SERIES });
    expect(Object.isFrozen(event)).toBe(true);
  });
});

describe("how late something is", () => {
  const options = { start: 5 * MINUTE, hasHistory: false };

  it("counts from when it was received, and is live up to half an interval", () => {
    for (const [seconds, isLive] of [
      [31, true],
      [31.001, false],
    ] as const) {
      const look = states();
      const view = new CandleView(watchOf(RULES), options);
      lines(view.take(look(5, 30, { 5: 1 })));
      const received = 6 * MINUTE + seconds * 1_000;
      const [close] = view.take({ ...look(6, 1, { 5: 1 }), received });
      expect(close).toMatchObject({ live: isLive, lateBy: (seconds - 1) * 1_000 });
    }
  });

  it("leaves of the closes of one answer only the newest live, and none where a later answer has newer ones", () => {
    for (const endsEarly of [false, true]) {
      const look = states();
      const view = new CandleView(watchOf(RULES), options);
      lines(view.take(look(5, 30, { 5: 1 })));
      const { type, state } = look(7, 10, { 5: 1, 6: 1, 7: 1 });
      expect(lines(view.take({ type, state: { ...state, endsEarly } }))).toEqual([
        "updated 5=1 closed r1",
        `new 6=1 closed r0${endsEarly ? "" : " live"}`,
        "new 7=1 open r0 live",
      ]);
    }
  });

  it("shows in the first state what an outage before it has made final", () => {
    const look = states();
    look(5, 30, { 4: 1, 5: 1 });
    const view = new CandleView(watchOf(RULES), options);
    const [final, ...others] = lines(view.take(look(9, 30, { 4: 1, 5: 1, 8: 1, 9: 1 })));
    expect(final).toBe("new 5=1 final r1");
    expect(others).toEqual(["new 8=1 closed r0 live", "new 9=1 open r0 live"]);
  });
});

describe("of the closes that one answer tells of", () => {
  const intervals = intervalsOf("1s");
  const rules: CandleRules = { intervals, settle: 1_000, revisionWindow: 9 };

  function answers() {
    let book = emptyBook(0);
    const view = new CandleView(watchOf(rules), { start: 3_000, hasHistory: false });
    return (at: number, seconds: readonly number[]) => {
      const candles = seconds.map((second) => ({ ...minuteCandle(0), timestamp: second * 1_000 }));
      const page = pageOf(at, [0, 1], {}, { to: 10_000, candles });
      const { changes, book: next } = judge(rules, book, page);
      book = next;
      return [...view.take({ type: "state", state: { book, changes, endsEarly: false } })].map(
        ({ type, candle, status, live }) =>
          `${type} ${candle.timestamp / 1_000} ${status}${live ? " live" : ""}`,
      );
    };
  }

  it("only the newest is live, though all are in time", () => {
    const take = answers();
    expect(take(3_500, [3])).toEqual(["new 3 open live"]);
    expect(take(7_500, [3, 4, 5, 6, 7])).toEqual([
      "updated 3 closed",
      "new 4 closed",
      "new 5 closed live",
      "new 6 open live",
      "new 7 open live",
    ]);
  });

  it("one is that of a candle that has come back", () => {
    const take = answers();
    expect(take(5_100, [3, 4, 5])).toEqual(["new 3 closed live", "new 4 open live", "new 5 open live"]);
    expect([...take(5_200, [4, 5]), ...take(6_200, [4, 5])]).toEqual([
      "removed 3 closed live",
      "updated 4 closed live",
    ]);
    expect(take(7_100, [3, 4, 5, 6])).toEqual(["new 3 closed", "updated 5 closed live", "new 6 open live"]);
  });
});

describe("where the service's clock has jumped", () => {
  const options = { start: 5 * MINUTE, hasHistory: false };

  it("shows the running candle, though it is older than the subscription by the clock before", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES), options);
    expect(lines(view.take(look(5, 30, { 2: 1 })))).toEqual([]);
    expect(lines(view.take(look(3, 30, { 2: 1, 3: 2 }, true)))).toEqual(["new 3=2 open r0 live"]);
    expect(lines(view.take(look(4, 1, { 2: 1, 3: 2, 4: 9 })))).toEqual([
      "updated 3=2 closed r1 live",
      "new 4=9 open r0 live",
    ]);
  });

  it("begins with the interval of the subscription by the new clock, if that is not one that is over by both", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES), { ...options, startAnew: () => 3 * MINUTE });
    expect(lines(view.take(look(5, 30, { 2: 1, 3: 1 })))).toEqual([]);
    expect(lines(view.take(look(4, 31, { 2: 1, 3: 1, 4: 2 }, true)))).toEqual([
      "new 3=1 closed r0 live",
      "new 4=2 open r0 live",
    ]);
    // What it has begun with by then it goes on with, whatever a clock says that was set later.
    expect(lines(view.take(look(4, 32, { 2: 1, 3: 1, 4: 3 }, true)))).toEqual(["updated 4=3 open r1 live"]);
    const late = new CandleView(watchOf(RULES), { ...options, startAnew: () => 3 * MINUTE });
    expect(lines(late.take(look(5, 30, { 3: 1, 4: 1, 5: 1 })))).toEqual(["new 5=1 open r0 live"]);
    expect(lines(late.take(look(5, 31, { 3: 1, 4: 1, 5: 2 }, true)))).toEqual(["updated 5=2 open r1 live"]);
  });

  it("tells nothing again of what had closed too soon, and goes on behind it", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES), options);
    lines(view.take(look(5, 30, { 5: 1 })));
    expect(lines(view.take(look(7, 30, { 5: 1, 6: 1 })))).toEqual([
      "updated 5=1 closed r1",
      "new 6=1 closed r0 live",
    ]);
    expect(lines(view.take(look(6, 10, { 5: 1, 6: 1 }, true)))).toEqual([]);
    expect(lines(view.take(look(7, 1, { 5: 1, 6: 1, 7: 1 })))).toEqual(["new 7=1 open r0 live"]);
  });

  it("forgets the flat candles of a time that has not come", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES, { fillGaps: true }), options);
    lines(view.take(look(5, 30, { 5: 7 })));
    expect(lines(view.take(look(8, 30, { 5: 7 })))).toEqual([
      "updated 5=7 final r1",
      "new 6=7 closed r0",
      "new 7=7 closed r0 live",
    ]);
    expect(lines(view.take(look(6, 30, { 5: 7, 6: 3 }, true)))).toEqual(["new 6=3 open r0 live"]);
  });

  it("goes on with flat candles, and tells those again whose time had not come", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES, { fillGaps: true }), options);
    lines(view.take(look(5, 30, { 5: 7 })));
    expect(lines(view.take(look(10, 30, { 5: 7 })))).toEqual([
      "updated 5=7 final r1",
      "new 6=7 final r0",
      "new 7=7 final r0",
      "new 8=7 closed r0",
      "new 9=7 closed r0 live",
    ]);
    // It is 7:30: 6 is over and was told, 7 runs still.
    expect(lines(view.take(look(7, 30, { 5: 7 }, true)))).toEqual([]);
    expect(lines(view.take(look(8, 30, { 5: 7 })))).toEqual(["new 7=7 closed r0 live"]);
    expect(lines(view.take(look(9, 30, { 5: 7, 8: 3 })))).toEqual(["new 8=3 closed r0 live"]);
  });

  it("tells of what is final and had closed before its time how late its close is", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES, { fillGaps: true }), options);
    lines(view.take(look(5, 30, { 5: 7 })));
    lines(view.take(look(8, 30, { 5: 7 })));
    lines(view.take(look(6, 30, { 5: 7 }, true)));
    const events = [...view.take(look(10, 29, { 5: 7 }))];
    expect(lines(events)).toEqual([
      "new 6=7 final r0",
      "new 7=7 final r0",
      "new 8=7 closed r0",
      "new 9=7 closed r0 live",
    ]);
    expect(events.map(({ lateBy }) => lateBy / 1_000)).toEqual([208, 148, 88, 28]);
  });

  it("tells flat candles again where a candle before them has turned up", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES, { fillGaps: true }), options);
    lines(view.take(look(5, 30, { 5: 7 })));
    lines(view.take(look(10, 30, { 5: 7 })));
    expect(lines(view.take(look(8, 30, { 5: 7, 6: 3 }, true)))).toEqual([
      "new 6=3 closed r0",
      "new 7=3 closed r0 live",
    ]);
  });

  it("shows nothing again that was final, though it runs still by the new clock", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES), options);
    lines(view.take(look(5, 30, { 5: 1 })));
    lines(view.take(look(9, 1, { 5: 1, 6: 1 })));
    expect(lines(view.take(look(6, 30, { 5: 1, 6: 2 }, true)))).toEqual([]);
    expect(lines(view.take(look(7, 1, { 6: 2, 7: 1 })))).toEqual(["new 7=1 open r0 live"]);
  });

  it("keeps what was final where the book is the same", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES, { fillGaps: true }), options);
    lines(view.take(look(5, 30, { 5: 7 })));
    lines(view.take(look(8, 30, { 5: 7, 8: 1 })));
    expect(lines(view.take(look(9, 30, { 5: 7, 8: 1, 9: 2 }, true)))).toEqual([
      "updated 6=7 final r1 live",
      "updated 8=1 closed r1 live",
      "new 9=2 open r0 live",
    ]);
  });
});

describe("with a history", () => {
  const history = (at: number, range: [number, number], prices: Prices) =>
    ({ type: "history", part: partOf(at * MINUTE, range, prices) }) as const;

  it("shows it first, then what became of the book meanwhile, then what changes", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES, { since: 0 }), { start: 0, hasHistory: true });
    const events: CandleEvent[] = [];
    const take = (step: Parameters<CandleView["take"]>[0]) => {
      const taken = [...view.take(step)];
      events.push(...taken);
      return lines(taken);
    };
    expect(take(look(7, 30, { 5: 1, 6: 1, 7: 1 }))).toEqual([]);
    expect(take(history(7.6, [0, 3], { 1: 1 }))).toEqual(["new 1=1 final r0"]);
    // 5 becomes final, 6 goes, 7 closes, 8 comes.
    expect(take(look(8, 30, { 5: 1, 7: 2, 8: 1 }))).toEqual([]);
    expect(take(look(8, 31, { 5: 1, 7: 2, 8: 1 }))).toEqual([]);
    expect(take(history(8.6, [3, 5], { 3: 1, 4: 1 }))).toEqual(["new 3=1 final r0", "new 4=1 final r0"]);
    // What has closed meanwhile is late by when it is handed over, not by when it was read.
    expect(take({ type: "history-end", received: 8.6 * MINUTE })).toEqual([
      "new 5=1 final r1",
      "new 7=2 closed r2",
      "new 8=1 open r0",
    ]);
    expect(events.slice(-3).map(({ lateBy }) => lateBy)).toEqual([155_000, 35_000, 0]);
    expect(take(look(8, 50, { 7: 2, 8: 3 }))).toEqual(["updated 8=3 open r1 live"]);
    expect(events.map(({ observedAt }) => observedAt / MINUTE)).toEqual(
      [7.6, 8.6, 8.6, ...Array(3).fill(8 + 31 / 60), 8 + 50 / 60].map((at) => expect.closeTo(at, 6)),
    );
    expect(events.every(Object.isFrozen)).toBe(true);
  });

  it("goes on to where a book stands that ran ahead when it began", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES, { since: 0 }), { start: 0, hasHistory: true });
    lines(view.take(look(7, 30, { 1: 1, 3: 3 })));
    expect(lines(view.take(history(7.6, [0, 2], { 1: 1 })))).toEqual(["new 1=1 final r0"]);
    const { state } = look(4, 30, { 1: 1, 2: 2, 3: 3, 4: 4 }, true);
    expect([...view.take({ type: "state", state })]).toEqual([]);
    // All up to the newest candle that was final stays so, and is the history's.
    expect(state.book.finalUntil).toBe(4 * MINUTE);
    expect(lines(view.take(look(4, 40, { 2: 2, 3: 3, 4: 5 })))).toEqual([]);
    expect(lines(view.take(history(4.7, [2, 4], { 2: 2, 3: 3 })))).toEqual([
      "new 2=2 final r0",
      "new 3=3 final r0",
    ]);
    expect(lines(view.take({ type: "history-end" }))).toEqual(["new 4=5 open r1"]);
  });

  it.each([
    ["all that has closed by its first state", 1, "new 7=1 closed r0"],
    ["nothing that closes while it is read", 0, "new 7=1 closed r1 live"],
  ])("counts %s for history", (_, second, close) => {
    const look = states();
    const view = new CandleView(watchOf(RULES, { since: 0 }), { start: 0, hasHistory: true });
    lines(view.take(look(8, second, { 7: 1 })));
    lines(view.take(look(8, 2, { 7: 1, 8: 1 })));
    expect(lines(view.take({ type: "history-end", received: 8 * MINUTE + 3_000 }))).toEqual([
      close,
      "new 8=1 open r0",
    ]);
  });

  it("counts for history what had closed when its subscriber came, though an outage has hidden that", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES, { since: 0 }), { start: 0, hasHistory: true });
    lines(view.take({ ...look(7, 30, { 7: 1 }), received: 8 * MINUTE + 6_000 }));
    lines(view.take(look(8, 8, { 7: 1, 8: 1 })));
    expect(lines(view.take({ type: "history-end", received: 8 * MINUTE + 10_000 }))).toEqual([
      "new 7=1 closed r1",
      "new 8=1 open r0",
    ]);
  });

  it("fills the gap between it and the book", () => {
    const look = states();
    const view = new CandleView(watchOf(RULES, { since: 0, fillGaps: true }), { start: 0, hasHistory: true });
    expect(lines(view.take(look(7, 30, { 7: 9 })))).toEqual([]);
    expect(lines(view.take(history(7.6, [0, 5], { 3: 1 })))).toEqual([
      "new 3=1 final r0",
      "new 4=1 final r0",
    ]);
    expect(lines(view.take({ type: "history-end" }))).toEqual([
      "new 5=1 closed r0",
      "new 6=1 closed r0",
      "new 7=9 open r0",
    ]);
  });
});
