import type { SchedulerAction, Subscription } from "rxjs";
import {
  type Client,
  createClient,
  recordExchanges,
  replayExchanges,
  VirtualClock,
} from "../../src/index.js";
import { textOf } from "../replay/sessions.js";
import { chanceOf } from "./draw.js";
import { marketOf } from "./drawn-swaps.js";
import type { Fault } from "./faults.js";
import { KEY } from "./interference.js";
import { Machine } from "./machine.js";
import { Network } from "./network.js";
import { drawPlan, type Plan } from "./plan.js";
import { attend } from "./run.js";
import type { StayLog } from "./run-log.js";

/** How late timers fire while a run is recorded, ms at most. */
const LATEST = 40;
/** Part of a ms: so much lies between any two acts. */
const BETWEEN = 1 / 256;
/** Nobody gets there, wherever the clock is set to, ms. */
const NEVER = 1e12;

/** What a run that was recorded and replayed has come to, in numbers that add up over runs. */
export interface ReplayCounts {
  readonly runs: number;
  /** Exchanges on the tapes. */
  readonly exchanges: number;
  /** What was given to somebody, activity included, and compared. */
  readonly compared: number;
  /** Runs in which swaps turn up late, forks take some back, the service or the way to it fails so. */
  readonly troubles: Readonly<Record<string, number>>;
  /** Runs in which somebody sets the machine's clock, and what was left out of them. */
  readonly clockSet: {
    readonly runs: number;
    readonly joins: number;
    readonly leaves: number;
    /** Subscriptions after a failure. */
    readonly returns: number;
  };
}

export interface Replayed {
  readonly seed: number;
  /** Where what was given in the replay is first another thing than in the recording, or to somebody else. */
  readonly difference: string | undefined;
  readonly counts: ReplayCounts;
}

/**
 * Plays a seed on a machine whose timers are late, recorded, replays its tape, and compares what all streams and calls
 * gave (events, statuses, snipers, answers, its end) and the client's activity, in the order in which they gave it, until the
 * last answer or failure that the client tells of: what a timer did after that is on no tape.
 *
 * Who joins, leaves or subscribes again does so in the replay at the instants of the recording. Once somebody has set
 * the machine's clock these instants are not those of the tape any more: from there on nobody joins, nobody leaves,
 * and nobody subscribes again. `clockSet` counts what is left out so.
 *
 * `alter` changes the tape in between.
 */
export async function replaySeed(
  seed: number,
  hours: number,
  alter: (lines: readonly string[]) => readonly string[] = (lines) => lines,
): Promise<Replayed> {
  const drawn = drawPlan(seed, hours);
  const { plan, actsUntil } = withoutLateActs(drawn);
  const recorded = await record(plan, actsUntil);
  const lines = alter(recorded.lines);
  const difference = lines.some((line) => line.includes(KEY))
    ? "the key is on the tape"
    : await compare(recorded, () => replay(plan, recorded.stays, lines));
  return { seed, counts: countsOf(drawn, actsUntil, recorded), difference };
}

/**
 * A plan in which nobody acts once the machine's clock has been set, which is so at `actsUntil`, nor in the very ms in
 * which something is answered: which of the two came first is on no tape.
 */
function withoutLateActs(plan: Plan): { readonly plan: Plan; readonly actsUntil: number } {
  const sets = plan.faults.filter(({ kind }) => kind === "clock set").map(({ from }) => from);
  const actsUntil = Math.min(Number.POSITIVE_INFINITY, ...sets);
  const watchers = plan.watchers
    .filter(({ from }) => from < actsUntil)
    .map(({ from, until, ...watcher }, at) => ({
      ...watcher,
      from: from + (2 * at + 1) * BETWEEN,
      until: until < actsUntil ? until + (2 * at + 2) * BETWEEN : NEVER,
    }));
  return { plan: { ...plan, watchers }, actsUntil };
}

/** A machine whose timers fire late, each on its own. */
class LateMachine extends Machine {
  readonly #seed: number;
  #timers = 0;

  constructor(clock: VirtualClock, faults: readonly Fault[], seed: number) {
    super(clock, faults);
    this.#seed = seed;
  }

