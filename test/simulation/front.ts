import { chanceOf } from "./draw.js";
import { type Answer, answerOf, type Exchange, withHeaders } from "./exchanges.js";
import type { Plan } from "./plan.js";
import type { CachePlan, MachinesPlan } from "./world-plan.js";

/** An answer, the instant of the service's clock at which it was made, and how far ahead that machine's clock is. */
interface Kept {
  readonly answer: Answer;
  readonly at: number;
  readonly ahead: number;
}

/** What stands between the way there and the service: a cache, and machines whose clocks differ. */
export class Front {
  readonly #seed: number;
  readonly #machines: MachinesPlan | undefined;
  readonly #cache: CachePlan | undefined;
  readonly #kept = new Map<string, Kept>();

  constructor({ seed, world }: Plan) {
    this.#seed = seed;
    this.#machines = world.machines;
    this.#cache = world.cache;
  }

  /** Answers a request that arrives at `now` by the service's clock, which is that of the machine that is behind. */
  async pass(exchange: Exchange, url: string, now: number, ask: () => Promise<Answer>): Promise<Answer> {
    const known = this.#kept.get(url);
    if (known !== undefined && this.#cache !== undefined && now - known.at < this.#cache.keeps) {
      exchange.answeredAt = known.at;
      exchange.old = now - known.at;
      exchange.ahead = known.ahead;
      return withHeaders(known.answer, { age: String(Math.floor((now - known.at) / 1_000)) });
    }
    exchange.answeredAt = now;
    const ahead = this.#isAhead(exchange.id) ? this.#machines!.ahead : 0;
    exchange.ahead = ahead;
    const answer = await ask();
    const dated =
      ahead > 0 && answer.headers.get("date") !== null
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
    this.#kept.set(url, { answer: kept, at: now, ahead });
    return kept;
  }

  #isAhead(id: number): boolean {
    if (this.#machines === undefined) return false;
    const { turns, share } = this.#machines;
    if (turns === "chance") return chanceOf(this.#seed, "machine", id) < share;
    return id % (2 * turns) < turns;
  }
}

const HEADERS = ["date", "content-type", "x-request-weight"];
