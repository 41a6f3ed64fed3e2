import * as z from "zod/mini";
import { ContractError, PairstreamError } from "../../errors.js";
import { readWire } from "../wire/read.js";
import { VERSION } from "./message.js";

/** The rules that all collectors of a group follow. */
export interface GroupRules {
  /** The time within which another collector takes over from one that has died, in ms. */
  readonly lease: number;
  /**
   * The key's limit: at most `requests` in any window of `per` ms; `null` for no limit. A request is given up after
   * `timeout` ms.
   */
  readonly limit: { readonly requests: number; readonly per: number; readonly timeout: number } | null;
}

/** What the collectors of a group agree on: who of them leads. One value in a bucket, written by compare-and-set. */
export interface Lease {
  readonly version: typeof VERSION;
  readonly rules: GroupRules;
  /** `null`: nobody. */
  readonly holder: string | null;
  /** It grows whenever the lease passes to another collector. */
  readonly term: number;
  /** It grows with every sign of life of the holder. */
  readonly beat: number;
  /** Without a holder: whether no request from before its last one can count any more. */
  readonly isQuiet: boolean;
  /** A hash of the group and of the holder's list of feeds. */
  readonly list?: number | undefined;
}

/**
 * Parts of a lease: how often it is renewed, how long after a renewal its holder may act, and how long after the last
 * renewal another one takes it. A holder stops a quarter of the lease before another begins, so nobody has to compare the
 * clocks of two machines.
 */
export const PARTS = { renew: 1 / 8, act: 1 / 2, dead: 3 / 4 } as const;

/** What a collector has seen of the lease, by its own clock. */
export interface Sighting {
  readonly readAt: number;
  /** What it showed last, and since when. */
  readonly shown: string | undefined;
  readonly since: number;
  /** Whether somebody lives: it has changed since it was first seen, or somebody leads without one. */
  readonly hasMoved: boolean;
  /** The latest term that it has ever shown. After a loss of the lease the next term is later all the same. */
  readonly term: number;
}

export const UNSEEN: Sighting = {
  readAt: -Infinity,
  shown: undefined,
  since: -Infinity,
  hasMoved: false,
  term: 0,
};

/**
 * Notes the lease as it was read at `now`. `isLed`: where there is none, whether somebody leads all the same, or may.
 *
 * While it could not be read, its holder could not show a sign of life, so that time does not count. The same holds if the
 * clock was set back.
 */
export function sight(
  seen: Sighting,
  lease: Lease | undefined,
  isLed: boolean,
  now: number,
  rules: GroupRules,
): Sighting {
  const shown = lease === undefined ? "none" : `${lease.holder} ${lease.term} ${lease.beat}`;
  const gap = now - seen.readAt;
  const isInterrupted = gap < 0 || gap > (rules.lease * PARTS.dead) / 2;
  const isSame = shown === seen.shown;
  return {
    readAt: now,
    shown,
    since: isSame && !isInterrupted ? seen.since : now,
    hasMoved: seen.hasMoved || isLed || (seen.shown !== undefined && !isSame),
    term: Math.max(seen.term, lease?.term ?? 0),
  };
}

/** What a collector knows of itself. */
export interface Self {
  readonly id: string;
  readonly rules: GroupRules;
  /** The term of the lease that it has held last, as far as it knows, and whether that lasts by its own clock. */
  readonly held: number | undefined;
  readonly mayAct: boolean;
}

/** What a collector does next: it waits, or it writes a lease. `isTaken`: that is one which it did not hold before. */
export type LeaseMove =
  | { readonly lease: Lease; readonly isTaken: boolean; readonly isQuiet: boolean }
  | "wait";

/**
 * What a collector does about the lease as it was read, and seen so far (`seen` with what was just read). Throws a
 * `PairstreamError` if others lead the group by other rules.
 */
export function nextMove(
  lease: Lease | undefined,
  seen: Sighting,
  { id, rules, held, mayAct }: Self,
  now: number,
): LeaseMove {
  const beat = Math.max((lease?.beat ?? 0) + 1, Math.floor(now));
  const own = { version: VERSION, rules, holder: id, beat, isQuiet: false } as const;
  // A lease that was lost is written again by its holder. One that ran out is still its own if nobody else has taken it.
  const isOwn = lease === undefined ? mayAct : lease.holder === id && lease.term === held;
  if (held !== undefined && isOwn) {
    return { lease: { ...own, term: held }, isTaken: false, isQuiet: false };
  }
  const term = Math.max(seen.term + 1, Math.floor(now));
  const take = (isQuiet: boolean) => ({ lease: { ...own, term }, isTaken: true, isQuiet });
  const isOver = now - seen.since >= (lease?.rules ?? rules).lease * PARTS.dead;
  if (lease === undefined) {
    // Whoever has seen one before, or hears a leader, takes its holder for alive.
    return !seen.hasMoved || isOver ? take(!seen.hasMoved) : "wait";
  }
  if (lease.holder === null) return take(lease.isQuiet);
  if (lease.holder === id || isOver) return take(false);
  if (JSON.stringify(lease.rules) !== JSON.stringify(rules) && seen.hasMoved) {
    throw new PairstreamError(
      `The collectors of this group follow different rules: ${JSON.stringify(lease.rules)}`,
    );
  }
  return "wait";
}

/** The lease after its holder has left on purpose, its requests ended. `isQuiet`: whether it might ask by then. */
export function releasedLease(lease: Lease, isQuiet: boolean): Lease {
  return { ...lease, holder: null, beat: lease.beat + 1, isQuiet };
}

/** How many runs of feeds a lease has room for at least, so that those of the next one are later. */
const RUNS_A_TERM = 1_024;

/** The epoch of the first run under a lease: hardly ever that of another group, whose lease was taken in the same millisecond. */
export function firstEpoch(term: number, group: number): number {
  return term * 2 * RUNS_A_TERM + (group % RUNS_A_TERM);
}

/** A whole number that another text hardly ever has. */
export function hashOf(text: string): number {
  let hash = 0;
  for (const character of text) hash = (hash * 31 + character.charCodeAt(0)) % (2 ** 31 - 1);
  return hash;
}

/** How long a new holder asks for nothing: until requests of earlier ones no longer count, in ms. */
export function quietFor({ limit }: GroupRules, isQuiet: boolean): number {
  if (limit === null) return 0;
  return isQuiet ? limit.per : limit.timeout + limit.per;
}

const count = z.int().check(z.nonnegative());
const schema = z.object({
  version: z.literal(VERSION),
  rules: z.object({
    lease: z.number(),
    limit: z.nullable(z.object({ requests: z.number(), per: z.number(), timeout: z.number() })),
  }),
  holder: z.nullable(z.string()),
  term: count,
  beat: count,
  isQuiet: z.boolean(),
  list: z.optional(count),
});

/** Reads a lease. Throws a `ContractError` if it is not one of this version. */
export function readLease(text: string): Lease {
  try {
    return readWire(schema, text);
  } catch (cause) {
    throw new ContractError([], "the lease has the format of another version", { cause });
  }
}
