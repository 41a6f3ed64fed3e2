import { map, type Observable, type OperatorFunction } from "rxjs";
import { TestScheduler } from "rxjs/testing";
import { describe, expect, it } from "vitest";
import { auditCandles } from "../../src/adapters/store/index.js";
import {
  closes,
  crosses,
  fetchCandles,
  finals,
  heikinAshi,
  type IndicatorEvent,
  latest,
  replayCandles,
  resample,
  sma,
  sniperTrades,
  VirtualClock,
  watchCandles,
  watchFeedStatus,
  watchSniperReport,
  watchSnipers,
  withIndicators,
  withTimeframe,
} from "../../src/index.js";
import { Diagram, diagramOf, type Happening, nameOf, namesBelow } from "../documents/marbles.js";
import {
  candlesText,
  candleText,
  crossingText,
  eventOf,
  eventText,
  findingText,
  indicatorEventOf,
  indicatorText,
  lookOf,
  lookText,
  sniperText,
  statusText,
  tradeText,
} from "../documents/texts.js";
import { at, MINUTES, PAIR, tradedCandle, World } from "../world.js";

/** An operator as its diagram has it, and how what goes in and comes out is written there. */
interface Written {
  /** The label of what goes in. */
  readonly given: string;
  readonly through: (events: Observable<never>) => Observable<string>;
  readonly read: (text: string) => never;
}

function written<In, Out>(
  operator: OperatorFunction<In, Out>,
  read: (text: string) => In,
  write: (value: Out) => string,
  given = "events",
): Written {
  return {
    given,
    through: (events) => events.pipe(operator, map(write)),
    read: read as (text: string) => never,
  };
}

type Lines = Readonly<Record<string, number>>;

const OPERATORS: Record<string, Written> = {
  "closes()": written(closes(), eventOf, eventText),
  "finals()": written(finals(), eventOf, eventText),
  "latest(2)": written(latest(2), eventOf, candlesText),
  'resample("5min")': written(resample("5min"), eventOf, eventText),
  "heikinAshi()": written(heikinAshi(), eventOf, eventText),
  'withTimeframe("5min", { trend: sma(1) })': written(
    withTimeframe("5min", { trend: sma(1) }),
    eventOf,
    indicatorText,
  ),
  "withIndicators({ mean: sma(2) })": written(withIndicators({ mean: sma(2) }), eventOf, indicatorText),
  'crosses("fast", "slow")': written(
    crosses<IndicatorEvent<Lines>>("fast", "slow"),
    indicatorEventOf,
    crossingText,
  ),
  "sniperTrades()": written(sniperTrades(), lookOf, tradeText, "looks"),
};

describe("the marbles of operators", () => {
  it.each(Object.entries(OPERATORS))("%s", (call, { given, through, read }) => {
    const diagram = diagramOf(call, [given]);
    const scheduler = new TestScheduler((actual, expected) => expect(actual).toEqual(expected));
    scheduler.run(({ cold, expectObservable }) => {
      const events = cold(diagram.line(given), diagram.values(given, read));
      const results = diagram.values(call, (meaning) => meaning);
      expectObservable(through(events)).toBe(diagram.line(call), results);
    });
  });
});

/** What happens while a diagram is played. */
interface Course {
  /** At the beginning of each frame. */
  readonly begin?: (frame: number) => unknown;
  /** After each step of the clock, for what takes longer to settle than the clock waits. */
  readonly settle?: () => unknown;
}

/** What comes of a stream, frame by frame. */
async function play(
  { frame: length, frames }: Diagram,
  results: Observable<string>,
  clock: VirtualClock,
  { begin, settle }: Course = {},
): Promise<Happening[]> {
  const seen: Happening[] = [];
  let frame = 0;
  const see = (what: string) => seen.push({ frame, what });
  const start = clock.now();
  const subscription = results.subscribe({
    next: see,
    error: () => see("#"),
    complete: () => see("|"),
  });
  for (; frame < frames; frame += 1) {
    await clock.advanceTo(start + frame * length);
    await begin?.(frame);
    await clock.advanceTo(start + (frame + 1) * length - 1);
    await settle?.();
  }
  subscription.unsubscribe();
  return seen;
}

/** A call as its diagram has it, under virtual time. */
interface Played {
  /** The labels of the lines above that of the call. */
  readonly given: readonly string[];
  readonly play: (diagram: Diagram) => Promise<Happening[]>;
}

const START = at("12:00:00");

/** The instant at which a frame begins. */
const instantOf = (diagram: Diagram, frame: number) => START + frame * diagram.frame;

/** A world with the swaps of a diagram. */
function snipedWorld(diagram: Diagram): World {
  const world = new World({ start: START });
  for (const { frame, what } of diagram.happenings("swaps")) {
    const [, walletAddress, side] = /^(\w+) (buy|sell)s$/.exec(what)!;
    world.swap(instantOf(diagram, frame), 5, {
      walletAddress: walletAddress!,
      side: side as "buy" | "sell",
    });
  }
  return world;
}

