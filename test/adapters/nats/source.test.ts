import { find, Subscription } from "rxjs";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { collect, natsSource } from "../../../src/adapters/nats/index.js";
import { natsLibrary } from "../../../src/adapters/nats/nats.js";
import {
  type ClientOptions,
  clientSource,
  createClient,
  type Series,
  VirtualClock,
  type WatchOptions,
} from "../../../src/index.js";
import { createPairService, demoService, simulatedMarket } from "../../../src/service/index.js";
import type { Packet } from "../../simulation/nats/jetstream.js";
import { ModelConnection, Servers } from "../../simulation/nats/servers.js";
import { seriesOf } from "./busy-service.js";

const START = Date.UTC(2026, 0, 1);
/** How long what is stored is on its way, in ms. */
const SLOW = 2_000;

interface Collected {
  readonly clientOptions: ClientOptions;
  readonly watch: Series & WatchOptions;
}

/** What is collected where a test says nothing else. */
function minutes(clock: VirtualClock) {
  const { pairs, clientOptions } = demoService({ clock: () => clock.now() });
  return { clientOptions, watch: { ...seriesOf(pairs[0]!), since: { candles: 20 } } };
}

/** A collector that is live, and the source of a program to which what is stored comes slowly. */
async function stage(
  delay = ({ reply }: Packet, _to: string): number => (reply?.startsWith("$JS.ACK.") ? SLOW : 0),
  { start = START, collected = minutes as (clock: VirtualClock) => Collected } = {},
) {
  const clock = new VirtualClock(start);
  const servers = new Servers(clock);
  const wire = { up: (arrive: () => void) => arrive(), down: (arrive: () => void) => arrive() };
  const connect = (number: number) => new ModelConnection(servers, wire, clock, number);
  const { clientOptions, watch } = collected(clock);
  const client = createClient({ ...clientOptions, scheduler: clock });
  const { network, pairAddress, timeframe, currency } = watch;
  const series: Series = { network, pairAddress, timeframe, currency };
  const running = new Subscription();
  onTestFinished(() => running.unsubscribe());
  running.add(collect(connect(0).asConnection, client, [watch]).subscribe());
  await clock.advanceBy(60_000);
  const reader = connect(1);
  const push = reader.push.bind(reader);
  reader.push = (to, packet) => {
    clock.schedule(() => push(to, packet), delay(packet, to));
  };
  return {
    clock,
    running,
    client,
    series,
    reader,
    source: natsSource(reader.asConnection, { scheduler: clock }),
  };
}

beforeAll(() => natsLibrary());

it("refuses at the call what no timer and no server can hold", () => {
  const clock = new VirtualClock(START);
  const wire = { up: () => {}, down: () => {} };
  const nats = new ModelConnection(new Servers(clock), wire, clock, 0).asConnection;
  for (const heartbeat of [249, 2 ** 31, 1e12]) {
    const refused = expect.objectContaining({
      parameter: "heartbeat",
      allowed: "a number of ms from 250 to 2147483647",
    });
    expect(() => natsSource(nats, { heartbeat })).toThrow(refused);
  }
  const client = createClient(demoService().clientOptions);
  for (const retention of [999, 1e13]) {
    const refused = expect.objectContaining({
      parameter: "retention",
      allowed: "a number of ms from 1000 to 9000000000000",
    });
    expect(() => collect(nats, client, [], { retention })).toThrow(refused);
  }
});

describe("the history of a source over NATS", () => {
  it("fails after half a minute where the servers have no JetStream", async () => {
    const { clock, series, source, reader } = await stage();
    // What is asked of JetStream has nobody who answers.
    reader.request = () =>
      Promise.reject(Object.assign(new Error("no responders"), { name: "NoResponders" }));
    let failure: unknown;
    const history = source.history({ ...series, count: 3 }).catch((error: unknown) => {
      failure = error;
    });
    await clock.advanceBy(29_000);
    expect(failure).toBeUndefined();
    await clock.advanceBy(3_000);
    await history;
    expect(failure).toMatchObject({
      name: "NetworkError",
      message: "The NATS servers give no history: is JetStream on (nats-server -js)?",
    });
  });
});

