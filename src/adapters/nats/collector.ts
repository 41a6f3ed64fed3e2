import { Subject, type Subscriber, Subscription } from "rxjs";
import { type Client, coreOf } from "../../client/core.js";
import type { Metering, RunningCollector, Told } from "../../client/metering.js";
import { callAfter } from "../../client/timers.js";
import { PairstreamError } from "../../errors.js";
import type { CollectorActivity } from "./activity.js";
import { type CollectingMeans, collectFeed } from "./collected-feed.js";
import type { CollectedWatch } from "./feed-kinds.js";
import { Lanes, MESSAGES_AT_ONCE } from "./lanes.js";
import { LeaseBucket } from "./lease-bucket.js";
import {
  areSameRules,
  countsAfter,
  emptyTable,
  type GroupRules,
  heldBy,
  isAllQuiet,
  type LeaseTable,
  nextMove,
  nothingSeen,
  PARTS,
  restoredTable,
  type Sightings,
  shareOf,
  sight,
  waitAfterLosses,
  withoutCollector,
} from "./leases.js";
import { answerForLife } from "./liveness.js";
import type { NatsConnection } from "./nats.js";
import type { NatsSettings } from "./options.js";
import type { Publication } from "./publisher.js";
import { SharedLimit } from "./shared-limit.js";
import { failureOver, persist, Store } from "./store.js";
import { type FeedSubjects, slotOf } from "./subjects.js";

/** The checked options of a collector. */
export interface CollectorSetup {
  readonly connection: NatsConnection;
  readonly client: Client;
  readonly settings: NatsSettings;
  readonly group: string;
  readonly rules: GroupRules;
  readonly feeds: ReadonlyMap<string, { readonly feed: FeedSubjects; readonly watch: CollectedWatch }>;
}

/** A slot that this collector works on. */
interface HeldSlot {
  readonly epoch: number;
  /** The instant of the limit's clock from which its part of the rate limit may be used. */
  readonly countsFrom: number;
  readonly working: Subscription;
}

function shortLease({ lease }: GroupRules, losses: number): PairstreamError {
  return new PairstreamError(
    `A lease of ${lease} ms ran out, because others renewed theirs first, ${losses} times in a row. It has to be at least 12 times as long as the number of collectors times their round trip to the servers`,
  );
}

/** After so many writes in a row that came too late, the next one waits for its turn. */
const WRITES_AT_ONCE = 3;
const READERS_AT_ONCE = 32;

/** One of the collectors of a group. It renews its leases, and works on the feeds of the slots that it holds. */
export class Collector implements RunningCollector {
  readonly #setup: CollectorSetup;
  readonly #subscriber: Subscriber<CollectorActivity>;
  readonly #metering: Metering;
  readonly #limit: SharedLimit;
  readonly #running = new Subscription();
  readonly #stop = new AbortController();
  readonly #held = new Map<number, HeldSlot>();
  /** Emits when the collector may act again. */
  readonly #resumed = new Subject<void>();
  #timer = Subscription.EMPTY;
  #seen: Sightings = nothingSeen;
  /** The renewal of the leases that is under way, or was last. */
  #renewal: Promise<unknown> = Promise.resolve();
  /** How often in a row others have written the leases first. */
  #losses = 0;
  /** The last table that this collector has written. */
  #written: LeaseTable | undefined;
  /** The slots that were reported last. */
  #told = "";
  /** No new lease has an epoch below this. */
  #leastEpoch = 0;
  /** What there is once the streams are open. `id`: the name in the leases, and for readers who ask whether it lives. */
  #opened: { readonly store: Store; readonly id: string; readonly bucket: LeaseBucket } | undefined;
  /** What the feeds of one stream share, by stream. */
  readonly #means = new Map<string, CollectingMeans>();

  constructor(setup: CollectorSetup, subscriber: Subscriber<CollectorActivity>) {
    const { client, rules } = setup;
    this.#setup = setup;
    this.#subscriber = subscriber;
    this.#metering = coreOf(client).metering;
    const per = rules.limit?.per ?? 0;
    this.#limit = new SharedLimit(client, { share: (parts) => shareOf(rules, parts), per });
  }

  get group(): string {
    return this.#setup.group;
  }

  /** None once its leases have run out, although it keeps its place in them until it can read who has taken them. */
  get slots(): number {
    return this.#limit.mayAct() ? this.#held.size : 0;
  }

