import type { Exchange } from "../exchanges.js";
import type { RunLog } from "../run-log.js";

/** Dates further off than this are no news of a second that has just begun, ms. */
const DATE_ERROR = 250;
/** So many dated answers are held against each other. */
const COMPARED = 4;

/** What answers have told of the service's clock, as far as anybody can know it. */
export class KnownClock {
  /** By the order of the exchanges that were told: the most that the service's clock is ahead at least, by those so far. */
  readonly #low: number[] = [];
  readonly #contradicts: boolean[] = [];
  readonly #areMachines: boolean;

  constructor({ told, plan }: RunLog) {
    const firstStep = Math.min(
      Number.POSITIVE_INFINITY,
      ...plan.faults.filter(({ kind }) => kind === "clock set").map(({ from }) => plan.world.start + from),
    );
    /** Of each machine that answered, by how far ahead it is. */
    const lows = new Map<number, number>();
    let isLost = false;
    /** How far the last Dates were off: 0 where they were right. */
    let errors: readonly number[] = [];
    for (const { headers, answeredAt, ahead, old, hidesAge, sent, received } of told) {
      if (headers.date !== undefined && answeredAt !== undefined && received !== undefined) {
        const shown = answeredAt + ahead;
        // One that does not tell its age looks like one of another clock.
        const error = headers.date - shown - (hidesAge ? old : 0);
        const isWrong = headers.date - shown > DATE_ERROR || headers.date - shown <= -1_000 - DATE_ERROR;
        const isTrue = error <= DATE_ERROR && error > -1_000 - DATE_ERROR;
        errors = [...errors.slice(1 - COMPARED), isTrue ? 0 : error];
        // Once a clock was set, or an answer was wrong about it, nobody knows what is still believed.
        isLost ||= isWrong || received >= firstStep || sent >= firstStep;
        lows.set(ahead, Math.max(lows.get(ahead) ?? Number.NEGATIVE_INFINITY, headers.date - received));
      }
      this.#low.push(isLost ? Number.NEGATIVE_INFINITY : Math.min(...lows.values()));
      const [least, most] = [Math.min(...errors), Math.max(...errors)];
      this.#contradicts.push(
        errors.length > 0 && (most - least > 1_000 + DATE_ERROR || (errors.includes(0) && most !== least)),
      );
    }
    this.#areMachines = plan.world.machines !== undefined;
  }

  /** How far the service's clock had come at least when it gave an answer. */
  provenBy({ sent, told, headers, old, hidesAge }: Exchange): number {
    if (hidesAge) return headers.date ?? Number.NEGATIVE_INFINITY;
    const low = this.#low[told!.order]!;
    const made = old > 0 ? sent - (Math.floor(old / 1_000) + 1) * 1_000 : sent;
    const byBounds = Number.isFinite(low) ? made + low : Number.NEGATIVE_INFINITY;
    // Which machine's `Date` it is cannot be told.
    return this.#areMachines ? byBounds : Math.max(headers.date ?? Number.NEGATIVE_INFINITY, byBounds);
  }

  /** What the client takes for the time at which an answer was given: as it was, or as that says. */
  takenFor({ answeredAt, ahead, old, hidesAge, headers }: Exchange): number {
    const { date } = headers;
    const own = answeredAt! + ahead;
    const told = hidesAge ? 0 : old;
    if (date === undefined || Math.abs(date + 500 - own) < 500 + DATE_ERROR) return own + told;
    return date + 999 + told;
  }

  /** Whether an answer, or one of those just before it, has a `Date` that does not go with the others. */
  contradicts({ told }: Exchange): boolean {
    return this.#contradicts[told!.order]!;
  }
}