describe("a source over NATS of weeks that a collector begins on Thursday", () => {
  /** A Tuesday: the week of Monday is not the running one of Thursday. */
  const start = Date.UTC(2026, 0, 6);
  const [thursday, day] = [Date.UTC(2026, 0, 1), 86_400_000];
  const weeksAgo = (...weeks: number[]) => weeks.map((count) => thursday - count * 7 * day);
  const collectedAs = (timeframe: Series["timeframe"]) => (clock: VirtualClock) => {
    const market = simulatedMarket({ seed: 7, createdAt: start - 45 * day, pairs: 1 });
    const { fetch } = createPairService({
      source: market,
      weekStart: "thursday",
      clock: () => clock.now(),
    });
    const series = { ...seriesOf(market.pairs[0]!), timeframe };
    return {
      clientOptions: { baseUrl: "https://service.test", apiKey: "key", fetch },
      watch: { ...series, weekStart: "thursday", since: { candles: 3 } } as const,
    };
  };
  const staged = (timeframe: Series["timeframe"] = "1w") =>
    stage(() => 0, { start, collected: collectedAs(timeframe) });
  type Stage = Awaited<ReturnType<typeof staged>>;
  /** Settled, while the clock goes on. */
  const settled = async <T>({ clock }: Stage, promise: Promise<T>) => {
    const outcome = promise.then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    await clock.advanceBy(5_000);
    return outcome;
  };
  const refused = {
    name: "InvalidInputError",
    parameter: "weekStart",
    allowed: "thursday, as the collector has it",
  };

  it("begins with the same candles, whether a reader says so or nothing", async () => {
    const { clock, running, series, source } = await staged();
    const begun = (more: WatchOptions) => {
      const weeks: number[] = [];
      running.add(
        source.candles({ ...series, ...more }).subscribe(({ type, candle }) => {
          if (type === "new") weeks.push(candle.timestamp);
        }),
      );
      return weeks;
    };
    const since = [
      [{ since: { candles: 3 } }, weeksAgo(3, 2, 1, 0)],
      // A Friday's week of Monday begins before that of Thursday, and a Tuesday's after it.
      [{ since: weeksAgo(2)[0]! + day }, weeksAgo(2, 1, 0)],
      [{ since: weeksAgo(2)[0]! + 5 * day }, weeksAgo(2, 1, 0)],
      [{}, weeksAgo(0)],
    ] as const;
    const told = since.map(([more]) => [begun({ ...more, weekStart: "thursday" }), begun(more)]);
    await clock.advanceBy(5_000);
    expect(told).toEqual(since.map(([, weeks]) => [weeks, weeks]));
  });

  it("refuses other weeks, as a stream and as a history", async () => {
    const all = await staged();
    const { running, series, source } = all;
    const monday = { ...series, weekStart: "monday" } as const;
    let failure: unknown;
    running.add(source.candles(monday).subscribe({ error: (error: unknown) => (failure = error) }));
    expect(await settled(all, source.history({ ...monday, count: 1 }))).toMatchObject({ error: refused });
    expect(failure).toMatchObject(refused);
  });

  it("takes the days of a history for those of its weeks, also where the rest is from elsewhere", async () => {
    const all = await staged();
    const { client, clock, reader, series, source } = all;
    const tuesdays = { from: weeksAgo(2)[0]! - 2 * day, to: weeksAgo(0)[0]! - 2 * day };
    const weeks = (of: typeof source, query: object) =>
      settled(
        all,
        of.history({ ...series, ...query }).then((candles) => candles.map(({ timestamp }) => timestamp)),
      );
    expect(await weeks(source, tuesdays)).toEqual({ value: weeksAgo(2, 1) });
    const both = natsSource(reader.asConnection, { scheduler: clock, history: clientSource(client) });
    expect(await weeks(both, { count: 5 })).toEqual({ value: weeksAgo(5, 4, 3, 2, 1) });
  });

  it("lets a reader of days say of weeks what it wants", async () => {
    const all = await staged("1d");
    const { running, series, source } = all;
    const monday = { ...series, weekStart: "monday" } as const;
    const errors: unknown[] = [];
    running.add(source.candles(monday).subscribe({ error: (error) => errors.push(error) }));
    expect(await settled(all, source.history({ ...monday, count: 1 }))).toMatchObject({ value: [{}] });
    expect(errors).toEqual([]);
  });
});

