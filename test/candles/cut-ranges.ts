import { describe, expect, it } from "vitest";
import {
  type Candle,
  type CandleEvent,
  type FeedStatus,
  fetchCandles,
  type PairstreamError,
  watchCandles,
  watchFeedStatus,
} from "../../src/index.js";
import { type FaultKind, type ServiceQuirks, withFaults } from "../../src/service/index.js";
import { type Asked, at, MINUTES, World } from "../world.js";
import { standing } from "./minute-candles.js";

const MINUTE = 60_000;
const CANDLES = 480;
const PAGE = 100;
const NOON = at("12:00:00");
/** More calls than any run takes. */
const FOR_GOOD = 2_000;

type Order = NonNullable<ServiceQuirks["order"]>;

interface Trouble {
  readonly kind: FaultKind;
  readonly order: Order;
  /** How many calls it befalls, from which on, counted from 1. */
  readonly calls: number;
  readonly first: number;
}

/** What befalls calls, and which: one or all from there on. */
const CASES = (["emptyPage", "loopingCursor", "cutShort", "dripping"] as const).flatMap((kind) =>
  (["newest-first", "oldest-first", "shuffled"] as const).flatMap((order) => [
    { kind, order, spell: "once", calls: 1 },
    { kind, order, spell: "for good", calls: FOR_GOOD },
  ]),
);

/** 480 candles, one every `step` minutes up to noon, and more before and after, of a service with pages of 100. */
function market(step: number, { kind, order, calls, first }: Trouble) {
  const schedule = Array.from({ length: calls }, (_, index) => ({ call: first + index, kind }));
  const world = new World({
    start: NOON + 10_000,
    quirks: { order, pageSize: PAGE },
    before: (fetch, scheduler) => withFaults(fetch, { seed: 7, scheduler, schedule }),
  });
  const since = NOON - CANDLES * step * MINUTE;
  world.swapsEvery(step * MINUTE, since - 20 * step * MINUTE, at("13:00:00"));
  const times = world.swaps.map(({ timestamp }) => timestamp).filter((time) => time >= since);
  return { world, since, times };
}

const traded = (candles: Iterable<Candle>) =>
  [...candles].filter(({ swaps }) => swaps > 0).map(({ timestamp }) => timestamp);

/** Where there was trade, and flat candles say that there was none. */
function invented(candles: Iterable<Candle>, times: readonly number[]): number[] {
  const known = new Set(times);
  return [...candles].flatMap(({ swaps, timestamp }) =>
    swaps === 0 && known.has(timestamp) ? timestamp : [],
  );
}

interface Attempt<Run> {
  readonly run: Run;
  /** For messages. */
  readonly call: string;
  /** What the first call in trouble asks for in a run without trouble, and whether its answer is the last of a range. */
  readonly range: string;
  readonly isLastPage: boolean;
}

/** Runs a reader without trouble, and with it from each call on. */
async function troubled<Run extends { world: World }>(
  trouble: Omit<Trouble, "first">,
  read: (trouble: Trouble) => Promise<Run>,
): Promise<{ sound: Run; ranges: string[]; attempts: Attempt<Run>[] }> {
  const sound = await read({ ...trouble, calls: 0, first: 1 });
  const { asked } = sound.world;
  const attempts: Attempt<Run>[] = [];
  for (let first = 1; first <= asked.length; first += 1) {
    attempts.push({
      run: await read({ ...trouble, first }),
      call: `from call ${first} of ${asked.length} on`,
      range: rangeOf(asked[first - 1]!),
      isLastPage: !asked[first]?.url.searchParams.has("cursor"),
    });
  }
  return { sound, ranges: [...new Set(asked.map(rangeOf))], attempts };
}

const rangeOf = ({ url: { searchParams } }: Asked) =>
  `${searchParams.get("fromDate")} ${searchParams.get("toDate")}`;

/**
 * Whether nothing can tell that rows are cut off, where no cursor tells either: of a first slice the oldest, before which
 * no candle is known; the newest, after which none is, where they are served last, once two answers agree; any of a page
 * whose rows come in no order, where the known candle is among those that are left.
 */
function isUnseen({ kind, order, calls }: Omit<Trouble, "first">, isFirst: boolean, isLastPage: boolean) {
  if (kind !== "cutShort") return false;
  if (order === "oldest-first") return calls > 1;
  return isFirst || (order === "shuffled" && isLastPage);
}

