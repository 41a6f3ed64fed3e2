import { describe, expect, it } from "vitest";
import { type CandleEvent, type FeedStatus, watchCandles, watchFeedStatus } from "../../src/index.js";
import type { ServiceQuirks } from "../../src/service/index.js";
import { type Answer, answered, at, MINUTES, World, withRows } from "../world.js";
import { standing } from "./minute-candles.js";

const MINUTE = 60_000;
const QUIRKS: ServiceQuirks[] = (["newest-first", "oldest-first", "shuffled"] as const).flatMap((order) =>
  (["start", "both", "neither"] as const).map((inclusive) => ({ order, inclusive })),
);

/** A watch from 12:00:10 on of a pair with a swap a minute, whose candles are final as soon as they are closed. */
function watched(quirks: ServiceQuirks, revisionWindow: number) {
  const world = new World({ start: at("12:00:10"), quirks });
  world.swapsEvery(MINUTE, at("11:00:00"), at("13:00:00"));
  const options = { ...MINUTES, every: "close", revisionWindow } as const;
  const events: CandleEvent[] = [];
  const statuses: FeedStatus[] = [];
  watchCandles(world.client, options).subscribe((event) => events.push(event));
  watchFeedStatus(world.client, options).subscribe((status) => statuses.push(status));
  /** Takes the swaps of some minutes back, as a fork does. */
  const takeBack = (from: number, to: number) => {
    const kept = world.swaps.filter(({ timestamp }) => timestamp < from || timestamp >= to);
    world.swaps.splice(0, world.swaps.length, ...kept);
  };
  return { world, events, statuses, takeBack };
}

describe.each(QUIRKS)("a known candle that is gone from the service (%o)", (quirks) => {
  it.each([
    [0, 1],
    [0, 3],
    [2, 1],
    [2, 6],
  ])("costs one slot, and then all goes on: window %d, %d taken back", async (revisionWindow, count) => {
    const { world, events, statuses, takeBack } = watched(quirks, revisionWindow);
    await world.clock.advanceTo(at("12:10:30"));
    const until = at("12:10:00") - revisionWindow * MINUTE;
    takeBack(until - count * MINUTE, until);
    const before = events.length;
    await world.clock.advanceTo(at("12:20:30"));
    expect(statuses.at(-1)).toMatchObject({ state: "live", coveredUntil: at("12:20:00") });
    expect(statuses.filter(({ state }) => state === "stalled").length).toBeLessThanOrEqual(4);
    const births = events
      .slice(before)
      .flatMap(({ type, candle }) => (type === "new" ? candle.timestamp : []));
    expect(births).toEqual(Array.from({ length: 10 }, (_, index) => at("12:11:00") + index * MINUTE));
    expect(events.some(({ type }) => type === "removed")).toBe(false);
  });
});

describe.each(QUIRKS)("a machine of the service that is behind (%o)", (quirks) => {
  it.each([0, 2])(
    "takes nothing away, whichever of three answers is not its own: window %d",
    async (revisionWindow) => {
      for (const own of [0, 1, 2]) {
        const { world, events, statuses } = watched(quirks, revisionWindow);
        await world.clock.advanceTo(at("12:10:30"));
        let answers = 0;
        world.interfere = (asked, answer) => {
          answers += 1;
          if (answers % 3 === own) return undefined;
          return withRows(answer, (rows) =>
            rows.filter(
              ({ timestamp }) => Date.parse(String(timestamp)) < asked.sent - (revisionWindow + 4) * MINUTE,
            ),
          );
        };
        await world.clock.advanceTo(at("12:30:30"));
        expect(events.filter(({ type }) => type === "removed")).toEqual([]);
        world.interfere = () => undefined;
        await world.clock.advanceTo(at("12:33:30"));
        expect(statuses.at(-1)).toMatchObject({ state: "live", coveredUntil: at("12:33:00") });
        expect(standing(events).map(({ timestamp }) => timestamp)).toEqual(
          Array.from({ length: 34 }, (_, index) => at("12:00:00") + index * MINUTE),
        );
      }
    },
  );
});

