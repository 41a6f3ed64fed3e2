import { readFileSync } from "node:fs";
import {
  applyCandleEvent,
  type Candle,
  type CandleEvent,
  type Client,
  clientSource,
  type PairSource,
  pauseWhileHidden,
} from "pairstream";
import { collect, natsSource } from "pairstream/nats";
import { createGateway, type Gateway, type GatewayFetch, gatewaySource } from "pairstream/sse";
import { createDatafeed } from "pairstream/tradingview";
import { defer } from "rxjs";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { natsLibrary } from "../../src/adapters/nats/nats.js";
import { candlesLease } from "../../src/adapters/react/use-candles.js";
import { isSame } from "../../src/candles/event.js";
import { FakePage } from "../pause/page.js";
import { ModelConnection, Servers } from "../simulation/nats/servers.js";
import { MINUTES, PAIR, type World } from "../world.js";
import { ADDRESS, Cable, MINUTE, market, START } from "./sse/gateway/stage.js";
import { Library } from "./tradingview/library.js";

const NOON = START - 10_000;
const SINCE = { candles: 20 };

/** Somebody who follows a series through one of the relays, and is away for a while. */
interface Reader {
  /** The candles that it shows, ascending. */
  shown(): readonly Candle[];
  leave(): void;
  comeBack(): void;
  /** Another process in place of the one before it, which knows nothing of what that has told. */
  restart(): void;
  /** All events that it got, where it gets any. */
  readonly events?: readonly CandleEvent[];
}

/** A source before a world that can be replaced by one of another client. */
function replaceable(world: World): { source: PairSource; restart(): void } {
  let now = clientSource(world.client);
  const source: PairSource = {
    ...now,
    candles: (options) => defer(() => now.candles(options)),
    status: (options) => defer(() => now.status(options)),
    history: (query, options) => now.history(query, options),
  };
  const restart = () => {
    now = clientSource(world.another());
  };
  return { source, restart };
}

/** A gateway before a world that can be replaced, and the connections to it, which can be cut. */
function gatewayOf(world: World) {
  let gateway: Gateway = createGateway(world.client, { allow: [MINUTES] });
  let isDown = false;
  const cable = new Cable();
  const fetch: GatewayFetch = async (url, init) => {
    if (isDown) throw new TypeError("fetch failed");
    return cable.through(await gateway.fetch(new Request(url, init)));
  };
  return {
    source: gatewaySource(ADDRESS, { fetch, scheduler: world.clock }),
    leave() {
      isDown = true;
      cable.cut();
    },
    comeBack() {
      isDown = false;
    },
    restart() {
      void gateway.close();
      gateway = createGateway(world.another(), { allow: [MINUTES] });
    },
  };
}

function follow(source: PairSource) {
  const events: CandleEvent[] = [];
  const held = new Map<number, Candle>();
  source.candles({ ...MINUTES, since: SINCE }).subscribe((event) => {
    events.push(event);
    applyCandleEvent(held, event);
  });
  return { events, shown: () => [...held.values()].sort((a, b) => a.timestamp - b.timestamp) };
}

/** Collectors and a stream before a world, and a connection to NATS, which can be cut. */
function natsOf(world: World) {
  const { clock } = world;
  const servers = new Servers(clock);
  const wire = { up: (arrive: () => void) => arrive(), down: (arrive: () => void) => arrive() };
  let connections = 0;
  const connect = () => {
    connections += 1;
    return new ModelConnection(servers, wire, clock, connections);
  };
  const collecting = (client: Client) =>
    collect(connect().asConnection, client, [{ ...MINUTES, since: SINCE }]).subscribe();
  let collector = collecting(world.client);
  const connection = connect();
  return {
    source: natsSource(connection.asConnection, { scheduler: clock }),
    leave: () => connection.disconnect(),
    comeBack: () => connection.reconnect(),
    restart() {
      collector.unsubscribe();
      // What it has told is lost, too.
      for (const stream of servers.jetstream.streams.values()) stream.purge();
      collector = collecting(world.another());
    },
  };
}

