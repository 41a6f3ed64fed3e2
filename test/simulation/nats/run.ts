import { nuid } from "@nats-io/transport-node";
import type { Subscription } from "rxjs";
import {
  collect,
  watchPublishedCandles,
  watchPublishedFeedStatus,
} from "../../../src/adapters/nats/index.js";
import { natsLibrary } from "../../../src/adapters/nats/nats.js";
import { type Candle, createClient, type FetchLike, type Series, VirtualClock } from "../../../src/index.js";
import { createPairService, type PairService, unsettled } from "../../../src/service/index.js";
import { breachOf, busyMarket } from "../../adapters/nats/market.js";
import { chanceOf } from "../draw.js";
import { Node } from "./node.js";
import {
  type MachinePlan,
  NAME,
  type NatsFault,
  type NatsPlan,
  type SubscriberPlan,
  type Whom,
} from "./plan.js";
import type { Arrival, CollectorLife, NatsLog, SubscriberLog } from "./run-log.js";
import { ModelConnection, Servers } from "./servers.js";
import { strikes, Way } from "./way.js";

const SETTLES_AFTER = 1_000;
const WATCH = { settle: 100, revisionWindow: 2 } as const;
const KEY = "key";

/** Plays a plan to its end, and a minute more after everybody has left. */
export async function playNats(plan: NatsPlan): Promise<NatsLog> {
  // What is imported when it is needed takes turns of the event loop, the first time.
  await natsLibrary();
  const world = new World(plan);
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

class World {
  readonly #plan: NatsPlan;
  readonly #clock: VirtualClock;
  readonly #servers: Servers;
  readonly #service: PairService;
  readonly #arrivals: Arrival[] = [];
  readonly #lives: CollectorLife[] = [];
  readonly #running = new Map<number, Running>();
  readonly #subscribers: SubscriberLog[] = [];
  readonly #faults: Record<string, number> = {};
  readonly #unfenced: { at: number; what: string }[] = [];
  readonly #unordered: { at: number; what: string }[] = [];
  readonly #nodes: Node[] = [];
  readonly #connections: ModelConnection[] = [];
  readonly #leaving: (() => void)[] = [];
  readonly #most = { messages: 0, consumers: 0 };
  #stored = 0;

  constructor(plan: NatsPlan) {
    this.#plan = plan;
    this.#clock = new VirtualClock(plan.start);
    this.#servers = new Servers(this.#clock);
    this.#servers.noteStored = (kept, before) => {
      this.#stored += 1;
      if (before === undefined) return;
      const at = this.#clock.now();
      const [now, then] = [stampOf(kept.text), stampOf(before.text)];
      if (now.epoch < then.epoch) {
        this.#unfenced.push({ at, what: `${kept.subject}: epoch ${now.epoch} replaces ${then.epoch}` });
      }
      const isOneLife = now.candle !== undefined && !then.isRemoval;
      if (isOneLife && now.revision - then.revision !== Number(now.candle !== then.candle)) {
        const what = `${kept.subject}: revision ${now.revision} replaces ${then.revision}`;
        this.#unordered.push({ at, what });
      }
    };
    const market = busyMarket(plan.pairs, Math.floor(plan.start / 1_000) * 1_000 - 60_000);
    const source = unsettled(market, { seed: plan.seed, settlesAfter: SETTLES_AFTER, late: 0.2, forks: 0.3 });
    this.#service = createPairService({ source, clock: () => this.#serviceNow(), apiKeys: [KEY] });
  }

  async play(): Promise<NatsLog> {
    const { plan, clock } = { plan: this.#plan, clock: this.#clock };
    for (const fault of plan.faults) this.#begin(fault);
    for (const [number, { from }] of plan.collectors.entries()) this.#at(from, () => this.#start(number));
    for (const [number, { from }] of plan.subscribers.entries()) this.#at(from, () => this.#follow(number));
    for (let at = 1_000; at < plan.length; at += 1_000) this.#at(at, () => this.#measure());
    await clock.advanceTo(plan.start + plan.length);
    const ends = clock.now();
    const settledUntil = this.#serviceNow() - 4 * plan.interval - 2 * SETTLES_AFTER - 3_000;
    const truth = new Map<string, ReadonlyMap<number, Candle>>();
    for (const pair of plan.pairs) truth.set(pair, await this.#truth(pair));
    const most = { ...this.#most };
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
      unfenced: this.#unfenced,
      unordered: this.#unordered,
      stored: this.#stored,
      faults: this.#faults,
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

  #serviceNow(): number {
    const now = this.#clock.now();
    let shown = now + this.#plan.serviceOffset;
    for (const fault of this.#plan.faults) {
      if (fault.kind === "service's clock set" && now >= this.#plan.start + fault.from) shown += fault.by;
    }
    return shown;
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
    const { start, faults } = this.#plan;
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
    const connection = new ModelConnection(this.#servers, way, node, this.#connections.length);
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
    const log: CollectorLife = { collector, life, began, ended: undefined, activities: [], error: undefined };
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
    const { node, way, connection } = this.#process(
      { collector },
      life,
      plan.collectors[collector]!,
      operate,
    );
    const client = createClient({
      baseUrl: "http://localhost/v2",
      apiKey: KEY,
      fetch: this.#fetchOf(node, way, { collector, life }),
      rateLimit: plan.limit,
      timeout: plan.timeout,
      scheduler: node,
    });
    const watches = plan.pairs.map((pair) => ({
      ...this.#seriesOf(pair),
      ...WATCH,
      every: plan.every,
      since: { candles: 10 },
    }));
    const stopping = new AbortController();
    const subscription = collect(connection.asConnection, client, watches, {
      name: NAME,
      rateLimit: plan.limit,
      lease: plan.lease,
      slots: plan.slots,
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

  #fetchOf(node: Node, way: Way, whose: { collector: number; life: number }): FetchLike {
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
          this.#arrivals.push({ at, sent, pair, ...whose });
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
          this.#clock.schedule(() => {
            node.arrive(() => resolve({ status, headers, text: async () => text }));
          }, way.serviceLatency);
        };
        way.operateRequest(() => {
          if (way.isCutOff) this.#count("cut request");
          else this.#clock.schedule(() => void answer(), way.serviceLatency);
        });
      });
  }

  #seriesOf(pairAddress: string): Series {
    return { network: "mainnet", pairAddress, timeframe: this.#plan.timeframe, currency: "usd" };
  }

  #follow(number: number): void {
    const plan: SubscriberPlan = this.#plan.subscribers[number]!;
    const { node, connection } = this.#process({ subscriber: number }, 0, plan, () => true);
    const since =
      plan.since !== undefined && "back" in plan.since ? this.#serviceNow() - plan.since.back : undefined;
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
    const options = { name: NAME, scheduler: node };
    const from = since ?? (plan.since as { candles: number } | undefined);
    const error = (failure: unknown) => {
      log.error = failure;
    };
    const following = watchPublishedCandles(connection.asConnection, series, {
      ...options,
      ...(from === undefined ? {} : { since: from }),
    }).subscribe({
      next: (event) => {
        const at = this.#clock.now();
        log.events.push({ at, event });
        const breach = breachOf(log.known, event);
        if (breach !== undefined) log.breaches.push({ at, what: `${event.candle.timestamp} ${breach}` });
      },
      error,
    });
    following.add(
      watchPublishedFeedStatus(connection.asConnection, series, { ...options, heartbeat: 1_000 }).subscribe({
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

  async #truth(pair: string): Promise<ReadonlyMap<number, Candle>> {
    const candles = new Map<number, Candle>();
    const from = this.#plan.start - 600_000;
    for (let cursor: string | undefined; ; ) {
      const query = new URLSearchParams({
        timeframe: this.#plan.timeframe,
        currency: "usd",
        fromDate: String(Math.floor(from / 1_000)),
        toDate: String(Math.ceil(this.#serviceNow() / 1_000)),
        limit: "1000",
        ...(cursor === undefined ? {} : { cursor }),
      });
      const url = `http://localhost/token/mainnet/pairs/${pair}/ohlcv?${query}`;
      const answer = await this.#service.fetch(url, { headers: { "X-API-Key": KEY } });
      const page = JSON.parse(await answer.text());
      for (const row of page.result) {
        const timestamp = Date.parse(row.timestamp);
        candles.set(timestamp, { ...row, timestamp });
      }
      cursor = page.cursor;
      if (!cursor) return candles;
    }
  }
}

/** What a stored message says of its place: empty where it is none about a candle. */
function stampOf(text: string) {
  const numberOf = (name: string) => Number(new RegExp(`"${name}":(\\d+)`).exec(text)?.[1] ?? 0);
  return {
    epoch: numberOf("epoch"),
    revision: numberOf("revision"),
    candle: /"candle":.*$/.exec(text)?.[0],
    isRemoval: text.includes('"removed":true'),
  };
}
