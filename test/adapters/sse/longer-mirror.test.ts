import { NetworkError } from "pairstream";
import { describe, expect, it } from "vitest";
import { LongerMirror } from "../../../src/adapters/sse/longer-mirror.js";
import { Mirror } from "../../../src/adapters/sse/mirror.js";
import { checkWatch, type WatchOptions } from "../../../src/candles/options.js";
import { SERIES } from "../../candles/minute-candles.js";
import { isCandleEvent } from "./gateway.js";
import { candle, connected, hello, message, ready, snapshot, taken } from "./mirror-messages.js";

const MINUTE = 60_000;
const made = (since: WatchOptions["since"] = new Date(0)) =>
  new Mirror(new LongerMirror(checkWatch({ ...SERIES, timeframe: "3min", since })));
const final = (minute: number, price = 1) => candle(minute, { status: "final", price });
const finals = (from: number, until: number) =>
  Array.from({ length: until - from }, (_, at) => final(from + at));
/** By the time of a connection that nothing is live in. */
const late = hello({ now: 60 * MINUTE });
const live = (until: number, from = 0) =>
  message("status", {
    ...{ state: "live", failures: 0 },
    ...{ coveredFrom: from * MINUTE, coveredUntil: until * MINUTE },
  });

describe("longer candles of a gateway", () => {
  it("are updated with a final part that comes, goes or changes, alone", () => {
    const mirror = made();
    connected(mirror, late, snapshot(), ...finals(0, 8), live(8), ready());
    expect(taken(mirror, candle(1, { isRemoved: true, status: "final", revision: 1 }))).toEqual([
      "updated 0 #1 final",
    ]);
    expect(taken(mirror, final(4, 7))).toEqual(["updated 3 #1 final"]);
    expect(taken(mirror, final(1))).toEqual(["updated 0 #2 final"]);
    // Also where it is still running.
    expect(taken(mirror, final(6, 9))).toEqual(["updated 6 #1 open"]);
  });

  it("are final once all that may change is covered, also where their last parts hold no swap", () => {
    const mirror = made();
    const told = [final(0), candle(3, { status: "closed" })];
    expect(connected(mirror, late, snapshot(), ...told, live(3), ready())).toEqual([
      "new 0 #0 closed",
      "new 3 #0 open",
      "live",
    ]);
    // By default two minutes may change before the one that runs.
    expect(taken(mirror, live(4))).toEqual([]);
    expect(taken(mirror, live(5))).toEqual(["updated 0 #1 final"]);
    // A part that may change does not become final by silence.
    expect(taken(mirror, live(20))).toEqual(["updated 3 #1 closed", "live"]);
    expect(taken(mirror, final(3))).toEqual(["updated 3 #2 final"]);
  });

  it("are gone with their last part, and new with one where they lacked", () => {
    const mirror = made();
    connected(mirror, late, snapshot(), ...finals(0, 2), ...finals(6, 8), live(8), ready());
    expect(taken(mirror, final(4))).toEqual(["new 3 #0 final"]);
    const again = [final(0), final(1), final(7)];
    expect(connected(mirror, late, snapshot(), ...again, live(8), ready())).toEqual([
      "removed 3 #1 final",
      "updated 6 #1 open",
    ]);
  });

  it("are gone, each once, where the channel does not meet them, also where their parts were forgotten", () => {
    const mirror = made();
    connected(mirror, late, snapshot(0, 3), ...finals(0, 3), live(3), ready());
    for (let minute = 3; minute < 15; minute += 1) taken(mirror, final(minute));
    // What the parts are forgotten of stays as it is.
    expect(taken(mirror, final(8, 5))).toEqual([]);
    const rest = [...finals(31, 35), live(35, 31)];
    expect(connected(mirror, late, snapshot(31, 3), ...rest, ready())).toEqual([
      ...[0, 3, 6, 9, 12].map((minute) => expect.stringMatching(`^removed ${minute} #\\d+ final`)),
      // Of the one before it a part is unknown.
      "new 33 #0 open",
      "live",
    ]);
  });

  it("tell of what was missed as one change a candle, of which the newest close is live", () => {
    const mirror = made();
    const due = (minute: number, more = 1_000) => ({ due: (minute + 1) * MINUTE + more });
    const closed = (minute: number) =>
      candle(minute, { status: "closed", live: true, ...due(minute), received: due(minute).due });
    const settled = (minute: number) =>
      candle(minute, {
        status: "final",
        live: true,
        ...due(minute, 121_000),
        received: due(minute, 121_000).due,
      });
    connected(mirror, hello({ now: 4 * MINUTE }), snapshot(), ...[0, 1, 2].map(closed), live(3), ready());
    expect(taken(mirror, candle(3, { live: true, ...due(3, 0), received: 4 * MINUTE }))).toEqual([
      "new 3 #0 open live",
    ]);
    mirror.connect();
    const missed = [0, 1, 2, 3, 4, 5].map(settled);
    const { events } = mirror.take(
      [hello({ now: 9 * MINUTE + 1_100 }), ...missed, closed(6), closed(7), closed(8), live(9), ready()],
      0,
    );
    const told = events.filter(isCandleEvent);
    expect(told.map(({ candle, status }) => [candle.timestamp / MINUTE, status])).toEqual([
      [0, "final"],
      [3, "final"],
      [6, "closed"],
    ]);
    expect(told.map(({ live }) => live)).toEqual([false, false, true]);
    // The first one had closed and is late as final; the second skips its close, and is late as that.
    expect(told.map(({ lateBy }) => lateBy)).toEqual([4 * MINUTE + 100, 3 * MINUTE + 100, 100]);
  });

  it("cover what they were told, by a number of candles and without one", () => {
    const covered = (since: WatchOptions["since"] | undefined) => {
      const mirror = since === undefined ? new Mirror(newest()) : made(since);
      mirror.connect();
      const { events } = mirror.take([hello(), snapshot(1), ...finals(1, 14), live(14, 1), ready()], 0);
      const first = events.find(isCandleEvent)!.candle.timestamp / MINUTE;
      const { coveredFrom, coveredUntil } = events.at(-1) as { coveredFrom: number; coveredUntil: number };
      const lost = mirror.lose(new NetworkError("cut"), 1);
      expect(lost).toMatchObject({ state: "stalled", coveredFrom, coveredUntil });
      return [first, coveredFrom / MINUTE, coveredUntil / MINUTE];
    };
    const newest = () => new LongerMirror(checkWatch({ ...SERIES, timeframe: "3min" }));
    expect(covered(new Date(0))).toEqual([3, 3, 12]);
    expect(covered({ candles: 2 })).toEqual([6, 6, 12]);
    expect(covered(undefined)).toEqual([12, 12, 12]);
  });
});