/** By relay, as docs/candles.md has it. */
const RELAYS: Record<string, (world: World) => Reader> = {
  "`gatewaySource`": (world) => {
    const gateway = gatewayOf(world);
    return { ...gateway, ...follow(gateway.source) };
  },
  "`natsSource`": (world) => {
    const nats = natsOf(world);
    return { ...nats, ...follow(nats.source) };
  },
  "`pauseWhileHidden`": (world) => {
    const page = new FakePage();
    const { source, restart } = replaceable(world);
    const paused = pauseWhileHidden(source, { after: 0, scheduler: world.clock });
    return { ...follow(paused), restart, leave: () => page.hide(), comeBack: () => page.show() };
  },
  "`createDatafeed`": (world) => {
    const { source, restart } = replaceable(world);
    const symbols = [{ name: "ONE", network: "mainnet", pairAddress: PAIR, currency: "usd" } as const];
    const datafeed = createDatafeed(source, { symbols, scheduler: world.clock });
    const manners = { subscribesEarly: false, renews: false, countBack: SINCE.candles };
    const library = new Library(datafeed, () => world.clock.now(), {
      ...manners,
      onReset: (reset) => world.clock.schedule(reset),
    });
    library.show("ONE");
    return {
      shown: () => {
        expect(library.problems).toEqual([]);
        const bars = library.barsOf("ONE");
        return bars.map(({ time: timestamp, ...bar }) => ({ ...bar, timestamp, swaps: 0 }));
      },
      leave: () => library.leave("ONE"),
      comeBack: () => library.show("ONE"),
      restart,
    };
  },
  "`useCandles`": (world) => {
    const gateway = gatewayOf(world);
    let isSeen = true;
    const tasks: (() => void)[] = [];
    const draw = () => {
      for (const task of isSeen ? tasks.splice(0) : []) task();
    };
    // A hidden page has no frames.
    vi.stubGlobal("requestAnimationFrame", (task: () => void) => {
      tasks.push(task);
      world.clock.schedule(draw, 16);
    });
    onTestFinished(() => {
      vi.unstubAllGlobals();
    });
    const store = candlesLease(gateway.source, { ...MINUTES, since: SINCE }, {});
    const leave = store.subscribe(() => {});
    onTestFinished(leave);
    return {
      shown: () => store.snapshot().events.map(({ candle }) => candle),
      restart: gateway.restart,
      leave: () => {
        isSeen = false;
        gateway.leave();
      },
      comeBack: () => {
        isSeen = true;
        draw();
        gateway.comeBack();
      },
    };
  },
};

interface Outcome {
  /** What has become of each candle, by the minute after noon. */
  readonly changes: ReadonlyMap<number, "new" | "updated" | "removed">;
  /** The events that have told of it, where there are any. */
  readonly events: readonly CandleEvent[] | undefined;
}

/** Lets everything happen that needs no time, and then time pass. */
async function pass(world: World, ms: number): Promise<void> {
  for (let parts = 0; parts < 6; parts += 1) {
    await world.clock.advanceBy(ms / 6);
    for (let turns = 0; turns < 10; turns += 1) await world.clock.advanceBy(0);
  }
}

async function outcomeOf(
  world: World,
  reader: Reader,
  ms: number,
  happens: (world: World, reader: Reader) => void,
): Promise<Outcome> {
  await pass(world, 0);
  await pass(world, 3 * MINUTE);
  const before = new Map(reader.shown().map((candle) => [candle.timestamp, candle]));
  expect(before.size).toBeGreaterThan(SINCE.candles);
  const told = reader.events?.length ?? 0;
  reader.leave();
  await pass(world, 1_000);
  happens(world, reader);
  await pass(world, ms);
  expect(reader.events?.length ?? 0).toBe(told);
  reader.comeBack();
  await pass(world, 3 * MINUTE);
  const changes = new Map<number, "new" | "updated" | "removed">();
  const minuteOf = (timestamp: number) => (timestamp - NOON) / MINUTE;
  for (const candle of reader.shown()) {
    const known = before.get(candle.timestamp);
    before.delete(candle.timestamp);
    if (known === undefined) changes.set(minuteOf(candle.timestamp), "new");
    else if (!isSame(known, candle)) changes.set(minuteOf(candle.timestamp), "updated");
  }
  const first = reader.shown()[0]!.timestamp;
  // Who begins anew may show fewer of the oldest.
  for (const timestamp of before.keys()) if (timestamp > first) changes.set(minuteOf(timestamp), "removed");
  return { changes, events: reader.events?.slice(told) };
}

