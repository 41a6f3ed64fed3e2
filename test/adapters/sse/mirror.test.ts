import { NetworkError } from "pairstream";
import { describe, expect, it } from "vitest";
import {
  begun,
  candle,
  connected,
  hello,
  message,
  newMirror,
  ready,
  snapshot,
  taken,
} from "./mirror-messages.js";

describe("candles after a fresh start", () => {
  it("are told once their state is whole, and are live from then on", () => {
    const mirror = newMirror();
    const old = candle(1, { live: true, received: 5 });
    mirror.connect();
    expect(begun(mirror, hello({ now: 6 }), snapshot(), old, candle(2))).toEqual([]);
    expect(taken(mirror, ready(), candle(3, { live: true }))).toEqual([
      "new 1 #0 open",
      "new 2 #0 open",
      "new 3 #0 open live",
    ]);
    const again = [candle(1), candle(2), candle(3), candle(4, { live: true, received: 5 })];
    expect(connected(mirror, hello({ now: 6 }), snapshot(), ...again, ready())).toEqual([
      "new 4 #0 open live",
    ]);
  });

  it("may be live where they came after the subscriber did", () => {
    const first = () => [snapshot(), candle(1, { live: true, received: 7 }), ready()];
    expect(connected(newMirror(), hello(), ...first())).toEqual(["new 1 #0 open live"]);
    expect(connected(newMirror(), hello({ now: 6 }), ...first())).toEqual(["new 1 #0 open live"]);
    expect(connected(newMirror(), hello({ now: 7 }), ...first())).toEqual(["new 1 #0 open"]);
  });

  it("are gone where they are covered and not told, in the order of the candles", () => {
    const mirror = newMirror();
    connected(mirror, hello(), snapshot(), candle(1), candle(2), candle(4), ready());
    expect(connected(mirror, hello(), snapshot(), candle(2, { price: 5 }), candle(3), ready())).toEqual([
      "removed 1 #1 open live",
      "updated 2 #1 open",
      "new 3 #0 open",
      "removed 4 #1 open live",
    ]);
    expect(connected(mirror, hello(), snapshot(), ready())).toEqual([
      "removed 2 #2 open live",
      "removed 3 #1 open live",
    ]);
  });

  it("stay where the state begins later and meets them, and go where it leaves a hole", () => {
    const mirror = newMirror();
    connected(mirror, hello(), snapshot(), candle(1), candle(2), candle(3), ready());
    expect(connected(mirror, hello(), snapshot(3), candle(3), candle(4), ready())).toEqual(["new 4 #0 open"]);
    expect(connected(mirror, hello(), snapshot(6), candle(6), ready())).toEqual([
      ...[1, 2, 3, 4].map((minute) => `removed ${minute} #1 open live`),
      "new 6 #0 open",
    ]);
  });

  it("that are final and differ are updated", () => {
    const mirror = newMirror();
    connected(mirror, hello(), snapshot(), candle(1, { status: "final" }), ready());
    const other = candle(1, { status: "final", price: 7 });
    expect(connected(mirror, hello(), snapshot(), other, ready())).toEqual(["updated 1 #1 final"]);
  });

  it("keep a status that is later than what is told", () => {
    const mirror = newMirror();
    connected(mirror, hello(), snapshot(), candle(1, { status: "final" }), ready());
    expect(connected(mirror, hello(), snapshot(), candle(1), ready())).toEqual([]);
    expect(taken(mirror, candle(1, { status: "closed", price: 2 }))).toEqual(["updated 1 #1 final"]);
  });

  it("that reach further back than what is kept find room beside it", () => {
    const mirror = newMirror();
    const kept = [10, 11, 12].map((minute) => candle(minute));
    connected(mirror, hello(), snapshot(0, 3), ...kept, ready());
    const back = [6, 7, 8].map((minute) => candle(minute));
    const told = connected(mirror, hello(), snapshot(0, 3), ...back, ready());
    expect(told.filter((event) => event.startsWith("new"))).toHaveLength(3);
    expect(taken(mirror, candle(6, { status: "closed", live: true }))).toEqual(["updated 6 #1 closed live"]);
  });
});