  override schedule<T>(
    work: (this: SchedulerAction<T>, state?: T) => void,
    delay = 0,
    state?: T,
  ): Subscription {
    this.#timers += 1;
    const lateness = Math.floor((LATEST + 1) * chanceOf(this.#seed, "late", this.#timers));
    return super.schedule(work, Math.max(0, delay) + lateness, state);
  }
}

/** Something that somebody was given, as text. */
export interface Heard {
  readonly whose: string;
  readonly text: string;
}

const ACTIVITY = "activity";

interface Recorded {
  readonly lines: readonly string[];
  readonly seen: readonly Heard[];
  readonly stays: readonly StayLog[];
  readonly exchanges: Network["exchanges"];
  /** Subscriptions that were left out. */
  readonly returns: number;
}

async function record(plan: Plan, actsUntil: number): Promise<Recorded> {
  const { world } = plan;
  const clock = new VirtualClock(world.start);
  const machine = new LateMachine(clock, plan.faults, plan.seed);
  const network = new Network(plan, marketOf(world, plan.seed, plan.length), clock, machine);
  const tape: string[] = [];
  const client = createClient({
    ...world.client,
    baseUrl: "http://localhost/v2",
    apiKey: KEY,
    scheduler: machine,
    fetch: recordExchanges(network.fetch, (line) => tape.push(line)),
    warn: () => {},
  });
  const { all, hear } = hearingOf(client);
  let returns = 0;
  const mayReturn = (at: number) => {
    if (at >= actsUntil) returns += 1;
    return at < actsUntil;
  };
  const { stays, open } = attend(plan, { client, clock, hear, mayReturn });
  await clock.advanceTo(world.start + plan.length);
  // Whoever leaves now leaves after the recording.
  const recorded = { lines: [...tape], seen: [...all], stays, exchanges: network.exchanges, returns };
  for (const subscription of open) subscription.unsubscribe();
  return recorded;
}

/** What is seen by those who come and go as others have come and gone. */
async function replay(
  plan: Plan,
  stays: readonly StayLog[],
  lines: readonly string[],
): Promise<readonly Heard[]> {
  const { world } = plan;
  const tape = replayExchanges(lines);
  const clock = tape.scheduler;
  const client = createClient({
    ...world.client,
    baseUrl: "http://localhost/v2",
    apiKey: KEY,
    scheduler: clock,
    fetch: tape.fetch,
  });
  const watchers = stays.map((stay) => ({ ...stay.plan, from: stay.joined - world.start }));
  const { all, hear } = hearingOf(client);
  const { open } = attend({ ...plan, watchers }, { client, clock, hear, mayReturn: () => false });
  try {
    await tape.run();
  } finally {
    for (const subscription of open) subscription.unsubscribe();
  }
  return all;
}

/** All that anybody is given by a client, in one order. */
function hearingOf(client: Client) {
  const all: Heard[] = [];
  const hear = (value: unknown, whose: string) => void all.push({ whose, text: textOf(value) ?? "nothing" });
  client.activity.subscribe((activity) => hear(activity, ACTIVITY));
  return { all, hear };
}

async function compare(
  recorded: Recorded,
  replayed: () => Promise<readonly Heard[]>,
): Promise<string | undefined> {
  const leavers = uncertainLeavers(recorded);
  const onTape = new Set(recorded.lines.map((line) => (JSON.parse(line) as { request: number }).request));
  const answered = (seen: readonly Heard[]) =>
    answeredPart(undated(seen, onTape)).filter(({ whose }) => !leavers.has(whose));
  try {
    return differenceOf(answered(recorded.seen), answered(await replayed()));
  } catch (error) {
    return String(error);
  }
}

/** Leaves out when those requests were sent that have no line: they were still under way when the recording ended. */
function undated(seen: readonly Heard[], onTape: ReadonlySet<number>): readonly Heard[] {
  let requests = 0;
  return seen.map((heard) => {
    if (heard.whose !== ACTIVITY || !heard.text.startsWith('{"type":"request"')) return heard;
    requests += 1;
    return onTape.has(requests - 1) ? heard : { ...heard, text: heard.text.replace(/"at":\d+,/, "") };
  });
}

/** Those who left while an answer waited for a timer that was late: whether they were given it first is on no tape. */
function uncertainLeavers({ stays, exchanges }: Recorded): ReadonlySet<string> {
  const isUncertain = (left: number) =>
    exchanges.some(({ received = Number.NaN }) => left > received && left <= received + LATEST);
  return new Set(
    stays.flatMap(({ id, plan, left }) =>
      left !== undefined && isUncertain(left) ? `${plan.kind} ${id}` : [],
    ),
  );
}

/** Where somebody was given something else, or all the same in other turns. */
export function differenceOf(first: readonly Heard[], again: readonly Heard[]): string | undefined {
  for (const whose of new Set([...first, ...again].map((heard) => heard.whose))) {
    const [before, after] = [first, again].map((all) => all.filter((heard) => heard.whose === whose));
    const at = firstDifference(before!, after!);
    if (at === undefined) continue;
    const [was, is] = [before!, after!].map((texts) => texts[at]?.text ?? "over");
    return `${whose}, at ${at} of ${before!.length}, is ${is}, and was ${was}`;
  }
  const at = firstDifference(first, again);
  if (at === undefined) return undefined;
  const [was, is] = [first, again].map((all) => `${all[at]!.whose}: ${all[at]!.text}`);
  return `turn ${at} of ${first.length} is ${is}, and was ${was}`;
}

function firstDifference(before: readonly Heard[], after: readonly Heard[]): number | undefined {
  for (let at = 0; at < Math.max(before.length, after.length); at += 1) {
    if (before[at]?.whose !== after[at]?.whose || before[at]?.text !== after[at]?.text) return at;
  }
  return undefined;
}

function answeredPart(seen: readonly Heard[]): readonly Heard[] {
  const isAnswer = ({ whose, text }: Heard) => whose === ACTIVITY && text.startsWith('{"type":"response"');
  return seen.slice(0, seen.findLastIndex(isAnswer) + 1);
}

export const NOTHING_REPLAYED: ReplayCounts = {
  runs: 0,
  exchanges: 0,
  compared: 0,
  troubles: {},
  clockSet: { runs: 0, joins: 0, leaves: 0, returns: 0 },
};

export function sumOfReplays(a: ReplayCounts, b: ReplayCounts): ReplayCounts {
  const troubles: Record<string, number> = { ...a.troubles };
  for (const [kind, runs] of Object.entries(b.troubles)) troubles[kind] = (troubles[kind] ?? 0) + runs;
  return {
    runs: a.runs + b.runs,
    exchanges: a.exchanges + b.exchanges,
    compared: a.compared + b.compared,
    troubles,
    clockSet: {
      runs: a.clockSet.runs + b.clockSet.runs,
      joins: a.clockSet.joins + b.clockSet.joins,
      leaves: a.clockSet.leaves + b.clockSet.leaves,
      returns: a.clockSet.returns + b.clockSet.returns,
    },
  };
}

function countsOf(
  drawn: Plan,
  actsUntil: number,
  { lines, seen, exchanges, returns }: Recorded,
): ReplayCounts {
  const { indexing } = drawn.world;
  const kinds = new Set<string>(exchanges.flatMap(({ faults }) => faults));
  for (const { kind } of drawn.faults) if (kind === "asleep" || kind === "clock set") kinds.add(kind);
  if (exchanges.some(({ status }) => status === 429)) kinds.add("429");
  if ((indexing?.late ?? 0) > 0) kinds.add("late swaps");
  if ((indexing?.forks ?? 0) > 0) kinds.add("forks");
  return {
    runs: 1,
    exchanges: lines.length,
    compared: answeredPart(seen).length,
    troubles: Object.fromEntries([...kinds].map((kind) => [kind, 1])),
    clockSet: {
      runs: Number(kinds.has("clock set")),
      joins: drawn.watchers.filter(({ from }) => from >= actsUntil).length,
      leaves: drawn.watchers.filter(
        ({ from, until }) => from < actsUntil && until >= actsUntil && until < drawn.length,
      ).length,
      returns,
    },
  };
}

/** Records and replays one seed after another, tells of those that differ, and gives how many these are. */
export async function replayAll(
  from: number,
  seeds: number,
  hoursOf: (seed: number) => number,
): Promise<number> {
  const began = performance.now();
  let counts = NOTHING_REPLAYED;
  const differing: number[] = [];
  let hours = 0;
  for (let seed = from; seed < from + seeds; seed += 1) {
    const replayed = await replaySeed(seed, hoursOf(seed));
    hours += hoursOf(seed);
    counts = sumOfReplays(counts, replayed.counts);
    if (replayed.difference === undefined) continue;
    differing.push(seed);
    console.log(`seed ${seed} is replayed otherwise: ${replayed.difference}`);
  }
  const { runs, exchanges, compared, troubles, clockSet } = counts;
  const seconds = (performance.now() - began) / 1_000;
  const kinds = Object.entries(troubles).sort(([a], [b]) => (a < b ? -1 : 1));
  console.log(
    `runs ${runs}, simulated hours ${hours}, exchanges ${exchanges}, compared ${compared}, differing ${differing.length}`,
  );
  console.log(`runs with ${kinds.map(([kind, count]) => `${kind} ${count}`).join(", ")}`);
  console.log(
    `left out once the clock was set, in ${clockSet.runs} runs: ${clockSet.joins} joins, ${clockSet.leaves} leaves, ${clockSet.returns} returns`,
  );
  console.log(`wall time ${seconds.toFixed(1)} s`);
  if (differing.length > 0) console.log(`${differing.length} differing seeds: ${differing.join(" ")}`);
  return differing.length;
}
