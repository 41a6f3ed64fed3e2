import { nuid } from "@nats-io/transport-node";
import type { Subscription } from "rxjs";
import { addFeed, collect, natsSource } from "../../../src/adapters/nats/index.js";
import { natsLibrary } from "../../../src/adapters/nats/nats.js";
import { type Candle, createClient, type FetchLike, type Series, VirtualClock } from "../../../src/index.js";
import { breachOf } from "../../adapters/nats/busy-service.js";
import { chanceOf } from "../draw.js";
import { dialectOf, OURS } from "./dialect.js";
import { Node } from "./node.js";
import {
  isOther,
  type MachinePlan,
  NAME,
  type NatsFault,
  type NatsPlan,
  type SubscriberPlan,
  type Whom,
} from "./plan.js";
import type { Arrival, CollectorLife, NatsLog, Shown, SubscriberLog } from "./run-log.js";
import { ModelConnection, Servers } from "./servers.js";
import { StoredWatch, unknownBefore } from "./stored.js";
import { strikes, Way } from "./way.js";
import { KEY, WorldService } from "./world-service.js";

/** The number of the connection of who asks for feeds, and how long it waits before it asks again, in ms. */
const ASKER = 1_000_000;
const ASKED_EVERY = 2_000;

/** Plays a plan to its end, and a minute more after everybody has left. */
export async function playNats(plan: NatsPlan): Promise<NatsLog> {
  // What is imported when it is needed takes turns of the event loop, the first time.
  await natsLibrary();
  const world = new NatsWorld(plan);
  // Names are drawn, so that a seed gives the same run.
  let names = 0;
  nuid.next = () => {
    names += 1;
    return `n${Math.floor(chanceOf(plan.seed, "name", names) * 1e9)}x${names}`;
  };
  try {
    return await world.play();
  } finally {
    delete (nuid as { next?: unknown }).next;
  }
}

/** A collector's process, from its beginning to its end. */
interface Running {
  readonly log: CollectorLife;
  readonly node: Node;
  readonly connection: ModelConnection;
  readonly stopping: AbortController;
  readonly subscription: Subscription;
}

class NatsWorld {
  readonly #plan: NatsPlan;
  readonly #clock: VirtualClock;
  readonly #servers: Servers;
  readonly #service: WorldService;
  readonly #arrivals: Arrival[] = [];
  readonly #lives: CollectorLife[] = [];
  readonly #running = new Map<number, Running>();
  readonly #subscribers: SubscriberLog[] = [];
  readonly #faults: Record<string, number> = {};
  readonly #nodes: Node[] = [];
  readonly #connections: ModelConnection[] = [];
  readonly #leaving: (() => void)[] = [];
  readonly #most = { messages: 0, consumers: 0 };
  readonly #stored: StoredWatch;

