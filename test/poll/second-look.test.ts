import { describe, expect, it } from "vitest";
import { type CandleEvent, type SniperEvent, watchCandles, watchSnipers } from "../../src/index.js";
import { withFaults } from "../../src/service/index.js";
import { answered, at, MINUTES, PAIR, World, withRows } from "../world.js";

type Row = Record<string, unknown>;
type Rhythm = number | "close" | undefined;

/** Something that an answer shows and another one lacks. */
interface Subject {
  /** Watches, and counts what is told as gone, and as come or come back. */
  watch(world: World, every: Rhythm): { gone: () => number; come: () => number };
  /** The rows without it. */
  lose(rows: Row[]): Row[];
}

const countOf = <Event extends { type: string }>(events: readonly Event[], ...types: Event["type"][]) =>
  events.filter(({ type }) => types.includes(type)).length;

function watchPair(world: World, every: Rhythm) {
  const events: SniperEvent[] = [];
  const own = typeof every === "number" ? { every } : {};
  watchSnipers(world.client, { pairAddress: PAIR, ...own }).subscribe((event) => events.push(event));
  return {
    gone: () => countOf(events, "wallet-removed", "transaction-removed"),
    come: () => countOf(events, "wallet-added", "sniped", "sold"),
  };
}

const SUBJECTS: Readonly<Record<string, Subject>> = {
  candle: {
    watch: (world, every) => {
      const events: CandleEvent[] = [];
      const own = every === undefined ? {} : { every };
      // None but what is lost goes or comes: all are in one interval, and others are never touched.
      watchCandles(world.client, { ...MINUTES, ...own }).subscribe((event) => events.push(event));
      const of = (type: CandleEvent["type"]) =>
        events.filter((event) => event.type === type && event.candle.timestamp === at("12:01:00")).length;
      return { gone: () => of("removed"), come: () => of("new") };
    },
    lose: (rows) => rows.filter(({ timestamp }) => timestamp !== "2024-01-05T12:01:00.000Z"),
  },
  wallet: {
    watch: watchPair,
    lose: (rows) => rows.filter(({ walletAddress }) => walletAddress !== "b"),
  },
  "transaction of a wallet": {
    watch: watchPair,
    lose: (rows) => rows.map((row) => (row.walletAddress === "b" ? { ...row, sellTransactions: [] } : row)),
  },
};

/** A pair with a swap a minute and two snipers, before which a cache may stand; `losses` answers to come lose something. */
function lossy({ lose }: Subject, { isCached = false, hasDate = false } = {}) {
  const losses = { left: 0, lie: 0 };
  const world = new World({
    start: at("12:00:10"),
    hasDate,
    before: (fetch, scheduler) => {
      const losing: typeof fetch = async (url, init) => {
        const answer = await fetch(url, init);
        if (losses.left <= 0 || answer.status !== 200) return answer;
        losses.left -= 1;
        const lost = await withRows(async () => answer, lose);
        const { lie } = losses;
        losses.lie = 0;
        if (lie === 0) return lost;
        const date = new Date(Date.parse(answer.headers.get("date")!) + lie).toUTCString();
        return { ...lost, headers: { get: (name) => (name === "date" ? date : answer.headers.get(name)) } };
      };
      return isCached ? withFaults(losing, { seed: 1, scheduler, rates: { cached: 1 } }) : losing;
    },
  });
  world.swapsEvery(60_000, at("11:30:00"), at("12:30:00"));
  // What is newest takes longer to go, as a machine may lag.
  for (const [walletAddress, soldAt] of [
    ["a", "11:50:00"],
    ["b", "11:40:00"],
  ] as const) {
    world.swap(100, 5, { walletAddress });
    world.swap(at(soldAt), 5, { walletAddress, side: "sell" });
  }
  return { world, losses };
}

/** Lets the next answer lose something; gives when it was received. */
async function loseNext(world: World, losses: { left: number }, times: number): Promise<number> {
  losses.left = times;
  const before = world.asked.length;
  await world.clock.stopOnce(() => world.asked.length > before, world.clock.now() + 600_000);
  const received = world.asked.at(-1)!.sent + 2 * world.latency;
  await world.clock.advanceTo(received);
  return received;
}