describe("the status of a source over NATS", () => {
  it.each([
    ["with a history", { since: { candles: 10 } }, "new"],
    ["without one", {}, "live and covers"],
  ])(
    "covers nothing until the candles with the same options have told what is stored, %s",
    async (_, more, next) => {
      const { clock, running, series, source } = await stage();
      const told: string[] = [];
      const watch = { ...series, ...more };
      running.add(source.candles(watch).subscribe(({ type }) => told.push(type)));
      running.add(
        source.status(watch).subscribe(({ state, coveredUntil }) => {
          told.push(coveredUntil === undefined ? state : `${state} and covers`);
        }),
      );
      const other: string[] = [];
      running.add(source.status({ ...series, since: START }).subscribe(({ state }) => other.push(state)));
      await clock.advanceBy(SLOW - 100);
      expect(told).toEqual(["starting"]);
      expect(other).toContain("live");
      await clock.advanceBy(3_000);
      expect(told.slice(0, 2)).toEqual(["starting", next]);
      expect(told).toContain("live and covers");
    },
  );

  it("never goes back to one that was on its way while a newer one has come", async () => {
    // What was stored comes after what is stored meanwhile: a closing.
    const { clock, running, series, source } = await stage((_, to) => (to.startsWith("_INBOX.") ? 900 : 0));
    const covered: number[] = [];
    running.add(source.status(series).subscribe(({ coveredUntil = 0 }) => covered.push(coveredUntil)));
    await clock.advanceBy(5_000);
    expect(covered.length).toBeGreaterThan(1);
    expect(covered).toEqual([...covered].sort((a, b) => a - b));
    expect(covered.at(-1)).toBeGreaterThanOrEqual(START + 60_000);
  });

  it("needs no candles, and waits for none that are left", async () => {
    const { clock, running, series, source } = await stage();
    const states: string[] = [];
    const candles = source.candles(series).subscribe();
    running.add(source.status(series).subscribe(({ state }) => states.push(state)));
    await clock.advanceBy(SLOW / 2);
    expect(states).toEqual(["starting"]);
    candles.unsubscribe();
    expect(states.slice(0, 2)).toEqual(["starting", "live"]);
  });

  it("covers nothing for candles that somebody follows as soon as another status is live", async () => {
    const { clock, running, series, source } = await stage();
    const [first, second] = [{ ...series, since: { candles: 10 } }, series];
    const states: string[] = [];
    running.add(source.candles(first).subscribe());
    const live = source.status(first).pipe(find(({ state }) => state === "live"));
    running.add(live.subscribe(() => running.add(source.candles(second).subscribe())));
    running.add(
      source.status(second).subscribe(({ state }) => {
        if (states.at(-1) !== state) states.push(state);
      }),
    );
    await clock.advanceBy(2 * SLOW + 100);
    expect(states).toEqual(["starting", "live", "starting"]);
    await clock.advanceBy(2 * SLOW);
    expect(states.at(-1)).toBe("live");
  });
});

it("the status says that the server does not answer, while the collector cannot be asked, and goes on", async () => {
  const { clock, running, series, reader, source } = await stage(() => 0);
  const states: string[] = [];
  running.add(
    source.status(series).subscribe(({ state, lastError }) => states.push(lastError?.message ?? state)),
  );
  await clock.advanceBy(10_000);
  expect(states.at(-1)).toBe("live");
  reader.disconnect();
  await clock.advanceBy(120_000);
  const told = states.slice(states.lastIndexOf("live") + 1);
  // Whether it is the collector or the server shows once the server was asked.
  expect(told).toEqual([
    "The publisher of this feed does not answer",
    "The NATS server model does not answer: timeout",
  ]);
  reader.reconnect();
  await clock.advanceBy(10_000);
  expect(states.at(-1)).toBe("live");
});
