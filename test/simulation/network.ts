import type { FetchLike, VirtualClock } from "../../src/index.js";
import { withoutMadeUpCursor } from "../../src/service/faults/made-up-cursor.js";
import { createPairService, type SwapSource } from "../../src/service/index.js";
import { CLOSED, Connections } from "./connections.js";
import { Cuts, isCut } from "./cuts.js";
import { chanceOf } from "./draw.js";
import { type Answer, answerOf, type Exchange, type Fetch, type Init } from "./exchanges.js";
import { Front } from "./front.js";
import { KEY, struckBy, type TimedFault } from "./interference.js";
import type { Machine } from "./machine.js";
import type { Plan } from "./plan.js";
import { type ServiceTime, serviceClockOf } from "./service-time.js";

/** What a request carries through the faults that strike it: the way that it has still to go. */
type Carried = NonNullable<Init> & {
  readonly onwards: Fetch;
  /** Called by a fault that has changed the answer, where it does not in any case. */
  readonly tell: (kind: string) => void;
};

/** No run needs nearly as many. */
export const MOST_REQUESTS = 20_000;

/** The service and the way there and back; it writes down every exchange. */
export class Network {
  readonly exchanges: Exchange[] = [];
  readonly #plan: Plan;
  readonly #clock: VirtualClock;
  readonly #machine: Machine;
  readonly #time: ServiceTime;
  readonly #front: Front;
  readonly #services: { readonly upToDate: FetchLike; readonly lagging: FetchLike };
  readonly #cuts: Cuts;
  readonly #faults: readonly { fault: TimedFault; place: string; fetch: Fetch }[];
  readonly #connections: Connections;
  #starts: number[] = [];
  /** How many requests were not lost with their connections, whose latencies and faults do not depend on those. */
  #numbered = 0;

