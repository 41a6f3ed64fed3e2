import { Subscription } from "rxjs";
import { candleStore } from "../../src/adapters/store/candle-store.js";
import {
  type Client,
  type ClientActivity,
  createClient,
  fetchCandles,
  VirtualClock,
  watchCandles,
  watchFeedStatus,
  watchSnipers,
} from "../../src/index.js";
import type { SwapSource } from "../../src/service/index.js";
import { Disk } from "./disk.js";
import { chanceOf } from "./draw.js";
import { marketOf } from "./drawn-swaps.js";
import type { Exchange } from "./exchanges.js";
import { KEY } from "./interference.js";
import { Machine } from "./machine.js";
import { Network } from "./network.js";
import { type Life, livesOf, type Plan, type WatcherPlan } from "./plan.js";
import type { RunLog, Seen, StayLog } from "./run-log.js";

/** Plays a plan from the first subscription until an hour after the last one has left; gives the life of each client. */
export async function play(plan: Plan): Promise<readonly RunLog[]> {
  const { world } = plan;
  const clock = new VirtualClock(world.start);
  const machine = new Machine(clock, plan.faults);
  const source = marketOf(world, plan.seed, plan.length);
  const disk = plan.hasStore ? new Disk(plan, clock, machine) : undefined;
  const logs: RunLog[] = [];
  for (const life of livesOf(plan)) {
    if (life.from > 0) await clock.advanceTo(world.start + life.from);
    const log = await live({ ...plan, watchers: life.watchers }, life, { clock, machine, source, disk });
    logs.push({ ...log, earlier: [...logs] });
  }
  await clock.advanceBy(3_600_000);
  return logs;
}

interface Surroundings {
  readonly clock: VirtualClock;
  readonly machine: Machine;
  readonly source: SwapSource;
  readonly disk: Disk | undefined;
}

/** Plays the life of one client. */
async function live(
  plan: Plan,
  { until, restart }: Life,
  { clock, machine, source, disk }: Surroundings,
): Promise<Omit<RunLog, "earlier">> {
  const { world } = plan;
  const told: Exchange[] = [];
  const process = await disk?.open(() => told.length);
  const ends = world.start + until;
  // Whoever is killed does not write any more what it had not written yet.
  if (restart !== undefined && restart.how !== "waits")
    clock.schedule(() => void process?.end(restart.how, restart.loses), ends - clock.now());
  const network = new Network(plan, source, clock, machine);
  const client = createClient({
    ...world.client,
    baseUrl: "http://localhost/v2",
    apiKey: KEY,
    scheduler: machine,
    fetch: network.fetch,
    warn: (...warning) => warnings.push(seen(Object.freeze(warning))),
    ...(process === undefined ? {} : { store: candleStore(process) }),
  });
  const warnings: Seen<readonly unknown[]>[] = [];
  const activities: Seen<ClientActivity>[] = [];
  const seen = <T>(value: T): Seen<T> => ({ at: clock.now(), order: told.length, value });
  client.activity.subscribe((activity) => {
    activities.push(seen(activity));
    if (activity.type === "request") {
      const exchange = network.exchanges.at(-1)!;
      exchange.priority = activity.priority;
      exchange.attempt = activity.attempt;
    } else if (activity.type === "response") {
      const exchange = answeredBy(network.exchanges, activity, clock.now());
      exchange.told = { order: told.length, isGood: activity.error === undefined, error: activity.error };
      told.push(exchange);
    }
  });

  const { stays, open } = attend(plan, { client, clock, told: () => told.length });
  await clock.advanceTo(ends);
  for (const subscription of open) subscription.unsubscribe();

  const requestsBefore = network.exchanges.length;
  const unaborted = network.exchanges.filter(
    ({ outcome, signal }) => outcome === "pending" && !signal?.aborted,
  );
  // Whoever has left takes no turn of the clock; what aborted requests leave behind does.
  await clock.advanceBy(0);
  await process?.end("waits", 0);
  const pendingTimers = clock.pending;
  return {
    plan,
    isLast: restart === undefined,
    store: process && { calls: process.calls, before: process.before, after: await disk!.held() },
    source,
    exchanges: network.exchanges,
    told,
    activities,
    warnings,
    stays,
    longestDelay: machine.longestDelay,
    oddDelay: machine.oddDelay,
    pendingTimers,
    requestsBefore,
    unaborted,
  };
}

/** Who watches a run, and by what. */
export interface Audience {
  readonly client: Client;
  readonly clock: VirtualClock;
  /** How many exchanges the client has told of by now; default 0. */
  readonly told?: () => number;
  /** Called with all that a watcher is given, and how it ends; `whose`: its kind and number. */
  readonly hear?: (value: unknown, whose: string) => void;
  /** Whether somebody whose stream has failed may subscribe again, so many ms after the start; default: always. */
  readonly mayReturn?: (at: number) => boolean;
}