const STREAMS: Record<string, Played> = {
  "watchCandles(client, { …, every: 30_000 })": {
    given: ["swaps"],
    play: (diagram) => {
      const world = new World({ start: START });
      for (const { frame, what } of diagram.happenings("swaps")) {
        world.swap(instantOf(diagram, frame), Number(what));
      }
      const events = watchCandles(world.client, { ...MINUTES, every: 30_000 });
      return play(diagram, events.pipe(map(eventText)), world.clock);
    },
  },
  "fetchCandles(client, …)": {
    given: ["requests"],
    play: async (diagram) => {
      const world = new World({ start: at("12:10:00") });
      world.swap(at("12:00:10"), 5);
      world.swap(at("12:01:10"), 7);
      world.swap(at("12:03:10"), 8);
      const range = { from: START, to: at("12:04:00") };
      const candles = fetchCandles(world.client, { ...MINUTES, ...range }).pipe(map(candleText));
      const seen = await play(diagram, candles, world.clock);
      const requests = world.asked.map(({ sent }) => (sent - at("12:10:00")) / diagram.frame);
      expect(requests).toEqual(diagram.happenings("requests").map(({ frame }) => frame));
      return seen;
    },
  },
  "auditCandles(client, …)": {
    given: ["requests"],
    play: async (diagram) => {
      const world = new World({ start: at("12:10:00") });
      world.swap(at("12:00:10"), 5);
      world.swap(at("12:03:10"), 8);
      const range = { from: START, to: at("12:04:00") };
      const findings = auditCandles(world.client, {
        ...MINUTES,
        ...range,
        against: [tradedCandle(START, 4)],
      });
      const seen = await play(diagram, findings.pipe(map(findingText)), world.clock);
      const requests = world.asked.map(({ sent }) => (sent - at("12:10:00")) / diagram.frame);
      expect(requests).toEqual(diagram.happenings("requests").map(({ frame }) => frame));
      return seen;
    },
  },
  "watchSniperReport(client, …)": {
    given: ["swaps"],
    play: (diagram) => {
      const world = snipedWorld(diagram);
      const looks = watchSniperReport(world.client, { pairAddress: PAIR });
      return play(diagram, looks.pipe(map(lookText)), world.clock);
    },
  },
  "watchSnipers(client, …)": {
    given: ["swaps"],
    play: (diagram) => {
      const world = snipedWorld(diagram);
      const events = watchSnipers(world.client, { pairAddress: PAIR });
      return play(diagram, events.pipe(map(sniperText)), world.clock);
    },
  },
  "watchFeedStatus(client, …)": {
    given: ["service"],
    play: (diagram) => {
      const world = new World({ start: START + diagram.frame });
      world.swap(at("11:59:10"), 5);
      const turns = new Map(diagram.happenings("service").map(({ frame, what }) => [frame, what]));
      const statuses = watchFeedStatus(world.client, MINUTES);
      const begin = (frame: number) => {
        if (turns.get(frame) === "down") world.interfere = () => Promise.reject(new Error("down"));
        if (turns.get(frame) === "up") world.interfere = () => undefined;
      };
      return play(diagram, statuses.pipe(map(statusText)), world.clock, { begin });
    },
  },
  "replayCandles(candles, { …, scheduler, fillGaps: true })": {
    given: ["candles"],
    play: (diagram) => {
      const scheduler = new VirtualClock(START);
      const candles = diagram
        .happenings("candles")
        .map(({ frame, what }) => tradedCandle(instantOf(diagram, frame), Number(what)));
      const events = replayCandles(candles, { ...MINUTES, scheduler, fillGaps: true });
      return play(diagram, events.pipe(map(eventText)), scheduler);
    },
  },
};

describe("the marbles of streams", () => {
  it.each(Object.entries(STREAMS))("%s", async (call, { given, play }) => {
    const diagram = diagramOf(call, given);
    expect(await play(diagram)).toEqual(diagram.happenings(call));
  });
});

describe("a diagram", () => {
  const diagram = (code: string) => new Diagram({ document: "a.ts", line: 7, language: "marbles", code });

  it("tells what happens when along a line", () => {
    const { frame, frames, labels } = diagram("in   a-5\nmade(1, 2)  (ab)-|\n\n-: 20 s   a: one  b: a: b");
    expect({ frame, frames, labels }).toEqual({ frame: 20_000, frames: 6, labels: ["in", "made(1, 2)"] });
  });

  it.each([
    ["a letter that stands for nothing", "in  ab\n\na: one"],
    ["what stands for no letter of it", "in  a\n\na: one  b: two"],
    ["two meanings that run together", "in  ab\n\na: one b: two"],
    ["a line without marbles", "in\n\na: one"],
    ["a third part", "in  a\n\na: one\n\nb: two"],
  ])("refuses %s", (_, code) => {
    expect(() => diagram(code)).toThrow("a.ts:7: not understood: ");
  });
});

describe("the marbles of the documents", () => {
  it("are all played, here or over a server", () => {
    const played = Object.keys({ ...OPERATORS, ...STREAMS }).map(nameOf);
    expect([...played, ...namesBelow("src/adapters/nats/")].sort()).toEqual(namesBelow("").sort());
  });
});
