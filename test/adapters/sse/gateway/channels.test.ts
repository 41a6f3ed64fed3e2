import { InvalidInputError, VirtualClock } from "pairstream";
import { createGateway } from "pairstream/sse";
import { NEVER } from "rxjs";
import { describe, expect, it } from "vitest";
import { KEY, MINUTES } from "../../../world.js";
import { names, type Reading, sourceOf } from "../gateway.js";
import { ADDRESS, MINUTE, market, QUERY, refusalIn, SNIPERS, Stage } from "./stage.js";

const CANDLES = `/candles?${QUERY}`;

/** Reads what has come. */
async function read(stage: Stage, viewer: Reading, name: string) {
  const reading = viewer.until(name);
  return stage.settled(reading);
}

describe("a channel", () => {
  it("begins with its first viewer, and polls until a while after the last has left", async () => {
    const stage = new Stage({ linger: 20_000 });
    await stage.pass(10 * MINUTE);
    expect(stage.world.asked).toEqual([]);
    expect(stage.clock.pending).toBe(0);

    const viewer = await stage.view();
    expect(names(await read(stage, viewer, "ready")).slice(0, 3)).toEqual(["hello", "waiting", "snapshot"]);
    await stage.pass(3 * MINUTE);
    expect(stage.world.candleRequests().length).toBeGreaterThanOrEqual(3);

    await viewer.cancel();
    await stage.pass(19_000);
    expect(await stage.status()).toMatchObject({ viewers: 0, channels: [{ type: "candles", viewers: 0 }] });
    await stage.pass(2_000);
    const asked = stage.world.asked.length;
    expect((await stage.status()).channels).toEqual([]);
    expect(stage.clock.pending).toBe(0);
    await stage.pass(60 * MINUTE);
    expect(stage.world.asked.length).toBe(asked);
  });

  it("is there for one who comes back in time", async () => {
    const stage = new Stage({ linger: 20_000 });
    const path = `${CANDLES}&since.candles=50`;
    const first = await stage.view(path);
    await read(stage, first, "ready");
    await stage.pass(5_000);
    await first.cancel();
    await stage.pass(15_000);
    const asked = stage.world.asked.length;
    const again = await stage.view(path);
    const state = await read(stage, again, "ready");
    expect(state.filter(({ name }) => name === "candle").length).toBeGreaterThan(40);
    expect(stage.world.asked.length).toBe(asked);
    await stage.pass(30_000);
    expect(await stage.status()).toMatchObject({ viewers: 1 });
    await stage.gateway.close();
  });

  it("costs for a thousand viewers what it costs for one", async () => {
    const requestsOf = async (viewers: number) => {
      const stage = new Stage();
      const readings = [];
      for (let count = 0; count < viewers; count += 1) readings.push(await stage.view());
      await stage.pass(5 * MINUTE);
      expect((await stage.status()).channels).toMatchObject([{ viewers }]);
      for (const reading of readings) await reading.cancel();
      await stage.gateway.close();
      return stage.world.asked.length;
    };
    const [one, thousand] = [await requestsOf(1), await requestsOf(1_000)];
    expect(one).toBeGreaterThan(4);
    expect(thousand).toBe(one);
  });

  it("serves the same options however they are written, and others from another channel", async () => {
    const stage = new Stage();
    await stage.view(`${CANDLES}&since.candles=5`);
    await stage.view(`${CANDLES}&since.candles=5&settle=1000&every=60000&fillGaps=false`);
    await stage.view(`/candles?since.candles=5&weekStart=monday&${QUERY}`);
    expect((await stage.status()).channels).toMatchObject([{ viewers: 3 }]);
    await stage.view(`${CANDLES}&since.candles=6`);
    await stage.view(`${CANDLES}&fillGaps=true`);
    await stage.view(`/snipers?${SNIPERS}`);
    expect((await stage.status()).channels).toMatchObject([{ viewers: 4 }, { viewers: 1 }, { viewers: 1 }]);
    await stage.gateway.close();
  });

  it("tells those who come how its stream has ended, for a while and without another request", async () => {
    const world = market();
    world.interfere = () =>
      Promise.resolve({ status: 401, headers: { get: () => null }, text: async () => "{}" });
    const stage = new Stage({ linger: 20_000 }, world);
    const first = await stage.view();
    expect((await read(stage, first, "error")).at(-1)).toMatchObject({
      name: "error",
      data: { name: "AuthenticationError" },
    });
    const asked = world.asked.length;
    for (let times = 0; times < 5; times += 1) {
      const again = await stage.view();
      expect(names(await read(stage, again, "error")).at(-1)).toBe("error");
      await stage.pass(900);
    }
    expect(world.asked.length).toBe(asked);
    // Those who come do not keep it, however long a channel lingers.
    await stage.pass(1_000);
    world.interfere = () => undefined;
    const viewer = await stage.view();
    await stage.pass(1_000);
    await read(stage, viewer, "candle");
    await stage.gateway.close();
    await stage.pass(0);
    expect(stage.clock.pending).toBe(0);
  });

  it.each([
    ["candles", CANDLES],
    ["snipers", `/snipers?${SNIPERS}`],
  ])("of %s tells all who come that its source refuses them, and is gone after a while", async (_, path) => {
    const clock = new VirtualClock();
    const refuse = () => {
      throw new InvalidInputError("every", "60000, as the collector has it", "is 1000");
    };
    const source = { ...sourceOf({ candles: NEVER, status: NEVER }), candles: refuse, sniperReport: refuse };
    const gateway = createGateway(source, { allow: () => true, scheduler: clock });
    const ask = (what: string) => gateway.fetch(new Request(ADDRESS + what));
    for (let viewers = 0; viewers < 2; viewers += 1) {
      const answer = await ask(path);
      expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"every"')]);
    }
    expect(await (await ask("/status")).json()).toMatchObject({ viewers: 0 });
    await clock.advanceBy(30_000);
    expect(await (await ask("/status")).json()).toMatchObject({ channels: [] });
    expect(clock.pending).toBe(0);
  });

  it("begins anew where its timers have stood still, as after a sleep of the machine", async () => {
    let ahead = 0;
    const schedulerOf = (clock: VirtualClock) => ({
      now: () => clock.now() + ahead,
      schedule: clock.schedule.bind(clock),
    });
    const stage = new Stage({}, market({ schedulerOf }));
    const first = await stage.view();
    await read(stage, first, "ready");
    await stage.pass(5_000);
    ahead = 10 * MINUTE;
    const second = await stage.view();
    const [hello] = await read(stage, second, "ready");
    expect(hello).toMatchObject({ name: "hello" });
    // The first is ended, and will come back to the new one.
    await read(stage, first, "end");
    expect(first.isDone).toBe(true);
    expect((await stage.status()).channels).toMatchObject([{ viewers: 1 }]);
    await stage.gateway.close();
  });
});

