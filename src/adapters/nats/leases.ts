import * as z from "zod/mini";
import { ContractError } from "../../errors.js";

/** What all collectors of a group go by. */
export interface GroupRules {
  /** How many parts the work and the rate limit are cut into. */
  readonly slots: number;
  /** ms within which the slots of a collector that died have moved. */
  readonly lease: number;
  /** The key's limit: at most `requests` in any window of `per` ms, each given up after `timeout` ms; `null` for none. */
  readonly limit: { readonly requests: number; readonly per: number; readonly timeout: number } | null;
}

/** One part of the work, and whose it is. */
interface Slot {
  readonly holder: string | null;
  /** Raised whenever it passes to another one; what a later holder publishes goes before what an earlier one does. */
  readonly epoch: number;
  /** Whether all was ended that earlier holders had sent, when the last of them gave it up. */
  readonly isQuiet: boolean;
}

/** What the collectors of a group agree on: one value in a bucket, written by compare-and-set. */
export interface LeaseTable {
  readonly version: 1;
  readonly rules: GroupRules;
  /** By collector, a number that grows with every sign of life. */
  readonly beats: Readonly<Record<string, number>>;
  readonly slots: readonly Slot[];
}

/**
 * Of a lease: how often it is renewed, how long after a renewal its holder may act, and after how long without one others
 * take it. A holder stops before others begin, by a quarter of the lease, and nobody compares the clocks of two machines.
 */
export const PARTS = { renew: 1 / 8, act: 1 / 2, dead: 3 / 4 } as const;

/** The table of a group that nobody has joined yet. */
export function emptyTable(rules: GroupRules): LeaseTable {
  const slots = Array.from({ length: rules.slots }, () =>
    Object.freeze({ holder: null, epoch: 0, isQuiet: true }),
  );
  return { version: 1, rules, beats: {}, slots };
}

/** What one collector has seen of the others, by its own clock. */
export interface Sightings {
  /** When the table was last read. */
  readonly readAt: number;
  /** The last beat of each collector, and since when that has been its last. */
  readonly beats: ReadonlyMap<string, { readonly beat: number; readonly since: number }>;
}

export const nothingSeen: Sightings = { readAt: Number.NEGATIVE_INFINITY, beats: new Map() };

/**
 * Takes note of a table that was read at `now`.
 *
 * While the table could not be read, nobody could show a sign of life either: that time counts against no one. The same
 * goes where the clock was set back.
 */
export function sight(seen: Sightings, table: LeaseTable, now: number): Sightings {
  const gap = now - seen.readAt;
  const isInterrupted = gap < 0 || gap > (table.rules.lease * PARTS.dead) / 2;
  const beats = new Map<string, { beat: number; since: number }>();
  for (const [id, beat] of Object.entries(table.beats)) {
    const before = seen.beats.get(id);
    const isSame = before?.beat === beat && !isInterrupted;
    beats.set(id, isSame ? before : { beat, since: now });
  }
  return { readAt: now, beats };
}

/** What a collector is to do next. */
export interface LeaseMove {
  /** The table that it writes. */
  readonly table: LeaseTable;
  /** Slots that it must have stopped working on before it writes that. */
  readonly released: readonly number[];
  /** Slots that are its own once that is written. */
  readonly taken: readonly number[];
}

/**
 * What a collector writes next: a sign of life, the slots of the dead and free ones up to its fair share taken, and those
 * beyond it released.
 *
 * `held`: the slots that it works on, with their epochs; one that is its own by the table alone is taken anew, as the table
 * may be an old one. `now`: by its own clock, in ms since the epoch, so that epochs grow even where the bucket was lost.
 */
