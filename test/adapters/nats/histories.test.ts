import { Subject } from "rxjs";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { ConsumerPlan, ConsumerSignal } from "../../../src/adapters/nats/consumer.js";
import { Histories, type HistoryReader } from "../../../src/adapters/nats/histories.js";
import type { Store } from "../../../src/adapters/nats/store.js";
import { VirtualClock } from "../../../src/index.js";

/** The consumers that were made, each with what it tells. */
const made: { plan: ConsumerPlan; told: Subject<ConsumerSignal> }[] = [];

vi.mock("../../../src/adapters/nats/consumer.js", () => ({
  consume: (_store: Store, plan: ConsumerPlan) => {
    const told = new Subject<ConsumerSignal>();
    made.push({ plan, told });
    return told;
  },
}));

/** One who notes what it is told. */
function readerOf(key: string) {
  const told: string[] = [];
  const reader: HistoryReader = {
    key,
    filter: `${key}.>`,
    next: (signal) => told.push(signal.type === "message" ? signal.subject : signal.type),
    error: (error) => told.push(String(error)),
  };
  return { told, reader };
}

const message = (subject: string): ConsumerSignal => ({
  type: "message",
  subject,
  sequence: 1,
  time: 0,
  text: () => "",
});

describe("histories", () => {
  let histories: Histories;
  const filters = () => made.map(({ plan }) => plan.filter);
  const isFollowed = () => made.map(({ told }) => told.observed);
  /** So many who come at once. */
  const come = (count: number) =>
    Array.from({ length: count }, (_, at) => {
      const one = readerOf(`feed-${at}`);
      return { ...one, reading: histories.read(one.reader) };
    });

  beforeEach(() => {
    made.length = 0;
    histories = new Histories({} as Store, "stream", new VirtualClock());
  });

  it("are read feed by feed where few wait, 32 at once", () => {
    const crowd = come(40);
    expect(filters()).toEqual(crowd.slice(0, 32).map(({ reader }) => reader.filter));
    made[3]!.told.next({ type: "attached", stored: 1 });
    made[3]!.told.next(message("feed-3.60"));
    made[3]!.told.next({ type: "caught-up" });
    expect(crowd[3]!.told).toEqual(["feed-3.60", "caught-up"]);
    expect(isFollowed()[3]).toBe(false);
    expect(filters()[32]).toBe("feed-32.>");
  });

  it("are read together where more wait than are read for", () => {
    const crowd = come(70);
    made[0]!.told.next({ type: "caught-up" });
    const { told } = made[32]!;
    expect(filters()[32]).toBe(">");
    told.next({ type: "attached", stored: 5 });
    for (const key of ["feed-0", "feed-32", "feed-50", "other"]) told.next(message(`${key}.60`));
    crowd[60]!.reading.unsubscribe();
    told.next(message("feed-60.60"));
    told.next({ type: "caught-up" });
    expect(crowd.map((one) => one.told.join())).toEqual(
      crowd.map((_, at) => {
        if (at === 0) return "caught-up";
        if (at < 32 || at === 60) return "";
        return at === 32 || at === 50 ? `feed-${at}.60,caught-up` : "caught-up";
      }),
    );
    expect(told.observed).toBe(false);
    expect(made).toHaveLength(33);
  });

  it("are read feed by feed, after all, where the stream holds far more than they want", () => {
    come(70);
    made[0]!.told.next({ type: "caught-up" });
    made[32]!.told.next({ type: "attached", stored: 38_001 });
    expect(isFollowed()[32]).toBe(false);
    expect(filters().slice(33)).toEqual(["feed-32.>"]);
    made[1]!.told.next({ type: "caught-up" });
    expect(filters().slice(33)).toEqual(["feed-32.>", "feed-33.>"]);
  });

  it("are read 32 at once again where it turns out only then that the stream holds far more", () => {
    come(70);
    for (const { told } of made.slice(0, 32)) told.next({ type: "caught-up" });
    made[32]!.told.next({ type: "attached", stored: 38_001 });
    expect(isFollowed().filter(Boolean)).toHaveLength(32);
  });

  it("are read no longer once all have left, and then for others", () => {
    const crowd = come(70);
    made[0]!.told.next({ type: "caught-up" });
    for (const { reading } of crowd) reading.unsubscribe();
    expect(isFollowed()).toEqual(made.map(() => false));
    const late = readerOf("late");
    histories.read(late.reader);
    expect(filters().at(-1)).toBe("late.>");
  });

  it("tell all who wait for them what has failed", () => {
    const crowd = come(70);
    made[0]!.told.next({ type: "caught-up" });
    made[32]!.told.error("no stream");
    expect(crowd.slice(32).every(({ told }) => told.join() === "no stream")).toBe(true);
  });
});
