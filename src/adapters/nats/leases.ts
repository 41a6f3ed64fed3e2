import * as z from "zod/mini";
import { ContractError } from "../../errors.js";
import { VERSION } from "./message.js";
import { slotOf } from "./subjects.js";

/** The rules that all collectors of a group follow. */
export interface GroupRules {
  /** The number of slots into which the work and the rate limit are divided. */
  readonly slots: number;
  /** The time within which the slots of a dead collector move to others, in ms. */
  readonly lease: number;
  /**
   * The key's limit: at most `requests` in any window of `per` ms; `null` for no limit. A request is given up after
   * `timeout` ms.
   */
  readonly limit: { readonly requests: number; readonly per: number; readonly timeout: number } | null;
}

/** Whether two groups follow the same rules. */
export function areSameRules(a: GroupRules, b: GroupRules): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** One part of the work, and its holder. */
interface LeaseSlot {
  readonly holder: string | null;
  /**
   * It grows whenever the slot passes to another collector. Messages of a later holder win over those of an earlier
   * one. Two collectors give a slot different ones, also if a table was lost between them.
   */
  readonly epoch: number;
  /** Whether all requests of earlier holders had ended when the last of them gave the slot up. */
  readonly isQuiet: boolean;
}

/** What the collectors of a group agree on: one value in a bucket, written by compare-and-set. */
export interface LeaseTable {
  /** That of the messages: collectors that cannot read one another's messages share no leases. */
  readonly version: typeof VERSION;
  readonly rules: GroupRules;
  /** A number for each collector, which grows with every sign of life. */
  readonly beats: Readonly<Record<string, number>>;
  readonly slots: readonly LeaseSlot[];
}

/**
 * Parts of a lease: how often it is renewed, how soon again at most where others were faster, how long after a renewal its
 * holder may act, and how long after the last renewal others take it. A holder stops a quarter of the lease before others begin, so nobody has to compare the
 * clocks of two machines.
 */
export const PARTS = { renew: 1 / 8, again: 1 / 16, act: 1 / 2, dead: 3 / 4 } as const;

/** The table of a group that nobody has joined yet. `isQuiet`: whether no request of an earlier group can count. */
export function emptyTable(rules: GroupRules, isQuiet = true): LeaseTable {
  const slots = Array.from({ length: rules.slots }, () => Object.freeze({ holder: null, epoch: 0, isQuiet }));
  return { version: VERSION, rules, beats: {}, slots };
}

/** Whether all requests of a group had ended when the last of its collectors left. */
export function isAllQuiet({ beats, slots }: LeaseTable): boolean {
  return Object.keys(beats).length === 0 && slots.every(({ isQuiet }) => isQuiet);
}

/** The table that takes the place of a lost one: an earlier one, after which slots may have changed hands. */
export function restoredTable(table: LeaseTable): LeaseTable {
  return { ...table, slots: table.slots.map((slot) => ({ ...slot, isQuiet: false })) };
}

/** What one collector has seen of the others, by its own clock. */
export interface Sightings {
  /** When the table was last read. */
  readonly readAt: number;
  /** The last beat of each collector, and when it was first seen. */
  readonly beats: ReadonlyMap<string, { readonly beat: number; readonly since: number }>;
}

export const nothingSeen: Sightings = { readAt: -Infinity, beats: new Map() };

/**
 * Records a table that was read at `now`.
 *
 * While the table could not be read, nobody could show a sign of life, so that time counts against no collector. The
 * same holds if the clock was set back.
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

/** What a collector has to do next. */
export interface LeaseMove {
  /** The table that it writes. */
  readonly table: LeaseTable;
  /** Slots on which it must stop working before it writes the table. */
  readonly released: readonly number[];
  /** Slots that it holds once the table is written. */
  readonly taken: readonly number[];
}

/**
 * What a collector writes next: a sign of life, and its slots. It takes free slots and those of dead collectors up to
 * its fair share, and releases slots beyond it.
 *
 * `held`: the slots that it works on, with their epochs. A slot that only the table gives to it is taken again, because
 * the table may be an old one. `now`: its own clock, in ms since the epoch, so that the epochs of leases grow even if the
 * bucket was lost. `leastEpoch`: new leases have none below it, whatever that clock says; default 0.
 */
