import { type CandleEvent, ema, type Series, withIndicators } from "pairstream";
import { from, Subject } from "rxjs";
import { IndicatorChain, KernelSet } from "../../src/operators/indicator-chain.js";
import { throughReducer } from "../../src/operators/through-reducer.js";
import type { GoalResult } from "../bench.js";
import { keepingResults } from "../rounds.js";
import { type Contestant, inUnitsOf, ratioGoal, sideBySide, type Timed, tableOf } from "../side-by-side.js";

type Indicators = Parameters<typeof withIndicators>[0];
/** The events of one series. */
type MakeEvents = (length: number, series: Series) => CandleEvent[];

const SERIES = 1_000;
const CANDLES = 64;
/** Of the short stretch that is run until it is compiled. */
const FEW = 8;
const ONE: Series = { network: "mainnet", pairAddress: "pair", timeframe: "1min", currency: "usd" };
/** Eight indicators take kilobytes a series: what a thousand of them remember is more than a core keeps close to it. */
const SLIM: Indicators = { ema: ema(20) };

/** What it costs to tell series apart: where there is one, and where there are a thousand. */
interface MergedReport {
  readonly goals: readonly GoalResult[];
  readonly sections: readonly string[];
  readonly figures: readonly object[];
}

export async function measureMerged(
  indicators: Indicators,
  events: MakeEvents,
  rounds: number,
): Promise<MergedReport> {
  const goals: GoalResult[] = [];
  const sections: string[] = [];
  const figures: object[] = [];
  const add = (name: string, timed: readonly Timed[]) => {
    sections.push(`### ${name}\n\n${tableOf(timed, "ns an event", inUnitsOf(1, 0))}`);
    figures.push({ name, timed });
  };

  const single = await sideBySide(oneSeries(indicators, events), rounds);
  add("state by series, where there is one: eight indicators", single);
  goals.push(
    ratioGoal(
      "state by series: one series",
      single[1]!.ratio,
      { most: 1.05 },
      "what it costs without telling series apart",
    ),
  );
  for (const [set, how] of [
    [SLIM, "one indicator"],
    [indicators, "eight indicators"],
  ] as const) {
    const timed = await sideBySide(merged(set, events), rounds);
    add(`state by series, a thousand of them merged: ${how}`, timed);
    goals.push(
      ratioGoal(
        `state by series: a thousand merged, ${how}`,
        timed[2]!.ratio,
        { least: 1 },
        "as fast as a pipe for each",
      ),
    );
  }
  return { goals, sections, figures };
}

/** Throws where merged series come out in another way than each by itself. */
export function compareMerged(indicators: Indicators, events: MakeEvents): void {
  const [together, apart] = merged(indicators, events, FEW).flatMap(({ name, work }) => {
    if (name === AFTER_ONE_ANOTHER) return [];
    const results: string[] = [];
    work.run((event) => results.push(JSON.stringify(event)));
    return [results];
  });
  if (together!.length === 0) throw new Error("ours, merged: nothing came out");
  const wrong = together!.findIndex((event, at) => event !== apart![at]);
  if (wrong >= 0 || together!.length !== apart!.length) {
    throw new Error(`ours, merged: event ${wrong} is ${together![wrong]}, not ${apart![wrong]}`);
  }
}

function oneSeries(indicators: Indicators, events: MakeEvents): Contestant[] {
  const names = Object.keys(indicators);
  const checked = new Map(Object.entries(indicators));
  const bare = throughReducer(() => new IndicatorChain(KernelSet.of(checked), names));
  const [all, few] = [events(SERIES * 2, ONE), events(CANDLES, ONE)];
  const workOf = (through: typeof bare) => {
    const run = (of: readonly CandleEvent[]) =>
      keepingResults((take) => from(of).pipe(through).subscribe(take));
    return { calls: all.length, run: () => run(all), warmUp: () => run(few) };
  };
  return [
    { name: "`withIndicators`", work: workOf(withIndicators(indicators)) },
    { name: "the same, which takes all for one series", work: workOf(bare), isFloor: true },
  ];
}

const AFTER_ONE_ANOTHER = "one pipe, one series after another";

interface MergedContestant extends Contestant {
  work: Contestant["work"] & { run(take?: (event: unknown) => void): unknown };
}

/** The same events three times: they differ in nothing but the order and the number of pipes. */
function merged(indicators: Indicators, events: MakeEvents, count = SERIES): MergedContestant[] {
  const through = withIndicators(indicators);
  const bySeries = Array.from({ length: count }, (_, at) =>
    events(CANDLES, Object.freeze({ ...ONE, pairAddress: `pair ${at}` })),
  );
  const turns = copiesOf(bySeries[0]!.flatMap((_, turn) => bySeries.map((own) => own[turn]!)));
  const ordered = copiesOf(bySeries.flat());
  const few = Math.min(count, FEW);
  const keep = (run: (take: (result: unknown) => void) => void) => (take?: (event: unknown) => void) =>
    take === undefined ? keepingResults(run) : run(take);
  const onePipe = (all: readonly CandleEvent[]) =>
    keep((take) => {
      const source = new Subject<CandleEvent>();
      source.pipe(through).subscribe(take);
      for (const event of all) source.next(event);
    });
  const pipes = (all: readonly CandleEvent[], count: number) =>
    keep((take) => {
      const sources = Array.from({ length: count }, () => new Subject<CandleEvent>());
      for (const source of sources) source.pipe(through).subscribe(take);
      all.forEach((event, at) => {
        sources[at % count]!.next(event);
      });
    });
  const calls = ordered.length;
  const stretch = ordered.slice(0, few * CANDLES);
  return [
    {
      name: "one pipe, merged: an event of each by turns",
      work: { calls, run: onePipe(turns), warmUp: onePipe(stretch) },
    },
    {
      name: AFTER_ONE_ANOTHER,
      isFloor: true,
      work: { calls, run: onePipe(ordered), warmUp: onePipe(stretch) },
    },
    {
      name: "a pipe for each, an event of each by turns",
      work: { calls, run: pipes(turns, count), warmUp: pipes(stretch, few) },
    },
  ];
}

/** Copies that lie in memory in their order, as events do that have just come. */
function copiesOf(events: readonly CandleEvent[]): CandleEvent[] {
  return events.map((event) => Object.freeze({ ...event, candle: Object.freeze({ ...event.candle }) }));
}
