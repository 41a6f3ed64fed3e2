import { clientSource, type FeedStatus } from "pairstream";
import { gatewaySource } from "pairstream/sse";
import { describe, expect, it } from "vitest";
import { MINUTES, World } from "../../../world.js";
import { messagesIn, names, type Reading } from "../gateway.js";
import { ADDRESS, Cable, MINUTE, QUERY, START, Stage } from "./stage.js";

const CANDLES = `/candles?${QUERY}`;

/** The minutes before the start of which a viewer is told first, by messages. */
const minutesOf = (messages: Awaited<ReturnType<Reading["until"]>>) =>
  messages
    .filter(({ name }) => name === "candle")
    .map(({ data }) => (data.candle.timestamp - START) / MINUTE);

describe("one channel for all viewers of a series, wherever their candles begin", () => {
  it("reads further back for one who asks for more, and tells the others nothing of that", async () => {
    const stage = new Stage();
    const first = await stage.view(`${CANDLES}&since.candles=5`);
    const state = await stage.settled(first.until("ready"));
    const rest = names(state).slice(names(state).lastIndexOf("waiting") + 1);
    expect(rest).toEqual(["snapshot", ...Array(6).fill("candle"), "status", "ready"]);
    await stage.pass(1_000);
    const histories = stage.world.candleRequests().length;

    // Within what there is, nothing is read.
    const second = await stage.view(`${CANDLES}&since.candles=4`);
    const within = await stage.settled(second.until("ready"));
    expect(minutesOf(within)).toHaveLength(5);
    // What the stream covers beyond that is nothing to this viewer.
    const { coveredFrom } = within.at(-2)!.data;
    expect(coveredFrom).toBe(within.find(({ name }) => name === "candle")!.data.candle.timestamp);
    expect(stage.world.candleRequests()).toHaveLength(histories);

    const third = await stage.view(`${CANDLES}&since=${START - 300 * MINUTE}`);
    const history = await stage.settled(third.until("ready"));
    expect(names(history).slice(0, 2)).toEqual(["hello", "waiting"]);
    expect(minutesOf(history).length).toBeGreaterThan(250);
    expect(stage.world.candleRequests().length).toBeGreaterThan(histories);
    expect((await stage.status()).channels).toMatchObject([{ viewers: 3 }]);

    // What happens next is told to each, once.
    stage.world.swap(START + 5_000, 777);
    await stage.pass(2 * MINUTE);
    for (const reading of [first, second, third]) {
      let text = "";
      while (!text.includes('"high":777')) text += await reading.next();
      const minutes = minutesOf(messagesIn(text));
      expect(minutes.length).toBeLessThan(12);
      expect(minutes.every((minute) => minute >= -5)).toBe(true);
    }
    await stage.gateway.close();
    await stage.pass(0);
    expect(stage.clock.pending).toBe(0);
  });

  it.each(["1min", "3min"] as const)(
    "says of each viewer that what it was told is covered, and nothing before: %s",
    async (timeframe) => {
      const stage = new Stage({ revisionWindow: 20 });
      const source = gatewaySource(ADDRESS, { fetch: stage.fetch, scheduler: stage.clock });
      // The same as one who came before, and others.
      const counts = [3, 3, 40, 1];
      const past = await stage.settled(source.history({ ...MINUTES, timeframe, from: START - 400 * MINUTE }));
      for (const count of counts) {
        const asked = { ...MINUTES, timeframe, since: { candles: count } };
        const starts: number[] = [];
        let status: FeedStatus | undefined;
        const watching = source.candles(asked).subscribe(({ candle }) => starts.push(candle.timestamp));
        watching.add(
          source.status(asked).subscribe((now) => {
            status = now;
          }),
        );
        await stage.pass(1_000);
        for (let turns = 0; status?.coveredFrom === undefined && turns < 500; turns += 1)
          await stage.pass(20);
        const first = Math.min(...starts);
        const untold = past.filter(({ timestamp }) => timestamp >= status!.coveredFrom! && timestamp < first);
        expect(untold).toEqual([]);
        expect(status!.coveredUntil! - status!.coveredFrom!).toBeGreaterThanOrEqual(count * MINUTE);
        await stage.pass(25_000);
        watching.unsubscribe();
      }
      await stage.gateway.close();
    },
  );

  it("holds all of a history, however many gaps it fills", async () => {
    const world = new World({ start: START, createdAt: START - 5 * 1_440 * MINUTE, hasDate: true });
    world.swapsEvery(600 * MINUTE, START - 5 * 1_440 * MINUTE, START);
    const stage = new Stage({}, world);
    const source = gatewaySource(ADDRESS, { fetch: stage.fetch, scheduler: stage.clock });
    const asked = { ...MINUTES, since: { candles: 5 }, fillGaps: true };
    const starts = [source, clientSource(world.client)].map((one) => {
      const told: number[] = [];
      one.candles(asked).subscribe(({ candle }) => told.push(candle.timestamp));
      return told;
    });
    await stage.pass(1_000);
    for (let turns = 0; starts.some(({ length }) => length < 2_000) && turns < 500; turns += 1)
      await stage.pass(20);
    const [behind, own] = starts;
    expect(behind!.length).toBeGreaterThan(2_000);
    expect(behind).toEqual(own);
    await stage.gateway.close();
  });

  it.each([
    [undefined, 3],
    [{ candles: 2 }, 9],
    [{ candles: 30 }, 93],
  ])("asks for no more parts of longer candles than it needs, from %o on", async (since, needed) => {
    for (const [maxCandles, isEnough] of [
      [needed, true],
      [needed - 1, false],
    ] as const) {
      const stage = new Stage({ maxCandles });
      const source = gatewaySource(ADDRESS, { fetch: stage.fetch, scheduler: stage.clock });
      const asked = { ...MINUTES, timeframe: "3min", ...(since && { since }) } as const;
      const told: string[] = [];
      const watching = source.candles(asked).subscribe({
        next: ({ type }) => told.push(type),
        error: ({ name }) => told.push(name),
      });
      for (let turns = 0; told.length === 0 && turns < 500; turns += 1) await stage.pass(20);
      expect(told[0]).toBe(isEnough ? "new" : "InvalidInputError");
      watching.unsubscribe();
      await stage.gateway.close();
    }
  });

  it("reads few histories, whatever visitors ask for", async () => {
    const stage = new Stage({ maxCandles: 300 });
    for (let candles = 1; candles <= 300; candles += 1) {
      await (await stage.view(`${CANDLES}&since.candles=${candles}`)).cancel();
      const since = START - candles * 0.9 * MINUTE;
      await (await stage.view(`${CANDLES}&since=${Math.floor(since)}`)).cancel();
      await stage.pass(100);
    }
    // 30 s: one poll; the histories are of 10, 20, 40, … 300 candles, and as many from an instant on.
    expect(stage.world.candleRequests().length).toBeLessThan(25);
    await stage.gateway.close();
  });

  it("goes on with what it has while the further history cannot be read", async () => {
    const stage = new Stage();
    const first = await stage.view(`${CANDLES}&since.candles=5`);
    await stage.settled(first.until("ready"));
    stage.world.interfere = ({ url }) =>
      Number(url.searchParams.get("fromDate")) * 1_000 < START - 150 * MINUTE
        ? Promise.reject(new Error("down"))
        : undefined;
    const second = await stage.view(`${CANDLES}&since.candles=250`);
    await stage.pass(3 * MINUTE);
    expect(minutesOf(await first.until("candle")).length).toBeGreaterThan(0);
    const told = names(await second.until("waiting"));
    expect(told).not.toContain("snapshot");
    stage.world.interfere = () => undefined;
    await stage.pass(1.5 * MINUTE);
    expect(minutesOf(await stage.settled(second.until("ready"))).length).toBeGreaterThan(240);
    await stage.gateway.close();
  });
});