export function nextMove(
  table: LeaseTable,
  seen: Sightings,
  {
    id: me,
    held: working,
    leastEpoch = 0,
  }: { readonly id: string; readonly held: ReadonlyMap<number, number>; readonly leastEpoch?: number },
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
  const slots = table.slots.map((slot, number): LeaseSlot => {
    const { holder, epoch } = slot;
    const isOurs = holder === me && working.get(number) === epoch;
    if (isOurs && held < share) {
      held += 1;
      return slot;
    }
    if (isOurs) released.push(number);
    if (holder === null || (holder !== me && alive.includes(holder))) return slot;
    // Requests of its holder may be on their way. That may be us, if we released it in a table that was not written.
    return { holder: null, epoch, isQuiet: false };
  });
  // Each collector starts at a different slot, so that several that take slots at once do not all reach for the same
  // one.
  const first = Math.floor((rank * rules.slots) / alive.length);
  for (let step = 0; step < slots.length && held < share; step++) {
    const number = (first + step) % slots.length;
    const slot = slots[number]!;
    if (slot.holder !== null || released.includes(number)) continue;
    const least = Math.max(slot.epoch + 1, EPOCHS_A_MS * Math.floor(now), leastEpoch);
    slots[number] = { ...slot, holder: me, epoch: ownEpoch(least, me) };
    taken.push(number);
    held += 1;
  }
  // A collector that was taken for dead and comes back must not repeat the beat with which it was last seen.
  const beat = Math.max((table.beats[me] ?? 0) + 1, Math.floor(now));
  const beats = Object.fromEntries(alive.map((id) => [id, id === me ? beat : table.beats[id]!]));
  return { table: { ...table, beats, slots }, released, taken };
}

/**
 * Into how many parts the epochs of a millisecond are divided. A collector uses one of them, by its id; two that use the
 * same one are told apart by the growth of epochs alone.
 */
const EPOCHS_A_MS = 1_024;

/** The first epoch of a collector that is not below `least`. */
function ownEpoch(least: number, id: string): number {
  const part = slotOf(id, EPOCHS_A_MS);
  return least + ((EPOCHS_A_MS + part - (least % EPOCHS_A_MS)) % EPOCHS_A_MS);
}

/**
 * The table after a collector has left on purpose, all its requests ended. `counting`: the slots whose part of the limit
 * it could use by then, with their epochs: no request of an earlier holder counts there any more.
 */
export function withoutCollector(
  table: LeaseTable,
  me: string,
  counting: ReadonlyMap<number, number>,
): LeaseTable {
  const { [me]: _left, ...beats } = table.beats;
  const slots = table.slots.map((slot, number): LeaseSlot => {
    const { holder, epoch, isQuiet } = slot;
    if (holder !== me) return slot;
    return { holder: null, epoch, isQuiet: isQuiet || counting.get(number) === epoch };
  });
  return { ...table, beats, slots };
}

/** The epochs of the slots that a collector holds, by slot. */
export function heldBy(table: LeaseTable, me: string): ReadonlyMap<number, number> {
  return new Map(
    table.slots.flatMap(({ holder, epoch }, number) => (holder === me ? [[number, epoch]] : [])),
  );
}

/** Its multiples, without their whole parts, spread evenly over 0 to 1, however many there are. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

/**
 * How long a collector waits after others were faster, in ms. `losses`: how often in a row that has happened.
 *
 * Others renew at a steady pace. With a steady wait, a collector could meet them at every try, until it is taken for dead.
 */
export function waitAfterLosses({ lease }: GroupRules, losses: number): number {
  return lease * PARTS.again * ((losses * GOLDEN) % 1);
}

/** How many requests of each window a collector with so many slots may send. */
export function shareOf({ limit, slots }: GroupRules, held: number): number {
  return limit === null ? Infinity : Math.floor((limit.requests * held) / slots);
}

/**
 * How long a slot's part of the limit may not be used yet, in ms. That is until the requests of earlier holders no
 * longer count, which may have been under way for a whole `timeout`.
 */
export function countsAfter({ limit }: GroupRules, slot: LeaseSlot | undefined): number {
  if (limit === null) return 0;
  return slot?.isQuiet ? limit.per : limit.timeout + limit.per;
}

const count = z.int().check(z.nonnegative());
const schema = z.object({
  version: z.literal(VERSION),
  rules: z.object({
    slots: count.check(z.positive()),
    lease: z.number(),
    limit: z.nullable(z.object({ requests: z.number(), per: z.number(), timeout: z.number() })),
  }),
  beats: z.record(z.string(), count),
  slots: z.array(z.object({ holder: z.nullable(z.string()), epoch: count, isQuiet: z.boolean() })),
});

/** Reads a table. Throws a `ContractError` if it is not a table of this version. */
export function readTable(text: string): LeaseTable {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ContractError([], "the leases are not JSON", { cause });
  }
  const result = schema.safeParse(value);
  const isWhole = result.success && result.data.slots.length === result.data.rules.slots;
  if (isWhole) return result.data;
  throw new ContractError([], "the leases have the format of another version", { cause: result.error });
}
