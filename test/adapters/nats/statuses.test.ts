import { describe, expect, it } from "vitest";
import {
  carriedStatus,
  type Heard,
  heardStatus,
  keptStatus,
  nothingHeard,
  stalledStatus,
  takenOverStatus,
} from "../../../src/adapters/nats/statuses.js";
import { type FeedStatus, NetworkError, TimeoutError } from "../../../src/index.js";
import { intervalsOf } from "../../../src/timeframe.js";

const MINUTE = 60_000;
const silence = new NetworkError("silence");
const slow = new TimeoutError("slow", 10);
const starting: FeedStatus = { state: "starting", failures: 0 };
const live = (from: number, until: number): FeedStatus => ({
  state: "live",
  coveredFrom: from * MINUTE,
  coveredUntil: until * MINUTE,
  failures: 0,
});

describe("a feed that is taken over", () => {
  it("stands as it did while nothing was due", () => {
    expect(takenOverStatus(live(1, 5), 5 * MINUTE)).toEqual(live(1, 5));
  });

  it("is late where something was due since", () => {
    expect(takenOverStatus(live(1, 5), 6 * MINUTE)).toEqual({ ...live(1, 5), state: "stalled" });
  });

  it("keeps standing as it did while its new reading begins", () => {
    expect(carriedStatus(live(1, 5), starting)).toEqual(live(1, 5));
    expect(carriedStatus(undefined, starting)).toEqual(starting);
  });

  it("covers nothing while the history of its first reading is not stored", () => {
    const reading: FeedStatus = { ...starting, coveredFrom: 3, coveredUntil: 5 };
    expect(carriedStatus(undefined, reading)).toEqual(starting);
    expect(carriedStatus(live(1, 2), reading)).toEqual(live(1, 2));
  });

  it("is late where that fails to begin", () => {
    const failing: FeedStatus = { state: "starting", failures: 2, lastError: slow };
    expect(carriedStatus(live(1, 5), failing)).toEqual({
      ...live(1, 5),
      state: "stalled",
      failures: 2,
      lastError: slow,
    });
  });

  it("covers what was covered before as well where the two join, and only then", () => {
    expect(carriedStatus(live(1, 5), live(5, 9))).toEqual(live(1, 9));
    expect(carriedStatus(live(3, 5), live(2, 9))).toEqual(live(2, 9));
    expect(carriedStatus(live(1, 5), live(6, 9))).toEqual(live(6, 9));
    expect(carriedStatus(starting, live(6, 9))).toEqual(live(6, 9));
  });
});

describe("a feed of which not everything is kept", () => {
  const minutes = intervalsOf("1min");

  const kept = (status: FeedStatus, retention: number, now: number) =>
    keptStatus(status, minutes, { retention: retention * MINUTE, now: now * MINUTE });

  it("claims what is kept for as long as its status is read", () => {
    expect(kept(live(1, 100), 10, 100)).toEqual(live(92, 100));
    expect(kept(live(95, 100), 10, 100)).toEqual(live(95, 100));
  });

  it("claims less the later its status is stored, but not more by a clock that is behind", () => {
    expect(kept(live(1, 100), 10, 105)).toEqual(live(97, 100));
    expect(kept(live(1, 100), 10, 200)).toEqual(live(100, 100));
    expect(kept(live(1, 100), 10, 20)).toEqual(live(92, 100));
  });

  it("claims everything where everything is kept, and never more than there is", () => {
    expect(kept(live(1, 100), 0, 200)).toEqual(live(1, 100));
    expect(kept(live(1, 100), 1 / 60, 100)).toEqual(live(100, 100));
    expect(kept(starting, 1 / 60, 100)).toEqual(starting);
  });
});

describe("a feed of which nothing is heard", () => {
  it("is stalled, with what was known and at least one failure", () => {
    expect(stalledStatus(live(1, 5), silence)).toEqual({
      ...live(1, 5),
      state: "stalled",
      failures: 1,
      lastError: silence,
    });
    expect(stalledStatus({ ...starting, failures: 7 }, silence).failures).toBe(7);
    expect(stalledStatus(undefined, silence)).toEqual({ state: "stalled", failures: 1, lastError: silence });
  });
});

describe("what a subscriber makes of what it has heard", () => {
  const heard = (more: Partial<Heard>): FeedStatus => heardStatus({ ...nothingHeard, ...more }, silence);

  it.each<[string, Partial<Heard>, FeedStatus]>([
    ["nothing yet", {}, starting],
    ["a status, and not yet whether its publisher lives", { status: live(1, 5) }, starting],
    ["a status that was told just now", { status: live(1, 5), isFresh: true }, live(1, 5)],
    ["a status, and that its publisher lives", { status: live(1, 5), isAlive: true }, live(1, 5)],
    [
      "that its publisher does not answer",
      { status: live(1, 5), isFresh: true, isAlive: false },
      stalledStatus(live(1, 5), silence),
    ],
    [
      "that its publisher does not answer, after it had told why it failed",
      { status: { ...live(1, 5), state: "stalled", failures: 4, lastError: slow }, isAlive: false },
      { ...live(1, 5), state: "stalled", failures: 4, lastError: slow },
    ],
    ["that there is no publisher", { isAlive: false }, stalledStatus(undefined, silence)],
  ])("%s", (_, news, expected) => {
    expect(heard(news)).toEqual(expected);
  });
});
