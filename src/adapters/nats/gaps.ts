import type { Stamped } from "./message.js";

/** Up to where a reader has heard of a feed: of which run, and up to which of its messages. */
export type Heard = Pick<Stamped, "epoch" | "number">;

export const NOTHING_HEARD: Heard = { epoch: -1, number: 0 };

/** Whether something was stored that was not heard. `told`: up to where a feed was stored when its collector was asked. */
export function isBehind(heard: Heard, told: Heard): boolean {
  return told.epoch > heard.epoch || (told.epoch === heard.epoch && told.number > heard.number);
}

/** The newer one of two words about the same. */
export function newer<T extends Heard>(known: T | undefined, told: T): T {
  return known === undefined || isBehind(known, told) ? told : known;
}

/**
 * Whether messages before one that has come are missing. The numbers of a run follow on one another from 1 on; a message that
 * was sent in vain leaves a gap, too.
 */
export function isGapBefore(heard: Heard, { epoch, number }: Heard): boolean {
  return epoch >= heard.epoch && number > (epoch > heard.epoch ? 0 : heard.number) + 1;
}