describe.each(QUIRKS)("a known candle that answers lack although it is there (%o)", (quirks) => {
  it.each([0, 2])("holds all up until it shows: window %d", async (revisionWindow) => {
    const { world, events, statuses } = watched(quirks, revisionWindow);
    await world.clock.advanceTo(at("12:10:30"));
    // Where more is asked for than the known candles, all but the newest one is cut off.
    world.interfere = ({ url: { searchParams } }, answer) => {
      const [from, to] = ["fromDate", "toDate"].map((name) => Number(searchParams.get(name)) * 1_000);
      if (to! - from! <= 6 * MINUTE) return undefined;
      return withRows(answer, (rows) => {
        const newest = rows
          .map(({ timestamp }) => String(timestamp))
          .sort()
          .at(-1);
        return rows.filter(({ timestamp }) => timestamp === newest);
      });
    };
    await world.clock.advanceTo(at("12:20:00"));
    const before = world.asked.length;
    await world.clock.advanceTo(at("12:40:30"));
    // Each slot asks twice again, and for the known candles alone after every second answer that lacks them.
    expect(world.asked.length - before).toBeLessThanOrEqual(5 * 21);
    expect(statuses.at(-1)).toMatchObject({
      state: "stalled",
      coveredUntil: at("12:10:00"),
      lastError: { name: "ContractError", path: ["result"] },
    });
    expect(events.filter(({ type }) => type === "removed")).toEqual([]);
    world.interfere = () => undefined;
    await world.clock.advanceTo(at("12:42:30"));
    expect(statuses.at(-1)).toMatchObject({ state: "live", coveredUntil: at("12:42:00") });
    expect(standing(events).map(({ timestamp }) => timestamp)).toEqual(
      Array.from({ length: 43 }, (_, index) => at("12:00:00") + index * MINUTE),
    );
  });
});

describe.each(QUIRKS)("an answer that is not whole (%o)", (quirks) => {
  it("is told where the known candles that it lacks cannot be asked for", async () => {
    const { world, events } = watched(quirks, 0);
    await world.clock.advanceTo(at("12:10:30"));
    world.interfere = ({ url: { searchParams } }, answer) => {
      const [from, to] = ["fromDate", "toDate"].map((name) => Number(searchParams.get(name)) * 1_000);
      if (to! - from! <= 6 * MINUTE) return answered(500, {});
      return withRows(answer, (rows) =>
        rows.filter(({ timestamp }) => Date.parse(String(timestamp)) >= at("12:10:00")),
      );
    };
    await world.clock.advanceTo(at("12:20:30"));
    expect(standing(events).map(({ timestamp }) => timestamp)).toEqual(
      Array.from({ length: 21 }, (_, index) => at("12:00:00") + index * MINUTE),
    );
  });

  it("still shows that a missing candle is there", async () => {
    const { world, events } = watched(quirks, 3);
    await world.clock.advanceTo(at("12:10:30"));
    const [known, missing] = [at("12:06:00"), at("12:08:00")];
    // The candle is missing, then it is there in an answer that lacks a known one, and then it is missing again.
    const gone = [missing, known, missing];
    world.interfere = (_, answer) =>
      withRows(answer, (rows) => {
        const lost = gone.shift();
        return rows.filter(({ timestamp }) => Date.parse(String(timestamp)) !== lost);
      });
    await world.clock.advanceTo(at("12:11:30"));
    expect(gone).toEqual([]);
    await world.clock.advanceTo(at("12:15:30"));
    expect(events.filter(({ type }) => type === "removed")).toEqual([]);
  });
});