/** What somebody has who comes now, at a client of its own: the candles that have ended. */
async function truth(world: World, first: number, running: number): Promise<readonly Candle[]> {
  const now = follow(clientSource(world.another()));
  const older = world.another();
  const history = clientSource(older).history({ ...MINUTES, from: first, to: running });
  await pass(world, 2_000);
  expect(now.shown().length).toBeGreaterThan(0);
  return history;
}

const statusesOf = (events: readonly CandleEvent[], minute: number) =>
  events
    .filter(({ candle }) => candle.timestamp === NOON + minute * MINUTE)
    .map(({ type, status }) => `${type} ${status}`);

/** By case, as docs/candles.md has it: what happens while the reader is away, for how long, and what it is told of that. */
const CASES: Record<string, [ms: number, Parameters<typeof outcomeOf>[3], (outcome: Outcome) => void]> = {
  "the source starts anew": [
    20_000,
    (_, reader) => reader.restart(),
    ({ changes, events }) => {
      // The running candle has gone on.
      expect([...changes.keys()].filter((minute) => minute < 3)).toEqual([]);
      expect([...changes.values()]).not.toContain("removed");
      if (events !== undefined) expect(events.filter(({ type }) => type === "new").length).toBeLessThan(5);
    },
  ],
  "a candle is corrected": [
    20_000,
    (world) => void world.swap(NOON + 2.5 * MINUTE, 900),
    ({ changes, events }) => {
      expect(changes.get(2)).toBe("updated");
      if (events !== undefined) expect(statusesOf(events, 2)[0]).toMatch(/^updated (closed|final)$/);
    },
  ],
  "a candle is removed": [
    20_000,
    ({ swaps }) => {
      const isOther = (at: number) => at < NOON + 2 * MINUTE || at >= NOON + 3 * MINUTE;
      swaps.splice(0, swaps.length, ...swaps.filter(({ timestamp }) => isOther(timestamp)));
    },
    ({ changes, events }) => {
      expect(changes.get(2)).toBe("removed");
      if (events !== undefined) expect(statusesOf(events, 2)).toEqual([expect.stringMatching(/^removed /)]);
    },
  ],
  "a final candle differs in a source that has started anew": [
    20_000,
    (world, reader) => {
      world.swap(NOON + 0.5 * MINUTE, 900);
      reader.restart();
    },
    ({ changes, events }) => {
      expect(changes.get(0)).toBe("updated");
      if (events !== undefined) expect(statusesOf(events, 0)).toEqual(["updated final"]);
    },
  ],
  "an hour goes by": [
    60 * MINUTE,
    () => {},
    ({ changes, events = [] }) => {
      const isNew = [...changes].filter(([, change]) => change === "new");
      expect(isNew.length).toBeGreaterThan(45);
      const missed = events.filter(({ candle }) => candle.timestamp < NOON + 60 * MINUTE);
      const live = missed.filter(({ status, live: isLive }) => isLive && status !== "open");
      expect(live.length).toBeLessThan(2);
    },
  ],
};

// What is imported when it is needed takes turns of the event loop, the first time.
beforeAll(() => natsLibrary());

describe.each(Object.entries(RELAYS))(
  "what a reader through %s is told of what it has missed",
  (_, readerOf) => {
    it.each(Object.entries(CASES))("%s", async (_, [ms, happens, check]) => {
      const world = market();
      const reader = readerOf(world);
      check(await outcomeOf(world, reader, ms, happens));
      const { timestamp: running } = reader.shown().at(-1)!;
      const ended = reader.shown().slice(0, -1);
      const expected = await truth(world, ended[0]!.timestamp, running);
      // Bars have no swaps.
      const plain = ({ timestamp, open, high, low, close, volume }: Candle) => {
        return [timestamp, open, high, low, close, volume];
      };
      expect(ended.map(plain)).toEqual(expected.map(plain));
    });
  },
);

it("stands in the documents: each case, and each relay", () => {
  const read = (name: string) => readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), "utf8");
  const [candles, nats] = [read("candles"), read("nats")];
  for (const name of Object.keys(CASES)) {
    expect(candles).toContain(`| ${name} `);
    expect(nats).toContain(`| ${name} `);
  }
  for (const name of Object.keys(RELAYS)) expect(candles).toContain(`| [${name}](`);
});