const RHYTHMS: Rhythm[] = ["close", undefined, 20_000, 5_000];

describe.each(Object.entries(SUBJECTS))("a %s that an answer lacks", (_, subject) => {
  it.each(RHYTHMS)("is asked for again 1,000 ms later and no sooner, every: %s", async (every) => {
    for (const isGone of [true, false]) {
      const { world, losses } = lossy(subject);
      const { gone, come } = subject.watch(world, every);
      await world.clock.advanceTo(at("12:02:31"));
      const born = come();
      const received = await loseNext(world, losses, isGone ? 2 : 1);
      const { length } = world.asked;
      await world.clock.advanceTo(received + 999);
      expect([world.asked.length - length, gone()]).toEqual([0, 0]);
      await world.clock.advanceTo(received + 1_000);
      expect([world.asked.length - length, gone()]).toEqual([1, 0]);
      await world.clock.advanceTo(received + 1_000 + 2 * world.latency - 1);
      expect(gone()).toBe(0);
      await world.clock.advanceTo(received + 1_000 + 2 * world.latency);
      expect([gone(), come() - born]).toEqual([isGone ? 1 : 0, 0]);
      // It is asked for twice, and then when it is due.
      await world.clock.advanceTo(received + 2_500);
      expect(world.asked.length - length).toBe(1);
    }
  });

  it.each([250, 500, 1_000])(
    "is asked for again with the next slots where these come sooner, and gone by one a second later, every: %s",
    async (every) => {
      const within = 1_000 / every;
      for (const isGone of [false, true]) {
        const { world, losses } = lossy(subject);
        const { gone } = subject.watch(world, every);
        await world.clock.advanceTo(at("12:02:31.1"));
        const received = await loseNext(world, losses, isGone ? within + 1 : within);
        const { length } = world.asked;
        await world.clock.advanceTo(received + 10_000);
        expect(gone()).toBe(isGone ? 1 : 0);
        const sent = world.asked.slice(length - 1).map((asked) => asked.sent - world.asked[length - 1]!.sent);
        expect(sent).toEqual(sent.map((__, index) => index * every));
      }
    },
  );

  it.each(RHYTHMS)("stays where a cache gives its answers again for a second, every: %s", async (every) => {
    const { world, losses } = lossy(subject, { isCached: true });
    const { gone, come } = subject.watch(world, every);
    await world.clock.advanceTo(at("12:02:31"));
    const born = come();
    for (let minute = 3; minute < 10; minute += 1) {
      await loseNext(world, losses, 1);
      await world.clock.advanceTo(at(`12:0${minute}:31`));
    }
    expect([gone(), come() - born]).toEqual([0, 0]);
  });

  it.each([7_200_000, -7_200_000])(
    "stays where only what is asked at once lacks it too, as a Date is off by %s ms",
    async (lie) => {
      for (const isGone of [false, true]) {
        const { world, losses } = lossy(subject, { hasDate: true });
        const { gone } = subject.watch(world, 20_000);
        await world.clock.advanceTo(at("12:02:31"));
        Object.assign(losses, { lie });
        const received = await loseNext(world, losses, isGone ? 3 : 2);
        await world.clock.advanceTo(received + 900);
        // Asked again at once, it was lacking again.
        expect([losses.left, gone()]).toEqual([isGone ? 1 : 0, 0]);
        await world.clock.advanceTo(received + 1_500);
        expect(gone()).toBe(isGone ? 1 : 0);
      }
    },
  );

  it.each([1, 2, 3, 60])("stays through %d answers that tell of trouble with status 200", async (answers) => {
    for (const body of [
      { message: "upstream timed out" },
      { statusCode: 504, error: "Gateway Timeout" },
      { data: [] },
    ]) {
      const { world } = lossy(subject);
      const { gone, come } = subject.watch(world, 5_000);
      await world.clock.advanceTo(at("12:02:31"));
      const born = come();
      let left = answers;
      world.interfere = () => (left-- > 0 ? answered(200, body) : undefined);
      await world.clock.advanceTo(at("12:06:31"));
      expect(left).toBeLessThan(0);
      expect([gone(), come() - born]).toEqual([0, 0]);
    }
  });
});