  constructor(plan: Plan, source: SwapSource, clock: VirtualClock, machine: Machine) {
    this.#plan = plan;
    this.#clock = clock;
    this.#machine = machine;
    this.#time = serviceClockOf(plan.world);
    this.#connections = new Connections(plan.keepAlive);
    this.#front = new Front(plan);
    this.#cuts = new Cuts(plan.seed);
    const { weekStart, quirks, replicas } = plan.world;
    const serviceAt = (clock: () => number) =>
      createPairService({ source, weekStart, quirks, clock, apiKeys: [KEY] }).fetch;
    this.#services = {
      upToDate: serviceAt(() => this.serviceNow()),
      lagging: serviceAt(() => this.serviceNow() - (replicas?.lag ?? 0)),
    };
    this.#faults = plan.faults.flatMap((fault, at) => {
      if (!("rate" in fault)) return [];
      const onwards: Fetch = (url, init) => (init as Carried).onwards(url, init as Carried);
      const place = `${fault.kind} ${fault.from} ${at}`;
      const fetch: Fetch = isCut(fault)
        ? async (url, init) =>
            this.#cuts.strike(fault.kind, url, await onwards(url, init), (init as Carried).tell)
        : struckBy(fault, onwards, { seed: plan.seed, scheduler: clock });
      return [{ fault, place, fetch }];
    });
  }

  /** The service's clock. */
  serviceNow(): number {
    return this.#time.at(this.#clock.now());
  }

  readonly fetch: FetchLike = async (url, init) => {
    const sent = this.#clock.now();
    const closes = this.#connections.take(sent, this.#plan.world.latency.base);
    const isLost = sent + this.#latency(this.#numbered, "there") >= closes;
    const exchange: Exchange = {
      id: this.#numbered,
      url,
      sent,
      arrived: undefined,
      signal: init?.signal,
      answeredAt: undefined,
      old: 0,
      ahead: 0,
      lag: 0,
      hidesAge: false,
      received: undefined,
      endedAt: undefined,
      status: undefined,
      headers: { date: undefined, retryAfter: undefined },
      body: undefined,
      faults: isLost ? [CLOSED] : [],
      outcome: "pending",
      priority: undefined,
      attempt: undefined,
      told: undefined,
    };
    this.exchanges.push(exchange);
    if (!isLost) this.#numbered += 1;
    // Whoever asks without end is left without an answer, or the run would not end either.
    if (this.exchanges.length > MOST_REQUESTS) return new Promise(() => {});
    try {
      return isLost ? await this.#lose(exchange) : await this.#travel(exchange, url, init);
    } catch (error) {
      exchange.outcome = init?.signal?.aborted ? "aborted" : "failed";
      exchange.endedAt = this.#clock.now();
      throw error;
    }
  };

  /** The service has closed the connection by the time at which the request is there. */
  async #lose(exchange: Exchange): Promise<never> {
    const { id, signal } = exchange;
    await this.#pass(this.#latency(id, "there"), signal);
    exchange.arrived = this.#clock.now();
    await this.#pass(this.#latency(id, "back"), signal, true);
    return this.#connections.fail();
  }

  async #travel(exchange: Exchange, url: string, init: Init): Promise<Answer> {
    const signal = init?.signal;
    await this.#pass(this.#latency(exchange.id, "there"), signal);
    exchange.arrived = this.#clock.now();
    const at = exchange.sent - this.#plan.world.start;
    const struck = this.#faults.filter(
      ({ fault, place }) =>
        at >= fault.from && at < fault.until && chanceOf(this.#plan.seed, place, exchange.id) < fault.rate,
    );
    exchange.faults = struck.flatMap(({ fault }) => (isCut(fault) ? [] : [fault.kind]));
    const tell = (kind: string) => {
      exchange.faults = [...exchange.faults, kind];
    };
    const ask: Fetch = async (toUrl, toInit) => {
      // A walk may go on along a made-up cursor when the fault that gave it is over.
      const asked = withoutMadeUpCursor(toUrl);
      return this.#front.pass(exchange, asked, this.serviceNow(), async (lag) => {
        const service = lag > 0 ? this.#services.lagging : this.#services.upToDate;
        return this.#limited() ?? this.#withoutDate(await service(asked, toInit));
      });
    };
    const fetch = struck.reduce<Fetch>(
      (inner, { fetch: faulty }) =>
        (toUrl, toInit) => {
          // Each fault is asked as the first one is: with the made-up cursor that another has taken off.
          const onwards: Fetch = (_, onInit) => inner(toUrl, onInit);
          return faulty(toUrl, { ...toInit, onwards, tell } as Carried);
        },
      ask,
    );
    const result = await fetch(url, init);
    exchange.answeredAt ??= this.serviceNow();
    const body = await result.text();
    const answered = this.#clock.now();
    await this.#pass(this.#latency(exchange.id, "back"), signal, true);
    exchange.status = result.status;
    exchange.headers = {
      date: dateOf(result.headers.get("date")),
      retryAfter: result.headers.get("retry-after") ?? undefined,
    };
    exchange.body = body;
    exchange.received = this.#clock.now();
    exchange.endedAt = exchange.received;
    exchange.outcome = "answered";
    this.#connections.keep(answered);
    return { status: result.status, headers: result.headers, text: async () => body };
  }

  /** The service's own limit, by its own clock. */
  #limited(): Answer | undefined {
    const { limiter, hasDate } = this.#plan.world;
    if (limiter === undefined) return undefined;
    const now = this.serviceNow();
    this.#starts = this.#starts.filter((start) => start > now - limiter.per);
    const first = this.#starts[this.#starts.length - limiter.requests];
    if (first === undefined) {
      this.#starts.push(now);
      return undefined;
    }
    const hint = { "retry-after": String(Math.ceil((first + limiter.per - now) / 1_000)) };
    const date = { date: new Date(now).toUTCString() };
    return answerOf(429, '{"message":"slow down"}', {
      ...(limiter.hasHint ? hint : {}),
      ...(hasDate ? date : {}),
    });
  }

  #withoutDate(answer: Answer): Answer {
    if (this.#plan.world.hasDate) return answer;
    const get = (name: string) => (name.toLowerCase() === "date" ? null : answer.headers.get(name));
    return { status: answer.status, headers: { get }, text: () => answer.text() };
  }

  #latency(id: number, way: string): number {
    const { latency } = this.#plan.world;
    const isHealthy = this.#clock.now() >= this.#plan.world.start + this.#plan.healthyFrom;
    const { seed } = this.#plan;
    const usual = latency.base + latency.spread * chanceOf(seed, id, way) ** 2;
    if (isHealthy) return Math.min(150, Math.round(usual));
    const isSpike = chanceOf(seed, id, way, "spike") < latency.spikeRate;
    return Math.round(usual + (isSpike ? latency.spike * chanceOf(seed, id, way, "high") : 0));
  }

  #pass(ms: number, signal: AbortSignal | undefined, isBack = false): Promise<void> {
    if (ms <= 0 && !isBack) return Promise.resolve();
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const leave = () => {
        timer.unsubscribe();
        reject(signal?.reason);
      };
      const arrive = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const timer = isBack ? this.#machine.deliver(ms, arrive) : this.#clock.schedule(arrive, ms);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }
}

function dateOf(text: string | null): number | undefined {
  const ms = Date.parse(text ?? "");
  return Number.isNaN(ms) ? undefined : ms;
}