  start(): void {
    this.#metering.collectors.add(this);
    this.#meter((group) => ({ type: "collector", group }));
    this.#running.add(() => this.#metering.collectors.delete(this));
    this.#running.add(() => this.#limit.close());
    this.#open().then(
      () => this.#opened && this.#tick(),
      (error) => this.#fail(error),
    );
  }

  /** Ends all work at once. Resolves once the others know, if they can be reached. */
  async stop(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    this.#stop.abort();
    this.#timer.unsubscribe();
    const now = this.#limit.now();
    const counting = new Map(
      [...this.#held].flatMap(([slot, { epoch, countsFrom }]) => (countsFrom <= now ? [[slot, epoch]] : [])),
    );
    for (const slot of [...this.#held.keys()]) this.#drop(slot);
    this.#running.unsubscribe();
    // A table that is on its way would name this collector again.
    await this.#renewal.catch(() => {});
    await this.#leave(counting).catch(() => {});
  }

  async #open(): Promise<void> {
    const { connection, settings, group, rules, feeds } = this.#setup;
    const { scheduler } = settings;
    const store = await Store.open(connection);
    const id = store.library.nuid.next();
    const shared = {
      store,
      scheduler,
      client: this.#limit.client,
      publisher: id,
      lanes: new Lanes(MESSAGES_AT_ONCE),
      readers: new Lanes(READERS_AT_ONCE),
      resumed: this.#resumed,
      mayPublish: () => this.#limit.mayAct(),
      tell: (publication: Publication) => this.#tellOf(publication),
      fail: (error: unknown) => this.#fail(error),
      outranked: (feed: FeedSubjects, epoch: number) => this.#giveUp(slotOf(feed.key, rules.slots), epoch),
    };
    const onTrouble = (error: unknown) => this.#tellTrouble(error);
    const waiting = { scheduler, signal: this.#stop.signal, onTrouble };
    for (const { feed } of feeds.values()) {
      if (this.#means.has(feed.stream)) continue;
      const ensureStream = () => store.ensureStream(feed, settings);
      const retention = await persist(store, waiting, ensureStream);
      this.#means.set(feed.stream, { ...shared, retention, ensureStream });
    }
    if (this.#stop.signal.aborted) return;
    const trouble = store.troubleWith(settings.replicas);
    if (trouble !== undefined) this.#tellTrouble(trouble);
    this.#opened = { store, id, bucket: new LeaseBucket(store, settings, group) };
    this.#running.add(answerForLife(connection, settings.name, id));
  }

  /**
   * Renews its leases again and again. Collectors that write at the same moment would get in each other's way every
   * time: so one that comes second goes on from its own write, and one that has lost tries again sooner, after a wait that varies.
   */
  async #tick(): Promise<void> {
    const { settings, rules } = this.#setup;
    const { scheduler } = settings;
    let begun = scheduler.now();
    let wait = rules.lease * PARTS.renew;
    try {
      const renewing = this.#renew();
      this.#renewal = renewing;
      const sent = await renewing;
      this.#losses = sent === undefined ? this.#losses + 1 : 0;
      begun = sent ?? scheduler.now();
      if (sent === undefined) wait = waitAfterLosses(rules, this.#losses);
      if (sent === undefined && this.#written !== undefined && !this.#limit.mayAct()) {
        this.#tellTrouble(shortLease(rules, this.#losses));
      }
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      if (!this.#opened!.store.isPassing(error)) {
        this.#fail(error);
        return;
      }
      this.#tellTrouble(error);
    }
    if (this.#stop.signal.aborted) return;
    this.#timer = callAfter(scheduler, begun, wait, () => void this.#tick());
  }

  /** Resolves with when the table was sent that is written now, or with `undefined` if others were faster. */
  async #renew(): Promise<number | undefined> {
    const { settings, rules } = this.#setup;
    const { scheduler } = settings;
    const { bucket, id } = this.#opened!;
    for (let writes = 0; writes < WRITES_AT_ONCE; writes++) {
      const read = await bucket.read();
      const now = scheduler.now();
      if (this.#stop.signal.aborted) return now;
      const before = this.#seen;
      const lost = this.#written && this.#restored(this.#written);
      const known = read.table ?? lost ?? emptyTable(rules, read.revision === 0);
      this.#seen = sight(before, known, now);
      const table = this.#agreed(known, before);
      if (table === undefined) return now;
      this.#adopt(table);
      const held = new Map([...this.#held].map(([slot, { epoch }]) => [slot, epoch]));
      const move = nextMove(table, this.#seen, { id, held, leastEpoch: this.#leastEpoch }, now);
      // Others may take these slots as soon as the table is written.
      for (const slot of move.released) this.#drop(slot);
      this.#count();
      const sent = scheduler.now();
      const { setBack } = this.#limit;
      const isWritten = await bucket.write(move.table, read.revision);
      if (this.#stop.signal.aborted) return sent;
      if (!isWritten) continue;
      this.#written = move.table;
      const couldAct = this.#limit.mayAct();
      // If the clock was set back meanwhile, it is not known how long this lease has lasted. The next renewal says it.
      if (this.#limit.setBack === setBack) this.#limit.actUntil(sent + rules.lease * PARTS.act);
      this.#adopt(move.table, "takes");
      if (!couldAct) this.#resumed.next();
      return sent;
    }
    return undefined;
  }

  /**
   * The table in the place of one that was lost: the others may still act by it. If its own leases in it have run out,
   * others may have taken their slots since.
   */
  #restored(written: LeaseTable): LeaseTable {
    const table = restoredTable(written);
    return this.#limit.mayAct() ? table : withoutCollector(table, this.#opened!.id, new Map());
  }

  /**
   * The table if it has our rules. If it has other rules: an empty table, or `undefined` while collectors with these
   * rules may be alive. Throws a `PairstreamError` once one of them shows a sign of life.
   */
  #agreed(table: LeaseTable, before: Sightings): LeaseTable | undefined {
    const { rules, group, settings } = this.#setup;
    if (areSameRules(table.rules, rules)) return table;
    this.#adopt(emptyTable(rules));
    for (const [id, beat] of Object.entries(table.beats)) {
      const known = before.beats.get(id);
      if (known !== undefined && known.beat !== beat) {
        const theirs = JSON.stringify(table.rules);
        throw new PairstreamError(`The collectors of group ${group} follow different rules: ${theirs}`);
      }
      const since = this.#seen.beats.get(id)?.since ?? 0;
      if (settings.scheduler.now() - since < table.rules.lease * PARTS.dead) return undefined;
    }
    return emptyTable(rules, isAllQuiet(table));
  }

  /** Leaves the slots that the table does not give to this collector; with `takes`, begins work on those it gives. */
  #adopt(table: LeaseTable, mode?: "takes"): void {
    const { scheduler } = this.#setup.settings;
    const ours = heldBy(table, this.#opened!.id);
    for (const [slot, { epoch }] of [...this.#held]) if (ours.get(slot) !== epoch) this.#drop(slot);
    if (mode === "takes") {
      for (const slot of ours.keys()) if (!this.#held.has(slot)) this.#take(slot, table.slots[slot]!);
    }
    this.#count();
    const held = [...this.#held.keys()].sort((a, b) => a - b);
    if (mode !== "takes" || held.join() === this.#told) return;
    this.#told = held.join();
    this.#tell({ type: "slots", at: scheduler.now(), held: Object.freeze(held) });
  }

  #count(): void {
    this.#limit.hold([...this.#held.values()].map(({ countsFrom }) => countsFrom));
  }

  #take(slot: number, lease: LeaseTable["slots"][number]): void {
    const { epoch } = lease;
    const { settings, rules, feeds } = this.#setup;
    const { scheduler } = settings;
    const working = new Subscription();
    this.#meter((group) => ({ type: "slot", group, change: "taken" }));
    this.#held.set(slot, { epoch, working, countsFrom: this.#limit.now() + countsAfter(rules, lease) });
    for (const { feed, watch } of feeds.values()) {
      if (slotOf(feed.key, rules.slots) !== slot) continue;
      const { key } = feed;
      this.#tell({ type: "started", at: scheduler.now(), feed: key, epoch });
      working.add(() => this.#tell({ type: "stopped", at: scheduler.now(), feed: key, epoch }));
      const fail = (error: unknown) => {
        this.#meter((group) => ({ type: "trouble", group, what: "feed" }));
        this.#tell({ type: "failed", at: scheduler.now(), feed: key, error });
      };
      working.add(collectFeed(feed, watch, this.#means.get(feed.stream)!, epoch).subscribe({ error: fail }));
    }
  }

  /**
   * Drops a slot for which there are messages of a later lease, as after the leases were lost and a collector whose clock
   * is behind has begun new ones. The next renewal takes it again, under a lease that is later still.
   */
  #giveUp(slot: number, epoch: number): void {
    this.#leastEpoch = Math.max(this.#leastEpoch, epoch + 1);
    this.#drop(slot);
    this.#count();
  }

  #drop(slot: number): void {
    const held = this.#held.get(slot);
    if (held === undefined) return;
    held.working.unsubscribe();
    this.#held.delete(slot);
    this.#meter((group) => ({ type: "slot", group, change: "given-up" }));
  }

  /** `counting`: the slots whose part of the limit it could use, with their epochs. */
  async #leave(counting: ReadonlyMap<number, number>): Promise<void> {
    if (this.#opened === undefined) return;
    const { bucket, id } = this.#opened;
    for (let writes = 0; writes < WRITES_AT_ONCE; writes++) {
      const { table, revision } = await bucket.read();
      if (table === undefined || !(id in table.beats)) return;
      if (await bucket.write(withoutCollector(table, id, counting), revision)) return;
    }
  }

  #tellOf(publication: Publication): void {
    this.#meter((group) => ({ type: "message", group, outcome: publication.type }));
    if (publication.type === "superseded") {
      const at = this.#setup.settings.scheduler.now();
      this.#tell({ type: "superseded", at, subject: publication.subject });
    } else if (publication.type === "retried") {
      this.#tellTrouble(publication.error);
    }
  }

  #tellTrouble(error: unknown): void {
    this.#meter((group) => ({ type: "trouble", group, what: "connection" }));
    this.#tell({ type: "trouble", at: this.#setup.settings.scheduler.now(), error });
  }

  #meter(make: (group: string) => Told): void {
    this.#metering.tell(() => make(this.#setup.group));
  }

  #tell(activity: CollectorActivity): void {
    this.#subscriber.next(Object.freeze(activity));
  }

  #fail(cause: unknown): void {
    if (this.#stop.signal.aborted) return;
    const { connection } = this.#setup;
    this.#subscriber.error(failureOver(connection, "The collectors cannot go on", cause));
  }
}
