import type { FaultKind } from "../../src/service/index.js";
import { CUT_KINDS, type CutKind } from "./cuts.js";
import type { Draw } from "./draw.js";
import { serviceClockOf } from "./service-time.js";
import type { StoreFault } from "./store-faults.js";
import type { WorldPlan } from "./world-plan.js";

/** What may go wrong with single answers: the faults of the field, and answers that end a stream or a day. */
export type AnswerFault = FaultKind | "400" | "401" | "403" | "404" | "424" | "spent quota" | "key told";

/** Something that goes wrong for a while; times in ms after the start of the run. */
export type Fault = WorldFault | StoreFault;

/** What goes wrong in the world around a client. */
type WorldFault = { readonly from: number; readonly until: number } & (
  | { readonly kind: AnswerFault; readonly rate: number }
  | { readonly kind: CutKind; readonly rate: number }
  /** What the service has of so many intervals breaks the contract, in every answer. */
  | { readonly kind: "bad rows"; readonly rate: number; readonly share: number }
  /** The process sleeps: nothing of it runs, and when it wakes its clock has gone on. */
  | { readonly kind: "asleep"; readonly keepsTimers: boolean }
  /** Somebody sets the machine's clock, by so many ms. */
  | { readonly kind: "clock set"; readonly by: number }
);

export type CutFault = Extract<WorldFault, { kind: CutKind }>;

const KINDS: Readonly<Record<Exclude<WorldFault["kind"], "bad rows" | CutKind>, number>> = {
  delay: 4,
  hang: 4,
  reset: 6,
  "408": 1,
  "425": 1,
  "429": 8,
  "5xx": 6,
  html: 2,
  null: 2,
  errorBody: 3,
  nested: 1,
  cached: 3,
  empty: 5,
  emptyPage: 3,
  dropped: 6,
  cutShort: 3,
  dripping: 2,
  broken: 6,
  duplicated: 2,
  shuffled: 2,
  loopingCursor: 2,
  longCursor: 2,
  flood: 1,
  cutOff: 3,
  noDate: 2,
  wrongDate: 2,
  jumpingDate: 1,
  "400": 0.3,
  "401": 0.4,
  "403": 0.3,
  "404": 1.5,
  "424": 0.3,
  "spent quota": 0.5,
  "key told": 2,
  asleep: 3,
  "clock set": 1.5,
};

const DAY = 86_400_000;

/** What goes wrong in a run, in the order in which it begins. */
export function drawFaults(
  draw: Draw,
  { world, length, healthyFrom }: { world: WorldPlan; length: number; healthyFrom: number },
): WorldFault[] {
  const faults: WorldFault[] = [];
  const hours = length / 3_600_000;
  for (
    let left = draw.chance(0.1) ? 0 : draw.whole(1, 4 + Math.min(12, Math.ceil(2 * hours)));
    left > 0;
    left -= 1
  ) {
    const kind = draw.weighed(KINDS);
    // Trouble comes early at times, and often close to its end, where the shortest feeds are.
    const begins = draw.chance(0.4)
      ? draw.between(0, healthyFrom)
      : healthyFrom - draw.scaled(1_000, healthyFrom);
    const longest = Math.max(
      1_000,
      Math.min(draw.chance(0.2) ? healthyFrom : healthyFrom / 4, healthyFrom - begins),
    );
    const from = Math.round(begins);
    const until = Math.round(Math.min(healthyFrom, from + draw.scaled(Math.min(1_000, longest), longest)));
    const span = { from, until };
    if (kind === "asleep") {
      const wakes = Math.min(healthyFrom, from + draw.scaled(2_000, 3_600_000));
      const overlaps = faults.some(
        (other) => other.kind === "asleep" && other.from < wakes && from < other.until,
      );
      if (!overlaps) faults.push({ kind, from, until: wakes, keepsTimers: draw.chance(0.3) });
    } else if (kind === "clock set") {
      const by = draw.pick([-1, 1]) * draw.scaled(50, DAY);
      if (world.hasDate) faults.push({ kind, from, until: from, by });
    } else if (kind === "spent quota") {
      // Streams ask again at midnight: only where the run sees one is there a recovery.
      const midnight = DAY - (serviceClockOf(world).at(world.start) % DAY);
      if (midnight < healthyFrom - 60_000) {
        faults.push({
          kind,
          from: Math.max(0, midnight - draw.scaled(1_000, 3_600_000)),
          until: midnight,
          rate: 1,
        });
      }
    } else {
      const needsDate = kind === "wrongDate" || kind === "jumpingDate";
      if (needsDate && !world.hasDate) continue;
      const isSteady = draw.chance(0.4);
      const rate = isSteady ? 1 : draw.between(0.05, 0.8);
      // A copy that tells neither its age nor a Date is an answer, for all that anybody can know.
      const isAgeless = world.cache?.tellsAge === false;
      // A process that begins anew years ahead, and hears of no other time, closes and fills all candles of these years.
      const isFarAhead = Math.abs(world.offset) > DAY;
      if (kind !== "noDate" || !(isAgeless || isFarAhead)) faults.push({ kind, ...span, rate });
    }
  }
  return faults.sort((a, b) => a.from - b.from);
}

/** Ranges whose beginning is cut off, for as long as all the trouble, or for a part of it. */
export function drawCuts(draw: Draw, healthyFrom: number): WorldFault[] {
  if (draw.chance(0.92)) return [];
  const from = draw.chance(0.6) ? 0 : Math.round(draw.between(0, healthyFrom));
  const rate = draw.chance(0.5) ? 1 : draw.between(0.2, 0.8);
  return [{ kind: draw.pick(CUT_KINDS), from, until: healthyFrom, rate }];
}

/** A row that is broken is mostly so whenever it is asked for. */
export function drawBadRows(draw: Draw, healthyFrom: number): WorldFault[] {
  if (draw.chance(0.9)) return [];
  const from = draw.chance(0.6) ? 0 : Math.round(draw.between(0, healthyFrom));
  const until = draw.chance(0.6) ? healthyFrom : Math.round(draw.between(from, healthyFrom));
  return [{ kind: "bad rows", from, until, rate: 1, share: draw.scaled(2, 60) / 100 }];
}