describe.each([0, 1, 2])(
  "an answer without candles that nothing else proves: window %d",
  (revisionWindow) => {
    /** A pair that begins to trade at 12:00:20, watched from 11:50 on; `empty` answers from 12:01 on lack its candles. */
    async function begun(network: "mainnet" | "devnet", empty: number) {
      const world = new World({ start: at("11:50:10"), createdAt: at("11:40:00") });
      world.swapsEvery(MINUTE, at("12:00:20"), at("13:00:00"));
      const options = { ...MINUTES, network, every: "close", revisionWindow, fillGaps: true } as const;
      const births: number[] = [];
      const covered: (number | undefined)[] = [];
      watchCandles(world.client, options).subscribe(({ type, candle }) => {
        if (type === "new") births.push(candle.timestamp);
      });
      watchFeedStatus(world.client, options).subscribe(({ coveredUntil }) => covered.push(coveredUntil));
      await world.clock.advanceTo(at("12:00:30"));
      let left = empty;
      world.interfere = ({ url }, answer) =>
        url.pathname.endsWith("/ohlcv") && left-- > 0 ? withRows(answer, () => []) : undefined;
      return { world, births, covered };
    }

    it.each(["mainnet", "devnet"] as const)(
      "counts only once a second one has said the same: %s",
      async (network) => {
        const { world, covered, births } = await begun(network, 1);
        await world.clock.advanceTo(at("12:01:30"));
        // That the minute from 12:00 on was silent is not known yet.
        expect([covered.at(-1), births]).toEqual([at("12:00:00"), []]);
        await world.clock.advanceTo(at("12:02:30"));
        expect([covered.at(-1), births[0]]).toEqual([at("12:02:00"), at("12:00:00")]);
      },
    );

    it("is no second one where the first asked for less, and this one came at once", async () => {
      const world = new World({ start: at("11:50:00.700"), createdAt: at("11:40:00"), hasDate: true });
      const options = { ...MINUTES, timeframe: "1s", every: "close", revisionWindow } as const;
      const seen: { coveredUntil: number; asked: number }[] = [];
      watchFeedStatus(world.client, options).subscribe(({ coveredUntil = 0 }) => {
        seen.push({ coveredUntil, asked: world.asked.length });
      });
      await world.clock.advanceTo(at("11:51:00.500"));
      // An answer that takes so long that the range it was about is over, and is asked for anew at once.
      world.latency = 3_000;
      const late = world.asked.length + 1;
      await world.clock.advanceTo(at("11:51:04"));
      world.latency = 20;
      await world.clock.advanceTo(at("11:51:20"));
      const until = Math.max(
        ...seen.filter(({ asked }) => asked <= late + 1).map(({ coveredUntil }) => coveredUntil),
      );
      expect(until).toBeLessThanOrEqual(at("11:51:02"));
      expect(seen.at(-1)!.coveredUntil).toBeGreaterThanOrEqual(at("11:51:17"));
    });

    it.each(
      [7_200_000, -7_200_000, 600_000, 20_000].flatMap(
        (lie) =>
          [
            [lie, "close"],
            [lie, 20_000],
          ] as const,
      ),
    )(
      "is no second one where a Date that is off by %i ms has it asked for again at once: every %s",
      async (lie, every) => {
        const world = new World({ start: at("12:00:10"), hasDate: true });
        const options = { ...MINUTES, network: "devnet", every, revisionWindow } as const;
        const statuses: FeedStatus[] = [];
        watchFeedStatus(world.client, options).subscribe((status) => statuses.push(status));
        await world.clock.advanceTo(at("12:20:30"));
        const dated = (change: (date: string) => string | null) => {
          world.interfere = async (_, answer) => {
            const served = await answer();
            const date = change(served.headers.get("date")!);
            return {
              ...served,
              headers: { get: (name) => (name === "date" ? date : served.headers.get(name)) },
            };
          };
        };
        // Without a Date the next poll is sent so late that the bounds prove its time, whatever its Date says.
        dated(() => null);
        await world.clock.advanceTo(at("12:21:50"));
        let hasLied = false;
        dated((date) => {
          const said = hasLied ? date : new Date(Date.parse(date) + lie).toUTCString();
          hasLied = true;
          return said;
        });
        const before = world.asked.length;
        await world.clock.advanceTo(at("12:22:01.900"));
        expect(world.asked.length - before).toBeGreaterThanOrEqual(2);
        // The slot before has shown no more than that, and both of this slot's answers may be one.
        expect(statuses.at(-1)!.coveredUntil).toBe(at("12:21:00"));
        await world.clock.advanceTo(at("12:25:30"));
        expect(statuses.at(-1)!.state).toBe("live");
        expect(statuses.at(-1)!.coveredUntil).toBeGreaterThanOrEqual(at("12:24:00"));
      },
    );

    it("is no second one where the one before was answered just before, at a later attempt", async () => {
      const retry = { attempts: 3, baseDelay: 800, maxDelay: 800 };
      const world = new World({ start: at("12:00:10"), hasDate: true, client: { retry } });
      const statuses: FeedStatus[] = [];
      const options = { ...MINUTES, timeframe: "1s", network: "devnet", revisionWindow } as const;
      watchFeedStatus(world.client, options).subscribe((status) => statuses.push(status));
      await world.clock.advanceTo(at("12:00:20.900"));
      const covered = statuses.at(-1)!.coveredUntil!;
      let failures = 0;
      world.interfere = () => (failures++ === 0 ? Promise.reject(new Error("lost")) : undefined);
      await world.clock.advanceTo(at("12:00:22.900"));
      // The second attempt and the slot after it are 180 ms apart.
      expect(statuses.at(-1)!.coveredUntil).toBe(covered + 1_000);
      await world.clock.advanceTo(at("12:00:24.900"));
      expect(statuses.at(-1)!.coveredUntil).toBe(covered + 4_000);
    });

    it("counts for nothing where it shows none of what was known either, however long", async () => {
      const { world, statuses, events } = watched({}, revisionWindow);
      await world.clock.advanceTo(at("12:10:30"));
      const [{ coveredUntil }, told] = [statuses.at(-1)!, events.length];
      world.interfere = ({ url }, answer) =>
        url.pathname.endsWith("/ohlcv") ? withRows(answer, () => []) : undefined;
      await world.clock.advanceTo(at("12:20:30"));
      expect(statuses.at(-1)).toMatchObject({ state: "stalled", coveredUntil });
      expect(events).toHaveLength(told);
      world.interfere = () => undefined;
      await world.clock.advanceTo(at("12:22:30"));
      expect(statuses.at(-1)).toMatchObject({ state: "live", coveredUntil: at("12:22:00") });
    });

    it("covers no minute by one answer after its end, though its candle was missing before", async () => {
      const world = new World({ start: at("12:00:10"), createdAt: at("11:50:00") });
      // Only the running minute ever has a candle.
      world.swapsEvery(MINUTE, at("12:10:02"), at("12:10:59"));
      const statuses: FeedStatus[] = [];
      watchFeedStatus(world.client, { ...MINUTES, every: 20_000, revisionWindow }).subscribe((status) =>
        statuses.push(status),
      );
      await world.clock.advanceTo(at("12:10:25"));
      let empty = 1;
      world.interfere = ({ url }, answer) => {
        if (!url.pathname.endsWith("/ohlcv")) return undefined;
        return empty-- > 0 ? withRows(answer, () => []) : Promise.reject(new Error("lost"));
      };
      await world.clock.advanceTo(at("12:11:02"));
      const asked = world.candleRequests().length;
      world.interfere = ({ url }, answer) =>
        url.pathname.endsWith("/ohlcv") ? withRows(answer, () => []) : undefined;
      await world.clock.stopOnce(() => world.candleRequests().length > asked, at("12:14:00"));
      await world.clock.advanceBy(100);
      expect(statuses.at(-1)!.coveredUntil).toBe(at("12:10:00"));
      await world.clock.advanceTo(at("12:14:30"));
      expect(statuses.at(-1)!.coveredUntil).toBeGreaterThanOrEqual(at("12:13:00"));
    });

    it.each([1, 2, 3, 10])("loses nothing, %d times", async (empty) => {
      const { world, births } = await begun("devnet", empty);
      await world.clock.advanceTo(at("12:20:30"));
      // What comes late may be told after what follows.
      births.sort((a, b) => a - b);
      expect(births).toEqual(Array.from({ length: 20 }, (_, index) => at("12:00:00") + index * MINUTE));
    });
  },
);