/** Has all watchers of a plan join and leave when they are to; `open` holds those who have not left. */
export function attend(
  { seed, world, watchers }: Pick<Plan, "seed" | "world" | "watchers">,
  { client, clock, told = () => 0, hear = () => {}, mayReturn = () => true }: Audience,
): { readonly stays: readonly StayLog[]; readonly open: ReadonlySet<Subscription> } {
  const stays: StayLog[] = [];
  const open = new Set<Subscription>();
  const at = (instant: number, act: () => void) => clock.schedule(act, instant - (clock.now() - world.start));
  const join = (watcher: WatcherPlan) => {
    const id = stays.length;
    const seen = <T>(value: T): Seen<T> => {
      hear(value, `${watcher.kind} ${id}`);
      return { at: clock.now(), order: told(), value };
    };
    const stay: StayLog = {
      id,
      plan: watcher,
      joined: clock.now(),
      joinedOrder: told(),
      left: undefined,
      leftOrder: undefined,
      events: [],
      statuses: [],
      sniperEvents: [],
      candles: [],
      answers: [],
      ended: undefined,
    };
    stays.push(stay);
    const subscription = start(client, stay, seen, (isError, value) => {
      stay.ended = { ...seen(value), isError };
      const isStream = ["candles", "status", "snipers", "sniper-status"].includes(watcher.kind);
      // Whoever depends on a stream subscribes again after a while.
      const again = clock.now() - world.start + 5_000 + 60_000 * chanceOf(seed, "again", stay.id);
      if (isError && isStream && again < watcher.until && mayReturn(again)) at(again, () => join(watcher));
    });
    open.add(subscription);
    at(watcher.until, () => {
      if (stay.ended === undefined) {
        stay.left = clock.now();
        stay.leftOrder = told();
      }
      open.delete(subscription);
      subscription.unsubscribe();
    });
  };
  for (const watcher of watchers) at(watcher.from, () => join(watcher));
  return { stays, open };
}

function start(
  client: Client,
  stay: StayLog,
  seen: <T>(value: T) => Seen<T>,
  end: (isError: boolean, value: unknown) => void,
): Subscription {
  const { plan } = stay;
  const ends = { error: (error: unknown) => end(true, error), complete: () => end(false, undefined) };
  const keep = <T>(list: Seen<T>[]) => ({ next: (value: T) => void list.push(seen(value)), ...ends });
  switch (plan.kind) {
    case "candles":
      return watchCandles(client, plan.options).subscribe(keep(stay.events));
    case "status":
      return watchFeedStatus(client, plan.options).subscribe(keep(stay.statuses));
    case "snipers":
      return watchSnipers(client, plan.options).subscribe(keep(stay.sniperEvents));
    case "sniper-status":
      return watchFeedStatus(client, plan.options).subscribe(keep(stay.statuses));
    case "fetch":
      return fetchCandles(client, plan.options).subscribe(keep(stay.candles));
    default:
      return call(client, plan, (value) => stay.answers.push(seen(value)), end);
  }
}

function call(
  client: Client,
  plan: Extract<WatcherPlan, { kind: "page" | "pages" | "report" }>,
  keep: (value: unknown) => void,
  end: (isError: boolean, value: unknown) => void,
): Subscription {
  const abort = new AbortController();
  const { signal } = abort;
  const ask = async () => {
    if (plan.kind === "report") keep(await client.sniperReport(plan.options, { signal }));
    else if (plan.kind === "page") keep(await client.ohlcvPage(plan.options, { signal }));
    else for await (const page of client.ohlcvPages(plan.options, { signal })) keep(page);
  };
  ask().then(
    () => end(false, undefined),
    (error) => {
      if (!signal.aborted) end(true, error);
    },
  );
  return new Subscription(() => abort.abort());
}

/** The exchange whose end an activity tells: none that has not ended in its eyes can have begun earlier. */
function answeredBy(
  exchanges: readonly Exchange[],
  { url, attempt, duration, status }: Extract<ClientActivity, { type: "response" }>,
  now: number,
): Exchange {
  let best: Exchange | undefined;
  for (let at = exchanges.length - 1; at >= 0; at -= 1) {
    const exchange = exchanges[at]!;
    if (exchange.told !== undefined || exchange.attempt !== attempt || !exchange.url.endsWith(url)) continue;
    const isSame = status === undefined ? exchange.status === undefined : exchange.received === now;
    if (isSame || best === undefined) best = exchange;
    // Of two that were sent together one can have failed and the other be on its way.
    const hasEnded = status !== undefined || exchange.outcome !== "pending";
    if (isSame && hasEnded && exchange.sent === now - duration) return exchange;
    if (exchange.sent < now - 7_200_000) break;
  }
  return best!;
}