describe("a connection", () => {
  it("goes on after the last id, not after what came of the next batch", () => {
    const mirror = newMirror();
    connected(mirror, hello(), snapshot(), ready("a-1"));
    expect(mirror.lastEventId).toBe("a-1");
    expect(begun(mirror, candle(1), candle(2))).toEqual([]);
    expect(mirror.lastEventId).toBe("a-1");
    const rest = [candle(1), candle(2), candle(3, { live: true })];
    expect(connected(mirror, hello(), ...rest, ready("a-4"))).toEqual([
      "new 1 #0 open",
      "new 2 #0 open",
      "new 3 #0 open live",
    ]);
    expect(mirror.lastEventId).toBe("a-4");
  });

  it("tells of what comes twice, as the rest of a batch that was cut off, once", () => {
    const mirror = newMirror();
    connected(mirror, hello(), snapshot(), ready());
    expect(taken(mirror, candle(1), candle(1))).toHaveLength(1);
    const removed = candle(1, { isRemoved: true });
    expect(taken(mirror, removed, removed)).toEqual(["removed 1 #1 open"]);
  });

  it("leaves nothing of a snapshot that was cut off", () => {
    const mirror = newMirror();
    connected(mirror, hello(), snapshot(), candle(1), ready("a-1"));
    mirror.connect();
    expect(begun(mirror, hello(), snapshot(), candle(2))).toEqual([]);
    expect(connected(mirror, hello(), ready("a-1"))).toEqual([]);
    expect(taken(mirror, candle(1, { price: 2, live: true }))).toEqual(["updated 1 #1 open live"]);
  });

  it("tells its status when it is ready, and one that it had before not at all", () => {
    const mirror = newMirror();
    const status = (state: string, more: object = {}) => message("status", { state, failures: 0, ...more });
    const covered = { coveredFrom: 1, coveredUntil: 2 };
    expect(connected(mirror, hello(), snapshot(), status("live"))).toEqual([]);
    expect(taken(mirror, ready("a-1"), status("live"), status("starting"))).toEqual(["live", "starting"]);
    expect(taken(mirror, snapshot(), status("live", covered))).toEqual([]);
    expect(taken(mirror, ready("a-2"))).toEqual(["live"]);
    expect(mirror.lose(new NetworkError("lost"), 1)).toMatchObject({ state: "stalled", ...covered });
    // While a state is being read, nothing of it is covered.
    mirror.connect();
    const waiting = message("waiting", { state: "stalled", failures: 3, ...covered });
    expect(mirror.take([hello(), waiting], 0).events).toEqual([{ state: "stalled", failures: 3 }]);
    expect(taken(mirror, snapshot(), ready("b-1"))).toEqual(["starting"]);
    expect(connected(mirror, hello(), ready("c-1"))).toEqual([]);
  });

  it("tells of every difference between two statuses, and of no other", () => {
    const mirror = newMirror();
    connected(mirror, hello(), snapshot(), ready());
    const lastError = { name: "HttpError", message: "no", status: 500 };
    const statuses = [
      { state: "live", failures: 0 },
      { state: "live", failures: 0, coveredFrom: 1 },
      { state: "live", failures: 0, coveredFrom: 1, coveredUntil: 2 },
      { state: "live", failures: 0, coveredFrom: 1, coveredUntil: 3 },
      { state: "stalled", failures: 1, coveredFrom: 1, coveredUntil: 3, lastError },
      { state: "stalled", failures: 2, coveredFrom: 1, coveredUntil: 3, lastError },
      {
        state: "stalled",
        failures: 2,
        coveredFrom: 1,
        coveredUntil: 3,
        lastError: { ...lastError, message: "yes" },
      },
      { state: "stalled", failures: 2, lastError: { name: "TimeoutError", message: "yes", timeout: 5 } },
    ];
    const twice = statuses.flatMap((status) => [message("status", status), message("status", status)]);
    expect(taken(mirror, ...twice)).toEqual(statuses.map(({ state }) => state));
  });
});