describe("a history", () => {
  /** The minutes that a watch gives from its first one on, where answers about the past lack some; `lacksOf`: by how many have been given. */
  async function given(since: number | { candles: number }, lacksOf: (answer: number) => "fails" | number[]) {
    const world = new World({ start: at("12:00:10") });
    world.swapsEvery(MINUTE, at("10:00:00"), at("13:00:00"));
    const options = { ...MINUTES, every: "close", revisionWindow: 2 } as const;
    watchCandles(world.client, options).subscribe();
    await world.clock.advanceTo(at("12:10:30"));
    let answers = 0;
    world.interfere = ({ url: { searchParams } }, answer) => {
      if (Number(searchParams.get("toDate")) * 1_000 > at("12:09:00")) return undefined;
      const lacks = lacksOf(answers++);
      if (lacks === "fails") return answered(503, {});
      return withRows(answer, (rows) =>
        rows.filter(({ timestamp }) => !lacks.includes(Date.parse(String(timestamp)))),
      );
    };
    const minutes: number[] = [];
    watchCandles(world.client, { ...options, since }).subscribe(({ candle }) =>
      minutes.push(candle.timestamp),
    );
    await world.clock.advanceTo(at("12:15:30"));
    return [...new Set(minutes)].sort((a, b) => a - b);
  }
  const minutesFrom = (from: number) =>
    Array.from({ length: (at("12:16:00") - from) / MINUTE }, (_, index) => from + index * MINUTE);

  it.each([
    [{ candles: 20 }, 20],
    [at("12:00:00"), 10],
  ] as const)(
    "since %o shows each of the newest final candles that polls have shown",
    async (since, count) => {
      for (const back of [1, 2, 3, 4]) {
        const lost = at("12:08:00") - back * MINUTE;
        const minutes = await given(since, (answer) => (answer === 0 ? [lost] : []));
        expect(minutes).toEqual(minutesFrom(at("12:10:00") - count * MINUTE));
      }
    },
  );

  it.each([1, 4])("since an instant ends where %i of these are gone", async (count) => {
    const gone = Array.from({ length: count }, (_, index) => at("12:07:00") - index * MINUTE);
    const minutes = await given(at("12:00:00"), () => gone);
    expect(minutes).toEqual(minutesFrom(at("12:00:00")).filter((minute) => !gone.includes(minute)));
  });

  it("that has failed shows what it has seen before", async () => {
    const from = at("11:00:00");
    // With the one before it: a range is asked for with that.
    const first = Array.from({ length: 6 }, (_, index) => from + (index - 1) * MINUTE);
    const minutes = await given(from, (answer) => {
      if (answer === 0) return first;
      if (answer < 8) return "fails";
      return answer === 8 ? [at("11:30:00")] : [];
    });
    expect(minutes).toEqual(minutesFrom(from));
  });
});

it.each([1, 2, 4])(
  "costs no page more a poll, once too much has turned up behind %i candles of long ago that have come for an answer",
  async (count) => {
    const world = new World({ start: at("12:00:10") });
    world.swapsEvery(30_000, at("00:00:00") - 86_400_000, at("13:00:00"));
    const ago = ({ timestamp }: Record<string, unknown>) =>
      new Date(Date.parse(String(timestamp)) - 2_000 * 60_000).toISOString();
    let page: Answer | undefined;
    // As a cache does that takes no notice of the range, and then of the cursor.
    world.interfere = ({ url }, answer) => {
      if (world.asked.length === 1)
        return withRows(answer, (rows) => rows.slice(-count).map((row) => ({ ...row, timestamp: ago(row) })));
      if (world.clock.now() > at("12:01:30")) return undefined;
      return url.searchParams.has("cursor") ? page : answer().then((first) => (page = first));
    };
    watchCandles(world.client, { ...MINUTES, every: "close" }).subscribe();
    await world.clock.advanceTo(at("12:01:50"));
    const before = world.asked.length;
    await world.clock.advanceTo(at("12:06:30"));
    expect(world.asked.length - before).toBe(5);
  },
);
