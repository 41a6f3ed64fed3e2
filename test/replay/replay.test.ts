import { describe, expect, it } from "vitest";
import {
  createClient,
  InvalidInputError,
  PairstreamError,
  replayExchanges,
  type Series,
  VirtualClock,
  type WatchOptions,
  watchCandles,
} from "../../src/index.js";
import { createPairService, simulatedMarket, withFaults } from "../../src/service/index.js";
import { answeredPart, livedTwice } from "./lived-twice.js";
import {
  busySession,
  drawing,
  KEY,
  live,
  PAIR,
  replay,
  type Session,
  START,
  subscribed,
  type Trouble,
  TroubledMachine,
  troubledService,
} from "./sessions.js";

const SECONDS: Series & WatchOptions = {
  network: "mainnet",
  pairAddress: PAIR,
  timeframe: "1s",
  currency: "usd",
  every: 250,
};

describe("a session is replayed byte for byte", () => {
  const troubles: [string, Trouble, number][] = [
    ["by a machine on time", {}, 6],
    ["where every timer is up to 40 ms late", { late: 40 }, 10],
    ["where every timer is up to 400 ms late", { late: 400 }, 6],
    ["where the machine sleeps", { late: 20, sleep: { from: START + 12_000, until: START + 24_000 } }, 6],
  ];

  it.each(troubles)(
    "%s, with faults, watchers that come and go, and calls",
    async (_name, trouble, seeds) => {
      let exchanges = 0;
      for (let seed = 1; seed <= seeds; seed += 1) {
        const { lines, seen, again } = await livedTwice(seed, trouble);
        expect(again, `seed ${seed}`).toEqual(seen);
        exchanges += lines.length;
      }
      expect(exchanges).toBeGreaterThan(25 * seeds);
    },
  );

  it("and is what it would have been without being recorded", async () => {
    for (let seed = 1; seed <= 6; seed += 1) {
      const session = busySession(seed);
      const service = (clock: VirtualClock) => troubledService(seed, clock);
      const { seen } = await live(session, service);
      const unrecorded = await live(session, service, undefined, (fetch) => fetch);
      expect(seen, `seed ${seed}`).toEqual(unrecorded.seen);
    }
  });

  it("keeps the rate limit by when requests went out in truth", async () => {
    const { lines } = await livedTwice(3, { late: 400 });
    const sent = lines.map((line): number => JSON.parse(line).sent).sort((a, b) => a - b);
    expect(busySession(3).options.rateLimit).toEqual({ requests: 4, per: 1_000 });
    const windows = sent.slice(4).map((instant, at) => instant - sent[at]!);
    expect(Math.min(...windows)).toBeGreaterThanOrEqual(1_000);
    expect(Math.min(...windows)).toBeLessThan(1_500);
  });

  it("has seen every kind of end", async () => {
    const outcomes = new Set<string>();
    const statuses = new Set<number>();
    for (let seed = 1; seed <= 16; seed += 1) {
      const { lines } = await livedTwice(seed, { late: 40 });
      for (const line of lines) {
        const { outcome, status } = JSON.parse(line);
        outcomes.add(outcome === "failed" && status !== undefined ? "failed in the body" : outcome);
        if (status !== undefined) statuses.add(status);
      }
    }
    expect([...outcomes].sort()).toEqual(["failed", "failed in the body", "left", "timed-out", "whole"]);
    expect([...statuses]).toEqual(expect.arrayContaining([200, 429]));
  });

  it.each([-3_600_000, -5_000, 3_600_000])("where somebody sets the clock by %i ms", async (by) => {
    const trouble: Trouble = { set: { at: START + 15_300, by } };
    // Whoever acts later does so by a clock that is no longer that of the recording.
    const watched = busySession(1).acts.slice(0, 3);
    const session: Session = {
      options: {},
      acts: watched.map((act) => ({ ...act, leaves: 1e9 })),
      length: 60_000,
    };
    const { lines, seen } = await live(
      session,
      (clock) => troubledService(1, clock),
      (clock) => new TroubledMachine(clock, drawing(1), trouble),
    );
    const again = await replay({ ...session, length: Number.NEGATIVE_INFINITY }, lines);
    expect(answeredPart(again.seen)).toEqual(answeredPart(seen));
  });

  it("where somebody sets the clock back a little, at any instant of a request", async () => {
    const session: Session = {
      options: {},
      acts: [{ at: 0, leaves: 1e9, act: subscribed("seconds", (client) => watchCandles(client, SECONDS)) }],
      length: 30_000,
    };
    for (let seed = 1; seed <= 15; seed += 1) {
      const random = drawing(seed);
      const trouble: Trouble = {
        late: 40,
        set: { at: START + 15_000 + Math.floor(5_000 * random()), by: -Math.ceil(900 * random()) },
      };
      const { lines, seen } = await live(
        session,
        (clock) => troubledService(1, clock, trouble),
        (clock) => new TroubledMachine(clock, random, trouble),
      );
      const again = await replay({ ...session, length: Number.NEGATIVE_INFINITY }, lines);
      expect(answeredPart(again.seen), `seed ${seed}`).toEqual(answeredPart(seen));
    }
  });

  it("where the service answers at once, in the same process", async () => {
    for (let seed = 1; seed <= 8; seed += 1) {
      const session = busySession(seed);
      const { lines, seen } = await live(session, (clock) => {
        const market = simulatedMarket({ seed, createdAt: START - 1_800_000, pairs: 1 });
        const source = {
          pair: (...[network]: Parameters<typeof market.pair>) => market.pair(network, market.pairs[0]!),
        };
        const service = createPairService({ source, clock: () => clock.now() });
        const rates = { reset: 0.1, 429: 0.05, hang: 0.03 };
        return seed % 2 === 0 ? service.fetch : withFaults(service.fetch, { seed, scheduler: clock, rates });
      });
      expect((await replay(session, lines)).seen, `seed ${seed}`).toEqual(seen);
    }
  });
});