export function nextMove(
  table: LeaseTable,
  seen: Sightings,
  { id: me, held: working }: { readonly id: string; readonly held: ReadonlyMap<number, number> },
  now: number,
): LeaseMove {
  const { rules } = table;
  const isAlive = (id: string) =>
    id === me || now - (seen.beats.get(id)?.since ?? now) < rules.lease * PARTS.dead;
  const alive = [...new Set([...Object.keys(table.beats), me])].filter(isAlive).sort();
  const rank = alive.indexOf(me);
  const share = Math.floor(rules.slots / alive.length) + (rank < rules.slots % alive.length ? 1 : 0);

  const released: number[] = [];
  const taken: number[] = [];
  let held = 0;
  const slots = table.slots.map((slot, number): Slot => {
    const { holder, epoch, isQuiet } = slot;
    const isOurs = holder === me && working.get(number) === epoch;
    if (isOurs && held < share) {
      held += 1;
      return slot;
    }
    if (isOurs) released.push(number);
    if (holder === null || (holder !== me && alive.includes(holder))) return slot;
    // One that is ours by the table alone was never worked on.
    const wasUsed = isOurs || holder !== me;
    return { holder: null, epoch, isQuiet: isQuiet && !wasUsed };
  });
  // From a place of its own, so that several that take at once do not all reach for the same.
  const first = Math.floor((rank * rules.slots) / alive.length);
  for (let step = 0; step < slots.length && held < share; step++) {
    const number = (first + step) % slots.length;
    const slot = slots[number]!;
    if (slot.holder !== null || released.includes(number)) continue;
    slots[number] = { ...slot, holder: me, epoch: Math.max(slot.epoch + 1, Math.floor(now)) };
    taken.push(number);
    held += 1;
  }
  // One that was taken for dead and comes back must not beat as it did when it was last seen.
  const beat = Math.max((table.beats[me] ?? 0) + 1, Math.floor(now));
  const beats = Object.fromEntries(alive.map((id) => [id, id === me ? beat : table.beats[id]!]));
  return { table: { ...table, beats, slots }, released, taken };
}

/** The table after a collector has left of its own accord. */
export function withoutCollector(table: LeaseTable, me: string): LeaseTable {
  const { [me]: _left, ...beats } = table.beats;
  const slots = table.slots.map((slot) =>
    slot.holder === me ? { ...slot, holder: null, isQuiet: true } : slot,
  );
  return { ...table, beats, slots };
}

/** The epochs of the slots that a collector holds, by slot. */
export function heldBy(table: LeaseTable, me: string): ReadonlyMap<number, number> {
  return new Map(
    table.slots.flatMap(({ holder, epoch }, number) => (holder === me ? [[number, epoch]] : [])),
  );
}

/** How many requests of each window are the due of one who holds so many slots. */
export function shareOf({ limit, slots }: GroupRules, held: number): number {
  return limit === null ? Number.POSITIVE_INFINITY : Math.floor((limit.requests * held) / slots);
}

/**
 * How long the part of the limit that belongs to a slot does not count yet, in ms: until what its last holder had sent does
 * not count any more, which may have been under way for as long as a request is waited for.
 */
export function countsAfter({ limit }: GroupRules, slot: Slot | undefined): number {
  if (limit === null) return 0;
  return slot?.isQuiet ? limit.per : limit.timeout + limit.per;
}

const count = z.int().check(z.nonnegative());
const schema = z.object({
  version: z.literal(1),
  rules: z.object({
    slots: count.check(z.positive()),
    lease: z.number(),
    limit: z.nullable(z.object({ requests: z.number(), per: z.number(), timeout: z.number() })),
  }),
  beats: z.record(z.string(), count),
  slots: z.array(z.object({ holder: z.nullable(z.string()), epoch: count, isQuiet: z.boolean() })),
});

/** Reads a table; throws a `ContractError` where it is none of this version's. */
export function readTable(text: string): LeaseTable {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ContractError([], "leases that are not JSON", { cause });
  }
  const result = schema.safeParse(value);
  const isWhole = result.success && result.data.slots.length === result.data.rules.slots;
  if (isWhole) return result.data;
  throw new ContractError([], "leases of another version", { cause: result.error });
}
