import { chanceOf } from "./draw.js";
import { type Answer, answerOf, type Exchange, withHeaders } from "./exchanges.js";
import type { Plan } from "./plan.js";
import type { CachePlan, MachinesPlan, ReplicasPlan, Turns } from "./world-plan.js";

/** An answer as a cache has it: what was asked, when and by which machine it was made, by the service's clock. */
interface Kept extends Pick<Exchange, "ahead" | "lag"> {
  readonly answer: Answer;
  readonly at: number;
}

/** What stands between the way there and the service: a cache, machines whose clocks differ, and a replica that lags. */
export class Front {
  readonly #seed: number;
  readonly #machines: MachinesPlan | undefined;
  readonly #replicas: ReplicasPlan | undefined;
  readonly #cache: CachePlan | undefined;
  readonly #kept = new Map<string, Kept>();

  constructor({ seed, world }: Pick<Plan, "seed" | "world">) {
    this.#seed = seed;
    this.#machines = world.machines;
    this.#replicas = world.replicas;
    this.#cache = world.cache;
  }

  /**
   * Answers a request that arrives at `now` by the service's clock, which is that of the machine that is behind. `ask`
   * gives what the service knew so many ms before.
   */
  async pass(
    exchange: Exchange,
    url: string,
    now: number,
    ask: (lag: number) => Promise<Answer>,
  ): Promise<Answer> {
    const known = this.#find(url, now);
    if (known !== undefined) {
      const { at, ahead, lag } = known;
      const { tellsAge } = this.#cache!;
      Object.assign(exchange, { answeredAt: at, old: now - at, ahead, lag, hidesAge: !tellsAge });
      const age = { age: String(Math.floor((now - at) / 1_000)) };
      return tellsAge ? withHeaders(known.answer, age) : known.answer;
    }
    const ahead = this.#isOther("machine", exchange.id, this.#machines) ? this.#machines!.ahead : 0;
    const lag = this.#isOther("replica", exchange.id, this.#replicas) ? this.#replicas!.lag : 0;
    Object.assign(exchange, { answeredAt: now, ahead, lag });
    const answer = await ask(lag);
    const dated =
      ahead + lag > 0 && answer.headers.get("date") !== null
        ? withHeaders(answer, { date: new Date(now + ahead).toUTCString() })
        : answer;
    if (this.#cache === undefined || dated.status !== 200) return dated;
    const body = await dated.text();
    const headers = Object.fromEntries(
      HEADERS.flatMap((name) => {
        const value = dated.headers.get(name);
        return value === null ? [] : [[name, value]];
      }),
    );
    const kept = answerOf(200, body, headers);
    this.#kept.set(url, { answer: kept, at: now, ahead, lag });
    return kept;
  }

  #find(url: string, now: number): Kept | undefined {
    if (this.#cache === undefined) return undefined;
    const known = this.#kept.get(url);
    return known === undefined || now - known.at >= this.#cache.keeps ? undefined : known;
  }

  #isOther(name: string, id: number, plan: Turns | undefined): boolean {
    if (plan === undefined) return false;
    const { turns, share } = plan;
    if (turns === "chance") return chanceOf(this.#seed, name, id) < share;
    return id % (2 * turns) < turns;
  }
}

const HEADERS = ["date", "content-type", "x-request-weight"];