/** A short session with one watcher. */
async function shortTape() {
  const tens = busySession(2).acts.slice(0, 1);
  const session: Session = { options: {}, acts: tens, length: 20_000 };
  const { lines, seen } = await live(session, (clock) => {
    const source = simulatedMarket({ seed: 2, createdAt: START - 1_800_000, pairs: [PAIR] });
    return createPairService({ source, clock: () => clock.now() }).fetch;
  });
  return { session, lines, seen };
}

describe("a replay fails", () => {
  it("at the first request that differs, saying both", async () => {
    const { session, lines } = await shortTape();
    const other = subscribed("minutes", (client) =>
      watchCandles(client, { network: "mainnet", pairAddress: PAIR, timeframe: "1min", currency: "usd" }),
    );
    const failing = replay({ ...session, acts: [{ at: 0, act: other }] }, lines);
    await expect(failing).rejects.toThrow(
      /^The replay differs from the recording: at 2024-01-31T23:58:03\.210Z the program sent GET \/v2\/.*timeframe=1min.*, but the recording has GET \/v2\/.*timeframe=10s.* \(request 0, sent at 2024-01-31T23:58:03\.210Z\)$/,
    );
    await expect(failing).rejects.toBeInstanceOf(PairstreamError);
  });

  it("at the first request that is missing", async () => {
    const { session, lines } = await shortTape();
    await expect(replay({ ...session, acts: [] }, lines)).rejects.toThrow(
      /the program has not sent GET \/v2\/.*timeframe=10s.* \(request 0, /,
    );
  });

  it("where somebody has left who had stayed", async () => {
    const { session, lines } = await shortTape();
    const acts = session.acts.map((act) => ({ ...act, leaves: 9_000 }));
    await expect(replay({ ...session, acts }, lines)).rejects.toThrow("the program has not sent GET /v2/");
  });

  it("where the path of the base URL is another one, though its origin may be", async () => {
    const { lines } = await shortTape();
    const tape = replayExchanges(lines);
    const client = createClient({
      baseUrl: "https://service.test/v3",
      apiKey: KEY,
      fetch: tape.fetch,
      scheduler: tape.scheduler,
    });
    watchCandles(client, {
      network: "mainnet",
      pairAddress: PAIR,
      timeframe: "10s",
      currency: "usd",
    }).subscribe();
    await expect(tape.run()).rejects.toThrow("the program sent GET /v3/");
  });

  it("for a client on another clock, when that is made", async () => {
    const { lines } = await shortTape();
    const { fetch } = replayExchanges(lines);
    const options = { baseUrl: "https://service.test", apiKey: KEY, fetch };
    expect(() => createClient({ ...options, scheduler: new VirtualClock() })).toThrow(InvalidInputError);
    expect(() => createClient(options)).toThrow(/^scheduler is another one/);
  });
});

describe("a tape", () => {
  it("begins at its first request, and ends with its last exchange", async () => {
    const { lines } = await shortTape();
    const tape = replayExchanges(lines);
    expect(tape.scheduler.now()).toBe(START);
    const client = createClient({
      baseUrl: "https://service.test/v2",
      apiKey: KEY,
      fetch: tape.fetch,
      scheduler: tape.scheduler,
    });
    busySession(2).acts[0]!.act(client, () => {});
    const running = tape.run();
    expect(tape.run()).toBe(running);
    await running;
    const last = JSON.parse(lines.at(-1)!).ended;
    expect(Math.abs(tape.scheduler.now() - last)).toBeLessThan(1);
  });

  it("falls silent at its end: later requests are never answered, and are no fault", async () => {
    const { session, lines, seen } = await shortTape();
    const most = lines.slice(0, -2);
    const again = await replay(session, most);
    expect(again.pending).toBe(0);
    const events = (texts: readonly string[]) => texts.filter((text) => text.startsWith("tens"));
    expect(events(again.seen).length).toBeGreaterThan(2);
    expect(events(seen).slice(0, events(again.seen).length)).toEqual(events(again.seen));
    expect(events(again.seen).length).toBeLessThan(events(seen).length);
  });

  it("lets a request be that was under way when the recording ended", async () => {
    const { session, lines, seen } = await shortTape();
    const inFlight = lines.length - 3;
    const cut = lines.filter((line) => JSON.parse(line).request !== inFlight).slice(0, inFlight);
    const again = await replay(session, cut);
    expect(again.seen.slice(0, 7)).toEqual(seen.slice(0, 7));
  });

  it("may be empty, and have blank lines", async () => {
    await replayExchanges(["", "  "]).run();
    const { session, lines, seen } = await shortTape();
    expect((await replay(session, [...lines, ""])).seen).toEqual(seen);
    expect((await replay(session, [`\uFEFF${lines[0]}`, ...lines.slice(1)])).seen).toEqual(seen);
  });

  it.each([
    [
      "what cannot be iterated",
      undefined,
      /^lines is not iterable; allowed: the lines written by recordExchanges/,
    ],
    ["all lines in one text", '{"v":1}\n{"v":1}', /^lines is one string/],
    ["a line that is no JSON", ["", "no"], /^line 2 is not JSON/],
    ["a line that is no text", [7], /^line 1 is not an exchange/],
    ["another version", ['{"v":2}'], /^line 1 is of version 2, which this release cannot read/],
    ["another object", ["{}"], /^line 1 is not an exchange: v: /],
    [
      "causes in causes",
      [`{"v":1,"failure":${'{"name":"","message":"","cause":'.repeat(20_000)}0${"}".repeat(20_001)}`],
      /^line 1 is not an exchange: /,
    ],
    ["a missing field", ['{"v":1,"request":0}'], /^line 1 is not an exchange: method: /],
    ["null", ["null"], /^line 1 is not an exchange/],
  ])("refuses %s", (_name, lines, problem) => {
    expect(() => replayExchanges(lines as string[])).toThrow(InvalidInputError);
    expect(() => replayExchanges(lines as string[])).toThrow(problem);
  });

  it("refuses two lines of one request", async () => {
    const { lines } = await shortTape();
    expect(() => replayExchanges([lines[0]!, lines[1]!, lines[0]!])).toThrow(/^line 3 repeats request 0/);
  });
});