/** A service that from some call on gives a row a page, or pages without end: each attempt takes hundreds of requests. */
const takesLong = ({ kind, spell }: Case) =>
  (kind === "dripping" || kind === "loopingCursor") && spell === "for good";
type Case = (typeof CASES)[number];

export const QUICK_CASES = CASES.filter((one) => !takesLong(one));
export const LONG_CASES = CASES.filter(takesLong);

/** Whether all is there, or is said to be missing, whichever call the trouble befalls. */
export function describeCutRanges(cases: readonly Case[]): void {
  describe.each([1, 5])("480 candles, one every %i min, by fetchCandles", (step) => {
    async function fetched(trouble: Trouble) {
      const { world, since, times } = market(step, trouble);
      const candles: Candle[] = [];
      let outcome: "running" | "complete" | PairstreamError = "running";
      fetchCandles(world.client, { ...MINUTES, from: since, to: NOON, fillGaps: step > 1 }).subscribe({
        next: (candle) => candles.push(candle),
        error: (error) => {
          outcome = error;
        },
        complete: () => {
          outcome = "complete";
        },
      });
      await world.clock.advanceBy(120_000);
      const expected = times.filter((time) => time < NOON);
      return { world, candles, expected, outcome: outcome as "running" | "complete" | PairstreamError };
    }

    it.each(cases)("are all there, or it fails: $kind $spell, $order", async ({ spell, ...trouble }) => {
      const { sound, ranges, attempts } = await troubled(trouble, fetched);
      expect([sound.outcome, traded(sound.candles)]).toEqual(["complete", sound.expected]);
      for (const { run, call, range, isLastPage } of attempts) {
        const { candles, outcome, expected } = run;
        if (isUnseen(trouble, range === ranges[0], isLastPage)) continue;
        expect(invented(candles, expected), call).toEqual([]);
        if (outcome === "complete") expect(traded(candles), call).toEqual(expected);
        else expect(outcome, call).toMatchObject({ name: "ContractError" });
        if (spell === "once") expect(outcome, call).toBe("complete");
      }
    });
  });

  describe.each([1, 5])("480 candles, one every %i min, by watchCandles", (step) => {
    async function watched(trouble: Trouble) {
      const { world, since, times } = market(step, trouble);
      const options = { ...MINUTES, since, fillGaps: step > 1 };
      const events: CandleEvent[] = [];
      const errors: unknown[] = [];
      const flaws: string[] = [];
      let status: FeedStatus | undefined;
      watchCandles(world.client, options).subscribe({
        next: (event) => events.push(event),
        error: (error) => errors.push(error),
      });
      watchFeedStatus(world.client, options).subscribe({
        next: (now) => {
          status = now;
          const { state, coveredFrom = Number.NaN, coveredUntil = Number.NaN } = now;
          if (state !== "live") return;
          const covered = times.filter((time) => time >= coveredFrom && time < coveredUntil);
          const told = new Set(traded(standing(events)));
          const lacking = covered.filter((time) => !told.has(time)).length;
          if (coveredFrom > since || lacking > 0)
            flaws.push(`live from ${coveredFrom - since}, lacks ${lacking}`);
        },
      });
      await world.clock.advanceTo(NOON + 250_000);
      return { world, since, events, errors, flaws, times, status: status! };
    }

    it.each(cases)(
      "are all there, or it is not live: $kind $spell, $order",
      async ({ spell, ...trouble }) => {
        const { sound, ranges, attempts } = await troubled(trouble, watched);
        const all = sound.times.filter((time) => time < NOON + 250_000);
        expect([sound.status.state, sound.flaws, traded(standing(sound.events))]).toEqual(["live", [], all]);
        for (const { run, call, range, isLastPage } of attempts) {
          const { events, errors, flaws, status } = run;
          expect(errors, call).toEqual([]);
          // The poll comes first, then the history.
          const isPoll = range === ranges[0];
          if (isUnseen(trouble, isPoll || range === ranges[1], isLastPage) && !(isPoll && spell === "once"))
            continue;
          expect(invented(standing(events), run.times), call).toEqual([]);
          // What every answer leaves out, also the one that is asked for nothing else, is gone.
          const isGone = trouble.kind === "cutShort" && spell === "for good";
          if (!isGone && (trouble.kind !== "cutShort" || !isPoll)) expect(flaws, call).toEqual([]);
          if (spell === "once") {
            expect([status.state, status.coveredFrom], call).toEqual(["live", run.since]);
            expect(traded(standing(events)), call).toEqual(all);
          }
        }
      },
    );
  });
}