  constructor(plan: NatsPlan) {
    this.#plan = plan;
    this.#clock = new VirtualClock(plan.start);
    this.#servers = new Servers(this.#clock);
    this.#stored = new StoredWatch(
      () => this.#clock.now(),
      () => this.#servers.jetstream.streams.get(NAME)?.messages,
      (feed, epoch) => unknownBefore(plan, this.#lives, { feed, epoch, now: this.#service.now() }),
    );
    let placed = 0;
    this.#servers.isPlacedBehind = () => {
      placed += 1;
      return chanceOf(plan.seed, "placed", placed) < 1 / 3;
    };
    this.#servers.noteStored = this.#stored.noteStored;
    this.#servers.noteTaken = (packet) => this.#stored.taken(packet);
    this.#service = new WorldService(plan, this.#clock);
  }

  async play(): Promise<NatsLog> {
    const { plan, clock } = { plan: this.#plan, clock: this.#clock };
    for (const fault of plan.faults) this.#begin(fault);
    for (const [number, { from }] of plan.collectors.entries()) this.#at(from, () => this.#start(number));
    for (const [number, { from }] of plan.subscribers.entries()) this.#at(from, () => this.#follow(number));
    for (let at = 1_000; at < plan.length; at += 1_000) this.#at(at, () => this.#measure());
    await clock.advanceTo(plan.start + plan.length);
    const ends = clock.now();
    const { settledUntil } = this.#service;
    const truth = new Map<string, ReadonlyMap<number, Candle>>();
    for (const pair of plan.pairs) truth.set(pair, await this.#service.truth(pair));
    const most = { ...this.#most };
    const kept = this.#kept();
    for (const leave of this.#leaving) leave();
    for (const { subscription } of this.#running.values()) subscription.unsubscribe();
    await clock.advanceBy(60_000);
    const living = this.#nodes.filter(({ isDead }) => !isDead);
    const left = {
      timers: living.reduce((sum, { pending }) => sum + pending, 0),
      consumers: this.#servers.jetstream.consumers,
      waiting: this.#connections.reduce((sum, one) => sum + one.waiting, 0),
    };
    return {
      plan,
      ends,
      arrivals: this.#arrivals,
      lives: this.#lives,
      subscribers: this.#subscribers,
      unfenced: this.#stored.unfenced,
      unordered: this.#stored.unordered,
      uncovered: this.#stored.uncovered,
      stored: this.#stored.stored,
      faults: this.#faults,
      kept,
      truth,
      settledUntil,
      left,
      most,
    };
  }

  #at(instant: number, work: () => void): void {
    this.#clock.schedule(work, Math.max(0, this.#plan.start + instant - this.#clock.now()));
  }

  #count(kind: string): void {
    this.#faults[kind] = (this.#faults[kind] ?? 0) + 1;
  }

  #kept(): ReadonlyMap<string, ReadonlyMap<string, string>> {
    const kept = new Map(this.#plan.pairs.map((pair) => [pair, new Map<string, string>()]));
    for (const { subject, text } of this.#servers.jetstream.streams.get(NAME)?.messages.values() ?? []) {
      const [pair, last] = [subject.split(".")[3]!, subject.split(".").at(-1)!];
      kept.get(pair)?.set(last, text);
    }
    return kept;
  }

  #measure(): void {
    const streams = [...this.#servers.jetstream.streams.values()];
    const messages = streams.reduce((sum, stream) => sum + stream.messages.size, 0);
    this.#most.messages = Math.max(this.#most.messages, messages);
    this.#most.consumers = Math.max(this.#most.consumers, this.#servers.jetstream.consumers);
  }

  /** Sets up what happens to all, or to a process from outside. */
  #begin(fault: NatsFault): void {
    const { jetstream } = this.#servers;
    const strike = (work: () => void) => {
      this.#at(fault.from, () => {
        this.#count(fault.kind);
        work();
      });
    };
    const stream = "what" in fault && fault.what === "leases" ? `KV_${NAME}-leases` : NAME;
    switch (fault.kind) {
      case "leaderless":
        strike(() => {
          this.#servers.hasLeader = false;
        });
        this.#at(fault.until, () => {
          this.#servers.hasLeader = true;
        });
        return;
      case "server behind":
        strike(() => jetstream.fallBehind());
        this.#at(fault.until, () => jetstream.catchUp());
        return;
      case "servers restart":
        // What is kept in memory alone is gone.
        strike(() => jetstream.forgetConsumers());
        return;
      case "servers' clock set":
        strike(() => {
          this.#servers.ahead += fault.by;
        });
        return;
      case "purge":
        strike(() => jetstream.streams.get(stream)?.purge());
        return;
      case "deleted":
        strike(() => jetstream.drop(stream));
        return;
      case "asked":
        this.#at(fault.askedFrom, () => this.#ask(fault.series, fault.isOnce));
        return;
      case "crash":
        strike(() => {});
        this.#at(fault.until, () => {
          this.#die(fault.collector);
          this.#start(fault.collector);
        });
        return;
      case "leave":
        strike(() => this.#running.get(fault.collector)?.stopping.abort());
        this.#at(fault.until, () => {
          this.#die(fault.collector);
          this.#start(fault.collector);
        });
        return;
      default:
        strike(() => {});
    }
  }

  #die(collector: number): void {
    const running = this.#running.get(collector);
    if (running === undefined) return;
    this.#running.delete(collector);
    running.node.isDead = true;
    running.connection.drop();
    running.log.ended ??= this.#clock.now();
  }

  #process(whom: Whom, life: number, machine: MachinePlan, operate: (isSent: boolean) => boolean) {
    const { start, faults, others } = this.#plan;
    const struck = faults.filter((fault) => strikes(fault, whom));
    const node = new Node(this.#clock, start, machine, {
      pauses: struck.flatMap(({ kind, from, until }) =>
        kind === "pause" ? [{ from: start + from, until: start + until }] : [],
      ),
      steps: struck.flatMap((fault) =>
        fault.kind === "clock set" ? [{ at: start + fault.from, by: fault.by }] : [],
      ),
    });
    const count = (kind: string) => this.#count(kind);
    const way = new Way(this.#plan, whom, life, { clock: this.#clock, node }, operate, count);
    const dialect = others !== undefined && isOther(this.#plan, whom) ? dialectOf(others) : OURS;
    const connection = new ModelConnection(this.#servers, way, node, this.#connections.length, dialect);
    if (way.hasNoticed) connection.disconnect();
    for (const instant of way.changes) {
      if (start + instant < this.#clock.now()) continue;
      this.#at(instant, () => {
        node.arrive(() => {
          if (way.hasNoticed) connection.disconnect();
          else connection.reconnect();
        });
      });
    }
    this.#nodes.push(node);
    this.#connections.push(connection);
    return { node, way, connection };
  }

  #start(collector: number): void {
    const { plan } = { plan: this.#plan };
    const life = this.#lives.filter((one) => one.collector === collector).length;
    if (this.#running.has(collector)) return;
    const began = this.#clock.now();
    if (began < plan.start + plan.collectors[collector]!.from) return;
    const open = { ended: undefined, shown: [], error: undefined };
    const log: CollectorLife = { collector, life, began, activities: [], ...open };
    this.#lives.push(log);
    const crash = plan.faults.find(
      (fault) => fault.kind === "crash" && fault.collector === collector && plan.start + fault.until > began,
    );
    let operations = 0;
    const operate = (isSent: boolean): boolean => {
      if (node.isDead) return false;
      if (crash?.kind !== "crash" || this.#clock.now() < plan.start + crash.from) return true;
      if (!isSent) operations += 1;
      if (operations <= crash.operation || isSent !== crash.isSent) return true;
      this.#die(collector);
      return false;
    };
    const machine = plan.collectors[collector]!;
    const { node, way, connection } = this.#process({ collector }, life, machine, operate);
    const client = createClient({
      baseUrl: "http://localhost/v2",
      apiKey: KEY,
      fetch: this.#fetchOf(node, way, log),
      rateLimit: plan.limit,
      timeout: plan.timeout,
      scheduler: node,
      warn: false,
    });
    const isAsked = (series: number) =>
      plan.faults.some((fault) => fault.kind === "asked" && fault.series === series);
    const watches = [...plan.pairs.keys()]
      .filter((series) => !isAsked(series))
      .map((series) => this.#watchOf(series));
    const stopping = new AbortController();
    const { others } = plan;
    const hasOtherRules = others?.kind === "rules" && isOther(plan, { collector });
    const subscription = collect(connection.asConnection, client, watches, {
      name: NAME,
      lease: hasOtherRules ? others.lease : plan.lease,
      signal: stopping.signal,
      ...(plan.retention === undefined ? {} : { retention: plan.retention }),
    }).subscribe({
      next: (activity) => log.activities.push({ at: this.#clock.now(), activity }),
      error: (error) => {
        if (!node.isDead) log.error = error;
      },
      complete: () => {
        log.ended = this.#clock.now();
      },
    });
    this.#running.set(collector, { log, node, connection, stopping, subscription });
  }

  #fetchOf(node: Node, way: Way, log: CollectorLife): FetchLike {
    const { faults, start, seed } = this.#plan;
    return (url, init) =>
      new Promise((resolve, reject) => {
        const { signal } = init ?? {};
        const abort = () => reject(signal!.reason);
        if (signal?.aborted) abort();
        signal?.addEventListener("abort", abort, { once: true });
        const sent = this.#clock.now();
        const answer = async () => {
          const pair = /pairs\/([^/]+)\//.exec(url)![1]!;
          const at = this.#clock.now();
          const isGivenUp = signal?.aborted === true;
          this.#arrivals.push({ at, sent, pair, collector: log.collector, life: log.life, isGivenUp });
          const isDown = faults.some(
            (fault) =>
              fault.kind === "service down" &&
              start + fault.from <= at &&
              at < start + fault.until &&
              chanceOf(seed, "down", this.#arrivals.length) < fault.rate,
          );
          const answered = await this.#service.fetch(url, { ...init, signal: undefined } as object);
          const text = isDown ? "{}" : await answered.text();
          if (way.isCutOff) return this.#count("cut answer");
          if (isDown) this.#count("service error");
          const status = isDown ? 503 : answered.status;
          const { headers } = answered;
          const take = () => {
            log.shown.push(shownBy(url, text, pair, this.#clock.now()));
            resolve({ status, headers, text: async () => text });
          };
          this.#clock.schedule(() => node.arrive(take), way.serviceLatency);
        };
        way.operateRequest(() => {
          if (way.isCutOff) this.#count("cut request");
          else this.#clock.schedule(() => void answer(), way.serviceLatency);
        });
      });
  }

  /** What collectors watch of a series. */
  #watchOf(series: number) {
    const { pairs, market, every } = this.#plan;
    const { revisionWindow } = market;
    return { ...this.#seriesOf(pairs[series]!), settle: 100, revisionWindow, every, since: { candles: 10 } };
  }

  /** Asks for a series, again and again, as what was asked for is lost with the leases, or once. */
  #ask(series: number, isOnce = false): void {
    const way = (arrive: () => void) => void this.#clock.schedule(arrive, 1);
    const { asConnection } = new ModelConnection(this.#servers, { up: way, down: way }, this.#clock, ASKER);
    let isOver = false;
    this.#leaving.push(() => {
      isOver = true;
    });
    const ask = async () => {
      if (isOver) return;
      // Whoever leads may not reach the servers at the moment.
      const isNew = await addFeed(asConnection, this.#watchOf(series), { name: NAME }).catch(() => false);
      if (isNew) this.#count("asked");
      isOver ||= isNew && isOnce;
      this.#clock.schedule(() => void ask(), ASKED_EVERY);
    };
    void ask();
  }

  #seriesOf(pairAddress: string): Series {
    return { network: "mainnet", pairAddress, timeframe: this.#plan.timeframe, currency: "usd" };
  }

  #follow(number: number): void {
    const plan: SubscriberPlan = this.#plan.subscribers[number]!;
    const { node, connection } = this.#process({ subscriber: number }, 0, plan, () => true);
    const since =
      plan.since !== undefined && "back" in plan.since ? this.#service.now() - plan.since.back : undefined;
    const log: SubscriberLog = {
      number,
      plan,
      joined: this.#clock.now(),
      since,
      left: undefined,
      events: [],
      statuses: [],
      breaches: [],
      known: new Map(),
      error: undefined,
    };
    this.#subscribers.push(log);
    const series = this.#seriesOf(this.#plan.pairs[plan.series]!);
    const source = natsSource(connection.asConnection, { name: NAME, scheduler: node, heartbeat: 1_000 });
    const from = since ?? (plan.since as { candles: number } | undefined);
    const error = (failure: unknown) => {
      log.error = failure;
    };
    const following = source.candles({ ...series, ...(from !== undefined && { since: from }) }).subscribe({
      next: (event) => {
        const at = this.#clock.now();
        log.events.push({ at, event });
        const breach = breachOf(log.known, event);
        if (breach !== undefined) log.breaches.push({ at, what: `${event.candle.timestamp} ${breach}` });
      },
      error,
    });
    following.add(
      source.status(series).subscribe({
        next: (status) => log.statuses.push({ at: this.#clock.now(), status }),
        error,
      }),
    );
    const leave = () => following.unsubscribe();
    this.#leaving.push(leave);
    if (plan.until !== undefined && plan.until < this.#plan.length) {
      this.#at(plan.until, () => {
        log.left = this.#clock.now();
        leave();
      });
    }
  }
}

/** What an answer shows: nothing of what is before its oldest candle, if it has a cursor or is an error. */
function shownBy(url: string, text: string, pair: string, at: number): Shown {
  const asked = new URL(url).searchParams;
  const { result, cursor } = JSON.parse(text) as { result?: { timestamp: string }[]; cursor?: string };
  const timestamps = new Set(result?.map(({ timestamp }) => Date.parse(timestamp)));
  const [from, until] = ["fromDate", "toDate"].map((name) => Number(asked.get(name)) * 1_000);
  const oldest = Math.min(until!, ...timestamps);
  return { at, pair, from: cursor || !result ? oldest : from!, until: until!, timestamps };
}
