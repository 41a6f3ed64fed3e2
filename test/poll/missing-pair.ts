import type { Subscription } from "rxjs";
import {
  type FeedStatus,
  type PairstreamError,
  type SniperWatch,
  type WatchOptions,
  watchCandles,
  watchFeedStatus,
  watchSnipers,
} from "../../src/index.js";
import { answered, at, MINUTES, PAIR, World } from "../world.js";

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
export const START = at("12:00:00");

/** The longest that an answer takes. */
export const TRIP = 40;
export type Options = Parameters<typeof watchFeedStatus>[1];
export type WhenMissing = WatchOptions["whenMissing"];
export const CANDLES = { ...MINUTES, timeframe: "1s" } as const;
export const SNIPERS = { pairAddress: PAIR, every: SECOND };

export const KINDS: [string, Options][] = [
  ["candles", CANDLES],
  ["snipers", SNIPERS],
];

/** A service that knows no pair until it is told to; `answers`: when each answer was there. */
export function worldWithoutPair(more: Partial<ConstructorParameters<typeof World>[0]> = {}) {
  const world = new World({ start: START, client: { rateLimit: false }, ...more });
  world.swapsEvery(SECOND, START - MINUTE, START + HOUR);
  // Whoever has bought early and sold is a sniper.
  world.swap(START - 10 * SECOND, 2, { side: "sell" });
  const missing = () => answered(404, { message: "no such pair" });
  world.interfere = missing;
  return {
    world,
    index: () => {
      world.interfere = () => undefined;
    },
    lose: () => {
      world.interfere = missing;
    },
    /** When it was asked, in s after the start. */
    asked: () => world.asked.map(({ sent }) => (sent - START) / SECOND),
  };
}

/** One subscriber, and what it has been told by now. */
export function watching(world: World, options: Options, whenMissing?: WhenMissing) {
  const own = whenMissing === undefined ? options : { ...options, whenMissing };
  const given = {
    events: 0,
    error: undefined as PairstreamError | undefined,
    failedAt: undefined as number | undefined,
    joinedAt: world.clock.now(),
    statuses: [] as FeedStatus[],
    subscription: undefined as Subscription | undefined,
  };
  const error = (reason: PairstreamError) => {
    given.error = reason;
    given.failedAt = (world.clock.now() - START) / SECOND;
  };
  const next = () => {
    given.events += 1;
  };
  const statuses = watchFeedStatus(world.client, own).subscribe({
    next: (status) => given.statuses.push(status),
    error: () => {},
  });
  given.subscription =
    "timeframe" in own
      ? watchCandles(world.client, own).subscribe({ next, error })
      : watchSnipers(world.client, own as SniperWatch).subscribe({ next, error });
  given.subscription.add(statuses);
  return given;
}
