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

  constructor({ told, plan }: RunLog) {
    const firstStep = Math.min(
      Number.POSITIVE_INFINITY,
      ...plan.faults.filter(({ kind }) => kind === "clock set").map(({ from }) => plan.world.start + from),
    );
    let low = Number.NEGATIVE_INFINITY;
    let isLost = false;
    /** How far the last Dates were off: 0 where they were right. */
    let errors: readonly number[] = [];
    for (const { headers, answeredAt, sent, received } of told) {
      if (headers.date !== undefined && answeredAt !== undefined && received !== undefined) {
        const error = headers.date - answeredAt;
        const isTrue = error <= DATE_ERROR && error > -1_000 - DATE_ERROR;
        errors = [...errors.slice(1 - COMPARED), isTrue ? 0 : error];
        // Once a clock was set, or an answer was wrong about it, nobody knows what is still believed.
        isLost ||= !isTrue || received >= firstStep || sent >= firstStep;
        low = isLost ? Number.NEGATIVE_INFINITY : Math.max(low, headers.date - received);
      }
      this.#low.push(low);
      const [least, most] = [Math.min(...errors), Math.max(...errors)];
      this.#contradicts.push(
        errors.length > 0 && (most - least > 1_000 + DATE_ERROR || (errors.includes(0) && most !== least)),
      );
    }
  }

  /** How far the service's clock had come at least when it gave an answer. */
  provenBy({ sent, told, headers }: Exchange): number {
    return Math.max(headers.date ?? Number.NEGATIVE_INFINITY, sent + this.#low[told!.order]!);
  }

  /** What the client takes for the time of an answer: as it was, or as that says. */
  takenFor({ answeredAt, headers }: Exchange): number {
    const { date } = headers;
    if (date === undefined || Math.abs(date + 500 - answeredAt!) < 500 + DATE_ERROR) return answeredAt!;
    return date + 999;
  }

  /** Whether an answer, or one of those just before it, has a `Date` that does not go with the others. */
  contradicts({ told }: Exchange): boolean {
    return this.#contradicts[told!.order]!;
  }
}