describe("a viewer", () => {
  it("that leaves during the start leaves nothing behind", async () => {
    let answer = (_: boolean) => {};
    const allow = () =>
      new Promise<boolean>((resolve) => {
        answer = resolve;
      });
    const stage = new Stage({ allow, linger: 0 });
    const abort = new AbortController();
    const answering = stage.gateway.fetch(new Request(ADDRESS + CANDLES, { signal: abort.signal }));
    await stage.pass(0);
    abort.abort();
    expect((await stage.settled(answering)).status).toBe(503);
    answer(true);
    await stage.pass(100);
    expect(stage.world.asked).toEqual([]);
    expect(stage.clock.pending).toBe(0);
  });

  it.each([
    ["before it is answered", (abort: AbortController) => abort.abort(), () => {}],
    ["before anybody has read", () => {}, (abort: AbortController) => abort.abort()],
  ])("of thousands that abort %s is not counted for ever", async (_, before, after) => {
    const stage = new Stage({ linger: 1_000, maxViewers: 2 });
    for (let count = 0; count < 2_000; count += 1) {
      const abort = new AbortController();
      before(abort);
      await stage.gateway.fetch(new Request(ADDRESS + CANDLES, { signal: abort.signal }));
      after(abort);
    }
    await stage.pass(2_000);
    expect(await stage.status()).toMatchObject({ viewers: 0, channels: [] });
    expect(stage.clock.pending).toBe(0);
  });

  it("is one of at most so many, and of so many channels; those that nobody watches give way", async () => {
    const stage = new Stage({ maxViewers: 3, maxChannels: 2 });
    const one = await stage.view(CANDLES);
    const other = await stage.view(`/snipers?${SNIPERS}`);
    const third = await stage.ask(`${CANDLES}&fillGaps=true`);
    expect([third.status, third.headers.get("retry-after")]).toEqual([503, "10"]);
    expect(await refusalIn(third)).toMatchObject({ allowed: "at most 2 channels at once; try again later" });
    await stage.view(CANDLES);
    const fourth = await stage.ask(CANDLES);
    expect(fourth.status).toBe(503);
    expect(await refusalIn(fourth)).toMatchObject({ allowed: "at most 3 viewers at once; try again later" });

    await other.cancel();
    await stage.view(`${CANDLES}&fillGaps=true`);
    expect((await stage.status()).channels).toMatchObject([{ viewers: 2 }, { viewers: 1 }]);
    await one.cancel();
    await stage.gateway.close();
    await stage.pass(0);
    expect(stage.clock.pending).toBe(0);
  });

  it("that does not read is left after a while, and costs the others nothing", async () => {
    const stage = new Stage({ heartbeat: 1_000, maxCandles: 5_000 });
    const path = `${CANDLES}&since.candles=360`;
    const slow = await stage.view(path);
    const fast = await stage.view(path);
    await read(stage, fast, "ready");
    for (let seconds = 0; seconds < 30; seconds += 1) {
      await stage.pass(1_000);
      await stage.settled(fast.next());
    }
    expect(await stage.status()).toMatchObject({ viewers: 1 });
    await expect(stage.settled(slow.next())).rejects.toThrow("is not read");
    expect(fast.isDone).toBe(false);
    await stage.gateway.close();
  });
});