describe("a viewer who comes back", () => {
  it("goes on where its candles begin, also where that is further back than a history may be", async () => {
    const stage = new Stage({ maxCandles: 30 });
    let gateway = stage.gateway;
    const cable = new Cable();
    const source = gatewaySource(ADDRESS, {
      scheduler: stage.clock,
      fetch: async (url, init) => {
        stage.addresses.push(url);
        return cable.through(await gateway.fetch(new Request(url, init)));
      },
    });
    const events: string[] = [];
    const errors: unknown[] = [];
    const subscription = source.candles({ ...MINUTES, since: START - 25 * MINUTE }).subscribe({
      next: ({ type }) => events.push(type),
      error: (error) => errors.push(error),
    });
    while (stage.addresses.length === 0) await stage.clock.advanceBy(0);
    await stage.pass(50 * MINUTE);
    // Another gateway, an hour after the start: the history that was asked for is too long for it by now.
    gateway = new Stage({ maxCandles: 30 }, stage.world).gateway;
    cable.cut();
    await stage.pass(MINUTE);
    expect(errors).toEqual([]);
    expect(events.filter((type) => type === "removed")).toEqual([]);
    const before = events.length;
    await stage.pass(3 * MINUTE);
    expect(events.length).toBeGreaterThan(before);
    subscription.unsubscribe();
    await gateway.close();
  });

  it("waits for as long as no other does, so that a gateway that starts anew is not asked by all at once", async () => {
    const stage = new Stage({ maxViewers: 2_000 });
    const waits: number[] = [];
    for (let viewer = 0; viewer < 1_000; viewer += 1) {
      const reading = await stage.view(CANDLES);
      const [, wait] = /^retry: (\d+)\n/.exec(await reading.next())!;
      waits.push(Number(wait));
      await reading.cancel();
    }
    // The first one as ever, and no second in which many come.
    expect(waits[0]).toBe(1_000);
    expect(Math.max(...waits)).toBeLessThan(5_000);
    for (let second = 1; second < 5; second += 1) {
      const coming = waits.filter((wait) => Math.floor(wait / 1_000) === second);
      expect(coming.length).toBeLessThan(260);
      expect(coming.length).toBeGreaterThan(240);
    }
    await stage.gateway.close();
  });
});
