import type { Stamped } from "./message.js";

/** How far the server's clock may be from the service's, in ms: so much earlier messages are read again. */
export const CLOCKS_APART = 60_000;

/** Up to where a reader has heard of a feed: of which run, and up to which of its messages. */
export type Heard = Pick<Stamped, "epoch" | "number">;

export const NOTHING_HEARD: Heard = { epoch: -1, number: 0 };

/** What a reader makes of the place of a message. */
export interface Turn {
  readonly heard: Heard;
  /** Whether messages before it are missing. */
  readonly isGap: boolean;
  /** Whether it is of an earlier run than what was heard. */
  readonly isEarlier: boolean;
}

/**
 * The place of a message that has come, after what was heard. The numbers of a run follow on one another from 1 on; a message that
 * was sent in vain leaves a gap, too.
 */
export function hear(heard: Heard, { epoch, number }: Heard): Turn {
  if (epoch < heard.epoch) return { heard, isGap: false, isEarlier: true };
  const before = epoch > heard.epoch ? 0 : heard.number;
  const isGap = number > before + 1;
  return { heard: { epoch, number: Math.max(before, number) }, isGap, isEarlier: false };
}

/** The same for what was read all at once: nothing before it is missing. */
export function caughtUp(heard: Heard, { epoch, number }: Heard): Heard {
  if (epoch !== heard.epoch) return epoch > heard.epoch ? { epoch, number } : heard;
  return { epoch, number: Math.max(heard.number, number) };
}

/** Whether something was stored that was not heard. `told`: up to where a feed was stored when its collector was asked. */
export function isBehind(heard: Heard, told: Heard): boolean {
  return told.epoch > heard.epoch || (told.epoch === heard.epoch && told.number > heard.number);
}