describe("close", () => {
  it("ends channels, responses and what waits, and answers no more", async () => {
    const stage = new Stage({ allow: ({ url }) => (url.includes("since") ? new Promise(() => {}) : true) });
    const viewer = await stage.view();
    await stage.pass(1_000);
    const waiting = stage.gateway.fetch(new Request(`${ADDRESS}${CANDLES}&since.candles=5`));
    const history = stage.gateway.fetch(new Request(`${ADDRESS}/history?${QUERY}`));
    await stage.pass(0);
    await stage.gateway.close();
    expect((await waiting).status).toBe(503);
    expect((await history).status).toBe(503);
    await read(stage, viewer, "end");
    expect(viewer.isDone).toBe(true);
    await stage.pass(0);
    expect(stage.clock.pending).toBe(0);
    const late = await stage.ask(CANDLES);
    expect([late.status, late.headers.get("retry-after")]).toEqual([503, "1"]);
    await stage.gateway.close();
  });
});

describe("/status", () => {
  it("says what runs, and no secrets", async () => {
    const stage = new Stage();
    await stage.view(`${CANDLES}&since.candles=9`);
    const response = await stage.ask("/status");
    const text = await response.text();
    expect(JSON.parse(text)).toEqual({
      viewers: 1,
      maxViewers: 1_000,
      maxChannels: 100,
      channels: [{ type: "candles", options: MINUTES, viewers: 1 }],
    });
    expect(text).not.toContain(KEY);
    expect(text).not.toContain("localhost");
    await stage.gateway.close();
  });
});
