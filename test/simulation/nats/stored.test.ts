import { headers } from "@nats-io/transport-node";
import { beforeEach, describe, expect, it } from "vitest";
import { MONITORS } from "./check.js";
import { KeptMessages } from "./kept.js";
import { drawNatsPlan } from "./plan.js";
import type { NatsLog, Shown } from "./run-log.js";
import { StoredWatch, unknownBefore } from "./stored.js";

const SUBJECT = "p.candles.mainnet.one.1s.usd.1000";
const CANDLE = { timestamp: 1_000, open: 1, high: 1, low: 1, close: 1, volume: 1, swaps: 1 };
const said = (more: object) => ({
  sequence: 1,
  subject: SUBJECT,
  time: 0,
  text: JSON.stringify({ version: 2, epoch: 2, revision: 3, candle: CANDLE, status: "open", ...more }),
});
const higher = { ...CANDLE, close: 2 };

describe("the watch of what is stored", () => {
  let watch: StoredWatch;
  let kept: KeptMessages | undefined;
  const store = (more: object, before: object = {}) => watch.noteStored(said(more), said(before));

  beforeEach(() => {
    kept = new KeptMessages();
    watch = new StoredWatch(
      () => 7,
      () => kept,
    );
  });

  it("tells of a message that does not say what it replaces", () => {
    const expecting = headers();
    expecting.set("Nats-Expected-Last-Subject-Sequence", "0");
    watch.taken({ subject: SUBJECT, text: "", headers: expecting });
    watch.taken({ subject: "$JS.API.INFO", text: "" });
    watch.taken({ subject: "p.candles.mainnet.one.1s.usd.summary", text: "" });
    expect(watch.unfenced).toEqual([]);
    watch.taken({ subject: SUBJECT, text: "" });
    watch.taken({ subject: "$KV.p-leases.default", text: "", headers: headers() });
    expect(watch.unfenced.map(({ what }) => what)).toEqual([
      `${SUBJECT}: may replace anything`,
      "$KV.p-leases.default: may replace anything",
    ]);
  });

  it("tells of an earlier lease over a later one", () => {
    store({ epoch: 3 });
    expect(watch.unfenced).toEqual([]);
    store({ epoch: 1 });
    expect(watch.unfenced).toEqual([{ at: 7, what: `${SUBJECT}: epoch 1 replaces 2` }]);
  });

  it("tells of a revision that does not follow", () => {
    store({});
    store({ newer: { note: 1 } });
    store({ candle: higher, revision: 4 });
    store({ candle: higher, revision: 0 }, { removed: true });
    expect(watch.unordered).toEqual([]);
    store({ candle: higher });
    store({ revision: 4 });
    store({ removed: true, revision: 5 });
    expect(watch.unordered).toHaveLength(3);
  });

  it("tells of a status that covers a candle which is gone", () => {
    const status = { state: "live", coveredFrom: 0, coveredUntil: 2_000, failures: 0 };
    const tell = (more: object = {}) => {
      const text = JSON.stringify({ version: 2, epoch: 2, revision: 3, status: { ...status, ...more } });
      watch.noteStored({ ...said({}), subject: SUBJECT.replace("1000", "status"), text }, undefined);
    };
    kept!.add(said({}));
    store({});
    tell();
    expect(watch.uncovered).toEqual([]);
    kept = undefined;
    tell({ coveredFrom: 2_000 });
    tell({ coveredUntil: 1_000 });
    tell({ coveredFrom: undefined, coveredUntil: undefined });
    expect(watch.uncovered).toEqual([]);
    tell();
    expect(watch.uncovered).toHaveLength(1);
    store({ removed: true });
    tell();
    expect(watch.uncovered).toHaveLength(1);
  });

  it("excuses only what grew too old by the time of a service that has not answered the holder yet", () => {
    const activity = { type: "started", at: 0, feed: "f", epoch: 2 } as const;
    const open = { ended: undefined, error: undefined, activities: [{ at: 0, activity }] };
    const life = { collector: 0, life: 0, began: 0, shown: [], ...open };
    const shown = { at: 0, pair: "one", from: 0, until: 1, timestamps: new Set<number>() };
    const plan = { ...drawNatsPlan(1), retention: 20_000, interval: 1_000 };
    const of = { feed: "f", epoch: 2, now: 50_500 };
    expect(unknownBefore(plan, [life], of)).toBe(31_500);
    const none = Number.NEGATIVE_INFINITY;
    expect(unknownBefore(plan, [{ ...life, shown: [shown] }], of)).toBe(none);
    expect(unknownBefore(plan, [life], { ...of, epoch: 3 })).toBe(none);
    expect(unknownBefore({ ...plan, retention: undefined }, [life], of)).toBe(none);
    const lenient = new StoredWatch(
      () => 7,
      () => undefined,
      (feed, epoch) => (feed === "p.candles.mainnet.one.1s.usd" && epoch === 2 ? 1_001 : none),
    );
    const status = { state: "live", coveredFrom: 0, coveredUntil: 2_000, failures: 0 };
    const tell = (epoch: number) => {
      const text = JSON.stringify({ version: 2, epoch, revision: 3, status });
      lenient.noteStored({ ...said({}), subject: SUBJECT.replace("1000", "status"), text }, undefined);
    };
    lenient.noteStored(said({}), undefined);
    tell(2);
    expect(lenient.uncovered).toEqual([]);
    tell(3);
    expect(lenient.uncovered).toHaveLength(1);
  });

  it("excuses a status for a candle that the service took back since it was stored, and shows again only later", () => {
    const feed = "p.candles.mainnet.one.1s.usd";
    const lacking = { at: 20, pair: "one", from: 0, until: 5_000, timestamps: new Set([2_000]) };
    const uncovered = [{ at: 30, subject: `${feed}.status`, gone: [{ timestamp: 1_000, storedAt: 10 }] }];
    const breachesWith = (shown: Shown) => {
      const told: string[] = [];
      MONITORS.covered!({ uncovered, lives: [{ shown: [shown] }] } as unknown as NatsLog, (what) =>
        told.push(what),
      );
      return told.length;
    };
    expect(breachesWith(lacking)).toBe(0);
    for (const other of [
      { at: 9 },
      { at: 31 },
      { pair: "two" },
      { from: 2_000 },
      { until: 1_000 },
      { timestamps: new Set([1_000]) },
    ]) {
      expect(breachesWith({ ...lacking, ...other })).toBe(1);
    }
  });
});
